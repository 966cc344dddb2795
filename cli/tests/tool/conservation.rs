//! Both ends count, the kernel counts next to them, and the sums are equal.

use std::sync::LazyLock;

use model::run::Status;
use model::trial::Measured;
use model::{Cell, Test, TrialRecord};
use serde_json::Value;

use crate::support::Skip;
use crate::support::stored::Stored;
use crate::support::tool::Tool;

crate::claims!(
    every_trial_of_every_test_is_measured,
    every_datagram_of_a_stream_is_accounted_for,
    every_request_and_every_answer_is_accounted_for,
    the_report_leaves_no_datagram_unaccounted_for,
    a_tcp_receiver_gets_every_byte_that_was_sent,
    an_answerer_counts_the_transactions_of_its_requester,
    the_link_carried_the_traffic,
    half_of_the_blocks_exchange_the_roles,
    every_block_has_an_order_of_its_own,
    the_ends_are_fresh_small_processes_on_cpus_of_their_own,
    a_trial_by_count_measures_exactly_that_many_messages,
);

/// All five tests over both families, with messages in one frame, in two, and
/// in many.
const PLAN: &str = r#"
name = "every-test"
seed = 5
[trial]
length = "40ms"
warmup = "10ms"
[blocks]
least = 2
most = 2
[[cells]]
test = ["TCP_STREAM", "UDP_STREAM", "TCP_MAERTS", "TCP_RR", "UDP_RR"]
family = ["ipv4", "ipv6"]
size = [1, 1473, 16384]
nodelay = true
"#;
const CELLS: usize = 5 * 2 * 3;

struct Study {
    // Holds the directory.
    _tool: Tool,
    stored: Stored,
    analysis: Value,
}

/// One study for many claims.
static STUDY: LazyLock<Study> = LazyLock::new(|| {
    let tool = Tool::new();
    let analysis = tool.study(PLAN, &["-J"]).done().json();
    let stored = tool.stored();
    Study { _tool: tool, stored, analysis }
});

fn every_trial_of_every_test_is_measured() -> Result<(), Skip> {
    let trials = STUDY.stored.all_measured();
    assert_eq!(trials.len(), 2 * CELLS);
    assert_eq!(STUDY.stored.status(), Status::BlocksDone);
    assert_eq!((&STUDY.analysis["trials"], &STUDY.analysis["failed"]), (&(2 * CELLS).into(), &0.into()));
    for (record, measured) in &trials {
        let of = &record.cell;
        assert!(measured.isolated, "{of}");
        assert!(measured.overhead.get() > 0, "{of}: the fixed cost of a trial is stored");
        for end in [&measured.sender, &measured.receiver] {
            assert!(end.total.messages > 0 && end.total.messages >= end.counts.messages, "{of}: {end:?}");
            // On a busy machine an answer may come when its requester has gone.
            let gone = record.cell.test == Test::UdpRr && measured.sender.total.lost > 0;
            assert!(end.total.errors == 0 || gone, "{of}: {end:?}");
        }
    }
    Ok(())
}

/// The identity, from the kernel's raw counters alone. Holds where nothing is
/// lost between the two UDPs.
#[track_caller]
pub fn assert_identity(record: &TrialRecord, measured: &Measured) {
    let (sender, receiver) = (&measured.sender.total, &measured.receiver.total);
    let (here, there) = (&measured.sender_host.udp, &measured.receiver_host.udp);
    let of = format!("{} block {}: {measured:#?}", record.cell, record.block);
    assert_eq!(sender.sent, here.out_datagrams + here.sndbuf_errors, "sends that succeeded, {of}");
    // InErrors holds RcvbufErrors, MemErrors and InCsumErrors, and what has no counter of its own.
    let arrived = there.in_datagrams + there.in_errors + there.no_ports;
    assert_eq!(here.out_datagrams, arrived, "what left UDP here reached it there, {of}");
    assert_eq!(receiver.received, there.in_datagrams, "what UDP handed over was taken, {of}");
}

fn every_datagram_of_a_stream_is_accounted_for() -> Result<(), Skip> {
    for (record, measured) in STUDY.stored.measured_of(&[Test::UdpStream]) {
        assert_identity(&record, &measured);
        assert_eq!(measured.sender.total.messages, measured.sender.total.sent);
        assert_eq!(measured.sender.total.bytes, measured.sender.total.sent * record.cell.size.get());
        assert_eq!(measured.receiver.total.bytes, measured.receiver.total.received * record.cell.size.get());
    }
    Ok(())
}

fn every_request_and_every_answer_is_accounted_for() -> Result<(), Skip> {
    for (record, measured) in STUDY.stored.measured_of(&[Test::UdpRr]) {
        assert_identity(&record, &measured);
        let back = Measured {
            sender: measured.receiver.clone(),
            receiver: measured.sender.clone(),
            sender_host: measured.receiver_host,
            receiver_host: measured.sender_host,
            ..measured
        };
        assert_identity(&record, &back);
        let asked = &measured.sender.total;
        assert_eq!(asked.sent, asked.messages + asked.lost, "{}", record.cell);
        assert_eq!(asked.received, asked.messages + asked.late, "{}", record.cell);
    }
    Ok(())
}

fn the_report_leaves_no_datagram_unaccounted_for() -> Result<(), Skip> {
    let balance = &STUDY.analysis["datagrams"];
    assert!(balance["sent"].as_u64().unwrap() > 0);
    assert_eq!(balance["unaccounted"], 0);
    let kinds = findings(&STUDY.analysis);
    assert!(!kinds.iter().any(|kind| kind == "unaccounted" || kind == "wrong_path"), "{kinds:?}");
    Ok(())
}

/// The kinds of all doubts in an analysis.
pub fn findings(analysis: &Value) -> Vec<String> {
    analysis["findings"].as_array().unwrap().iter().map(|found| found["warning"]["kind"].as_str().unwrap().to_owned()).collect()
}

fn a_tcp_receiver_gets_every_byte_that_was_sent() -> Result<(), Skip> {
    for (record, measured) in STUDY.stored.measured_of(&[Test::TcpStream, Test::TcpMaerts]) {
        let (sent, received) = (&measured.sender.total, &measured.receiver.total);
        assert_eq!((received.bytes, received.messages), (sent.bytes, sent.messages), "{}", record.cell);
        assert_eq!(sent.bytes, sent.messages * record.cell.size.get(), "{}", record.cell);
    }
    Ok(())
}

fn an_answerer_counts_the_transactions_of_its_requester() -> Result<(), Skip> {
    for (record, measured) in STUDY.stored.measured_of(&[Test::TcpRr, Test::UdpRr]) {
        let (asked, answered) = (&measured.sender.total, &measured.receiver.total);
        assert_eq!((answered.received, answered.sent), (asked.sent, asked.sent), "{}", record.cell);
        if record.cell.test == Test::TcpRr {
            assert_eq!((answered.messages, asked.received), (asked.messages, asked.messages), "{}", record.cell);
            assert_eq!(asked.bytes, 2 * asked.messages * record.cell.size.get(), "{}", record.cell);
        }
        assert!(measured.sender.latency.is_some(), "{}", record.cell);
    }
    Ok(())
}

fn the_link_carried_the_traffic() -> Result<(), Skip> {
    for (record, measured) in STUDY.stored.all_measured() {
        let payload = match record.cell.test.is_stream() {
            true => measured.receiver.total.bytes,
            false => measured.receiver.total.received * record.cell.size.get(),
        };
        let (here, there) = (&measured.sender_host.link, &measured.receiver_host.link);
        assert!(here.tx_bytes > payload && there.rx_bytes > payload, "{}: {payload} {here:?} {there:?}", record.cell);
        if record.cell.test == Test::UdpStream {
            // At least a frame for each datagram.
            assert!(here.tx_packets >= measured.sender_host.udp.out_datagrams, "{}: {here:?}", record.cell);
        }
    }
    Ok(())
}

fn half_of_the_blocks_exchange_the_roles() -> Result<(), Skip> {
    let trials = STUDY.stored.trials();
    for block in [0, 1] {
        let kinds: Vec<bool> = trials.iter().filter(|trial| trial.block == block).map(|trial| trial.swapped).collect();
        assert_eq!(kinds, [kinds[0]; CELLS], "a block is of one kind");
    }
    assert_eq!(trials.iter().filter(|trial| trial.swapped).count(), CELLS);
    assert_eq!(STUDY.analysis["roles"]["too_few_blocks"]["blocks"], 2);
    Ok(())
}

fn every_block_has_an_order_of_its_own() -> Result<(), Skip> {
    let trials = STUDY.stored.trials();
    let order = |block| -> Vec<Cell> { trials.iter().filter(|trial| trial.block == block).map(|trial| trial.cell.clone()).collect() };
    let (mut first, mut second) = (order(0), order(1));
    assert_ne!(first, second);
    first.sort();
    second.sort();
    assert_eq!(first, second, "the same cells in each");
    let positions: Vec<u32> = trials.iter().map(|trial| trial.position).collect();
    assert_eq!(positions, [0, 1].iter().flat_map(|_| 0..CELLS as u32).collect::<Vec<_>>());
    Ok(())
}

fn the_ends_are_fresh_small_processes_on_cpus_of_their_own() -> Result<(), Skip> {
    let cpus = STUDY.stored.host("a")["endpoint_cpus"][0] != STUDY.stored.host("b")["endpoint_cpus"][0];
    for (record, measured) in STUDY.stored.all_measured() {
        for end in [&measured.sender, &measured.receiver] {
            let resident = end.max_resident.get();
            // Of a build for tests its own code alone takes some 10 MiB; benches hold the release to 16.
            assert!(resident > 0 && resident <= 32 << 20, "{}: {resident} B", record.cell);
        }
        assert_eq!(measured.sender.cpu != measured.receiver.cpu, cpus, "{}", record.cell);
    }
    Ok(())
}

fn a_trial_by_count_measures_exactly_that_many_messages() -> Result<(), Skip> {
    const MESSAGES: u64 = 700;
    let tool = Tool::new();
    let plan = format!(
        r#"
        name = "by-count"
        trial = {{ messages = {MESSAGES}, warmup = "5ms" }}
        blocks = {{ least = 2, most = 2 }}
        [[cells]]
        test = ["TCP_STREAM", "TCP_MAERTS", "UDP_STREAM", "TCP_RR", "UDP_RR"]
        size = [1, 2000]
        nodelay = true
        "#
    );
    let analysis = tool.study(&plan, &["-J"]).done().json();
    assert_eq!(analysis["datagrams"]["unaccounted"], 0);
    let trials = tool.stored().all_measured();
    assert_eq!(trials.len(), 20);
    for (record, measured) in trials {
        assert_eq!(measured.sender.counts.messages, MESSAGES, "{}", record.cell);
        match record.cell.test {
            Test::UdpStream => assert_identity(&record, &measured),
            Test::TcpStream | Test::TcpMaerts => {
                assert_eq!(measured.receiver.total.bytes, measured.sender.total.messages * record.cell.size.get(), "{}", record.cell);
            }
            Test::TcpRr | Test::UdpRr | Test::TcpCrr => {
                assert_eq!(measured.receiver.total.received, measured.sender.total.sent, "{}", record.cell)
            }
        }
    }
    Ok(())
}
