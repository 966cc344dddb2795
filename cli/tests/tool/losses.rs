//! Datagrams that are lost are found again in a counter.

use std::time::Duration;

use model::trial::Measured;
use model::{Test, TrialRecord, Warning};

use crate::conservation::assert_identity;
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs, need_root, processes, succeeds, within};

crate::claims!(
    drops_of_an_overloaded_receiver_are_accounted_for,
    datagrams_lost_with_their_fragments_are_accounted_for,
    drops_in_the_senders_own_queue_are_accounted_for,
);

fn plan(size: &str, factors: &str, blocks: u32) -> String {
    format!(
        r#"
        name = "losses"
        trial = {{ length = "60ms", warmup = "10ms" }}
        blocks = {{ least = {blocks}, most = {blocks} }}
        [[cells]]
        test = "UDP_STREAM"
        family = ["ipv4", "ipv6"]
        size = {size}
        {factors}
        "#
    )
}

/// The datagrams that stand in one counter of the report's balance.
fn dropped(analysis: &serde_json::Value, counter: &str) -> u64 {
    let rows = analysis["datagrams"]["dropped"].as_array().unwrap();
    rows.iter().filter(|row| row[0] == counter).map(|row| row[1].as_u64().unwrap()).sum()
}

fn drops_of_an_overloaded_receiver_are_accounted_for() -> Result<(), Skip> {
    let tool = Tool::new();
    // Room for a dozen small datagrams, or for one large one.
    let analysis = tool.study(&plan("[1, 16384]", "rcvbuf = \"4K\"", 4), &["-J"]).done().json();
    assert_eq!(analysis["datagrams"]["unaccounted"], 0, "{analysis:#}");
    let mut by_size = std::collections::BTreeMap::<u64, u64>::new();
    for (record, measured) in tool.stored().measured_of(&[Test::UdpStream]) {
        assert_identity(&record, &measured);
        *by_size.entry(record.cell.size.get()).or_default() += measured.receiver_host.udp.rcvbuf_errors;
    }
    assert!(by_size.values().all(|drops| *drops > 0), "the receiver was to be overloaded: {by_size:?}");
    assert_eq!(dropped(&analysis, "RcvbufErrors"), by_size.values().sum::<u64>());
    Ok(())
}

/// Runs a plan and, as soon as the first trial is over, a command in the
/// namespace of each host. Returns the trials after that: while a queue is
/// changed the kernel drops what comes and counts it nowhere.
fn disturbed(tool: &Tool, plan: &str, command: &str) -> Result<Vec<(TrialRecord, Measured)>, Skip> {
    need_root()?;
    need_programs(&["nsenter", "tc"])?;
    let study = tool.start_study(plan, &["-J"]);
    within(Duration::from_secs(60), "the first trial is stored", || tool.try_stored().is_some_and(|run| run.trials_so_far() > 0));
    let hosts = ["a", "b"].map(|name| processes::host(tool, name).expect("the host is there"));
    let done = hosts.iter().all(|host| succeeds(&format!("nsenter -t {} -n {command}", host.pid)));
    let under_way = tool.stored().trials_so_far();
    let answer: Answer = study.wait_with_output().unwrap().into();
    match done {
        true => {
            answer.done().json();
            Ok(tool.stored().all_measured().split_off(under_way + 1))
        }
        false => Err(Skip(format!("`{command}` is refused here"))),
    }
}

/// The trials left nothing over, by the tool's own account.
#[track_caller]
fn assert_accounted(trials: &[(TrialRecord, Measured)]) {
    assert!(trials.len() > 8, "{} trials", trials.len());
    for (record, measured) in trials {
        let left_over = record.warnings.iter().find(|warning| matches!(warning, Warning::Unaccounted { .. }));
        assert_eq!(left_over, None, "{} block {}: {measured:#?}", record.cell, record.block);
    }
}

fn datagrams_lost_with_their_fragments_are_accounted_for() -> Result<(), Skip> {
    let tool = Tool::new();
    // A large datagram has more fragments than the queue has room for.
    let plan = plan("[2000, 16384]", "sndbuf = \"256K\"", 4);
    let trials = disturbed(&tool, &plan, "tc qdisc add dev nettoll0 root tbf rate 100mbit burst 5000 limit 15000")?;
    assert_accounted(&trials);
    for (record, measured) in &trials {
        let host = &measured.sender_host;
        assert_eq!(measured.sender.total.sent, host.udp.out_datagrams + host.udp.sndbuf_errors, "{}", record.cell);
        assert!(host.ip.frag_creates > 0, "{}: {host:?}", record.cell);
    }
    assert!(trials.iter().any(|(_, measured)| measured.sender_host.udp.sndbuf_errors > 0), "the queue was to overflow");
    Ok(())
}

fn drops_in_the_senders_own_queue_are_accounted_for() -> Result<(), Skip> {
    let tool = Tool::new();
    // The queue is smaller than the socket's buffer: it overflows before the sender blocks.
    let trials = disturbed(&tool, &plan("[64, 1024]", "", 4), "tc qdisc add dev nettoll0 root tbf rate 50mbit burst 5000 limit 15000")?;
    assert_accounted(&trials);
    for (record, measured) in &trials {
        assert_identity(record, measured);
        assert_eq!(measured.sender.total.errors, 0, "its calls succeed all the same: {}", record.cell);
    }
    assert!(trials.iter().any(|(_, measured)| measured.sender_host.udp.sndbuf_errors > 0), "the queue was to overflow");
    Ok(())
}
