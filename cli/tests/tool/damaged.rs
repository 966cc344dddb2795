//! A run that is damaged, of another version, or not there.

use std::sync::LazyLock;

use crate::conservation::findings;
use crate::support::stored::Stored;
use crate::support::tool::Tool;
use crate::support::{Skip, need_root};

crate::claims!(
    a_corrupted_line_is_named_and_the_other_trials_are_kept,
    a_truncated_last_line_is_named_and_the_other_trials_are_kept,
    a_run_of_another_format_is_called_that,
    a_damaged_description_of_a_run_is_named,
    damaged_facts_of_a_host_are_a_warning,
    a_run_without_its_trials_file_is_said,
    a_run_directory_that_is_missing_is_named,
    a_runs_directory_without_runs_is_said,
    a_report_that_cannot_be_written_is_printed_all_the_same,
);

const TRIALS: usize = 12;

/// A run of twelve trials: its files.
static RUN: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let tool = Tool::new();
    let plan = r#"
        name = "short"
        trial = { length = "10ms", warmup = "1ms" }
        blocks = { least = 3, most = 3 }
        [[cells]]
        test = "UDP_STREAM"
        size = [1, 2, 3, 4]
    "#;
    tool.study(plan, &[]).done();
    let stored = tool.stored();
    let files = ["run.json", "trials.jsonl", "hosts/a.json", "hosts/b.json", "hosts/a.after.json", "hosts/b.after.json"];
    files.iter().map(|file| ((*file).to_owned(), stored.text(file))).collect()
});

/// The run in a directory where it can be damaged.
fn copy() -> (Tool, Stored) {
    let tool = Tool::new();
    let run = tool.path().join("runs/2026-01-02T03-04-05Z-short-0001");
    std::fs::create_dir_all(run.join("hosts")).unwrap();
    let stored = Stored::at(run);
    for (file, text) in RUN.iter() {
        stored.write(file, text);
    }
    (tool, stored)
}

/// Damages the trials; the line named must stand in every form of report.
#[track_caller]
fn with_bad_line(damage: impl FnOnce(&mut Vec<String>) -> String, line: usize, reason: &str, kept: usize) {
    let (tool, stored) = copy();
    let mut lines: Vec<String> = stored.text("trials.jsonl").lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), TRIALS);
    stored.write("trials.jsonl", &damage(&mut lines));
    let analysis = tool.run(&["report", "-J"]).done().json();
    assert_eq!(analysis["trials"], kept);
    let found = analysis["findings"].as_array().unwrap().iter().find(|found| found["warning"]["kind"] == "bad_line").expect("it is named");
    assert_eq!(found["warning"]["line"], line);
    assert!(found["warning"]["reason"].as_str().unwrap().contains(reason), "{found:#}");
    let report = tool.run(&["report"]).done();
    report.says(&format!("rials.jsonl line {line} cannot be read"));
    report.says(&format!("{kept} trials measured"));
    assert!(stored.text("report.html").contains(&format!("line {line} ")), "the report names it");
}

fn a_corrupted_line_is_named_and_the_other_trials_are_kept() -> Result<(), Skip> {
    let join = |lines: &[String]| lines.join("\n") + "\n";
    with_bad_line(
        |lines| {
            lines[4] = lines[4].replacen("\"outcome\"", "\"outc", 1);
            join(lines)
        },
        5,
        "at byte",
        TRIALS - 1,
    );
    with_bad_line(
        |lines| {
            lines[6] = "\0".repeat(512);
            join(lines)
        },
        7,
        "NUL bytes",
        TRIALS - 1,
    );
    with_bad_line(
        |lines| {
            lines[0] = lines[0].replacen("\"format\":1", "\"format\":2", 1);
            join(lines)
        },
        1,
        "format version 2",
        TRIALS - 1,
    );
    Ok(())
}

fn a_truncated_last_line_is_named_and_the_other_trials_are_kept() -> Result<(), Skip> {
    with_bad_line(
        |lines| {
            let last = lines[TRIALS - 1].len() / 2;
            lines[TRIALS - 1].truncate(last);
            lines.join("\n")
        },
        TRIALS,
        "cut short",
        TRIALS - 1,
    );
    Ok(())
}

#[track_caller]
fn refused(tool: &Tool, arguments: &[&str], words: &[&str]) {
    tool.run(arguments).refused(1, words);
    tool.run(&[arguments, &["-J"]].concat()).refused_in_json(1, words);
}

fn a_run_of_another_format_is_called_that() -> Result<(), Skip> {
    let (tool, stored) = copy();
    let text = stored.text("run.json").replacen("\"format\": 1", "\"format\": 99", 1);
    stored.write("run.json", &text);
    let words = ["run.json has format version 99", "this build of nettoll reads version 1", "read it with the nettoll that wrote it"];
    refused(&tool, &["report", stored.path().to_str().unwrap()], &words);
    // One run that cannot be read does not hide the others.
    let listed = tool.run(&["show"]).done().stdout;
    assert!(listed.contains(&stored.id()) && listed.contains("format version 99"), "{listed}");
    Ok(())
}

fn a_damaged_description_of_a_run_is_named() -> Result<(), Skip> {
    let (tool, stored) = copy();
    let text = stored.text("run.json");
    stored.write("run.json", &text[..text.len() / 2]);
    refused(&tool, &["report", stored.path().to_str().unwrap()], &["run.json is damaged", "the trials next to it are not touched"]);
    Ok(())
}

fn damaged_facts_of_a_host_are_a_warning() -> Result<(), Skip> {
    let (tool, stored) = copy();
    stored.write("hosts/b.json", "{");
    let analysis = tool.run(&["report", "-J"]).done().json();
    assert_eq!(analysis["trials"], TRIALS);
    assert!(findings(&analysis).contains(&"absent".to_owned()), "{:?}", findings(&analysis));
    Ok(())
}

fn a_run_without_its_trials_file_is_said() -> Result<(), Skip> {
    let (tool, stored) = copy();
    std::fs::remove_file(stored.path().join("trials.jsonl")).unwrap();
    refused(&tool, &["report"], &["trials.jsonl", "No such file or directory"]);
    Ok(())
}

fn a_run_directory_that_is_missing_is_named() -> Result<(), Skip> {
    let (tool, stored) = copy();
    refused(&tool, &["report", "runs/nowhere"], &["runs/nowhere is not a run directory", "no run.json"]);
    let near = stored.path().to_str().unwrap().replace("0001", "0002");
    refused(&tool, &["report", &near], &["is not a run directory", "did you mean", &stored.id()]);
    refused(&tool, &["report", "runs"], &["runs is not a run directory", "it holds runs, the latest is", &stored.id()]);
    Ok(())
}

fn a_runs_directory_without_runs_is_said() -> Result<(), Skip> {
    let tool = Tool::new();
    std::fs::create_dir(tool.path().join("runs")).unwrap();
    refused(&tool, &["report"], &["there is no run in runs", "`nettoll study quick` makes one"]);
    std::fs::remove_dir(tool.path().join("runs")).unwrap();
    refused(&tool, &["report"], &["there is no run in runs", "`nettoll study quick` makes one"]);
    refused(&tool, &["report", "--runs", "elsewhere"], &["there is no run in elsewhere", "`nettoll study quick` makes one"]);
    refused(&tool, &["report", "--runs", "/proc/version"], &["cannot read the directory /proc/version", "check the path"]);
    tool.run(&["show"]).refused(1, &["there is no run in runs", "`nettoll study quick` makes one"]);
    Ok(())
}

fn a_report_that_cannot_be_written_is_printed_all_the_same() -> Result<(), Skip> {
    use std::os::unix::fs::PermissionsExt;
    need_root()?;
    // The run is root's, who lets everybody read it.
    let (tool, stored) = copy();
    for place in [tool.path(), stored.path()] {
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let words = ["cannot", "report.html", "Permission denied", "belongs to you"];
    let report = |form: &[&str]| Tool::of_nobody().run(&[&["report", stored.path().to_str().unwrap()], form].concat());
    let text = report(&[]);
    assert_eq!(text.code, Some(1), "{text:#?}");
    text.says("of CPU");
    assert!(words.iter().all(|word| text.stderr.contains(word)), "{}", text.stderr);
    report(&["-J"]).refused_in_json(1, &words);
    Ok(())
}
