//! Many hosts send to one, and one to many: each flow comes from the host that it is of, what the port of the switch
//! drops is counted, and what cannot be spread is refused.

use std::collections::BTreeSet;
use std::net::IpAddr;

use model::end::EndReport;
use model::trial::{Measured, Windows};
use model::{Cell, Role, Test, Warning};
use serde_json::Value;

use crate::support::processes::{assert_nothing_left, traces};
use crate::support::tool::Tool;
use crate::support::{Skip, need_root};

crate::claims!(
    many_senders_share_the_port_and_what_it_drops_is_named,
    a_burst_is_over_when_all_have_arrived,
    many_send_messages_of_mixed_sizes,
    one_sends_to_many_over_both_families_and_without_privileges,
    what_cannot_be_spread_is_misuse,
);

fn plan(blocks: u32, cells: &str) -> String {
    format!(
        "name = \"many\"\nseed = 5\ntrial = {{ length = \"300ms\", warmup = \"0ms\" }}\nblocks = {{ least = {blocks}, most = {blocks} }}\n{cells}"
    )
}

/// The addresses of an end's flows, its own and the other's.
fn addresses(end: &EndReport) -> [BTreeSet<IpAddr>; 2] {
    let of = |address: fn(&model::end::FlowAddresses) -> IpAddr| end.addresses.iter().map(address).collect();
    [of(|flow| flow.local.ip()), of(|flow| flow.remote.ip())]
}

/// Each end has the hosts that the cell asks for, and both ends the same ones.
#[track_caller]
fn assert_hosts(cell: &Cell, measured: &Measured) {
    let ([senders, to], [receivers, from]) = (addresses(&measured.sender), addresses(&measured.receiver));
    assert_eq!([senders.len(), receivers.len()], [Role::Sender, Role::Receiver].map(|role| cell.hosts(role) as usize), "{cell}");
    assert_eq!((&senders, &receivers), (&from, &to), "{cell}");
    assert!(senders.is_disjoint(&receivers));
    assert_eq!(measured.sender.threads.len(), cell.flows as usize);
}

/// The median of a metric in the cell of a test at a level of a factor.
fn metric(analysis: &Value, metric: &str, test: Test, factor: &str, level: u64) -> Option<f64> {
    let at = |cell: &&Value| {
        let hosts = cell["cell"]["conditions"][factor].as_u64().unwrap_or(1);
        cell["cell"]["test"] == test.name() && hosts == level
    };
    analysis["cells"].as_array().unwrap().iter().find(at).unwrap()["metrics"][metric]["value"].as_f64()
}

/// 1 to 32 senders through a port of 100 Mbit/s with a queue of 43 frames.
fn many_senders_share_the_port_and_what_it_drops_is_named() -> Result<(), Skip> {
    need_root()?;
    let before = traces();
    let tool = Tool::new();
    let cells = "[[cells]]\ntest = \"UDP_STREAM\"\nsize = 1024\nlink = \"switch 100M queue=64K\"\nsenders = [1, 4, 32]\n";
    let analysis = tool.study(&plan(2, cells), &["-J"]).done().json();
    // Both directions of the hosts: the second block exchanges them.
    for (record, measured) in tool.stored().all_measured() {
        assert_hosts(&record.cell, &measured);
        assert_eq!(measured.sender_host.udp.out_datagrams, measured.sender.total.messages, "{}", record.cell);
        let dropped = measured.wire.unwrap().dropped;
        assert_eq!(record.cell.conditions.senders > 1, dropped > 0, "{}: {dropped}", record.cell);
        let windows = measured.windows.unwrap();
        let together = windows.overlap_ns as f64 >= Windows::LEAST * windows.asked.get() as f64;
        assert!(together || record.warnings.iter().any(|warning| matches!(warning, Warning::WindowsApart { .. })), "{windows:?}");
    }
    let balance = &analysis["datagrams"];
    assert_eq!(balance["unaccounted"], 0, "{balance:#}");
    assert_eq!(balance["dropped"][0][0], "wire", "{balance:#}");
    for senders in [1, 4, 32] {
        let of = |name| metric(&analysis, name, Test::UdpStream, "senders", senders);
        assert!(of("limit_share").unwrap() <= 1.02);
        let fairness = of("fairness_index");
        assert_eq!(fairness.is_some(), senders > 1);
        assert!(fairness.is_none_or(|index| (1.0 / senders as f64 - 1e-9..=1.0).contains(&index)), "{fairness:?}");
    }
    assert_nothing_left(&tool, &before);
    Ok(())
}

/// What is sent again arrives: no byte is lost, and the time until the last one is no shorter than the port allows.
fn a_burst_is_over_when_all_have_arrived() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::new();
    let cells = "[[cells]]\ntest = \"TCP_STREAM\"\nsize = \"16K\"\nnodelay = true\ncount = 16\nlink = \"switch 100M queue=64K\"\n\
                 senders = [1, 8]\n";
    let analysis = tool.study(&plan(4, cells), &["-J"]).done().json();
    for (record, measured) in tool.stored().all_measured() {
        assert_hosts(&record.cell, &measured);
        let bytes = u64::from(record.cell.conditions.senders) * 16 * (16 << 10);
        assert_eq!((measured.sender.total.bytes, measured.receiver.total.bytes), (bytes, bytes));
        // A TCP segment has 1,448 bytes of payload at most, and takes 1,538 byte times.
        let least = bytes as f64 * 8.0 / 1e8;
        let completion = measured.receiver.window.end.since(measured.sender.window.start).as_secs_f64();
        assert!(completion >= least, "{completion} s of at least {least} s");
    }
    for senders in [1, 8] {
        let of = |name| metric(&analysis, name, Test::TcpStream, "senders", senders);
        assert!(of("completion_ns").is_some() && of("fairness_index").is_none());
        assert!(of("limit_share").unwrap() <= 1.02);
        let half = of("flow_completion_ns");
        assert_eq!(half.is_some(), senders > 1);
        assert!(half.is_none_or(|half| half > 0.0 && half <= of("completion_ns").unwrap()), "{half:?}");
    }
    let levels = analysis["levels"].to_string();
    assert!(levels.contains("\"senders\"") && levels.contains("\"completion\""), "{levels}");
    Ok(())
}

/// A workload is measured as the sizes were that it is predicted from.
fn many_send_messages_of_mixed_sizes() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::new();
    let extent = ["--blocks", "2", "--length", "60ms"];
    let sizes = ["study", "size", "--test", "TCP_STREAM", "--size", "64,4K,64K", "--senders", "3", "--link", "switch"];
    tool.run(&[&sizes[..], &extent].concat()).done();
    tool.run(&[&["workload", "W1"][..], &extent].concat()).done().says("TCP_STREAM (nodelay, 3 senders)");
    Ok(())
}

/// As a plain user in a user namespace; requests too.
fn one_sends_to_many_over_both_families_and_without_privileges() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::of_nobody();
    let cells = "[[cells]]\ntest = [\"TCP_STREAM\", \"TCP_RR\", \"UDP_STREAM\", \"UDP_RR\", \"TCP_MAERTS\"]\nfamily = [\"ipv4\", \"ipv6\"]\n\
                 size = 512\nlink = \"switch\"\nreceivers = 3\nflows = 6\n";
    tool.study(&plan(2, cells), &["--length", "60ms"]).done();
    let measured = tool.stored().all_measured();
    assert_eq!(measured.len(), 20);
    for (record, measured) in measured {
        assert_hosts(&record.cell, &measured);
        assert!(measured.receiver.flows.iter().all(|flow| flow.total.messages > 0), "{}", record.cell);
    }
    Ok(())
}

fn what_cannot_be_spread_is_misuse() -> Result<(), Skip> {
    let misuse = |arguments: &str, words: &[&str]| {
        let tool = Tool::new();
        let all: Vec<&str> = ["study", "quick", "--dry-run"].into_iter().chain(arguments.split(' ')).collect();
        tool.run(&all).refused(2, words);
    };
    misuse("--senders 4", &["senders", "4 over veth", "--link 'switch 100M'"]);
    misuse("--senders 0 --link switch", &["1 to 32"]);
    misuse("--senders 33 --link switch", &["1 to 32"]);
    misuse("--senders 2 --receivers 2 --link switch", &["many send to one, or one to many"]);
    misuse("--senders 4 -P 3 --link switch", &["3 flows do not reach as many hosts"]);
    misuse("--senders 2 --link switch --link-load 1", &["not with a link load"]);
    misuse("--senders 2 --link switch --offload-gro off", &["[link.offloads]"]);
    misuse("--senders 2 --link switch --test TCP_CRR", &["not with TCP_CRR"]);
    misuse("--senders 2 --link switch --test UDP_STREAM --api raw", &["below UDP"]);
    misuse("--senders 2 --host b=192.0.2.1", &["--host a2=PLACE", "leave out --host"]);
    misuse("--senders 2 --link switch --arm a: --arm b:mtu=1400", &["mtu of arm 'b'", "set at two of them"]);
    Ok(())
}
