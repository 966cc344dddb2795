//! Ctrl-C keeps what is done.

use std::process::Child;
use std::time::Duration;

use model::run::Status;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::support::processes::{assert_nothing_left, traces};
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, within};

crate::claims!(
    a_study_that_is_interrupted_reports_what_it_has,
    a_study_that_is_interrupted_answers_in_json,
    a_second_interruption_does_not_wait_for_the_trial,
    a_reader_that_goes_away_is_no_failure,
);

const PLAN: &str = r#"
name = "interrupted"
trial = { length = "20ms", warmup = "2ms" }
blocks = { least = 100, most = 100 }
[[cells]]
test = ["TCP_STREAM", "UDP_RR"]
size = [1, 512]
"#;

/// Signals the whole foreground group, as a terminal does.
fn signal(study: &Child, signal: Signal) {
    killpg(Pid::from_raw(study.id().cast_signed()), signal).unwrap();
}

fn interrupt_after_trials(tool: &Tool, arguments: &[&str], with: Signal) -> Answer {
    let study = tool.start_study(PLAN, arguments);
    within(Duration::from_secs(60), "five trials are stored", || tool.try_stored().is_some_and(|run| run.trials_so_far() >= 5));
    signal(&study, with);
    study.wait_with_output().unwrap().into()
}

fn a_study_that_is_interrupted_reports_what_it_has() -> Result<(), Skip> {
    for with in [Signal::SIGINT, Signal::SIGTERM] {
        let tool = Tool::new();
        let before = traces();
        let answer = interrupt_after_trials(&tool, &[], with);
        assert_eq!(answer.code, Some(1), "{answer:#?}");
        assert_nothing_left(&tool, &before);
        let stored = tool.stored();
        let trials = stored.all_measured().len();
        assert!((5..400).contains(&trials));
        assert_eq!(stored.status(), Status::Interrupted);
        answer.says(&format!("{trials} trials measured, 0 failed. Interrupted."));
        assert!(stored.has("report.html") && stored.has("hosts/b.after.json"));
        let note = format!("every finished trial is kept in runs/{0}; go on with `nettoll study --resume {0}`", stored.id());
        assert!(answer.stderr.contains(&note), "{}", answer.stderr);
    }
    Ok(())
}

fn a_study_that_is_interrupted_answers_in_json() -> Result<(), Skip> {
    let tool = Tool::new();
    let answer = interrupt_after_trials(&tool, &["-J"], Signal::SIGINT);
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    let analysis = answer.json();
    assert_eq!(analysis["run"]["status"], "interrupted");
    assert_eq!(analysis["trials"], tool.stored().trials().len());
    Ok(())
}

fn a_second_interruption_does_not_wait_for_the_trial() -> Result<(), Skip> {
    let tool = Tool::new();
    let before = traces();
    let mut study = tool.start_study(PLAN, &["-t", "1h"]);
    within(Duration::from_secs(60), "the first trial is under way", || crate::support::processes::endpoint(&tool, "a").is_some());
    signal(&study, Signal::SIGINT);
    std::thread::sleep(Duration::from_millis(300));
    assert!(study.try_wait().unwrap().is_none(), "the first waits for the trial");
    signal(&study, Signal::SIGINT);
    within(Duration::from_secs(20), "it has ended", || study.try_wait().unwrap().is_some());
    assert_eq!(study.wait().unwrap().code(), Some(1));
    assert_nothing_left(&tool, &before);
    assert_eq!(tool.stored().trials().len(), 0);
    Ok(())
}

fn a_reader_that_goes_away_is_no_failure() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.study(PLAN, &["--blocks", "1"]).done();
    let mut report = tool.command(&["report"]).spawn().unwrap();
    drop(report.stdout.take());
    assert_eq!(report.wait().unwrap().code(), Some(0));
    assert!(tool.stored().has("report.html"));
    Ok(())
}
