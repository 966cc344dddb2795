//! The passes of a receipt, as they are stored.

use std::sync::LazyLock;

use model::profile::Observation;
use model::trial::{Measured, Outcome};
use model::{Pass, Role, TrialRecord};
use serde_json::Value;

use crate::support::stored::Stored;
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_root};

crate::claims!(
    every_block_has_every_pass_of_every_cell,
    only_the_pass_that_is_made_for_it_sees_something,
    samples_add_up_to_the_time_on_the_cpu,
    known_costs_are_found_in_the_row_that_has_them,
    each_cause_of_a_proof_is_found_in_its_row,
    a_datagram_is_one_call_of_each_on_its_way,
    slices_with_the_sampler_on_and_off_say_what_it_costs,
    what_is_refused_is_said_and_the_rest_goes_on,
    a_study_that_may_not_sample_fails_and_was_foreseen_to,
);

const PLAN: &str = r#"
name = "passes"
[trial]
length = "60ms"
warmup = "10ms"
[blocks]
least = 2
most = 2
[receipt]
samples = 1000
[[cells]]
test = "UDP_STREAM"
size = [64, 1024]
[[cells]]
test = "TCP_STREAM"
size = 1024
nodelay = true
"#;
const CELLS: usize = 3;

struct Study {
    // Holds the directory.
    _tool: Tool,
    stored: Stored,
}

static STUDY: LazyLock<Study> = LazyLock::new(|| {
    let tool = Tool::new();
    tool.study(PLAN, &["-J"]).done();
    let stored = tool.stored();
    Study { _tool: tool, stored }
});

/// The measured trials of a pass. Skipped where this machine refuses it, which
/// has to be said.
fn trials(pass: Pass) -> Result<Vec<(TrialRecord, Measured)>, Skip> {
    let of_pass: Vec<TrialRecord> = STUDY.stored.trials().into_iter().filter(|record| record.pass == pass).collect();
    if let Some(Outcome::Skipped { reason }) = of_pass.first().map(|record| &record.outcome) {
        assert!(of_pass.iter().all(|record| matches!(record.outcome, Outcome::Skipped { .. })), "refused once, refused always");
        assert!(reason.contains("is not available: "), "{reason}");
        return Err(Skip(reason.clone()));
    }
    let measured = |record: TrialRecord| {
        let measured = record.measured().unwrap_or_else(|| panic!("{record:#?}")).clone();
        (record, measured)
    };
    Ok(of_pass.into_iter().map(measured).collect())
}

fn ends(measured: &Measured) -> [&Observation; 2] {
    [Role::Sender, Role::Receiver].map(|role| measured.observed.as_ref().unwrap().of(role))
}

fn every_block_has_every_pass_of_every_cell() -> Result<(), Skip> {
    let all = STUDY.stored.trials();
    assert_eq!(all.len(), CELLS * 2 * Pass::ALL.len());
    let mut slots: Vec<_> = all.iter().map(|record| (record.block, record.cell.clone(), record.pass)).collect();
    slots.sort();
    slots.dedup();
    assert_eq!(slots.len(), all.len());
    // Passes of a cell stand side by side.
    for group in all.chunks(Pass::ALL.len()) {
        assert!(group.iter().all(|record| (record.block, &record.cell) == (group[0].block, &group[0].cell)));
    }
    Ok(())
}

fn only_the_pass_that_is_made_for_it_sees_something() -> Result<(), Skip> {
    for (_, measured) in trials(Pass::Clean)? {
        assert!(measured.observed.is_none());
    }
    for pass in [Pass::Time, Pass::TimeReceiver, Pass::Wait, Pass::Count] {
        let Ok(trials) = trials(pass) else { continue };
        for (_, measured) in trials {
            for (end, role) in ends(&measured).into_iter().zip([Role::Sender, Role::Receiver]) {
                let seen = (end.profile.is_some(), end.waits.is_some(), end.counts.is_some());
                let sampled = pass.samples() && pass.watches(role);
                assert_eq!(seen, (sampled, pass == Pass::Wait, pass == Pass::Count), "{pass}: {:?}", end.refused);
            }
        }
    }
    Ok(())
}

fn samples_add_up_to_the_time_on_the_cpu() -> Result<(), Skip> {
    let (mut sampled, mut on_cpu) = ([0.0; 2], [0.0; 2]);
    for (at, pass) in [Pass::Time, Pass::TimeReceiver].into_iter().enumerate() {
        for (_, measured) in trials(pass)? {
            let report = if at == 0 { &measured.sender } else { &measured.receiver };
            let profile = ends(&measured)[at].profile.as_ref().unwrap();
            assert_eq!((profile.lost, profile.throttled, profile.broken), (0, 0, 0));
            sampled[at] += (profile.samples() * profile.period) as f64;
            let recorded = profile.account.and_then(|account| account.on_cpu);
            on_cpu[at] += recorded.unwrap_or(report.cpu_time.process).get() as f64;
        }
    }
    let closure = [sampled[0] / on_cpu[0], sampled[1] / on_cpu[1]];
    // Wide: samples are few here.
    assert!(closure.iter().all(|closure| (0.75..1.25).contains(closure)), "{closure:?}");
    Ok(())
}

/// Work of 4 and of 16 µs before each datagram, of a sender that never sleeps and of one that is woken for each.
fn known_costs_are_found_in_the_row_that_has_them() -> Result<(), Skip> {
    const KNOWN: &str = r#"
name = "known"
trial = { length = "60ms", warmup = "10ms" }
blocks = { least = 2, most = 2 }
receipt = { samples = 200 }
[[cells]]
test = "UDP_STREAM"
size = 64
work = ["4us", "16us"]
[[cells]]
test = "UDP_STREAM"
size = 64
rate = "20000/s"
work = ["4us", "16us"]
"#;
    trials(Pass::Time)?;
    let tool = Tool::new();
    let found = tool.study(KNOWN, &["-J"]).done().json();
    let cells = found["receipt"]["cells"].as_array().unwrap();
    let row = |cell: &Value, key: &str| {
        let layers = cell["sender"]["outcome"]["made"]["layers"].as_array().unwrap_or_else(|| panic!("{cell:#}"));
        layers.iter().find(|row| row["key"] == key).map_or(0.0, |row| row["ns"]["value"].as_f64().unwrap())
    };
    for cells in cells.chunks(2) {
        let [little, much] = [0, 1].map(|at| row(&cells[at], "user"));
        // Wide: samples are few, and a virtual machine's speed is not one.
        for (found, known) in [(little, 4_000.0), (much, 16_000.0)] {
            assert!((0.4..2.0).contains(&(found / known)), "{found} for {known}: {little}, {much}");
        }
        // No other row has as much of it.
        let udp = [0, 1].map(|at| row(&cells[at], "udp"));
        assert!((udp[1] - udp[0]).abs() < 0.5 * (much - little), "{udp:?}: {little}, {much}");
    }
    Ok(())
}

/// Each is about the cost of a datagram, which the other rows of a sender together have.
fn each_cause_of_a_proof_is_found_in_its_row() -> Result<(), Skip> {
    trials(Pass::Time)?;
    let tool = Tool::new();
    let words = ["doctor", "--prove", "--yes", "--only", "quiet", "--kinds", "1,5", "--blocks", "3", "-J"];
    let mut command = tool.command(&words);
    let found = Answer::from(command.env("XDG_CACHE_HOME", tool.path()).output().unwrap()).done().json();
    let costs = found["quiet"].as_array().unwrap();
    // Five causes in datagrams, work before the requests of TCP_CRR.
    assert_eq!(costs.len(), 6, "{found:#}");
    for cost in costs {
        if let Some(reason) = cost["Err"].as_str() {
            assert!(need_root().is_err() || !reason.contains("namespace"), "{cost:#}");
            println!("not looked for: {}: {reason}", cost["cause"]);
            continue;
        }
        let (ratio, injected) = (cost["Ok"]["ratio"]["value"].as_f64().unwrap(), cost["injected_ns"].as_f64().unwrap());
        // Wide: samples are few, and a virtual machine's speed is not one.
        assert!((0.4..2.0).contains(&ratio) && injected > 200.0, "{cost:#}");
    }
    assert!(costs.iter().filter(|cost| cost["Ok"].is_object()).count() >= 3, "{found:#}");
    // A look at one kind of traffic proves nothing.
    assert!(!tool.path().join("nettoll/microscope/proofs").exists());
    Ok(())
}

fn a_datagram_is_one_call_of_each_on_its_way() -> Result<(), Skip> {
    let mut tracepoints = 0;
    for (record, measured) in trials(Pass::Count)?.iter().filter(|(record, _)| record.cell.test == model::Test::UdpStream) {
        let counts = ends(measured)[0].counts.as_ref().unwrap();
        let sent = measured.sender.total.sent;
        // Each send is one call; what else the thread does is a few at its start,
        // and what it takes over from others' softirqs on a busy machine.
        for name in ["sock:sock_send_length", "net:net_dev_start_xmit", "__sys_sendto", "__dev_queue_xmit"] {
            let Some(calls) = counts.calls.get(name) else { continue };
            tracepoints += usize::from(name.contains(':'));
            assert!(calls.abs_diff(sent) <= sent / 10 + 4, "{name}: {calls} of {sent} in {}", record.cell);
        }
    }
    assert!(tracepoints > 0, "functions alone were counted");
    Ok(())
}

/// Cells that can be woven have the cost of sampling by slices; the others by passes, and the reason stands next to it.
fn slices_with_the_sampler_on_and_off_say_what_it_costs() -> Result<(), Skip> {
    trials(Pass::Time)?;
    let tool = Tool::new();
    let slow = "[[cells]]\ntest = \"UDP_STREAM\"\nsize = 64\nrate = \"500/s\"\n";
    let study = tool.study(&format!("{PLAN}{slow}"), &["-J"]).done();
    let cells = study.json()["receipt"]["cells"].as_array().unwrap().clone();
    assert_eq!(cells.len(), CELLS + 1);
    for (place, cell) in cells.iter().enumerate() {
        for end in ["sender", "receiver"] {
            let observer = &cell[end]["outcome"]["made"]["observer"];
            let ratio = &observer["ratio"];
            let [low, value, high] = [&ratio["interval"]["low"], &ratio["value"], &ratio["interval"]["high"]].map(Value::as_f64);
            println!("cell {place}, {end}: {observer}");
            if place < CELLS {
                assert!(low < value && value < high && low.is_some(), "{observer}");
                assert!(value.is_some_and(|value| (0.5..2.0).contains(&value)) && observer["no_slices"].is_null(), "{observer}");
                assert_eq!((&ratio["interval"]["method"], ratio["n"].as_u64() >= Some(8)), (&Value::from("instances"), true), "{observer}");
            } else {
                assert!(observer["no_slices"].as_str().is_some_and(|why| why.contains("too few messages")), "{observer}");
            }
        }
    }
    let exported = tool.run(&["export", "--slices"]).done();
    for state in ["not sampled", "sender sampled", "receiver sampled"] {
        assert!(exported.stdout.lines().filter(|line| line.contains(state)).count() >= 8 * CELLS, "{state}");
    }
    tool.run(&["report", "-v"]).says("time pass / clean pass");
    Ok(())
}

fn what_is_refused_is_said_and_the_rest_goes_on() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::of_nobody();
    let study = tool.study(PLAN, &["-J"]);
    // Without any receipt it has failed.
    assert!(matches!(study.code, Some(0 | 1)), "{study:#?}");
    let all = tool.stored().trials();
    assert_eq!(all.len(), CELLS * 2 * Pass::ALL.len());
    for record in &all {
        match &record.outcome {
            Outcome::Measured(_) => assert!(record.pass.is_clean() || record.measured().unwrap().observed.is_some()),
            Outcome::Skipped { reason } => {
                assert!(!record.pass.is_clean());
                assert!(reason.contains("EPERM") || reason.contains("EACCES") || reason.contains("kptr_restrict"), "{reason}");
            }
            Outcome::Failed { error, .. } => panic!("{error}"),
        }
    }
    Ok(())
}

/// A user without privileges gets no receipt where the kernel keeps its samples to the privileged.
fn a_study_that_may_not_sample_fails_and_was_foreseen_to() -> Result<(), Skip> {
    need_root()?;
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if paranoid.trim().parse::<i32>().is_ok_and(|level| level < 2) {
        return Err(Skip(format!("kernel.perf_event_paranoid is {}: anybody may sample the kernel here", paranoid.trim())));
    }
    let tool = Tool::of_nobody();
    let foreseen = tool.study(PLAN, &["--dry-run"]);
    assert_eq!(foreseen.code, Some(1), "{foreseen:#?}");
    assert!(foreseen.stderr.contains("no receipt can be made here: samples of the kernel: "), "{foreseen:#?}");
    tool.run(&["doctor", "-v"]).says("`nettoll study receipt` needs samples of the kernel");
    let study = tool.study(PLAN, &[]);
    assert_eq!(study.code, Some(1), "{study:#?}");
    study.says("no receipt was made: ");
    assert!(!study.stdout.contains("add up"), "{study:#?}");
    Ok(())
}
