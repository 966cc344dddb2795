//! `nettoll history` over runs that are made from a stored one: a run a day, whose trials take
//! so much longer.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::stored_runs::{copy, data};
use crate::support::Skip;
use crate::support::tool::{Answer, Tool};

crate::claims!(
    a_change_is_told_with_its_run_its_kernel_and_its_cells,
    a_history_without_a_change_is_done,
    a_change_that_is_accepted_is_left_behind,
    few_runs_say_that_they_are_few,
    runs_of_two_machines_are_refused,
    runs_of_other_versions_and_settings_are_left_out,
    what_makes_no_history_is_said,
);

const DAY_MS: u64 = 86_400_000;

/// Changes of one value of a file.
fn edit(path: &Path, change: impl Fn(&mut Value)) {
    let mut value: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

/// Makes the run of a day: each trial of a size takes `longer` times as long.
fn make(tool: &Tool, day: u64, longer: impl Fn(u64) -> f64) -> PathBuf {
    let id = format!("2026-10-{:02}T01-00-00Z-sizes-{day:04x}", day + 1);
    let path = tool.path().join("runs").join(&id);
    copy(&data().join("runs/sizes"), &path);
    edit(&path.join("run.json"), |run| {
        run["id"] = json!(id);
        run["started_ms"] = json!(1_790_816_400_000_u64 + day * DAY_MS);
    });
    let scaled = |line: &str| {
        let mut trial: Value = serde_json::from_str(line).unwrap();
        let factor = longer(trial["cell"]["size"].as_u64().unwrap());
        let window = &mut trial["outcome"]["measured"]["receiver"]["window"];
        if let (Some(start), Some(end)) = (window["start"].as_u64(), window["end"].as_u64()) {
            window["end"] = json!(start + ((end - start) as f64 * factor) as u64);
        }
        trial.to_string() + "\n"
    };
    let text = fs::read_to_string(path.join("trials.jsonl")).unwrap();
    fs::write(path.join("trials.jsonl"), text.lines().map(scaled).collect::<String>()).unwrap();
    path
}

/// Some per cent up and down, another for each day and size.
fn mood(day: u64, size: u64) -> f64 {
    1.0 + 0.01 * (day * 7 % 11 + size % 3) as f64
}

fn set_kernel(path: &Path, kernel: &str) {
    for host in ["a", "b"] {
        edit(&path.join(format!("hosts/{host}.json")), |facts| facts["kernel"] = json!(kernel));
    }
}

/// A run a day; from day 14 on the smallest messages take half as long again, on another kernel.
fn changed(tool: &Tool) {
    for day in 0..22 {
        let path = make(tool, day, |size| mood(day, size) * if day >= 14 && size == 64 { 1.5 } else { 1.0 });
        set_kernel(&path, if day >= 14 { "6.18.2" } else { "6.18.1" });
    }
}

fn history(tool: &Tool, arguments: &[&str]) -> Answer {
    tool.run(&[&["history"], arguments].concat())
}

fn a_change_is_told_with_its_run_its_kernel_and_its_cells() -> Result<(), Skip> {
    let tool = Tool::new();
    changed(&tool);
    let text = history(&tool, &[]);
    assert_eq!(text.code, Some(3), "{text:#?}");
    text.says("UDP_STREAM 64 B is worse since run 000e, +");
    text.says("2026-10-15T01-00-00Z-sizes-000e; kernel 6.18.1 -> 6.18.2");
    let answer = history(&tool, &["-J"]);
    assert_eq!(answer.code, Some(3));
    let told = answer.json();
    assert_eq!((&told["study"], &told["metric"], &told["worse"]), (&json!("sizes"), &json!("time_per_message_ns"), &json!(true)));
    assert_eq!(told["runs"].as_array().unwrap().len(), 22);
    let worse: Vec<&Value> = told["cells"].as_array().unwrap().iter().filter(|cell| cell["newest"] == "worse").collect();
    assert_eq!(worse.len(), 2, "{worse:#?}");
    for cell in worse {
        assert_eq!((&cell["cell"]["size"], &cell["levels"][1]["first"]), (&json!(64), &json!(14)));
        let change = cell["levels"][1]["change"].as_f64().unwrap();
        assert!((0.4..0.6).contains(&change), "{change}");
    }
    history(&tool, &["--by", "kernel"]).says("worse from kernel 6.18.2");
    history(&tool, &["--by", "commit"]).says("worse from 18a4d77ede1f");
    let page = history(&tool, &["--html=history.html"]);
    assert!(page.stdout.contains("Report: history.html"));
    let page = fs::read_to_string(tool.path().join("history.html")).unwrap();
    assert!(page.contains("history-0") && page.contains("<svg") && page.contains("6.18.2"));
    // Of a metric that more is better of the same trials are worse as well.
    assert_eq!(history(&tool, &["goodput_bit_per_s"]).code, Some(3));
    Ok(())
}

fn a_history_without_a_change_is_done() -> Result<(), Skip> {
    let tool = Tool::new();
    (0..22).for_each(|day| _ = make(&tool, day, |size| mood(day, size)));
    history(&tool, &[]).done().says("No change of time per message in 6 cells over 22 runs.");
    assert_eq!(history(&tool, &["-J"]).done().json()["worse"], json!(false));
    Ok(())
}

fn a_change_that_is_accepted_is_left_behind() -> Result<(), Skip> {
    let tool = Tool::new();
    changed(&tool);
    (22..26).for_each(|day| _ = make(&tool, day, |size| mood(day, size) * if size == 64 { 1.5 } else { 1.0 }));
    assert_eq!(history(&tool, &[]).code, Some(3));
    history(&tool, &["--since", "000e"]).done().says("over 12 runs");
    Ok(())
}

fn few_runs_say_that_they_are_few() -> Result<(), Skip> {
    let tool = Tool::new();
    (0..9).for_each(|day| _ = make(&tool, day, |_| if day > 4 { 2.0 } else { 1.0 }));
    history(&tool, &[]).done().says("Too early: 9 of 10 runs of time per message.");
    Ok(())
}

fn runs_of_two_machines_are_refused() -> Result<(), Skip> {
    let tool = Tool::new();
    for day in 0..12 {
        let path = make(&tool, day, |size| mood(day, size));
        if day % 3 == 0 {
            edit(&path.join("hosts/a.json"), |facts| facts["cpu_model"] = json!("Another CPU 9000"));
            edit(&path.join("hosts/b.json"), |facts| facts["cpu_model"] = json!("Another CPU 9000"));
        }
    }
    history(&tool, &[]).refused(2, &["these runs are of 2 machines", "4 on ", "Another CPU 9000", "8 on ", "--machine WORDS"]);
    history(&tool, &["-J"]).refused_in_json(2, &["of 2 machines"]);
    history(&tool, &["--machine", "Another CPU"]).done().says("4 of 10 runs");
    history(&tool, &["--machine", "No such CPU"]).refused(1, &["no run on a machine with 'No such CPU'"]);
    Ok(())
}

fn runs_of_other_versions_and_settings_are_left_out() -> Result<(), Skip> {
    let tool = Tool::new();
    for day in 0..14 {
        let path = make(&tool, day, |size| mood(day, size));
        match day {
            2 => edit(&path.join("run.json"), |run| run["format"] = json!(99)),
            3 => edit(&path.join("run.json"), |run| run["plan"]["warmup"] = json!("77ms")),
            _ => {}
        }
    }
    let answer = history(&tool, &[]).done();
    answer.says("over 12 runs");
    answer.says("a run cannot be read and is left out:");
    answer.says("1 of the study left out: other links, hosts or lengths of trials");
    Ok(())
}

fn what_makes_no_history_is_said() -> Result<(), Skip> {
    let tool = Tool::new();
    history(&tool, &[]).refused(1, &["runs"]);
    make(&tool, 0, |_| 1.0);
    history(&tool, &["goodput"]).refused(2, &["'goodput' is no metric; did you mean 'goodput_bit_per_s'?"]);
    history(&tool, &["--study", "nothing"]).refused(1, &["no run of study 'nothing'"]);
    history(&tool, &["--by", "moon"]).refused(2, &["moon"]);
    Ok(())
}
