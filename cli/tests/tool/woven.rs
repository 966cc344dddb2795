//! Arms that take turns: what is measured, what is refused, and what a kill leaves behind.

use std::fs;
use std::time::Duration;

use model::Warning;
use model::run::Status;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::support::processes::{self, assert_nothing_left, traces};
use crate::support::tool::Tool;
use crate::support::{Skip, need_root, within};

crate::claims!(
    woven_arms_have_figures_of_every_kind,
    arms_that_cannot_be_woven_are_refused_with_the_reason,
    arms_are_woven_where_they_can_be_and_a_line_says_why,
    a_check_compares_them_the_other_way,
    a_killed_controller_of_woven_arms_leaves_nothing,
    a_killed_end_costs_its_instance_alone,
);

const PLAN: &str = r#"
name = "woven"
trial = { length = "50ms", warmup = "5ms" }
blocks = { least = 9, most = 9 }
arms = ["a", "b: sndbuf=64K"]
[[cells]]
test = ["UDP_STREAM", "TCP_STREAM", "UDP_RR", "TCP_RR"]
size = 1000
nodelay = true
"#;

/// Kills at moments drawn from this seed.
const SEED: u64 = 33;
const KILLS: usize = 4;

fn woven_arms_have_figures_of_every_kind() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::new();
    let before = traces();
    let answer = tool.study(PLAN, &["--woven", "--blocks", "4", "-J"]);
    assert!(matches!(answer.code, Some(0 | 3 | 4)), "{answer:#?}");
    assert_nothing_left(&tool, &before);
    let found = answer.json();
    // Where other tests keep the CPUs busy, an instance may have no slice that both ends measured.
    let (measured, failed) = (found["trials"].as_u64().unwrap(), found["failed"].as_u64().unwrap());
    assert!(measured + failed == 32 && failed <= 16, "{}", found["findings"]);
    let verdict = &found["verdicts"][0];
    for name in ["time_per_message_ns", "sender_cpu_per_message_ns", "receiver_cpu_per_message_ns"] {
        let metric = verdict["metrics"].as_array().unwrap().iter().find(|metric| metric["metric"] == name).unwrap();
        assert_eq!(metric["comparison"]["design"], "woven");
        let cells = metric["comparison"]["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 4);
        for cell in cells {
            assert!(cell["ratio"]["n"].as_u64().is_some_and(|n| (2..=4).contains(&n)), "{name}: {cell}");
            assert_eq!(cell["ratio"]["interval"]["method"], "instances", "{name}: {cell}");
            assert!((0.05..20.0).contains(&cell["ratio"]["value"].as_f64().unwrap()), "{name}: {cell}");
        }
    }
    let stored = tool.stored();
    assert_eq!((stored.status(), stored.run().plan.woven), (Status::BlocksDone, true));
    // Nothing is lost from sight, although each arm waited for its turn.
    assert_eq!(found["datagrams"]["unaccounted"], 0, "{}", found["datagrams"]);
    for (record, measured) in stored.all_measured() {
        assert!(measured.slices >= 1, "{}", record.cell);
        let (window, asked) = (measured.sender.window.length(), measured.windows.unwrap().asked);
        // An end that waits for a CPU sees its marks late.
        let least_and_most = if record.warnings.iter().any(Warning::disturbs) { 0.01..25.0 } else { 0.8..1.5 };
        assert!(least_and_most.contains(&(window.as_secs_f64() / asked.as_secs_f64())), "{}: {window} of {asked}", record.cell);
        assert!(measured.sender.cpu_time.process <= measured.sender.window.length(), "{}", record.cell);
        assert!(measured.receiver.counts.messages < measured.receiver.total.messages, "{}", record.cell);
    }
    the_run_reads_as_it_was_told(&tool, &found);
    Ok(())
}

/// `report`, `show` and `export --slices` of the stored run.
fn the_run_reads_as_it_was_told(tool: &Tool, found: &Value) {
    let again = tool.run(&["report", "latest", "-J"]).json();
    assert_eq!(again["verdicts"], found["verdicts"]);
    tool.run(&["show", "latest"]).done();
    let slices = tool.run(&["export", "latest", "--slices"]).done().stdout;
    let mut table = csv::Reader::from_reader(slices.as_bytes());
    let names: Vec<String> = table.headers().unwrap().iter().map(str::to_owned).collect();
    let place = |name: &str| names.iter().position(|one| one == name).unwrap();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    for cell in 0..4 {
        for (arm, instance) in [("a", "0"), ("b", "2")] {
            let its = rows
                .iter()
                .filter(|row| row[place("cell")] == cell.to_string() && row[place("arm")] == *arm && row[place("instance")] == *instance);
            let cpu: Vec<u64> = its.map(|row| row[place("receiver_cpu_ns")].parse().unwrap()).collect();
            assert!(!cpu.is_empty() && cpu.iter().all(|cpu| *cpu > 0), "cell {cell}, arm {arm}: {cpu:?}");
        }
    }
    // Half an instance is left out, and said.
    let file = tool.stored().path().join("slices/0.slices");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    let cut = tool.run(&["report", "latest", "-J"]);
    assert!(cut.stdout.contains("block 4 is cut short"), "{cut:#?}");
    let first = |analysis: &Value| analysis["verdicts"][0]["metrics"][0]["comparison"]["cells"][0]["ratio"]["n"].as_u64().unwrap();
    assert!(first(&cut.json()) <= first(found));
}

fn arms_that_cannot_be_woven_are_refused_with_the_reason() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.study(PLAN, &["--woven", "--test", "TCP_CRR"]).refused(1, &["a slice has no beginning of a connection", "leave out --woven"]);
    tool.study(PLAN, &["--woven", "--flows", "2"]).refused(1, &["a cell has several flows"]);
    tool.study(PLAN, &["--woven", "--link", "ethernet 10M"]).refused(1, &["the link takes long to drain"]);
    Ok(())
}

fn arms_are_woven_where_they_can_be_and_a_line_says_why() -> Result<(), Skip> {
    let told = |flags: &[&str]| {
        let words = ["study", "size", "--test", "UDP_STREAM", "--size", "64", "--dry-run", "--arm", "a", "--arm", "b: sndbuf=64K"];
        Tool::new().run(&[&words[..], flags].concat()).done()
    };
    let woven = told(&[]);
    assert!(woven.stderr.contains("the arms are woven") && woven.stdout.contains("8, 16, 24, 48 instances"), "{woven:#?}");
    for (flags, why) in [
        (&["--in-turn"][..], "--in-turn says so"),
        (&["--blocks", "9"], "lengths or numbers of trials are given"),
        (&["--length", "50ms"], "lengths or numbers of trials are given"),
        (&["--flows", "2"], "a cell has several flows"),
        (&["--rate", "9000/s"], "the schedule of an offered rate goes on between slices"),
    ] {
        let turn = told(flags);
        assert!(turn.stderr.contains(&format!("the arms are compared in turn: {why}")), "{flags:?}: {turn:#?}");
        assert!(!turn.stdout.contains("instances"), "{flags:?}: {turn:#?}");
    }
    Ok(())
}

fn a_check_compares_them_the_other_way() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::new();
    let plan = PLAN.replace("[\"UDP_STREAM\", \"TCP_STREAM\", \"UDP_RR\", \"TCP_RR\"]", "\"UDP_STREAM\"");
    let answer = tool.study(&plan, &["--woven", "--blocks", "4", "--check"]).judged();
    assert!(answer.stderr.contains("agree within their intervals, woven and in turn"), "{answer:#?}");
    let runs: Vec<bool> =
        [1, 2].map(|back| tool.run(&["report", &format!("@-{back}"), "-J"]).json()["run"]["plan"]["woven"] == true).into();
    assert_eq!(runs, [false, true]);
    Ok(())
}

fn a_killed_controller_of_woven_arms_leaves_nothing() -> Result<(), Skip> {
    need_root()?;
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    for _ in 0..KILLS {
        let tool = Tool::new();
        let before = traces();
        let mut study = tool.start_study(PLAN, &["--woven", "--blocks", "1000"]);
        within(Duration::from_secs(60), "an end is there", || processes::endpoint(&tool, "a").is_some());
        std::thread::sleep(Duration::from_millis(random.random_range(0..900)));
        study.kill().unwrap();
        study.wait().unwrap();
        assert_nothing_left(&tool, &before);
    }
    Ok(())
}

fn a_killed_end_costs_its_instance_alone() -> Result<(), Skip> {
    need_root()?;
    let mut random = ChaCha8Rng::seed_from_u64(SEED + 1);
    let mut failed = 0;
    for kill in 0..KILLS {
        let tool = Tool::new();
        let before = traces();
        let study = tool.start_study(PLAN, &["--woven", "--blocks", "2", "-J"]);
        within(Duration::from_secs(60), "an end is there", || processes::endpoint(&tool, "a").is_some());
        std::thread::sleep(Duration::from_millis(random.random_range(0..900)));
        let host = ["a", "b"][kill % 2];
        if let Some(end) = (0..400).find_map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            processes::endpoint(&tool, host)
        }) {
            let _ = end.kill();
        }
        let answer: crate::support::tool::Answer = study.wait_with_output().unwrap().into();
        assert_nothing_left(&tool, &before);
        assert!(matches!(answer.code, Some(0 | 3 | 4)), "{answer:#?}");
        let found = answer.json();
        // An instance has a trial of each arm.
        let (measured, lost) = (found["trials"].as_u64().unwrap(), found["failed"].as_u64().unwrap());
        assert!(measured + lost == 16 && lost <= 4, "{measured} and {lost}");
        failed += lost;
    }
    assert!(failed > 0, "of {KILLS} kills, at least one was in time");
    Ok(())
}
