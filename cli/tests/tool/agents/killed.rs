//! Agents and controllers that are killed or stand still in the middle of a
//! study.

use std::collections::BTreeSet;
use std::process::{Child, Stdio};
use std::time::Duration;

use model::TrialRecord;
use model::run::Status;
use nix::sys::signal::Signal;

use super::support::{Agent, B, CELLS, Net, cells, ended, has_trials, plan, says, secret, signal};
use crate::support::tool::Tool;
use crate::support::{Skip, within};

crate::claims!(
    a_killed_agent_that_comes_back_costs_one_trial,
    a_killed_agent_stops_the_study_where_that_is_asked_for,
    a_controller_that_stands_still_for_a_second,
    a_controller_that_stands_still_for_longer_frees_the_agent,
    an_agent_that_can_say_nothing_goes_on_serving,
);

/// So many that the end is far when the first are stored.
const BLOCKS: u32 = 6;
const TRIALS: usize = CELLS * BLOCKS as usize;

fn start(net: &Net, tool: &Tool, on_loss: &str) -> Child {
    let secret = secret(tool);
    let host = format!("b={B}");
    net.a.start_study(tool, &plan(BLOCKS), &[&["--on-loss", on_loss, "--host", &host][..], &secret].concat())
}

fn a_killed_agent_that_comes_back_costs_one_trial() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let agent = Agent::start(&net.b, &tool, &secret(&tool));
    let study = start(&net, &tool, "go-on");
    has_trials(&tool, 3);
    agent.kill();
    std::thread::sleep(Duration::from_secs(1));
    let agent = Agent::start(&net.b, &tool, &secret(&tool));
    let answer = ended(study).done();
    let stored = tool.stored();
    assert_eq!((stored.trials().len(), stored.status()), (TRIALS, Status::BlocksDone));
    let errors = stored.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    says(&errors[0], &["host b: the agent at", B, "was lost, and with it the trial at hand", "see whether it still runs"]);
    says(&answer.stderr, &["was lost", "looking for it again, attempt 1 of 6"]);
    answer.says(&format!("{} trials measured, 1 failed", TRIALS - 1));
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_killed_agent_stops_the_study_where_that_is_asked_for() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let agent = Agent::start(&net.b, &tool, &secret(&tool));
    let study = start(&net, &tool, "stop");
    has_trials(&tool, 3);
    agent.kill();
    let answer = ended(study);
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    says(&answer.stderr, &["study 'routed' stopped; its finished trials are in", "was lost", "stopped as asked", "--resume"]);
    let stored = tool.stored();
    let before = stored.trials();
    assert!((4..TRIALS).contains(&before.len()) && stored.errors().len() == 1, "{:?}", stored.errors());
    // It cannot go on without its agent, and says so; nothing is lost by that.
    let path = stored.path().to_str().unwrap().to_owned();
    let refused = net.a.run(&tool, &[&["study", "--resume", &path][..], &secret(&tool)].concat());
    refused.refused(2, &["host b: ", "Look at it, then give --yes"]);
    let resume = [&["study", "--resume", &path, "--yes"][..], &secret(&tool)].concat();
    net.a.run(&tool, &resume).refused(1, &["no agent at", "Connection refused", "is `nettoll agent` running there"]);
    assert_eq!(stored.trials().len(), before.len());
    let agent = Agent::start(&net.b, &tool, &secret(&tool));
    net.a.run(&tool, &resume).done();
    let after = stored.trials();
    assert_eq!(stored.status(), Status::BlocksDone);
    assert_eq!(after[..before.len()], before[..]);
    // The lost trial stands there as it failed, and as it was measured again.
    let places = |trials: &[TrialRecord]| trials.iter().map(|record| (record.block, record.position)).collect::<BTreeSet<_>>();
    let measured: Vec<TrialRecord> = after.iter().filter(|record| record.measured().is_some()).cloned().collect();
    assert_eq!((places(&after).len(), places(&measured).len(), measured.len(), after.len()), (TRIALS, TRIALS, TRIALS, TRIALS + 1));
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}

/// Stops the controller for a time while a long trial flows.
fn stand_still(net: &Net, tool: &Tool, time: Duration) -> crate::support::tool::Answer {
    let plan = cells(
        1,
        "[[cells]]\ntest = [\"TCP_RR\", \"UDP_RR\", \"TCP_STREAM\", \"UDP_STREAM\"]\nsize = 64\nnodelay = true\nrate = \"1000/s\"",
    );
    let secret = secret(tool);
    let host = format!("b={B}");
    let arguments = [&["-t", "800ms", "--on-loss", "go-on", "--host", &host][..], &secret].concat();
    let study = net.a.start_study(tool, &plan, &arguments);
    has_trials(tool, 1);
    signal(&study, Signal::SIGSTOP);
    std::thread::sleep(time);
    signal(&study, Signal::SIGCONT);
    ended(study).done()
}

fn a_controller_that_stands_still_for_a_second() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let agent = Agent::start(&net.b, &tool, &secret(&tool));
    let answer = stand_still(&net, &tool, Duration::from_secs(1));
    assert_eq!(tool.stored().all_measured().len(), 4);
    assert!(!answer.stderr.contains("lost"), "{}", answer.stderr);
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_controller_that_stands_still_for_longer_frees_the_agent() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let agent = Agent::start(&net.b, &tool, &secret(&tool));
    let answer = stand_still(&net, &tool, Duration::from_secs(3));
    agent.logs(": taken for dead");
    says(&answer.stderr, &["was lost", "looking for it again, attempt 1 of 6"]);
    let stored = tool.stored();
    let errors = stored.errors();
    assert_eq!((stored.trials().len(), stored.status(), errors.len()), (4, Status::BlocksDone, 1), "{errors:?}");
    says(&errors[0], &["host b: the agent at", "was lost"]);
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}

/// An agent keeps no files: a full disk can only be that of its log.
fn an_agent_that_can_say_nothing_goes_on_serving() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let mut agent = net.b.nettoll(&tool, &[&["agent"][..], &secret].concat()).stdout(full()).stderr(full()).spawn().unwrap();
    // 10984, which is the state "listening" (0A).
    within(Duration::from_secs(10), "it listens", || net.b.net("tcp").lines().any(|line| line.contains(":2AE8 00000000:0000 0A")));
    let host = format!("b={B}");
    for _ in 0..2 {
        net.a.study(&tool, &plan(1), &[&["--host", &host][..], &secret].concat()).done();
        assert_eq!(tool.stored().all_measured().len(), CELLS);
    }
    assert!(agent.try_wait().unwrap().is_none());
    signal(&agent, Signal::SIGTERM);
    assert_eq!(agent.wait().unwrap().code(), Some(0));
    net.nothing_left(&[&tool]);
    Ok(())
}
