//! How far a trial has come, told while messages flow.

use model::control::Task;
use model::end::{Counts, Progress};
use model::plan::TrialEnd;
use model::{Cell, Family, Nanos, Protocol, Test};

use crate::support::cell;
use crate::support::several::{EndOutcome, several, tasks};

const WARMUP: Nanos = Nanos::from_millis(10);
const INTERVAL: Nanos = Nanos::from_millis(20);
const LENGTH: TrialEnd = TrialEnd::Length(Nanos::from_millis(130));

fn with_progress(cell: &Cell, end: TrialEnd) -> [EndOutcome; 2] {
    several(tasks(cell, end, WARMUP).map(|task| Task { progress: Some(INTERVAL), ..task }))
}

fn add(sum: Counts, one: &Counts) -> Counts {
    Counts {
        calls: sum.calls + one.calls,
        messages: sum.messages + one.messages,
        bytes: sum.bytes + one.bytes,
        sent: sum.sent + one.sent,
        received: sum.received + one.received,
        short: sum.short + one.short,
        lost: sum.lost + one.lost,
        late: sum.late + one.late,
        errors: sum.errors + one.errors,
        last_errno: None,
        ..sum
    }
}

/// The intervals cover the window without gaps and add up to it.
fn assert_adds_up(said: &EndOutcome, what: &str) {
    let (report, told) = (&said.report, &said.report.progress);
    assert_eq!((told[0].interval.start, told[told.len() - 1].interval.end), (report.window.start, report.window.end), "{what}");
    assert!(told.windows(2).all(|two| two[0].interval.end == two[1].interval.start), "{what}: {told:?}");
    let sum = |of: fn(&Progress) -> Counts| told.iter().map(of).fold(Counts::default(), |sum, one| add(sum, &one));
    assert_eq!(sum(|told| told.counts), Counts { last_errno: None, ..report.counts.in_window() }, "{what}");
    if let Some(back) = report.back {
        assert_eq!(sum(|told| told.back.unwrap()), Counts { last_errno: None, ..back.counts.in_window() }, "{what}, back");
    }
    // What was told on the way is what stands in the report: but for what was told
    // after the last message, and the rest, which only the report has.
    let counts = |told: &[Progress]| {
        let some = |counts: &Counts| *counts != Counts::default();
        let counts: Vec<Counts> = told.iter().map(|told| told.counts).collect();
        let end = counts.iter().rposition(some).map_or(0, |last| last + 1);
        counts[..end].to_vec()
    };
    let (on_the_way, all) = (counts(&said.progress), counts(told));
    assert_eq!(on_the_way, all[..on_the_way.len()], "{what}");
    assert!(all.len() - on_the_way.len() <= 1, "{what}: {on_the_way:?} {all:?}");
}

#[test]
fn intervals_add_up_to_the_window() {
    for test in [Test::TcpStream, Test::TcpMaerts, Test::UdpStream, Test::TcpRr, Test::UdpRr] {
        for (flows, bidirectional) in [(1, false), (3, false), (1, test.is_stream())] {
            let cell = Cell { flows, bidirectional, ..cell(test, Family::V4, 500) };
            for said in with_progress(&cell, LENGTH) {
                assert_adds_up(&said, &format!("{cell}"));
                assert!(said.progress.len() >= 2, "{cell}: {} intervals of 20 ms in 130 ms", said.progress.len());
                let accounts = said.report.progress.iter().filter(|told| told.tcp.is_some()).count();
                assert_eq!(accounts > 0, test.protocol() == Protocol::Tcp, "{cell}: TCP's account is told");
            }
        }
    }
}

/// Being asked does not end the counting, nor count anything twice.
#[test]
fn a_number_of_messages_is_the_same_with_progress() {
    for test in [Test::TcpStream, Test::UdpStream, Test::TcpRr] {
        let cell = cell(test, Family::V4, 64);
        let messages = if test == Test::TcpRr { 10_000 } else { 100_000 };
        let [sender, receiver] = with_progress(&cell, TrialEnd::Messages(messages));
        assert_eq!(sender.report.counts.messages, messages, "{test}");
        assert_eq!(sender.report.total.messages, messages + TrialEnd::warmup_messages(messages, WARMUP), "{test}");
        for said in [&sender, &receiver] {
            assert_adds_up(said, test.name());
        }
    }
}

#[test]
fn who_did_not_ask_is_told_nothing() {
    for said in several(tasks(&cell(Test::UdpStream, Family::V4, 64), LENGTH, WARMUP)) {
        assert!(said.progress.is_empty() && said.report.progress.is_empty());
    }
}
