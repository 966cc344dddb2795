//! Faults of ssh and of its connections.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use model::run::Status;
use nix::sys::signal::Signal;

use super::ssh::{one_cell, study};
use super::sshd::{Settings, Sshd};
use crate::agents::commands::files;
use crate::agents::support::{CELLS, Net, ended, has_trials, plan, says, signal};
use crate::support::processes::{self, Process};
use crate::support::tool::Tool;
use crate::support::{Skip, need_programs, within};

crate::claims!(
    a_host_that_asks_for_a_password,
    a_host_whose_key_has_changed,
    a_host_that_is_not_known,
    a_shell_that_may_not_be_used,
    a_controller_that_is_killed_leaves_nothing_at_either_end,
    an_ssh_that_is_killed_leaves_nothing_there,
    a_host_process_that_is_killed_leaves_nothing,
    a_cable_that_is_cut,
);

const GONE: Duration = Duration::from_secs(2);

/// Never a question, also where nettoll has a terminal to ask it on.
fn a_host_that_asks_for_a_password() -> Result<(), Skip> {
    need_programs(&["script"])?;
    let (net, tool) = (Net::new()?, Tool::new());
    let settings = Settings { more: "PubkeyAuthentication no\nPasswordAuthentication yes", ..Settings::default() };
    let sshd = Sshd::start(&net, &tool, &settings)?;
    tool.write("plan.toml", &one_cell());
    let line = "$NETTOLL study --plan plan.toml --host b=ssh:db1";
    let mut command = net.a.program(&tool, Path::new("/usr/bin/script"), &["-qec", line, "/dev/null"]);
    let begun = Instant::now();
    let answer = ended(command.env("PATH", Sshd::path(&tool)).spawn().unwrap());
    says(&answer.stdout, &["host b: no host by ssh:db1", "Permission denied", "nettoll answers no questions"]);
    assert!(begun.elapsed() < Duration::from_secs(20), "it waited for an answer");
    drop(sshd);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_host_whose_key_has_changed() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let sshd = Sshd::start(&net, &tool, &Settings::default())?;
    let other = std::fs::read_to_string(tool.path().join("key.pub")).unwrap();
    tool.write("known_hosts", &format!("[203.0.113.1]:2222 {other}"));
    let answer = study(&net, &tool, &one_cell(), "ssh:db1", &[]);
    answer.refused(1, &["host b: no host by ssh:db1", "Host key verification failed", "WARNING", "another key than the one known"]);
    drop(sshd);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_host_that_is_not_known() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let sshd = Sshd::start(&net, &tool, &Settings::default())?;
    tool.write("known_hosts", "");
    let answer = study(&net, &tool, &one_cell(), "ssh:db1", &[]);
    answer.refused(1, &["Host key verification failed", "log in once by hand"]);
    drop(sshd);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_shell_that_may_not_be_used() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let sshd = Sshd::start(&net, &tool, &Settings { shell: Some("/bin/false"), ..Settings::default() })?;
    study(&net, &tool, &one_cell(), "ssh:db1", &[]).refused(1, &["it ended with exit code 1 before nettoll answered"]);
    drop(sshd);
    net.nothing_left(&[&tool]);
    Ok(())
}

/// A study of some seconds that has stored its first trials.
fn begun(net: &Net, tool: &Tool, blocks: u32) -> Child {
    tool.write("plan.toml", &plan(blocks));
    let mut command = net.a.nettoll(tool, &["study", "--plan", "plan.toml", "--host", "b=ssh:db1"]);
    let study = command.env("PATH", Sshd::path(tool)).spawn().unwrap();
    has_trials(tool, 3);
    study
}

/// Processes of the tool there: those that serve, and what they started.
fn there(tool: &Tool) -> Vec<Process> {
    let all = processes::of(tool);
    let served: Vec<u32> = all.iter().filter(|process| process.kind == "__serve").map(|process| process.pid).collect();
    assert_eq!(served.len(), 1, "{all:?}");
    let below = |process: &&Process| served.contains(&process.pid) || served.contains(&process.parent);
    all.iter().filter(below).cloned().collect()
}

#[track_caller]
fn gone(tool: &Tool, those: &[Process]) {
    within(GONE, &format!("they are gone: {those:?}"), || !processes::of(tool).iter().any(|process| those.contains(process)));
}

fn a_controller_that_is_killed_leaves_nothing_at_either_end() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let sshd = Sshd::start(&net, &tool, &Settings::default())?;
    let study = begun(&net, &tool, 60);
    signal(&study, Signal::SIGKILL);
    ended(study);
    within(GONE, &format!("all processes end: {:?}", processes::of(&tool)), || processes::of(&tool).is_empty());
    assert!(files(&tool).is_empty(), "{:?}", files(&tool));
    drop(sshd);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn an_ssh_that_is_killed_leaves_nothing_there() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let sshd = Sshd::start(&net, &tool, &Settings::default())?;
    let study = begun(&net, &tool, 6);
    let those = there(&tool);
    let ssh = processes::of(&tool).into_iter().find(|process| process.kind == "-F").expect("ssh runs");
    assert!(ssh.kill());
    gone(&tool, &those);
    goes_on(study, &tool, "the command ended (signal 9)");
    drop(sshd);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_host_process_that_is_killed_leaves_nothing() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let sshd = Sshd::start(&net, &tool, &Settings::default())?;
    let study = begun(&net, &tool, 6);
    let those = there(&tool);
    let ssh = processes::of(&tool).into_iter().find(|process| process.kind == "-F").expect("ssh runs");
    assert!(those.iter().find(|process| process.kind == "__serve").unwrap().kill());
    gone(&tool, &[&those[..], &[ssh]].concat());
    goes_on(study, &tool, "the command ended (");
    drop(sshd);
    net.nothing_left(&[&tool]);
    Ok(())
}

/// Nothing closes: both sides have to notice the silence.
fn a_cable_that_is_cut() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let sshd = Sshd::start(&net, &tool, &Settings::default())?;
    // What follows can be set where this can: no early return leaves the study behind.
    net.router.set("ip link set to-b up")?;
    let study = begun(&net, &tool, 6);
    let those = there(&tool);
    net.router.set("ip link set to-b down").unwrap();
    within(Duration::from_secs(5), &format!("the host ends: {those:?}"), || !processes::of(&tool).iter().any(|one| those.contains(one)));
    net.router
        .set("ip link set to-b up; ip addr replace 2001:db8:b::fe/64 dev to-b nodad; ip addr replace fe80::fe/64 dev to-b nodad")
        .unwrap();
    goes_on(study, &tool, "nothing came from it for 1.75 s");
    drop(sshd);
    net.nothing_left(&[&tool]);
    Ok(())
}

#[track_caller]
fn goes_on(study: Child, tool: &Tool, why: &str) {
    let answer = ended(study).done();
    let stored = tool.stored();
    assert_eq!((stored.trials().len(), stored.status()), (6 * CELLS, Status::BlocksDone), "{answer:#?}");
    let errors = stored.errors();
    assert!(!errors.is_empty() && errors.len() <= 2, "{errors:?}");
    says(&errors[0], &["host b: the host by ssh:db1 was lost", why]);
}
