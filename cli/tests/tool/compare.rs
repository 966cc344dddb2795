//! Stored runs compared with each other.

use std::path::Path;

use model::plan::Blocks;
use model::trial::Outcome;
use model::{Nanos, TrialRecord};

use crate::support::Skip;
use crate::support::stored::Stored;
use crate::support::tool::Tool;

crate::claims!(
    a_difference_is_told_in_every_form_and_by_the_exit_code,
    several_runs_are_compared_as_runs,
    what_runs_do_not_share_is_listed_and_the_rest_compared,
    what_cannot_be_compared_is_refused,
);

const PLAN: &str = r#"
    name = "compared"
    seed = 3
    trial = { length = "10ms", warmup = "2ms" }
    blocks = { least = 1, most = 1 }
    [[cells]]
    test = "UDP_STREAM"
    size = [1472, 1, 512, 1024]
"#;

const BLOCKS: u32 = 10;
const MESSAGES: u64 = 10_000;
/// What a message takes at the least and what a byte of it costs, in ns.
const MESSAGE: f64 = 1_000.0;
const BYTE: f64 = 0.5;

/// A run of this machine, measured once.
fn measured(tool: &Tool) -> Stored {
    tool.study(PLAN, &[]).judged();
    tool.stored()
}

/// A run as it would be were each message `factor` times as slow, `blocks`
/// blocks long, stored next to `run`.
fn made(tool: &Tool, run: &Stored, name: &str, factor: f64, blocks: u32) -> Stored {
    let copy = Stored::at(tool.path().join(name));
    std::fs::create_dir_all(copy.path().join("hosts")).unwrap();
    for host in ["a", "b"] {
        let file = format!("hosts/{host}.json");
        copy.write(&file, &run.text(&file));
    }
    let mut kept = run.run();
    kept.plan.blocks = Blocks { least: blocks, most: blocks, ..kept.plan.blocks };
    copy.write("run.json", &serde_json::to_string(&kept).unwrap());
    let trials = run.trials();
    let lines = (0..blocks).flat_map(|block| trials.iter().map(move |trial| slowed(trial, block, factor)));
    copy.write("trials.jsonl", &lines.map(|trial| serde_json::to_string(&trial).unwrap() + "\n").collect::<String>());
    copy
}

/// A trial of a block, with a little scatter that is the same in every copy.
fn slowed(trial: &TrialRecord, block: u32, factor: f64) -> TrialRecord {
    let mut trial = TrialRecord { block, swapped: block % 2 == 1, warnings: Vec::new(), ..trial.clone() };
    let Outcome::Measured(measured) = &mut trial.outcome else { panic!("{trial:?}") };
    let scatter = 1.0 + 0.002 * f64::from((block * 7 + trial.position) % 5);
    let one = (MESSAGE + BYTE * trial.cell.size.get() as f64) * factor * scatter;
    for end in [&mut measured.sender, &mut measured.receiver] {
        // However few came through in so short a time.
        (end.counts.messages, end.counts.sent, end.counts.received) = (MESSAGES, MESSAGES, MESSAGES);
        end.counts.bytes = MESSAGES * trial.cell.size.get();
        let length = Nanos::new((one * MESSAGES as f64) as u64);
        end.window.end = end.window.start + length;
        end.cpu_time.process = length;
    }
    trial
}

fn a_difference_is_told_in_every_form_and_by_the_exit_code() -> Result<(), Skip> {
    let tool = Tool::new();
    let run = measured(&tool);
    let [usual, slow, few] = [("usual", 1.0, BLOCKS), ("slow", 1.1, BLOCKS), ("few", 1.1, 2)]
        .map(|(name, factor, blocks)| made(&tool, &run, name, factor, blocks));
    // One run on each side is no ground for a conclusion unless the user says so.
    assert_eq!(tool.run(&["compare", "usual", "slow"]).code, Some(4));
    let code = |runs: &[&str]| tool.run(&[&["compare", "--trust-single-runs"], runs].concat()).code;
    assert_eq!((code(&["usual", "usual"]), code(&["usual", "slow"]), code(&["slow", "usual"])), (Some(0), Some(3), Some(0)));
    assert_eq!((code(&["usual", "few"]), code(&["usual", "usual", "slow"]), code(&["usual", "few", "slow"])), (Some(4), Some(3), Some(3)));
    // What is too small to matter is no verdict against anybody.
    assert_eq!(code(&["usual", "slow", "--threshold", "50%"]), Some(0));

    tool.run(&["compare", "usual", "slow", "--trust-single-runs"]).says("no drift protection");
    let text = tool.run(&["compare", "usual", "slow", "--trust-single-runs", "-v", "--html", "page.html"]);
    text.says("% more CPU than");
    text.says("no drift protection");
    text.says("CPU of the sender: the cost per message rose by");
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 80), "{}", text.stdout);
    let order: Vec<usize> =
        ["1472 B", "1 B", "512 B", "1024 B"].iter().map(|size| text.stdout.find(&format!("UDP_STREAM {size}")).unwrap()).collect();
    assert!(order.is_sorted(), "cells stand in the plan's order: {}", text.stdout);

    let page = std::fs::read_to_string(tool.path().join("page.html")).unwrap();
    assert!(page.contains("% more CPU than") && page.contains("the cost per message rose by") && !page.contains("<script src"));
    let markdown = tool.run(&["compare", "usual", "slow", "--trust-single-runs", "--markdown"]).stdout;
    assert!(markdown.starts_with("**") && markdown.contains("% more CPU than") && markdown.contains("| ---: |"), "{markdown}");

    let json = tool.run(&["compare", "usual", "slow", "--trust-single-runs", "-J"]).json();
    assert_eq!(json["conclusion"], "against");
    let figures = &json["comparisons"][0]["figures"];
    let cells = &figures["metrics"][0]["comparison"]["cells"];
    let ratio = |place: usize| cells[place]["ratio"]["value"].as_f64().unwrap_or_else(|| panic!("{cells:#}"));
    assert!((0..4).all(|place| (ratio(place) - 1.1).abs() < 0.005), "{figures:#}");
    assert_coefficients(&figures["coefficients"]);
    assert!([&usual, &slow, &few].iter().all(|run| run.has("trials.jsonl")));
    Ok(())
}

/// Each is a tenth more than it was: the costs are a line, and known.
fn assert_coefficients(series: &serde_json::Value) {
    // Datagrams that are lost spoil the elapsed time, and nothing of this.
    let cost = series.as_array().unwrap().iter().find(|series| series["quantity"] == "sender_cpu").unwrap();
    let found = cost["outcome"]["compared"]["coefficients"].as_array().unwrap_or_else(|| panic!("{cost:#}"));
    for (term, cost) in [("message", MESSAGE), ("byte", BYTE)] {
        let of = found.iter().find(|coefficient| coefficient["term"] == term).unwrap();
        assert_eq!(of["change"], "rose", "{of:#}");
        let change = of["difference_ns"]["value"].as_f64().unwrap();
        assert!((change / cost - 0.1).abs() < 0.02, "{change} ns of {cost} ns: {of:#}");
    }
}

fn several_runs_are_compared_as_runs() -> Result<(), Skip> {
    let tool = Tool::new();
    let run = measured(&tool);
    for (side, by) in [("usual", 1.0), ("slow", 1.1)] {
        for (number, chance) in [0.998, 1.0, 1.002].into_iter().enumerate() {
            made(&tool, &run, &format!("{side}{number}"), by * chance, BLOCKS);
        }
    }
    made(&tool, &run, "few", 1.0, 2);
    let [usual, slow] = ["usual0,usual1,usual2", "slow0,slow1,slow2"];
    // What runs have by chance is in the verdict, so that nobody has to trust them.
    let code = |a: &str, b: &str| tool.run(&["compare", a, b]).code;
    assert_eq!([code(usual, slow), code(slow, usual), code(usual, usual), code(usual, "slow0")], [Some(3), Some(0), Some(0), Some(4)]);
    let text = tool.run(&["compare", usual, slow, "-v"]);
    text.says("% more CPU than");
    text.says("runs of one side scatter by 0.");
    text.says("Welch's t");
    for form in ["--markdown", "-J"] {
        tool.run(&["compare", usual, slow, form]).says(if form == "-J" { "\"between\"" } else { "runs of one side scatter by" });
    }
    let json = tool.run(&["compare", usual, slow, "-J"]).json();
    assert_eq!((&json["format"], json["comparisons"][0]["baseline"].as_array().map(Vec::len)), (&1.into(), Some(3)));
    tool.run(&["compare", "usual0,", slow]).refused(2, &["a run is missing"]);

    // The same runs say what a study takes.
    let expected = tool.run(&["study", "quick", "--dry-run", "--like", usual, "--arm", "a", "--arm", "b: nodelay=on"]);
    for words in ["After the earlier runs", "whole runs by", "in four runs of five", "3 a side"] {
        expected.says(words);
    }
    tool.run(&["study", "quick", "--dry-run", "--like", "few"]).refused(2, &["6 blocks"]);
    tool.run(&["study", "quick", "--like", "usual0"]).refused(2, &["--dry-run"]);
    tool.run(&["report", "usual0", "--gate", "goodput"]).refused(2, &["'goodput' is no metric of a gate"]);
    Ok(())
}

fn what_runs_do_not_share_is_listed_and_the_rest_compared() -> Result<(), Skip> {
    let tool = Tool::new();
    let run = measured(&tool);
    let (usual, other) = (made(&tool, &run, "usual", 1.0, BLOCKS), made(&tool, &run, "other", 1.0, BLOCKS));
    // Another host, another plan, a cell that is gone and one of which nothing was measured.
    let mut facts: serde_json::Value = other.host("a");
    facts["kernel"] = "1.2.3".into();
    other.write("hosts/a.json", &facts.to_string());
    let mut kept = other.run();
    kept.plan.link.mtu = Some(1_400);
    let gone = kept.plan.cells.remove(1);
    other.write("run.json", &serde_json::to_string(&kept).unwrap());
    let left: String =
        other.trials().into_iter().filter(|trial| trial.cell != gone).map(|trial| serde_json::to_string(&trial).unwrap() + "\n").collect();
    other.write("trials.jsonl", &left);

    let text = tool.run(&["compare", "usual", "other"]);
    for words in ["Not the same: the link was", "1.2.3", "UDP_STREAM 1 B"] {
        text.says(words);
    }
    text.says(&format!("Only in {}: UDP_STREAM 1 B", usual.run().id));
    let json = tool.run(&["compare", "usual", "other", "-J"]).json();
    let figures = &json["comparisons"][0]["figures"];
    assert_eq!((figures["cells"].as_array().unwrap().len(), &figures["unpaired"][0][0]), (3, &"UDP_STREAM 1 B".into()));
    let none: Vec<String> = Vec::new();
    assert_eq!(figures["unpaired"][1], serde_json::json!(none));

    // Nothing in common: said, and no verdict.
    other.write("trials.jsonl", "");
    let empty = tool.run(&["compare", "usual", "other"]);
    assert_eq!(empty.code, Some(4), "{empty:#?}");
    empty.says("no cell in common");
    Ok(())
}

fn what_cannot_be_compared_is_refused() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.run(&["compare", "here"]).refused(2, &["RUN"]);
    tool.run(&["compare", "here", "there"]).refused(1, &["here"]);
    tool.run(&["compare", "here", "there", "-J"]).refused_in_json(1, &["here"]);
    let run = measured(&tool);
    let usual = made(&tool, &run, "usual", 1.0, BLOCKS);
    usual.write("run.json", "{\"format\":99}");
    tool.run(&["compare", "usual", "usual"]).refused(1, &["99"]);
    made(&tool, &run, "usual", 1.0, BLOCKS);
    tool.run(&["compare", "usual", "usual", "--gate", "goodput"]).refused(2, &["'goodput' is no metric of a gate"]);
    tool.run(&["compare", "usual", "usual", "--threshold", "much"]).refused(2, &["'much' is not a share"]);
    tool.run(&["compare", "usual", "usual", "--html", "nowhere/page.html"]).refused(1, &["write nowhere/page.html"]);
    assert!(!Path::new("nowhere").exists());
    Ok(())
}
