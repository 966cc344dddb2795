//! Recordings of `top`, made and read.

use std::fs;

use model::Nanos;
use model::recording::{RECORDING_FORMAT, RecordedUnit, RecordedWindow, Recording};
use serde_json::Value;
use store::{Limits, RecordingDirectory};

use super::{GIVE, Load, number, python};
use crate::export::rows;
use crate::support::tool::Tool;
use crate::support::{Skip, need_programs};

crate::claims!(
    a_recording_is_stored_and_reported,
    two_recordings_are_compared_and_exported,
    a_damaged_recording_is_read_as_far_as_it_is_whole,
    a_history_of_recordings_names_the_unit_that_changed,
    flags_that_recordings_have_nothing_for_are_refused,
);

fn a_recording_is_stored_and_reported() -> Result<(), Skip> {
    need_programs(&["python3"])?;
    let _load = Load(python(GIVE, "9").spawn().unwrap());
    let tool = Tool::new();
    let answer = tool.run(&["top", "--record", "-t", "11s"]).done();
    assert!(answer.stderr.contains("recording to runs/"), "{}", answer.stderr);
    if !tool.run(&["top", "--once", "-J", "-t", "1s"]).done().json()["network"].is_object() {
        return Err(Skip("CPUs cannot be sampled here".to_owned()));
    }
    let found = tool.run(&["report", "latest", "-J"]).done().json();
    assert_eq!((&found["windows"], &found["damaged"]), (&1.into(), &0.into()), "{found}");
    let sum: f64 = found["units"].as_array().unwrap().iter().map(|unit| number(&unit["cpus"])).sum();
    assert!(sum > 0.0 && (sum - number(&found["network"]["cpus"])).abs() < 1e-6, "{found}");
    every_row_says_where_it_was_measured(&tool, &found["run"]);
    tool.run(&["show"]).done().says("Recordings of top");
    tool.run(&["report", "latest", "--markdown"]).refused(2, &["recording of top"]);
    tool.run(&["top", "--keep", "1h"]).refused(2, &["--record"]);
    tool.run(&["top", "--record", "-t", "5s"]).refused(2, &["takes 10 s"]);
    tool.run(&["top", "--record", "--keep", "0"]).refused(2, &["--keep 0", "24h"]);
    tool.run(&["top", "--record", "--keep-bytes", "0"]).refused(2, &["--keep-bytes 0", "or more"]);
    Ok(())
}

/// Rows of a recording have the facts that rows of a run have: those of this machine.
fn every_row_says_where_it_was_measured(tool: &Tool, run: &Value) {
    let id = run["id"].as_str().unwrap();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim().to_owned();
    let rows = rows(&tool.run(&["export", "latest"]).done().stdout);
    assert!(!rows.is_empty());
    for row in &rows {
        assert_eq!((row["run"].as_str(), &row["kernel"]), (id, &kernel), "{row:?}");
        assert_eq!(row["started"], format!("{} {}", &id[..10], id[11..19].replace('-', ":")), "{row:?}");
        assert_eq!((&*row["nettoll"], &row["nettoll"][..5]), (run["tool"].as_str().unwrap(), env!("CARGO_PKG_VERSION")), "{row:?}");
        assert!(!row["cpu"].is_empty() && row["machine"].contains(&format!(" x {} (", row["cpu"])), "{row:?}");
    }
}

/// A recording of ten minutes, whose first unit costs `factor` times as much. Returns its name.
pub fn record(tool: &Tool, factor: u64) -> String {
    record_at(tool, factor, 0, "")
}

/// One that starts so many minutes later, on a host.
fn record_at(tool: &Tool, factor: u64, minutes: u64, host: &str) -> String {
    let started_ms = 1_795_292_045_999 + minutes * 60_000;
    let host = host.to_owned();
    let [tool_version, kernel, cpu_model, machine] =
        ["0.1.0", "6.12.1", "A CPU, of a vendor", "2 x A CPU, of a vendor (x86_64), 4 GiB, kvm"].map(str::to_owned);
    let id = String::new();
    let head = Recording { format: RECORDING_FORMAT, id, started_ms, tool: tool_version, host, kernel, cpu_model, machine };
    let limits = Limits { time_ms: u64::MAX, bytes: u64::MAX };
    let mut directory = RecordingDirectory::create(&tool.path().join("runs"), &head, limits).unwrap();
    for number in 0..60 {
        let unit = |place: u64, factor| RecordedUnit {
            name: format!("/unit-{place}"),
            call: (20 + (number * 7 + place) % 5) * factor,
            messages: 1_000,
            bytes: 1_000_000,
            ..RecordedUnit::default()
        };
        let window = RecordedWindow {
            time_ms: head.started_ms + (number + 1) * 10_000,
            elapsed: Nanos::from_millis(10_000),
            cpus: 2,
            period: Nanos::from_millis(10),
            has_messages: true,
            units: vec![unit(0, 10 * factor), unit(1, 10), unit(2, 20)],
            ..RecordedWindow::default()
        };
        directory.append(&window).unwrap();
    }
    directory.id().to_owned()
}

fn two_recordings_are_compared_and_exported() -> Result<(), Skip> {
    let tool = Tool::new();
    let [before, after] = [1, 2].map(|factor| record(&tool, factor));
    let answer = tool.run(&["compare", &before, &after, "--trust-single-runs"]);
    assert_eq!(answer.code, Some(3), "{answer:?}");
    answer.says("/unit-0: ");
    let found = tool.run(&["compare", &before, &after, "-J"]);
    assert_eq!(found.code, Some(4), "{found:?}");
    let more: Vec<Value> = found.json()["units"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|unit| unit["cpus"]["outcome"] == "more" && unit["message_ns"]["outcome"] == "more")
        .map(|unit| unit["name"].clone())
        .collect();
    assert_eq!(more, ["/unit-0"]);
    assert_eq!(tool.run(&["compare", &before, &before, "--trust-single-runs", "--threshold", "5%"]).code, Some(0));
    let rows = tool.run(&["export", &before, &after]).done().stdout;
    assert_eq!((rows.lines().count(), rows.matches("format,run").count()), (1 + 2 * 60 * 3, 1), "{}", &rows[..200]);
    tool.run(&["export", &before, "--trials"]).refused(2, &["recording of top"]);
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/runs/sizes");
    tool.run(&["export", stored, &before]).refused(2, &["has other columns", "in a call of its own"]);
    tool.run(&["report", &before]).done().says("Report: ");
    // A list does not read what takes long.
    let file = tool.path().join("runs").join(&before).join("windows/000002.jsonl");
    fs::File::create(file).unwrap().set_len(40 << 20).unwrap();
    let list = tool.run(&["show"]).done();
    list.says("of windows: `nettoll show` with its name adds them up");
    list.says("unit-0 the most");
    Ok(())
}

fn a_damaged_recording_is_read_as_far_as_it_is_whole() -> Result<(), Skip> {
    let tool = Tool::new();
    let run = record(&tool, 1);
    let file = tool.path().join("runs").join(&run).join("windows/000001.jsonl");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 5]).unwrap();
    let windows = |run: &str| tool.run(&["report", run, "-J"]).done().json();
    assert_eq!([&windows(&run)["windows"], &windows(&run)["damaged"]], [59, 1]);
    let hostile = b"{\"v\":1,\"w\":[1,18446744073709551615,4294967295,18446744073709551615,1,1,1],\"l\":{},\"k\":{},\"m\":true,\
        \"n\":[\"\\u001b[31m<script>\"],\"u\":[[0,18446744073709551615,18446744073709551615,1,1,1]]}\n";
    let name = "/\u{202e}\u{7f}";
    let steers = format!(
        "{{\"v\":1,\"w\":[18446744073709551615,10000000000,2,10000000,1,1,1],\"l\":{{}},\"k\":{{}},\"m\":true,\"n\":[\"{name}\"],\
         \"u\":[[4,1,0,0,1,1]]}}\n"
    );
    fs::write(&file, [&whole[..], b"\0\0\n[1]\n", hostile, steers.as_bytes()].concat()).unwrap();
    let found = tool.run(&["report", &run, "-J"]).done();
    assert!(!found.stdout.contains(['\u{202e}', '\u{7f}']), "{}", found.stdout);
    let found = found.json();
    assert_eq!(found["windows"], 61, "{found}");
    assert!(found["units"].as_array().unwrap().iter().any(|unit| unit["name"] == name), "{found}");
    let text = tool.run(&["report", &run]).done();
    assert!(!text.stdout.contains('\u{1b}'), "{}", text.stdout);
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
    tool.run(&["report", &run]).refused(1, &["windows"]);
    Ok(())
}

fn a_history_of_recordings_names_the_unit_that_changed() -> Result<(), Skip> {
    let tool = Tool::new();
    let first = record_at(&tool, 1, 0, "db3");
    record_at(&tool, 1, 11, "db3");
    let text = tool.run(&["history"]).done();
    text.says("No step is shown in 120 windows of 2 recordings.");
    let third = record_at(&tool, 2, 22, "db3");
    let found = tool.run(&["history", "--study", "top", "-J"]).done().json();
    let steps = found["steps"].as_array().unwrap();
    assert!(steps.len() == 1 && steps[0]["name"] == "/unit-0", "{found}");
    // The clock of the made recordings: the third one starts 22 minutes after the first.
    let minutes = (number(&steps[0]["time_ms"]) - 1_795_292_045_999.0) / 60_000.0;
    assert!((19.0..=23.0).contains(&minutes), "{minutes}");
    assert_eq!(found["recordings"].as_array().unwrap().len(), 3);
    let page = tool.run(&["history", "--study", "top", "--html=history.html"]).done();
    page.says("unit-0");
    assert!(fs::read_to_string(tool.path().join("history.html")).unwrap().contains("CPUs by unit"));
    tool.run(&["history", "--since", &third]).done().says("60 windows of 1 recording");
    // One that cannot be read hides no other.
    tool.write(&format!("runs/{first}/top.json"), "{");
    tool.run(&["history"]).done().says("a recording cannot be read and is left out");
    record_at(&tool, 1, 33, "db4");
    tool.run(&["history"]).refused(2, &["of 2 machines: db3, db4", "--machine WORDS"]);
    tool.run(&["history", "--machine", "db4"]).done().says("60 windows of 1 recording");
    tool.run(&["history", "--machine", "db5"]).refused(1, &["holds no such recording of top"]);
    Ok(())
}

fn flags_that_recordings_have_nothing_for_are_refused() -> Result<(), Skip> {
    let tool = Tool::new();
    let run = record(&tool, 1);
    tool.run(&["compare", &run, &run, "--gate", "p99"]).refused(2, &["--gate chooses among metrics of studies"]);
    tool.run(&["report", &run, "--threshold", "1%"]).refused(2, &["--threshold", "nettoll compare"]);
    tool.run(&["history", "p99"]).refused(2, &["METRIC and --by are for runs of studies"]);
    tool.run(&["history", "--by", "kernel", "-J"]).refused_in_json(2, &["METRIC and --by"]);
    tool.write(&format!("runs/{run}/top.json"), "{\"format\":1,");
    let words = ["top.json is damaged", "the windows next to it are not touched"];
    for arguments in [["report", run.as_str()], ["show", &run], ["export", &run]] {
        tool.run(&arguments).refused(1, &words);
    }
    tool.run(&["compare", &run, &run]).refused(1, &words);
    Ok(())
}
