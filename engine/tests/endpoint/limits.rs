//! What a host allows one trial.

use std::time::Duration;

use model::control::{FromEndpoint, Limits, Task, ToEndpoint};
use model::plan::TrialEnd;
use model::{Bytes, Cell, Family, Nanos, Role, Test};

use crate::support::several::{join, ready, tasks};
use crate::support::{Endpoint, cell, task};

const LONG: TrialEnd = TrialEnd::Length(Nanos::from_millis(60_000));
const NO_WARMUP: Nanos = Nanos::from_millis(0);

fn bytes(limit: u64) -> Limits {
    Limits { bytes: Some(Bytes::new(limit)), time: None }
}

fn time(millis: u64) -> Limits {
    Limits { time: Some(Nanos::from_millis(millis)), bytes: None }
}

/// What an end says last, and what it had announced before.
fn failure(endpoint: &mut Endpoint) -> (Option<u64>, String) {
    let mut sent = None;
    loop {
        match endpoint.hear() {
            FromEndpoint::Sent(announced) => sent = Some(announced.bytes),
            FromEndpoint::Failed { error } => return (sent, error),
            other => panic!("expected a failure, got {other:?}"),
        }
    }
}

#[test]
fn a_sender_stops_at_the_limit_of_its_host_and_says_so() {
    for (test, flows) in [(Test::TcpStream, 1), (Test::UdpStream, 1), (Test::TcpRr, 1), (Test::UdpRr, 1), (Test::TcpStream, 2)] {
        let cell = Cell { flows, ..cell(test, Family::V4, 1_000) };
        let [sends, receives] = tasks(&cell, LONG, NO_WARMUP);
        let ((mut sender, _), (mut receiver, _)) = (Endpoint::start(), Endpoint::start());
        join(&mut sender, &mut receiver, [Task { limits: bytes(50_000), ..sends }, receives]);
        receiver.tell(&ToEndpoint::Go);
        sender.tell(&ToEndpoint::Go);
        let (sent, error) = failure(&mut sender);
        assert!(error.contains("limit of") && error.contains("raise the limit"), "{test}: {error}");
        // What is announced of a transaction holds the answer, too.
        let most = if test.is_stream() { 50_000 } else { 100_000 };
        assert!(sent.is_none_or(|sent| sent <= most), "{test}: {sent:?}");
        let report = receiver_total(&mut receiver);
        assert!(report <= 50_000, "{test}: {report} B came");
    }
}

/// Bytes of requests or messages that a receiver took before it was ended.
fn receiver_total(receiver: &mut Endpoint) -> u64 {
    receiver.measure();
    receiver.tell(&ToEndpoint::Drain(model::control::SentTotals::default()));
    loop {
        match receiver.hear() {
            FromEndpoint::Done(report) if report.total.sent == 0 => return report.total.bytes,
            FromEndpoint::Done(report) => return report.total.bytes / 2,
            FromEndpoint::Failed { .. } => return 0,
            _ => {}
        }
    }
}

#[test]
fn a_number_of_messages_beyond_the_limit_is_refused_beforehand() {
    let (mut sender, served) = Endpoint::start();
    let task = task(Role::Sender, &cell(Test::TcpStream, Family::V4, 1_000), TrialEnd::Messages(51), NO_WARMUP);
    sender.tell(&ToEndpoint::Prepare(Box::new(Task { limits: bytes(50_000), ..task.clone() })));
    let error = sender.hear_failure();
    served.join().unwrap().unwrap();
    assert!(error.contains("would send") && error.contains("lets one trial send"), "{error}");
    let (mut sender, _) = Endpoint::start();
    ready(&mut sender, Task { limits: bytes(51_000), ..task });
}

#[test]
fn a_number_of_messages_up_to_the_limit_is_sent() {
    let cell = cell(Test::TcpStream, Family::V4, 1_000);
    let limited = tasks(&cell, TrialEnd::Messages(50), NO_WARMUP).map(|task| Task { limits: bytes(50_000), ..task });
    let [sender, _] = crate::support::several::several(limited);
    assert_eq!(sender.report.total.bytes, 50_000);
}

#[test]
fn a_trial_that_takes_too_long_is_ended_in_every_phase() {
    let cell = cell(Test::UdpStream, Family::V4, 1_000);
    for phase in ["ready", "joining", "joined", "flowing"] {
        let [sends, receives] = tasks(&cell, LONG, NO_WARMUP);
        let ((mut sender, _), (mut receiver, _)) = (Endpoint::start(), Endpoint::start());
        let sends = Task { limits: time(150), ..sends };
        match phase {
            "ready" => drop(ready(&mut sender, sends)),
            "joining" => {
                ready(&mut sender, sends);
                // Nobody answers there.
                let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
                sender.tell(&ToEndpoint::Connect { peers: vec![silent.local_addr().unwrap()] });
                assert_too_long(&mut sender, phase);
                continue;
            }
            _ => join(&mut sender, &mut receiver, [sends, receives]),
        }
        if phase == "flowing" {
            sender.tell(&ToEndpoint::Go);
        }
        assert_too_long(&mut sender, phase);
    }
}

fn assert_too_long(endpoint: &mut Endpoint, phase: &str) {
    let begun = std::time::Instant::now();
    let (_, error) = failure(endpoint);
    assert!(error.contains("took longer than the 150") && error.contains("raise the limit"), "{phase}: {error}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{phase}: not by another limit");
}
