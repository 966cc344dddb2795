//! `kill -9` of any process at any moment leaves nothing behind and loses no
//! finished trial.

use std::process::Child;
use std::time::Duration;

use model::run::Status;
use model::schedule::{self, Shape};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::support::processes::{self, Process, Witness, assert_nothing_left, traces};
use crate::support::tool::{Answer, Tool, note};
use crate::support::{Skip, within};

crate::claims!(
    a_killed_sender_costs_its_trial_alone,
    a_killed_receiver_costs_its_trial_alone,
    a_killed_keeper_is_made_anew,
    a_killed_controller_takes_everything_with_it,
    a_killed_controller_leaves_no_namespace,
);

/// Kills of each kind, at moments drawn from this seed.
const KILLS: u64 = 4;
const SEED: u64 = 2_026;
/// The trials of a study last about two seconds.
const MOMENTS_MS: std::ops::Range<u64> = 0..900;
const CELLS: usize = 20;

/// One block, so that it is known which host sends.
fn plan(seed: u64) -> String {
    format!(
        r#"
        name = "killed"
        seed = {seed}
        trial = {{ length = "30ms", warmup = "5ms" }}
        blocks = {{ least = 1, most = 1 }}
        [[cells]]
        test = ["TCP_STREAM", "UDP_STREAM", "TCP_MAERTS", "TCP_RR", "UDP_RR"]
        size = [1, 512, 2000, 16384]
        nodelay = true
        "#
    )
}

fn moments(purpose: u64) -> impl Iterator<Item = (u64, Duration)> {
    let mut random = ChaCha8Rng::seed_from_u64(SEED + purpose);
    (0..KILLS).map(move |at| (SEED + at, Duration::from_millis(random.random_range(MOMENTS_MS))))
}

/// Waits for the victim, which may not be there at this very moment.
fn find(victim: impl Fn() -> Option<Process>) -> Option<Process> {
    (0..400).find_map(|_| {
        victim().or_else(|| {
            std::thread::sleep(Duration::from_millis(5));
            None
        })
    })
}

/// Kills the victim at a moment of a study, which goes on to its end.
fn kill_during(tool: &Tool, seed: u64, moment: Duration, victim: impl Fn() -> Option<Process>) -> Answer {
    let before = traces();
    let study = tool.start_study(&plan(seed), &[]);
    within(Duration::from_secs(60), "the first trial is stored", || tool.try_stored().is_some_and(|run| run.trials_so_far() > 0));
    std::thread::sleep(moment);
    match find(victim) {
        Some(process) => _ = process.kill(),
        None => note("kills: the study ended before the victim was found"),
    }
    let answer = study.wait_with_output().unwrap().into();
    assert_nothing_left(tool, &before);
    answer
}

/// The study went on to its end: every cell has its trial, `failed` of them
/// at most without a figure.
#[track_caller]
fn assert_went_on(tool: &Tool, answer: Answer, most_failed: usize) -> Vec<String> {
    let answer = answer.done();
    let stored = tool.stored();
    let errors = stored.errors();
    assert_eq!(stored.trials().len(), CELLS);
    assert_eq!(stored.status(), Status::BlocksDone);
    assert!(errors.len() <= most_failed, "{errors:?}");
    answer.says(&format!("{} trials measured, {} failed", CELLS - errors.len(), errors.len()));
    errors
}

fn kill_endpoints(purpose: u64, sender: bool) {
    let mut failed = 0;
    for (seed, moment) in moments(purpose) {
        let tool = Tool::new();
        let host = if schedule::block(seed, 0, Shape::plain(CELLS, 1)).swapped == sender { "b" } else { "a" };
        let answer = kill_during(&tool, seed, moment, || processes::endpoint(&tool, host));
        let errors = assert_went_on(&tool, answer, 1);
        failed += errors.len();
        for error in errors {
            assert!(error.starts_with(&format!("endpoint on host {host}: ")), "{error}");
            assert!(error.contains("it ended while") && error.contains("SIGKILL"), "{error}");
        }
    }
    // One that has just reported is not missed.
    assert!(failed > 0, "of {KILLS} kills, at least one was in time");
}

fn a_killed_sender_costs_its_trial_alone() -> Result<(), Skip> {
    kill_endpoints(1, true);
    Ok(())
}

fn a_killed_receiver_costs_its_trial_alone() -> Result<(), Skip> {
    kill_endpoints(2, false);
    Ok(())
}

fn a_killed_keeper_is_made_anew() -> Result<(), Skip> {
    let mut failed = 0;
    for (seed, moment) in moments(3) {
        let tool = Tool::new();
        let host = if seed % 2 == 0 { "a" } else { "b" };
        let answer = kill_during(&tool, seed, moment, || processes::host(&tool, host));
        let errors = assert_went_on(&tool, answer, 1);
        failed += errors.len();
        for error in errors {
            assert!(error.starts_with(&format!("host {host}: ")), "{error}");
        }
    }
    assert!(failed > 0, "of {KILLS} kills, at least one was in time");
    Ok(())
}

fn kill(study: &mut Child) {
    study.kill().unwrap();
    study.wait().unwrap();
}

/// What is stored can be read, and the next study runs.
#[track_caller]
fn assert_readable(tool: &Tool) {
    if let Some(stored) = tool.try_stored() {
        let trials = stored.all_measured().len();
        let report = tool.run(&["report", stored.path().to_str().unwrap()]);
        match stored.has("run.json") {
            true => {
                let report = report.done();
                let trials = if trials == 1 { "1 trial".to_owned() } else { format!("{trials} trials") };
                report.says(&format!("{trials} measured, 0 failed. Not finished (killed, or still running)."));
            }
            false => report.refused(1, &["a run was killed here before it had begun"]),
        }
    }
    tool.study(&plan(1), &["--test", "UDP_RR", "--size", "1"]).done();
    tool.stored().all_measured();
}

fn a_killed_controller_takes_everything_with_it() -> Result<(), Skip> {
    for (seed, moment) in moments(4) {
        let tool = Tool::new();
        let before = traces();
        // From its very start: hosts and link may be half made.
        let mut study = tool.start_study(&plan(seed), &[]);
        std::thread::sleep(moment);
        kill(&mut study);
        assert_nothing_left(&tool, &before);
        assert_readable(&tool);
    }
    Ok(())
}

fn a_killed_controller_leaves_no_namespace() -> Result<(), Skip> {
    let tool = Tool::new();
    let mut study = tool.start_study(&plan(SEED), &["--blocks", "20"]);
    within(Duration::from_secs(60), "the first trial is stored", || tool.try_stored().is_some_and(|run| run.trials_so_far() > 0));
    let witnesses: Result<Vec<Witness>, Skip> =
        ["a", "b"].iter().map(|name| Witness::of(&processes::host(&tool, name).expect("the host is there"))).collect();
    let witnesses = match witnesses {
        Ok(witnesses) => witnesses,
        Err(skip) => {
            kill(&mut study);
            return Err(skip);
        }
    };
    kill(&mut study);
    within(Duration::from_secs(20), "the namespaces end", || !witnesses.iter().any(Witness::is_there));
    Ok(())
}
