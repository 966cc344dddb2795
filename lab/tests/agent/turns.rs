//! Whose turn it is.

use std::time::{Duration, Instant};

use lab::connection::Credentials;
use model::control::{FromHost, ToHost};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::claims;
use crate::support::agent::{Agent, controller};
use crate::support::inside::loopback;
use crate::support::roles::AgentSpec;
use crate::support::talk::Controller;
use crate::support::{Skip, says, within};

claims!(
    three_controllers_are_told_their_places,
    a_killed_controller_frees_the_agent,
    a_stopped_controller_frees_the_agent,
    an_endpoint_left_behind_is_ended_before_the_next_turn,
    without_a_turn_nothing_is_started,
    a_shared_host_is_everybodys_and_says_so,
    an_ended_agent_leaves_nothing,
    a_host_that_hangs_is_killed_before_the_next_turn,
    an_endpoint_that_hangs_does_not_outlive_its_turn,
    who_comes_when_all_places_of_its_address_are_taken_may_come_again,
);

const MINE: FromHost = FromHost::Yours { shared: false };

fn join(agent: &Agent) -> Controller {
    Controller::connect(agent.address(), &Credentials::default()).unwrap()
}

fn three_controllers_are_told_their_places() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let [mut first, mut second, mut third] = [(); 3].map(|()| join(&agent));
    assert_eq!(first.ask(&ToHost::Turn), MINE);
    assert_eq!(second.ask(&ToHost::Turn), FromHost::Waiting { place: 1 });
    assert_eq!(third.ask(&ToHost::Turn), FromHost::Waiting { place: 2 });
    // Waiting does not keep it from being asked.
    assert!(matches!(third.ask(&ToHost::Clock), FromHost::Clock { .. }));
    first.tell(&ToHost::Release);
    assert_eq!(second.hear(), Some(MINE));
    assert_eq!(third.hear(), Some(FromHost::Waiting { place: 1 }));
    // Who comes back stands at the end.
    assert_eq!(first.ask(&ToHost::Turn), FromHost::Waiting { place: 2 });
    // Who goes away in the line lets the others move up.
    drop(third);
    assert_eq!(first.hear(), Some(FromHost::Waiting { place: 1 }));
    second.tell(&ToHost::Release);
    assert_eq!(first.hear(), Some(MINE));
    assert_eq!(first.ask(&ToHost::Turn), MINE, "it has it already");
    Ok(())
}

/// How long a waiting controller waits after the first one was sent a signal
/// while its endpoint ran.
fn freed_by(signal: Signal) -> Duration {
    let agent = Agent::at(loopback());
    let holder = controller(agent.address(), true);
    let mut waiting = join(&agent);
    assert_eq!(waiting.ask(&ToHost::Turn), FromHost::Waiting { place: 1 });
    assert_eq!(agent.descendants().len(), 3, "two hosts and an endpoint");
    let begun = Instant::now();
    holder.signal(signal);
    assert_eq!(waiting.hear(), Some(MINE));
    let freed = begun.elapsed();
    assert_eq!(agent.descendants().len(), 1, "host and endpoint are gone when the next has its turn");
    holder.signal(Signal::SIGKILL);
    freed
}

fn a_killed_controller_frees_the_agent() -> Result<(), Skip> {
    let freed = freed_by(Signal::SIGKILL);
    assert!(freed < Duration::from_secs(2), "{freed:?}");
    Ok(())
}

fn a_stopped_controller_frees_the_agent() -> Result<(), Skip> {
    let freed = freed_by(Signal::SIGSTOP);
    println!("a stopped controller frees the agent after {freed:?}");
    assert!(freed < Duration::from_secs(2), "{freed:?}");
    // Its last beat may have been half a second old.
    assert!(freed > Duration::from_millis(1_200), "it was given up too early: {freed:?}");
    Ok(())
}

fn an_endpoint_left_behind_is_ended_before_the_next_turn() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let [mut first, mut second] = [(); 2].map(|()| join(&agent));
    assert_eq!(first.ask(&ToHost::Turn), MINE);
    assert_eq!(first.ask(&ToHost::Start), FromHost::Done);
    assert_eq!(second.ask(&ToHost::Turn), FromHost::Waiting { place: 1 });
    assert_eq!(agent.descendants().len(), 3);
    first.tell(&ToHost::Release);
    first.tell(&ToHost::Turn);
    assert_eq!(second.hear(), Some(MINE));
    assert_eq!(agent.descendants().len(), 2, "the endpoint ended before");
    // Its end is told as any other's; the agent's own command is not.
    let mut heard = Vec::new();
    while heard.last() != Some(&FromHost::Waiting { place: 1 }) {
        heard.push(first.hear().unwrap());
    }
    assert!(heard.iter().all(|message| matches!(message, FromHost::Gone { .. } | FromHost::Waiting { .. })), "{heard:?}");
    Ok(())
}

fn without_a_turn_nothing_is_started() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let [mut first, mut second] = [(); 2].map(|()| join(&agent));
    says(&first.refused(&ToHost::Start), &["it is not this controller's turn"]);
    assert_eq!(first.ask(&ToHost::Turn), MINE);
    assert_eq!(second.ask(&ToHost::Turn), FromHost::Waiting { place: 1 });
    says(&second.refused(&ToHost::Start), &["it is not this controller's turn"]);
    assert_eq!(agent.descendants().len(), 2);
    Ok(())
}

fn a_shared_host_is_everybodys_and_says_so() -> Result<(), Skip> {
    let agent = Agent::start(&AgentSpec { listen: vec![loopback()], share: true, ..AgentSpec::default() });
    let mut all = [(); 3].map(|()| join(&agent));
    for controller in &mut all {
        assert_eq!(controller.ask(&ToHost::Turn), FromHost::Yours { shared: true });
        assert_eq!(controller.ask(&ToHost::Start), FromHost::Done);
    }
    assert_eq!(agent.descendants().len(), 6);
    Ok(())
}

fn an_ended_agent_leaves_nothing() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let mut holder = join(&agent);
    assert_eq!(holder.ask(&ToHost::Turn), MINE);
    assert_eq!(holder.ask(&ToHost::Start), FromHost::Done);
    let left = agent.descendants();
    assert_eq!(left.len(), 2);
    assert_eq!(agent.end(), 0);
    let alive = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    within(Duration::from_millis(200), "host and endpoint are gone", || !left.iter().any(alive));
    match holder.hear() {
        Some(FromHost::Failed { error }) => says(&error, &["the agent was ended"]),
        Some(FromHost::Gone { .. }) | None => {}
        other => panic!("{other:?}"),
    }
    Ok(())
}

/// A controller that has started an endpoint, and the processes of both.
fn holder(agent: &Agent) -> (Controller, Vec<u32>) {
    let mut holder = join(agent);
    assert_eq!(holder.ask(&ToHost::Turn), MINE);
    assert_eq!(holder.ask(&ToHost::Start), FromHost::Done);
    let processes = agent.descendants();
    assert_eq!(processes.len(), 2, "a host and an endpoint");
    (holder, processes)
}

fn stop(processes: &[u32]) {
    for process in processes {
        kill(Pid::from_raw(process.cast_signed()), Signal::SIGSTOP).unwrap();
    }
}

fn exists(process: &u32) -> bool {
    std::path::Path::new(&format!("/proc/{process}")).exists()
}

fn a_host_that_hangs_is_killed_before_the_next_turn() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let (holder, hanging) = holder(&agent);
    let mut waiting = join(&agent);
    assert_eq!(waiting.ask(&ToHost::Turn), FromHost::Waiting { place: 1 });
    // Neither sees that its input ends.
    stop(&hanging);
    drop(holder);
    assert_eq!(waiting.hear(), Some(MINE));
    assert!(!hanging.iter().any(exists), "host and endpoint are gone, and were waited for");
    Ok(())
}

fn an_endpoint_that_hangs_does_not_outlive_its_turn() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let (mut holder, hanging) = holder(&agent);
    let mut waiting = join(&agent);
    assert_eq!(waiting.ask(&ToHost::Turn), FromHost::Waiting { place: 1 });
    stop(&hanging);
    holder.tell(&ToHost::Release);
    // The host would end it, but hangs as well.
    assert_eq!(waiting.hear(), Some(MINE));
    assert!(!hanging.iter().any(exists), "host and endpoint are gone, and were waited for");
    match holder.hear() {
        Some(FromHost::Failed { error }) => says(&error, &["the endpoint of its trial did not end within 5 s"]),
        other => panic!("{other:?}"),
    }
    Ok(())
}

fn who_comes_when_all_places_of_its_address_are_taken_may_come_again() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let mut all: Vec<Controller> = (0..24).map(|_| join(&agent)).collect();
    let error = Controller::connect(agent.address(), &Credentials::default()).unwrap_err();
    says(&error.to_string(), &["the agent is busy: 24 controllers from 127.0.0.1 are here already"]);
    assert!(error.may_pass());
    all.pop();
    let again = || Controller::connect(agent.address(), &Credentials::default()).is_ok();
    within(Duration::from_secs(8), "a place is free again", again);
    Ok(())
}
