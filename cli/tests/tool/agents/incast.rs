//! Agents that send to one at once: its receipt, the ports, arms, and a study that is gone on with.

use std::collections::BTreeSet;

use model::profile::{Account, Observation};
use model::run::Status;
use model::trial::{Measured, Outcome};
use model::{Pass, Role, Test, TrialRecord, Warning};

use super::many::{C, R, agents, assert_whole, hosts, plan};
use super::support::{A, Agent, B, Net, has_trials, says, secret};
use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(
    the_shared_host_has_its_receipt,
    this_machine_has_its_receipt_as_receiver,
    an_agent_that_may_not_sample_is_named,
    the_ports_of_all_senders_are_in_a_row,
    arms_take_fewer_senders_other_hosts_and_other_cpus,
    a_study_that_was_killed_is_gone_on_with,
);

const KEEP: [&str; 2] = ["--keep-capabilities", "perfmon,bpf,syslog"];

/// A receipt of datagrams from two machines, so few that an agent's locked memory holds the records of switches.
fn receipt() -> String {
    let cells = "[receipt]\nsamples = 120\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = 1024\nrate = \"1000/s\"\nsenders = 2\n";
    plan(2, cells)
}

/// The measured trials of a pass. Skipped where this machine refuses it, which has to be said.
fn of_pass(trials: &[TrialRecord], pass: Pass) -> Result<Vec<(&TrialRecord, &Measured)>, Skip> {
    let of_pass: Vec<&TrialRecord> = trials.iter().filter(|record| record.pass == pass).collect();
    assert_eq!(of_pass.len(), 2, "{pass}");
    if let Outcome::Skipped { reason } = &of_pass[0].outcome {
        assert!(reason.contains("is not available: "), "{reason}");
        return Err(Skip(reason.clone()));
    }
    Ok(of_pass.into_iter().map(|record| (record, record.measured().unwrap_or_else(|| panic!("{record:#?}")))).collect())
}

fn receiver(measured: &Measured) -> &Observation {
    &measured.observed.as_ref().unwrap().receiver
}

fn receiver_account(measured: &Measured) -> Option<Account> {
    receiver(measured).profile.as_ref()?.account
}

/// Whatever is seen of the receiver's two processes adds up to what they report together.
#[track_caller]
fn assert_receipt(trials: &[TrialRecord]) -> Result<(), Skip> {
    assert_eq!(trials.len(), 2 * Pass::ALL.len());
    for record in trials {
        if let Some(measured) = record.measured() {
            assert_whole(record, measured, Role::Sender);
            assert_eq!(measured.observed.is_some(), !record.pass.is_clean());
            // No datagram is in no count.
            let lost = measured.sender.total.messages - measured.receiver.total.messages;
            assert!(lost <= measured.receiver_host.udp.rcvbuf_errors, "{lost} of {:?}", measured.receiver_host.udp);
        }
    }
    let (mut sampled, mut on_cpu) = (0.0, 0.0);
    for (_, measured) in of_pass(trials, Pass::TimeReceiver)? {
        let seen = measured.observed.as_ref().unwrap();
        assert!(seen.sender.profile.is_none());
        let profile = seen.receiver.profile.as_ref().unwrap_or_else(|| panic!("{:?}", seen.receiver.refused));
        assert!(profile.samples() > 0);
        let Some(recorded) = receiver_account(measured).and_then(|account| account.on_cpu) else { continue };
        sampled += (profile.samples() * profile.period) as f64;
        on_cpu += recorded.get() as f64;
    }
    // Wide: samples are few here. Of one process alone, or of one counted twice, they would be half or twice as many.
    assert!(on_cpu == 0.0 || (0.6..1.7).contains(&(sampled / on_cpu)), "{sampled} of {on_cpu}");
    for (_, measured) in of_pass(trials, Pass::Wait)? {
        let waits = receiver(measured).waits.unwrap_or_else(|| panic!("{:?}", receiver(measured).refused));
        let windows: u64 = measured.peers.iter().filter_map(|peer| peer.counts()).map(|counts| counts.window.length().get()).sum();
        let all = measured.receiver.cpu_time.process + waits.runnable + waits.blocked;
        // What is billed before an end runs is in both.
        let share = all.get() as f64 / windows as f64;
        assert!((0.95..1.3).contains(&share), "{share}: {waits:?}, {:?}", measured.receiver.cpu_time);
    }
    for (_, measured) in of_pass(trials, Pass::Count)? {
        let seen = measured.observed.as_ref().unwrap();
        let (sent, calls) = (measured.sender.total.sent, &seen.sender.counts.as_ref().unwrap().calls);
        let counted = ["sock:sock_send_length", "__sys_sendto"].iter().find_map(|name| calls.get(*name));
        // Each send of both senders is one call.
        let counted = *counted.unwrap_or_else(|| panic!("{calls:?}"));
        assert!(counted.abs_diff(sent) <= sent / 10 + 4, "{counted} of {sent}");
        assert!(receiver(measured).counts.is_some());
    }
    Ok(())
}

/// Both agents that send and the one that receives sample their own ends.
fn the_shared_host_has_its_receipt() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let of = |place, more: &[&str]| Agent::start(place, &tool, &[&secret[..], &KEEP, more].concat());
    let agents = [of(&net.a, &[]), of(&net.router, &[]), of(&net.b, &["--at-once", "2"])];
    let named = [("a", A), ("a2", R), ("b", B)].map(|(name, at)| format!("{name}={at}"));
    let words: Vec<&str> = named.iter().flat_map(|host| ["--host", host.as_str()]).chain(secret).chain(["-J"]).collect();
    let found = net.c.study(&tool, &receipt(), &words);
    let trials = tool.stored().trials();
    let whole = assert_receipt(&trials);
    agents.into_iter().for_each(Agent::end);
    net.nothing_left(&[&tool]);
    whole?;
    let found = found.done().json();
    let end = |role: &str| found["receipt"]["cells"][0][role]["outcome"]["made"].clone();
    let receiver = end("receiver");
    // Rows of the receiver's CPU time of a message of either sender, and its waits.
    let cpu = receiver["cpu"]["value"].as_f64().unwrap_or_else(|| panic!("{found:#}"));
    assert!(cpu > 0.0 && receiver["blocked"]["value"].as_f64().is_some(), "{receiver:#}");
    assert!(!receiver["layers"].as_array().unwrap().is_empty() && end("sender")["layers"].is_array());
    // On a busy machine the agent's locked memory may be too little for a pass.
    let recorded = |(_, measured): &(&TrialRecord, &Measured)| receiver_account(measured).is_some_and(|account| account.on_cpu.is_some());
    let all = of_pass(&trials, Pass::TimeReceiver)?.iter().all(recorded);
    let own = receiver["closure"]["own"].as_f64();
    assert_eq!(own.is_some(), all);
    assert!(own.is_none_or(|own| (0.9..1.1).contains(&own)), "{own:?}");
    Ok(())
}

fn this_machine_has_its_receipt_as_receiver() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let agents = [&net.a, &net.c].map(|place| Agent::start(place, &tool, &[&secret[..], &KEEP].concat()));
    let named = [("a", A), ("a2", C)].map(|(name, at)| format!("{name}={at}"));
    let words: Vec<&str> = named.iter().flat_map(|host| ["--host", host.as_str()]).chain(secret).collect();
    let found = net.b.study(&tool, &receipt(), &words);
    let trials = tool.stored().trials();
    let whole = assert_receipt(&trials);
    agents.into_iter().for_each(Agent::end);
    net.nothing_left(&[&tool]);
    whole?;
    found.done();
    // Root's memory is locked without a limit.
    let recorded =
        of_pass(&trials, Pass::TimeReceiver)?.iter().all(|(_, one)| receiver_account(one).is_some_and(|one| one.on_cpu.is_some()));
    assert!(recorded || !nix::unistd::geteuid().is_root());
    Ok(())
}

/// The receiver has its rows; passes that need the sender are left out with the reason.
fn an_agent_that_may_not_sample_is_named() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let agents = [(&net.a, &KEEP[..]), (&net.c, &[])].map(|(place, keep)| Agent::start(place, &tool, &[&secret[..], keep].concat()));
    let named = [("a", A), ("a2", C)].map(|(name, at)| format!("{name}={at}"));
    let words: Vec<&str> = named.iter().flat_map(|host| ["--host", host.as_str()]).chain(secret).collect();
    net.b.study(&tool, &receipt(), &words).done();
    let trials = tool.stored().trials();
    let sampled = of_pass(&trials, Pass::TimeReceiver).map(|trials| trials.len());
    let refused = of_pass(&trials, Pass::Time).map(|trials| trials.len());
    agents.into_iter().for_each(Agent::end);
    net.nothing_left(&[&tool]);
    assert_eq!(sampled?, 2);
    match refused {
        Err(Skip(reason)) => assert!(reason.contains("host a2") && !reason.contains('\n'), "{reason}"),
        Ok(_) => return Err(Skip("anybody may sample the kernel here".to_owned())),
    }
    assert!(!trials.iter().any(|trial| trial.warnings.iter().any(|one| matches!(one, Warning::MissingHosts { .. }))), "{trials:#?}");
    Ok(())
}

/// The local ports of an end.
fn ports(measured: &Measured) -> BTreeSet<u16> {
    measured.receiver.addresses.iter().map(|flow| flow.local.port()).collect()
}

/// Those that the study names, and within the range of an agent that has one.
fn the_ports_of_all_senders_are_in_a_row() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let agents = agents(&net, &tool, "3");
    let hosts = hosts();
    let words: Vec<&str> = hosts.iter().map(String::as_str).chain(secret(&tool)).collect();
    let cells = "[[cells]]\ntest = [\"TCP_STREAM\", \"UDP_STREAM\"]\nsize = 1024\nrate = \"2000/s\"\nsenders = 3\nflows = 5\n";
    net.c.study(&tool, &plan(2, cells), &[&words[..], &["--data-port", "12000"]].concat()).done();
    for (record, measured) in tool.stored().all_measured() {
        // A TCP listener has one for all flows of its machine.
        let wanted: &[u16] =
            if record.cell.test == Test::UdpStream { &[12_000, 12_001, 12_002, 12_003, 12_004] } else { &[12_000, 12_002, 12_004] };
        assert_eq!(ports(&measured), wanted.iter().copied().collect(), "{}", record.cell);
        assert_eq!((measured.peers.len(), measured.receiver.flows.len()), (3, 5));
    }
    let [a, c, router, b] = agents;
    b.end();
    let arguments = [&secret(&tool)[..], &["--at-once", "3", "--data-ports", "13000-13005"]].concat();
    let b = Agent::start(&net.b, &tool, &arguments);
    net.c.study(&tool, &plan(1, cells), &words).done();
    for (_, measured) in tool.stored().all_measured() {
        let ports = ports(&measured);
        assert!(ports.len() >= 3 && ports.iter().all(|port| (13_000..=13_005).contains(port)), "{ports:?}");
    }
    let refused = net.c.study(&tool, &plan(1, cells), &[&words[..], &["--data-port", "65532"]].concat());
    refused.refused(2, &["5 flows need a port each", "--data-port leaves 4"]);
    [a, c, router, b].into_iter().for_each(Agent::end);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn arms_take_fewer_senders_other_hosts_and_other_cpus() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let agents = agents(&net, &tool, "3");
    let secret = secret(&tool);
    let other = Agent::start(&net.a, &tool, &[&secret[..], &["--port", "7000"]].concat());
    let hosts = hosts();
    let words: Vec<&str> = hosts.iter().map(String::as_str).chain(secret).collect();
    let cpu = (0..1_024).find(|cpu| nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap().is_set(*cpu).unwrap()).unwrap();
    let moved = format!("moved: host.a2={A}:7000");
    let bound = format!("bound: cpus.b={cpu}, cpus.a3={cpu}");
    let arms = ["--arm", "all:", "--arm", "two: senders=2", "--arm", &bound, "--arm", &moved];
    let cells = "[[cells]]\ntest = \"TCP_STREAM\"\nsize = \"16K\"\nsenders = 3\n";
    net.c.study(&tool, &plan(2, cells), &[&words[..], &arms].concat()).judged();
    let trials = tool.stored().all_measured();
    assert_eq!(trials.len(), 8);
    for (record, measured) in trials {
        assert_whole(&record, &measured, Role::Sender);
        assert_eq!(measured.sender.total.bytes, measured.receiver.total.bytes);
        let arm = record.arm.as_deref().unwrap();
        let from: BTreeSet<String> = measured.sender.addresses.iter().map(|flow| flow.local.ip().to_string()).collect();
        let wanted: &[&str] = match arm {
            "two" => &[A, C],
            "moved" => &[A, R],
            _ => &[A, C, R],
        };
        assert_eq!(from, wanted.iter().map(|at| (*at).to_owned()).collect(), "{arm}");
        let cpus: Vec<Option<u32>> = measured.receiver.flows.iter().map(|flow| flow.cpu).collect();
        if arm == "bound" {
            assert_eq!(cpus, [Some(cpu as u32); 3]);
            assert_eq!(measured.sender.flows[2].cpu, Some(cpu as u32));
        }
        assert_eq!(
            record.taken.iter().map(|taken| taken.name.as_str()).collect::<Vec<_>>(),
            if arm == "moved" { vec!["host.a2"] } else { vec![] }
        );
    }
    let refused = |arm: &str, code: i32, words_of: &[&str]| {
        let refused = net.c.study(&tool, &plan(1, cells), &[&words[..], &["--arm", "all:", "--arm", arm]].concat());
        refused.refused(code, words_of);
        // That the arms are not woven is said before.
        let lines = refused.stderr.lines().filter(|line| !line.contains("the arms are compared in turn")).count();
        assert_eq!(lines, 1, "{}", refused.stderr);
    };
    refused("x: cpus.b=60000", 1, &["bind to CPU 60000: it offers", "name one of them"]);
    refused("x: cpus.a3=60000", 1, &["host a3", "bind to CPU 60000"]);
    refused("x: cpus.a4=0", 2, &["the study has no host a4", "--host a4=PLACE"]);
    refused("x: host.a4=db9", 2, &["host.a4 of arm 'x'", "name one for it (--host)"]);
    refused(&format!("x: host.a2={A}"), 2, &["hosts a and a2 of arm 'x': both are the same place"]);
    refused("x: senders=4", 2, &["3 hosts are named at that side", "--host a4=PLACE"]);
    agents.into_iter().chain([other]).for_each(Agent::end);
    net.nothing_left(&[&tool]);
    Ok(())
}

/// Its trials stay, and the rest are of the same machines; one that is not there is named.
fn a_study_that_was_killed_is_gone_on_with() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let [a, c, router, b] = agents(&net, &tool, "3");
    let hosts = hosts();
    let words: Vec<&str> = hosts.iter().map(String::as_str).chain(secret(&tool)).collect();
    let cells = "[[cells]]\ntest = [\"TCP_STREAM\", \"UDP_STREAM\"]\nsize = 1024\nrate = \"2000/s\"\nsenders = [2, 3]\n";
    let mut study = net.c.start_study(&tool, &plan(3, cells), &words);
    has_trials(&tool, 5);
    study.kill().unwrap();
    study.wait().unwrap();
    let stored = tool.stored();
    let before = stored.trials();
    assert!((5..12).contains(&before.len()));
    let resume = [&["study", "--resume", stored.path().to_str().unwrap(), "--yes"][..], &secret(&tool)].concat();
    c.end();
    let refused = net.c.run(&tool, &resume);
    refused.refused(1, &["host a2: no agent at", "Connection refused", "is `nettoll agent` running there"]);
    assert_eq!(stored.trials().len(), before.len());
    let c = Agent::start(&net.c, &tool, &secret(&tool));
    net.c.run(&tool, &resume).done();
    let after = stored.all_measured();
    assert_eq!((stored.status(), after.len()), (Status::BlocksDone, 12));
    assert!(after.iter().zip(&before).all(|((record, _), known)| record == known), "what was measured stays");
    let places: BTreeSet<(u32, u32)> = after.iter().map(|(record, _)| (record.block, record.position)).collect();
    assert_eq!(places.len(), 12);
    for (record, measured) in &after {
        assert_whole(record, measured, Role::Sender);
        if record.cell.test == Test::TcpStream {
            assert_eq!(measured.sender.total.bytes, measured.receiver.total.bytes);
        }
    }
    assert!(stored.run().warnings.iter().any(|warning| matches!(warning, Warning::Resumed { .. })));
    let complete = net.c.run(&tool, &resume).done();
    says(&complete.stderr, &["complete"]);
    [a, c, router, b].into_iter().for_each(Agent::end);
    net.nothing_left(&[&tool]);
    Ok(())
}
