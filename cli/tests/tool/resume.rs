//! A run that was stopped, however it was, is gone on with to its end: the
//! same trials in the same order as if nothing had happened.

use std::process::Child;
use std::time::Duration;

use model::run::Status;
use model::{Cell, TrialRecord, Warning, schedule};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::support::processes::{self, assert_nothing_left, traces};
use crate::support::stored::Stored;
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, within};

crate::claims!(
    a_run_that_is_killed_again_and_again_comes_to_its_end,
    a_run_that_was_interrupted_is_gone_on_with,
    a_run_that_lost_its_last_block_is_gone_on_with,
    a_damaged_trial_is_measured_again,
    a_run_that_is_complete_says_so,
    a_run_that_is_under_way_is_left_alone,
    a_run_on_other_hosts_or_of_another_version_is_refused,
    what_cannot_be_resumed_is_said,
    what_a_stored_plan_carries_out_needs_consent,
);

const SEED: u64 = 2_026;
const CELLS: usize = 8;
const BLOCKS: u32 = 6;

fn plan(seed: u64) -> String {
    format!(
        r#"
        name = "resumed"
        seed = {seed}
        trial = {{ length = "20ms", warmup = "2ms" }}
        blocks = {{ least = {BLOCKS}, most = {BLOCKS} }}
        [[cells]]
        test = ["TCP_STREAM", "UDP_STREAM", "TCP_RR", "UDP_RR"]
        size = [1, 512]
        nodelay = true
        "#
    )
}

/// Where a trial stands, and what it is.
type Place = (u32, u32, Cell, bool);

fn place(record: &TrialRecord) -> Place {
    (record.block, record.position, record.cell.clone(), record.swapped)
}

/// The places that an uninterrupted run of the same plan has, in its order.
fn planned(stored: &Stored) -> Vec<Place> {
    let plan = stored.run().plan;
    assert_eq!((plan.cells.len(), plan.blocks.most), (CELLS, BLOCKS));
    let blocks = (0..BLOCKS).map(|index| schedule::block(plan.seed, index, plan.shape()));
    blocks
        .flat_map(|block| {
            let places =
                block.order.iter().enumerate().map(|(at, slot)| (block.index, at as u32, plan.cells[slot.cell].clone(), block.swapped));
            places.collect::<Vec<_>>()
        })
        .collect()
}

#[track_caller]
fn assert_whole(stored: &Stored) {
    assert_eq!(stored.trials().iter().map(place).collect::<Vec<_>>(), planned(stored));
    assert_eq!(stored.status(), Status::BlocksDone);
    // Of hosts that were killed after the last trial nothing can be told any more.
    assert!(stored.has("hosts/a.json") && stored.has("hosts/b.json") && stored.has("report.html"));
}

fn resume(tool: &Tool, arguments: &[&str]) -> Answer {
    let path = tool.stored().path().to_owned();
    tool.run(&[&["study", "--resume", path.to_str().unwrap()], arguments].concat())
}

fn start_resume(tool: &Tool) -> Child {
    tool.command(&["study", "--resume", tool.stored().path().to_str().unwrap()]).spawn().unwrap()
}

/// How many times the run says that it was resumed.
fn resumed(stored: &Stored) -> usize {
    stored.run().warnings.iter().filter(|warning| matches!(warning, Warning::Resumed { .. })).count()
}

fn has_trials(tool: &Tool, trials: usize) -> bool {
    tool.try_stored().is_some_and(|stored| stored.trials_so_far() >= trials)
}

fn a_run_that_is_killed_again_and_again_comes_to_its_end() -> Result<(), Skip> {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    for seed in 0..3 {
        let tool = Tool::new();
        let before = traces();
        let mut study = tool.start_study(&plan(seed), &[]);
        within(Duration::from_secs(60), "the first trial is stored", || has_trials(&tool, 1));
        let mut kills = 0;
        loop {
            std::thread::sleep(Duration::from_millis(random.random_range(0..1_200)));
            if study.try_wait().unwrap().is_some() {
                break;
            }
            study.kill().unwrap();
            study.wait().unwrap();
            assert_nothing_left(&tool, &before);
            kills += 1;
            study = start_resume(&tool);
        }
        let last = Answer::from(study.wait_with_output().unwrap());
        assert_eq!(last.code, Some(0), "after {kills} kills: {last:#?}");
        assert_nothing_left(&tool, &before);
        let stored = tool.stored();
        assert_whole(&stored);
        assert!(stored.errors().is_empty(), "{:?}", stored.errors());
        // One run, whatever it went through.
        assert_eq!(std::fs::read_dir(tool.path().join("runs")).unwrap().count(), 1);
        let report = tool.run(&["report", "-J"]).done().json();
        assert_eq!((report["trials"].as_u64(), report["blocks"].as_u64()), (Some(CELLS as u64 * u64::from(BLOCKS)), Some(BLOCKS.into())));
    }
    Ok(())
}

fn a_run_that_was_interrupted_is_gone_on_with() -> Result<(), Skip> {
    let tool = Tool::new();
    let study = tool.start_study(&plan(SEED), &[]);
    within(Duration::from_secs(60), "ten trials are stored", || has_trials(&tool, 10));
    killpg(Pid::from_raw(study.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(study.wait_with_output().unwrap().status.code(), Some(1));
    let stored = tool.stored();
    assert_eq!(stored.status(), Status::Interrupted);
    let before = stored.text("trials.jsonl");
    let answer = resume(&tool, &["-J"]).done();
    assert_eq!(answer.json()["trials"], CELLS * BLOCKS as usize);
    assert!(answer.stderr.contains(&format!("going on after {} trials", before.lines().count())), "{answer:#?}");
    // What was there stays as it was, byte for byte.
    assert!(stored.text("trials.jsonl").starts_with(&before));
    assert_whole(&stored);
    assert!(stored.has("hosts/a.after.json") && stored.has("hosts/b.after.json"));
    assert_eq!(resumed(&stored), 1);
    Ok(())
}

/// After a power cut the trials since the last flush are gone, or there are
/// zeros in their place.
fn a_run_that_lost_its_last_block_is_gone_on_with() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.study(&plan(SEED), &[]).done();
    let stored = tool.stored();
    let whole = stored.text("trials.jsonl");
    let lines = |count: usize| whole.lines().take(count).map(|line| format!("{line}\n")).collect::<String>();
    let mut resumptions = 0;
    for (kept, rest) in
        [(CELLS * 2, String::new()), (CELLS * 2 + 3, "{\"format\":1,\"blo".to_owned()), (5, "\0".repeat(4096)), (0, String::new())]
    {
        stored.write("trials.jsonl", &(lines(kept) + &rest));
        let answer = resume(&tool, &[]).done();
        assert_eq!(answer.stderr.contains("cut off"), !rest.is_empty(), "{answer:#?}");
        assert_whole(&stored);
        // Without a trial, it begins.
        resumptions += usize::from(kept > 0);
        assert_eq!(resumed(&stored), resumptions);
    }
    Ok(())
}

fn a_damaged_trial_is_measured_again() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.study(&plan(SEED), &[]).done();
    let stored = tool.stored();
    let mut lines: Vec<String> = stored.text("trials.jsonl").lines().map(str::to_owned).collect();
    let lost = lines[11].clone();
    lines[11].truncate(100);
    stored.write("trials.jsonl", &(lines.join("\n") + "\n"));
    resume(&tool, &[]).done();
    let text = stored.text("trials.jsonl");
    let again: TrialRecord = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(place(&again), place(&serde_json::from_str(&lost).unwrap()));
    assert_eq!(text.lines().count(), lines.len() + 1);
    // The line that cannot be read is still named.
    let report = tool.run(&["report", "-J"]).done();
    assert_eq!(report.json()["trials"], CELLS * BLOCKS as usize);
    assert!(report.stdout.contains("bad_line") || report.stdout.contains("line 12"), "{report:#?}");
    Ok(())
}

fn a_run_that_is_complete_says_so() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.study(&plan(SEED), &[]).done();
    let stored = tool.stored();
    let trials = stored.text("trials.jsonl");
    let answer = resume(&tool, &[]).done();
    assert!(answer.stderr.contains("is complete: nothing is left to run"), "{answer:#?}");
    tool.run(&["report", "-v"]).done().says("was measured");
    assert_eq!((stored.text("trials.jsonl"), resumed(&stored)), (trials, 0));
    // One that was killed between its last trial and its end learns that it is.
    let run = stored.text("run.json").replace("\"blocks_done\"", "\"running\"");
    stored.write("run.json", &run);
    assert_eq!(stored.status(), Status::Running);
    resume(&tool, &["-J"]).done();
    assert_eq!(stored.status(), Status::BlocksDone);
    Ok(())
}

fn a_run_that_is_under_way_is_left_alone() -> Result<(), Skip> {
    let tool = Tool::new();
    let mut study = tool.start_study(&plan(SEED), &["--blocks", "500"]);
    within(Duration::from_secs(60), "the first trial is stored", || has_trials(&tool, 1));
    resume(&tool, &[]).refused(1, &["is being written by another nettoll"]);
    study.kill().unwrap();
    study.wait().unwrap();
    within(Duration::from_secs(20), "its hosts have ended", || processes::host(&tool, "a").is_none());
    Ok(())
}

fn a_run_on_other_hosts_or_of_another_version_is_refused() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.study(&plan(SEED), &[]).done();
    let stored = tool.stored();
    let first: String = stored.text("trials.jsonl").lines().take(5).map(|line| format!("{line}\n")).collect();
    stored.write("trials.jsonl", &first);
    let refused = |file: &str, change: &dyn Fn(&mut serde_json::Value), words: &[&str]| {
        let sound = stored.text(file);
        let mut value: serde_json::Value = serde_json::from_str(&sound).unwrap();
        change(&mut value);
        stored.write(file, &value.to_string());
        resume(&tool, &[]).refused(1, words);
        resume(&tool, &["-J"]).refused_in_json(1, words);
        assert_eq!(stored.text("trials.jsonl"), first);
        assert_eq!(stored.text(file), value.to_string());
        stored.write(file, &sound);
    };
    refused("hosts/a.json", &|facts| facts["kernel"] = "2.6.32".into(), &["the hosts are not what they were", "host a: kernel was 2.6.32"]);
    refused("hosts/b.json", &|facts| facts["device"]["mtu"] = "9000".into(), &["host b: device's mtu was 9000, is"]);
    refused("run.json", &|run| run["tool"] = "0.0.1".into(), &["was measured by nettoll 0.0.1"]);
    refused("run.json", &|run| run["plan"]["seed"] = 1.into(), &["is not the one that the plan has there"]);
    refused("run.json", &|run| run["format"] = 99.into(), &["format version 99"]);
    // What no trial notices is said and no hindrance.
    let facts = stored.text("hosts/a.json").replace("\"boot\": \"", "\"boot\": \"x");
    stored.write("hosts/a.json", &facts);
    resume(&tool, &[]).done();
    assert_whole(&stored);
    let changed =
        |warning: &Warning| matches!(warning, Warning::Resumed { changed, .. } if changed.iter().any(|words| words.contains("host a")));
    assert!(stored.run().warnings.iter().any(changed), "{:?}", stored.run().warnings);
    Ok(())
}

/// A `run.json` is data until the user has seen what it would carry out.
fn what_a_stored_plan_carries_out_needs_consent() -> Result<(), Skip> {
    let tool = Tool::new();
    let mark = tool.path().join("mark");
    let command = format!("touch {}", mark.display());
    let arms = ["--arm", "a", "--arm", &format!("b: before={command}"), "--blocks", "1", "--size", "1"];
    // One block of two arms is inconclusive.
    assert_eq!(tool.study(&plan(SEED), &arms).code, Some(4));
    let stored = tool.stored();
    let first: String = stored.text("trials.jsonl").lines().take(1).map(|line| format!("{line}\n")).collect();
    stored.write("trials.jsonl", &first);
    std::fs::remove_file(&mark).unwrap();
    resume(&tool, &[]).refused(2, &["b: before=touch", "--yes"]);
    // Changes of the machine are asked for again, whatever was said for the commands.
    let sound = stored.text("run.json");
    let mut run: serde_json::Value = serde_json::from_str(&sound).unwrap();
    run["plan"]["host_wide"] = true.into();
    stored.write("run.json", &run.to_string());
    resume(&tool, &["--yes"]).refused(2, &["give --host-wide again"]);
    stored.write("run.json", &sound);
    if nix::unistd::geteuid().is_root() {
        let file = stored.path().join("run.json");
        std::os::unix::fs::chown(&file, Some(65_534), None).unwrap();
        resume(&tool, &["--yes"]).refused(1, &["it belongs to user 65534"]);
        std::os::unix::fs::chown(&file, Some(0), None).unwrap();
    }
    assert!(!mark.exists(), "nothing was carried out");
    assert_eq!(resume(&tool, &["--yes"]).code, Some(4));
    assert!(mark.exists());
    Ok(())
}

fn what_cannot_be_resumed_is_said() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.run(&["study", "--resume", "runs/none"]).refused(1, &["is not a run directory"]);
    tool.run(&["study", "quick", "--resume", "runs/none"]).refused(2, &["cannot be used with"]);
    tool.run(&["study", "--resume", "runs/none", "--size", "1"]).refused(2, &["cannot be used with"]);
    tool.study(&plan(SEED), &["--blocks", "1"]).done();
    let stored = tool.stored();
    let first: String = stored.text("trials.jsonl").lines().take(2).map(|line| format!("{line}\n")).collect();
    stored.write("trials.jsonl", &first);
    for name in ["a", "b"] {
        std::fs::remove_file(stored.path().join(format!("hosts/{name}.json"))).unwrap();
    }
    resume(&tool, &[]).refused(1, &["no facts of its hosts"]);
    Ok(())
}
