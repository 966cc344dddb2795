//! What is printed and written, in every form.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::Value;

use crate::support::stored::Stored;
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs, succeeds};

crate::claims!(
    the_keys_of_the_json_are_stable,
    csv_has_a_row_for_each_cell_and_metric,
    text_fits_eighty_columns,
    nothing_that_is_piped_holds_an_escape_code,
    a_terminal_gets_colour_unless_it_is_refused,
    a_terminal_sees_the_progress,
    a_report_is_the_same_each_time,
    the_html_report_is_one_file_that_needs_no_network,
    stored_runs_are_listed,
    a_run_is_named_by_any_part_of_its_name_wherever_runs_are_named,
    a_page_is_written_where_it_is_asked_for,
    studies_are_listed_with_their_durations,
    a_dry_run_answers_in_json,
    no_style_of_a_stored_run_reaches_the_terminal,
    the_latest_run_is_reported,
    a_dry_run_says_what_it_would_do_and_does_nothing,
    the_doctor_says_what_this_machine_offers,
    the_doctor_answers_in_json,
);

/// Enough blocks for intervals, enough sizes for a model, both kinds of test.
const PLAN: &str = r#"
name = "forms"
title = "A study of the forms of output"
seed = 3
trial = { length = "30ms", warmup = "3ms" }
blocks = { least = 6, most = 6 }
[[cells]]
test = "UDP_STREAM"
size = [1, 512, 1024, 1473]
[[cells]]
test = "TCP_RR"
size = 1
nodelay = true
"#;

struct Study {
    tool: Tool,
    stored: Stored,
    text: String,
    stderr: String,
    analysis: Value,
}

/// One run for many claims.
static STUDY: LazyLock<Study> = LazyLock::new(|| {
    let tool = Tool::new();
    let Answer { stdout: text, stderr, .. } = tool.study(PLAN, &[]).done();
    let analysis = tool.run(&["report", "-J"]).done().json();
    let stored = tool.stored();
    Study { tool, stored, text, stderr, analysis }
});

/// The path of every value, a list being one element and a table whose keys
/// are data being `*`.
fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    // What depends on the machine, and on what was measured there.
    const OPAQUE: [&str; 9] =
        [".device", ".offloads", ".sysctls", ".irqs", ".findings", "models[].outcome", ".dropped", ".ratio.interval", ".limit"];
    let any = path.ends_with(".metrics");
    match value {
        _ if OPAQUE.iter().any(|place| path.ends_with(place)) => {
            found.insert(path.to_owned());
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                keys(value, &format!("{path}.{}", if any { "*" } else { key }), found);
            }
        }
        Value::Array(items) => {
            found.insert(format!("{path}[]"));
            for item in items {
                keys(item, &format!("{path}[]"), found);
            }
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

fn the_keys_of_the_json_are_stable() -> Result<(), Skip> {
    let mut found = BTreeSet::new();
    keys(&STUDY.analysis, "", &mut found);
    // Parts of an answer depend on what was measured.
    found.retain(|path: &String| !path.starts_with(".answer."));
    // Where nothing is known there is a null in place of the table.
    let parents: Vec<String> =
        found.iter().filter(|path| found.iter().any(|other| other.starts_with(&format!("{path}.")))).cloned().collect();
    for path in parents {
        found.remove(&path);
    }
    insta::assert_snapshot!("json_keys", found.into_iter().collect::<Vec<_>>().join("\n"));
    for finding in STUDY.analysis["findings"].as_array().unwrap() {
        let keys: Vec<&String> = finding.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["cell_count", "cells", "remedy", "text", "trials", "warning"]);
    }
    Ok(())
}

fn csv_has_a_row_for_each_cell_and_metric() -> Result<(), Skip> {
    let text = STUDY.tool.run(&["report", "--csv"]).done().stdout;
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = table.headers().unwrap().iter().map(str::to_owned).collect();
    let place = |name: &str| header.iter().position(|column| column == name).unwrap();
    let [test, size, metric, value] = ["test", "size", "metric", "value"].map(place);
    let mut rows = BTreeMap::new();
    for row in table.records() {
        let row = row.unwrap();
        let key = (row[test].to_owned(), row[size].to_owned(), row[metric].to_owned());
        assert!(rows.insert(key.clone(), row[value].to_owned()).is_none(), "twice: {key:?}");
    }
    let cells = STUDY.analysis["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 5);
    for cell in cells {
        let (test, size) = (cell["cell"]["test"].as_str().unwrap(), cell["cell"]["size"].to_string());
        let metrics = cell["metrics"].as_object().unwrap();
        assert!(metrics.len() > 8, "{metrics:?}");
        for (metric, estimate) in metrics {
            let written = &rows[&(test.to_owned(), size.clone(), metric.clone())];
            let (written, value): (f64, f64) = (written.parse().unwrap(), estimate["value"].as_f64().unwrap());
            assert!((written - value).abs() <= 1e-12 * value.abs(), "{test} {size} {metric}: {written} {value}");
        }
    }
    Ok(())
}

fn text_fits_eighty_columns() -> Result<(), Skip> {
    for text in [&STUDY.text, &STUDY.tool.run(&["doctor"]).stdout, &STUDY.tool.run(&["study", "quick", "--dry-run"]).stdout] {
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        }
    }
    Ok(())
}

fn nothing_that_is_piped_holds_an_escape_code() -> Result<(), Skip> {
    let doctor = STUDY.tool.run(&["doctor"]).stdout;
    let dry = STUDY.tool.run(&["study", "quick", "--dry-run"]).stdout;
    let csv = STUDY.tool.run(&["report", "--csv"]).stdout;
    let help = STUDY.tool.run(&["study", "--help"]).stdout;
    let misuse = STUDY.tool.run(&["study", "--bogus"]).stderr;
    for text in [&STUDY.text, &doctor, &dry, &csv, &help, &misuse, &STUDY.analysis.to_string()] {
        assert!(!text.contains('\u{1b}') && !text.contains("\\u001b"), "{text}");
    }
    assert_eq!(STUDY.stderr, "", "no progress where nobody watches");
    Ok(())
}

/// What a command prints on a terminal.
fn on_a_terminal(command: &str) -> Result<String, Skip> {
    need_programs(&["script"])?;
    let answer = STUDY.tool.script(&[], &format!("script -qec '{command}' /dev/null")).done();
    Ok(answer.stdout)
}

fn a_terminal_gets_colour_unless_it_is_refused() -> Result<(), Skip> {
    // Bold and colours end in `m`.
    let coloured = |text: &str| {
        text.split("\u{1b}[").skip(1).any(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
    };
    assert!(coloured(&on_a_terminal("TERM=xterm $NETTOLL report")?));
    assert!(!coloured(&on_a_terminal("NO_COLOR=1 TERM=xterm $NETTOLL report")?));
    Ok(())
}

fn a_terminal_sees_the_progress() -> Result<(), Skip> {
    let seen = on_a_terminal("TERM=xterm $NETTOLL study --plan plan.toml --runs elsewhere --blocks 2")?;
    assert!(seen.contains("trial 1/10") && seen.contains("left") && seen.contains("block 1/2"), "{seen}");
    for cell in ["now UDP_STREAM 1473 B", "now TCP_RR (nodelay) 1 B"] {
        assert!(seen.contains(cell), "{cell} is missing: {seen}");
    }
    let seen = on_a_terminal("TERM=xterm $NETTOLL study --plan plan.toml --runs elsewhere --size 512 --test UDP_STREAM --blocks 7")?;
    assert!(seen.contains(" of 1 cells within ±5 %"), "{seen}");
    assert!(seen.contains("block 7/7 trial 7/7") && seen.contains("of CPU"), "{seen}");
    Ok(())
}

fn a_report_is_the_same_each_time() -> Result<(), Skip> {
    let report = |form: &str| STUDY.tool.run(&["report", form]).done().stdout;
    assert_eq!(report("-J"), report("-J"));
    assert_eq!(report("--csv"), report("--csv"));
    // That of the study itself, too.
    let again = STUDY.tool.run(&["report"]).done().stdout;
    assert_eq!(again, STUDY.text);
    let html = STUDY.stored.text("report.html");
    STUDY.tool.run(&["report"]).done();
    assert!(html == STUDY.stored.text("report.html"));
    Ok(())
}

fn the_html_report_is_one_file_that_needs_no_network() -> Result<(), Skip> {
    let html = STUDY.stored.text("report.html");
    assert!(html.contains(&STUDY.stored.id()));
    assert!(STUDY.text.ends_with(&format!("\nReport: runs/{}/report.html\n", STUDY.stored.id())), "{}", STUDY.text);
    // Addresses inside scripts are names or are never asked for; elements that fetch are not.
    let markup = without_scripts(&html);
    for fetching in ["src=", "<link", "<iframe", "<img", "<object", "<embed", "@import", "url(http", "url(//"] {
        assert!(!markup.contains(fetching), "{fetching}");
    }
    for href in markup.split("href=\"").skip(1) {
        assert!(href.starts_with('#'), "{}", href.split('"').next().unwrap());
    }
    assert!(html.matches("<script").all(|_| true) && !html.contains("<script src"), "scripts are embedded");
    let lists: Vec<String> =
        std::fs::read_dir(STUDY.stored.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(
        lists.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        BTreeSet::from(["hosts", "report.html", "run.json", "summary.json", "trials.jsonl"])
    );
    Ok(())
}

/// The text without what stands between script tags.
fn without_scripts(html: &str) -> String {
    let mut parts = html.split("<script");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (script, rest) = part.split_once("</script>").unwrap_or((part, ""));
        let tag = script.split('>').next().unwrap_or_default();
        text + tag + rest
    })
}

fn stored_runs_are_listed() -> Result<(), Skip> {
    let listed = STUDY.tool.run(&["show"]).done().stdout;
    let (id, rows) = (STUDY.stored.id(), listed.lines().filter(|line| line.contains(" forms,")).collect::<Vec<_>>());
    assert_eq!(rows.len(), 1, "{listed}");
    let part = rows[0].split_whitespace().next().unwrap();
    assert!(
        id.ends_with(part) && rows[0].contains("UDP") && ["settled", "rough", "open"].iter().any(|grade| rows[0].contains(grade)),
        "{listed}"
    );
    assert!(listed.lines().all(|line| line.chars().count() <= 80), "{listed}");
    let json = STUDY.tool.run(&["show", "-J"]).done().json();
    assert_eq!((json.as_array().unwrap().len(), json[0]["id"].as_str(), json[0]["trials"].as_u64()), (1, Some(id.as_str()), Some(30)));
    for key in ["started_ms", "duration_s", "cells", "warnings"] {
        assert!(json[0][key].is_number(), "{key}: {json:#}");
    }
    for key in ["question", "headline", "grade", "reason"] {
        assert!(json[0][key].is_string(), "{key}: {json:#}");
    }
    assert_eq!(json[0]["kernel"], STUDY.analysis["hosts"][0]["kernel"]);
    let one = STUDY.tool.run(&["show", part]).done();
    one.says("forms: A study of the forms of output");
    one.says("all blocks done");
    assert_eq!(STUDY.tool.run(&["show", part, "-J"]).done().json()["run"]["id"], id);
    let other = Tool::new();
    other.run(&["show"]).refused(1, &["there is no run in runs", "`nettoll study quick` makes one"]);
    other.run(&["show", "-J"]).refused_in_json(1, &["there is no run in runs"]);
    Ok(())
}

fn a_run_is_named_by_any_part_of_its_name_wherever_runs_are_named() -> Result<(), Skip> {
    // Its own: a run that is gone on with is tidied up, while others write their reports.
    let tool = &Tool::new();
    tool.study(PLAN, &["-t", "10ms"]).done();
    let id = tool.stored().id();
    let part = &id[id.len() - 10..];
    for word in [part, "latest", "@-1", &id, &format!("runs/{part}"), &format!("runs/{id}")] {
        assert_eq!(tool.run(&["report", word, "-J"]).done().json()["run"]["id"], id, "{word}");
    }
    assert!(tool.run(&["compare", part, "latest", "-J"]).judged().stdout.contains(&id));
    tool.run(&["reference", "--run", "@-1"]).done().says(&id);
    tool.run(&["study", "--plan", "plan.toml", "--dry-run", "--like", part]).done().says("After the earlier runs");
    let resumed = tool.run(&["study", "--resume", part]).done();
    assert!(resumed.stderr.contains("is complete: nothing is left to run"), "{resumed:#?}");
    assert!(tool.run(&["study", "--resume"]).done().stderr.contains("nothing is left to run"));
    tool.run(&["workload", "--predict", "--run", part]).done();
    tool.run(&["report", "@-2"]).refused(1, &["there is no run @-2", "it holds 1"]);
    tool.run(&["report", "zzz"]).refused(1, &["no run in runs has 'zzz' in its name", "`nettoll show`"]);
    let several = Tool::new();
    for place in ["2026-11-21T20-14-05Z-forms-7f3a", "2026-11-21T20-14-05Z-forms-7f3b"] {
        std::fs::create_dir_all(several.path().join("runs").join(place)).unwrap();
        several.write(&format!("runs/{place}/run.json"), &STUDY.stored.text("run.json"));
    }
    several.run(&["report", "7f3"]).refused(1, &["several runs in runs: 2026-11-21T20-14-05Z-forms-7f3b, 2026-11-21T20-14-05Z-forms-7f3a"]);
    Ok(())
}

fn a_page_is_written_where_it_is_asked_for() -> Result<(), Skip> {
    let tool = &STUDY.tool;
    let text = |name: &str| std::fs::read_to_string(tool.path().join(name)).unwrap();
    let report = format!("runs/{}/report.html", STUDY.stored.id());
    tool.run(&["report", "--html", "mine.html"]).done().says("Report: mine.html");
    assert!(text("mine.html") == text(&report));
    tool.run(&["report", "--html"]).done().says(&format!("Report: {report}"));
    tool.run(&["compare", "@-1", "@-1", "--html"]).judged().says("Report: compare.html");
    assert!(text("compare.html").starts_with("<!DOCTYPE html>"));
    tool.run(&["reference", "bidulock2007", "--html"]).done().says("Report: reference.html");
    tool.run(&["report", "--html", "runs"]).refused(2, &["that is a directory", "--html=FILE"]);
    Ok(())
}

fn studies_are_listed_with_their_durations() -> Result<(), Skip> {
    let text = Tool::new().run(&["study"]).done().stdout;
    for preset in ["quick           41 s  What one message costs", "bidulock2007", "host-load", "size"] {
        assert!(text.contains(preset), "{preset} is missing: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let json = Tool::new().run(&["study", "-J"]).done().json();
    let quick = json.as_array().unwrap().iter().find(|study| study["name"] == "quick").unwrap();
    assert_eq!((quick["trials"].as_u64(), quick["duration"]["s"].as_f64()), (Some(189), Some(40.635)));
    Ok(())
}

fn no_style_of_a_stored_run_reaches_the_terminal() -> Result<(), Skip> {
    let (tool, stored) = (Tool::new(), "runs/2026-11-21T20-14-05Z-forms-7f3a");
    std::fs::create_dir_all(tool.path().join(stored)).unwrap();
    tool.write(&format!("{stored}/trials.jsonl"), "");
    let title = "\\u001b[1;31mnettoll: verified\\u001b[0m\\u001b[8m";
    tool.write(&format!("{stored}/run.json"), &STUDY.stored.text("run.json").replace("A study of the forms of output", title));
    for arguments in [&["show"][..], &["show", stored], &["report", stored], &["report", stored, "--csv"]] {
        let answer = tool.run(arguments);
        assert!(!answer.stdout.contains('\u{1b}') && !answer.stderr.contains('\u{1b}'), "{arguments:?}: {}", answer.stdout);
    }
    assert!(tool.run(&["show", stored]).stdout.contains("verified"));
    Ok(())
}

fn the_latest_run_is_reported() -> Result<(), Skip> {
    let tool = Tool::new();
    for title in ["first", "second"] {
        tool.study(&PLAN.replace("A study of the forms of output", title), &["--blocks", "1", "-t", "5ms"]).done();
        let latest = tool.run(&["report", "-J"]).done().json();
        assert_eq!(latest["run"]["plan"]["title"], title);
    }
    assert_eq!(tool.run(&["show", "-J"]).done().json().as_array().unwrap().len(), 2);
    Ok(())
}

fn a_dry_run_says_what_it_would_do_and_does_nothing() -> Result<(), Skip> {
    let tool = Tool::new();
    let answer = tool.run(&["study", "quick", "--dry-run", "--seed", "7", "--mtu", "9000"]).done();
    insta::assert_snapshot!("dry_run", answer.stdout);
    assert!(!tool.path().join("runs").exists());
    tool.run(&["study", "quick", "--dry-run", "--size", "0"]).refused(2, &["0 bytes is not a size"]);
    Ok(())
}

fn a_dry_run_answers_in_json() -> Result<(), Skip> {
    let tool = Tool::new();
    let told = tool.run(&["study", "quick", "--test", "UDP_STREAM", "--size", "64", "--link", "loopback", "--dry-run", "-J"]).done().json();
    assert_eq!((told["trials"].as_u64(), &told["cells"]), (Some(9), &serde_json::json!(["UDP_STREAM 64 B"])));
    assert_eq!(told["plan"]["title"], "What one message costs, UDP, 64 B");
    assert_eq!(
        told["plan"]["about"],
        "It sends messages of 64 B over UDP on this machine's loopback. It measures how many messages arrive each second, and the CPU \
         time of a message at each end."
    );
    assert!(!tool.path().join("runs").exists());
    tool.run(&["study", "quick", "--dry-run", "-J", "--size", "0"]).refused_in_json(2, &["0 bytes is not a size"]);
    assert!(tool.run(&["workload", "W1", "--measure", "--dry-run", "-J"]).done().json()["notes"].is_array());
    Ok(())
}

const AREAS: [&str; 11] =
    ["cpu", "clock", "namespaces", "sockets", "ways", "offloads", "profiling", "bpf", "queueing", "limits", "microscope"];

fn the_doctor_says_what_this_machine_offers() -> Result<(), Skip> {
    let tool = Tool::new();
    let brief = tool.run(&["doctor"]).done().stdout;
    assert!(brief.starts_with("Ready for: study, advise") && brief.lines().count() <= 25, "{brief}");
    let text = tool.run(&["doctor", "-v"]).done().stdout;
    let (groups, checks) = text.split_once("\nEvery check\n").unwrap_or_else(|| panic!("{text}"));
    // A reading of the clock takes another time each time.
    let steady = |text: &str| text.lines().filter(|line| !line.contains("a reading")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(steady(groups), steady(&brief));
    let labels: Vec<&str> =
        checks.lines().filter(|line| line.starts_with(char::is_alphabetic)).filter_map(|line| line.split_whitespace().next()).collect();
    // Where there is no emulator, nothing of its area is listed.
    let expected: Vec<&str> = AREAS.into_iter().filter(|area| *area != "microscope" || labels.contains(area)).collect();
    assert_eq!(labels, expected, "{text}");
    // Every check is in a group: those of each area are summed up.
    for group in ["CPUs", "clock", "hosts", "ways", "offloads", "sampling", "exact calls", "link rates", "limits", "emulator"] {
        assert!(brief.lines().any(|line| line.chars().skip(2).collect::<String>().starts_with(group)), "{group}: {brief}");
    }
    Ok(())
}

fn the_doctor_answers_in_json() -> Result<(), Skip> {
    let checks = Tool::new().run(&["doctor", "-J"]).done().json();
    let checks = checks.as_array().unwrap();
    let areas: BTreeSet<&str> = checks.iter().map(|check| check["area"].as_str().unwrap()).collect();
    assert_eq!(areas, AREAS.into_iter().collect());
    for check in checks {
        assert_eq!(check.as_object().unwrap().keys().collect::<Vec<_>>(), ["area", "name", "need", "state"]);
        let absent = &check["state"]["absent"];
        assert!(
            check["state"]["present"]["detail"].is_string() || absent["answer"].is_string() && absent["remedy"].is_string(),
            "{check:#}"
        );
        assert!(check["need"] != "required" || absent.is_null(), "this machine runs the tests: {check:#}");
    }
    // Each request has its answer from a namespace, where a user may make one.
    if succeeds("unshare -rn true") {
        for name in ["user namespace", "veth pair"] {
            let found = checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {checks:#?}"));
            assert!(found["state"]["present"].is_object(), "{found:#}");
        }
        let silent =
            checks.iter().filter(|check| check["state"]["absent"]["answer"].as_str().is_some_and(|text| text.contains("no answer")));
        assert_eq!(silent.count(), 0, "{checks:#?}");
    }
    Ok(())
}
