//! Several flows in processes of their own: their files, and their end.

use std::fs;
use std::process::Child;
use std::time::Instant;

use model::control::{FromEndpoint, SentTotals, ToEndpoint};
use model::plan::TrialEnd;
use model::{Cell, Family, Nanos, Test};

use crate::Skip;
use crate::child;
use crate::support::several::{join, several_between, tasks};
use crate::support::{Endpoint, PATIENCE, cell, let_flow};

const FLOWS: u32 = 3;

fn flows(test: Test, bidirectional: bool) -> Cell {
    Cell { flows: FLOWS, bidirectional, ..cell(test, Family::V4, 1_000) }
}

fn assert_succeeds(mut process: Child) {
    assert!(process.wait().unwrap().success());
}

/// A file left open in another thread's table would keep a connection from
/// ending: its sender would say that the other end takes nothing more.
pub fn end_with_their_connections() -> Result<(), Skip> {
    for (test, both) in
        [(Test::TcpStream, false), (Test::TcpMaerts, false), (Test::UdpStream, false), (Test::TcpRr, false), (Test::TcpStream, true)]
    {
        let ((mut sender, sending), (mut receiver, receiving)) = (child::endpoint(), child::endpoint());
        let tasks = tasks(&flows(test, both), TrialEnd::Length(Nanos::from_millis(40)), Nanos::from_millis(10));
        let [there, back] = several_between(&mut sender, &mut receiver, tasks);
        if test.protocol() == model::Protocol::Tcp && test.is_stream() {
            assert_eq!(there.report.total.bytes, back.report.total.bytes, "{test}");
        }
        for process in [sending, receiving] {
            assert_succeeds(process);
        }
    }
    Ok(())
}

/// Sockets in the tables of the traffic threads of a process.
fn sockets_of_threads(process: &Child) -> Vec<usize> {
    let mut found = Vec::new();
    for thread in fs::read_dir(format!("/proc/{}/task", process.id())).unwrap().flatten() {
        if fs::read_to_string(thread.path().join("comm")).unwrap_or_default().trim() == "traffic" {
            let files = fs::read_dir(thread.path().join("fd")).unwrap().flatten();
            let links = files.filter_map(|file| fs::read_link(file.path()).ok());
            found.push(links.filter(|link| link.to_string_lossy().starts_with("socket:")).count());
        }
    }
    found
}

/// In a table of its own a thread has its own socket and no other's.
pub fn have_a_socket_each() -> Result<(), Skip> {
    for (test, both) in [(Test::TcpStream, false), (Test::UdpStream, true)] {
        let ((mut sender, sending), (mut receiver, receiving)) = (child::endpoint(), child::endpoint());
        let end = TrialEnd::Length(Nanos::from_millis(2_000));
        join(&mut sender, &mut receiver, tasks(&flows(test, both), end, Nanos::from_millis(0)));
        let_flow(&mut sender, &mut receiver, end);
        let threads = if both { 2 * FLOWS } else { FLOWS } as usize;
        let (expected, give_up) = ([vec![1; threads], vec![1; threads]], Instant::now() + PATIENCE);
        loop {
            // They start one after the other.
            let tables = [sockets_of_threads(&sending), sockets_of_threads(&receiving)];
            if tables == expected {
                break;
            }
            assert!(Instant::now() < give_up, "{test}: {tables:?}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        finish(&mut sender, &mut receiver, both);
        for process in [sending, receiving] {
            assert_succeeds(process);
        }
    }
    Ok(())
}

fn finish(sender: &mut Endpoint, receiver: &mut Endpoint, both: bool) {
    let sent = |endpoint: &mut Endpoint| match endpoint.hear() {
        FromEndpoint::Sent(sent) => sent,
        other => panic!("expected its end, got {other:?}"),
    };
    let there: SentTotals = sent(sender);
    let back = if both { sent(receiver) } else { there.clone() };
    receiver.tell(&ToEndpoint::Drain(there));
    sender.tell(&ToEndpoint::Drain(back));
    receiver.hear_done();
    sender.hear_done();
}
