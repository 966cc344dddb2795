//! What both ends count of a whole trial.

use std::io::Read;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use model::control::{SentTotals, ToEndpoint};
use model::end::EndReport;
use model::plan::TrialEnd;
use model::{Bytes, Cell, Family, Nanos, Role, Test};

use crate::support::{Endpoint, Reports, cell, loopback, take_cookie, task, trial};

const LENGTH: TrialEnd = TrialEnd::Length(Nanos::from_millis(40));
const WARMUP: Nanos = Nanos::from_millis(10);
const NO_WARMUP: Nanos = Nanos::from_millis(0);

/// Runs a trial, and checks what is true of every trial.
fn checked(cell: &Cell, end: TrialEnd, warmup: Nanos) -> Reports {
    let before = monotonic();
    let reports = trial(cell, end, warmup);
    let after = monotonic();
    for report in [&reports.sender, &reports.receiver] {
        let window = report.window;
        assert!(before <= window.start && window.start <= window.end && window.end <= after, "{cell}: {window:?} in the trial");
        assert_part_of_total(report);
        assert_eq!((report.counts.errors, report.total.errors), (0, 0), "{cell}: {report:?}");
    }
    let flow = reports.sender.flow.unwrap();
    assert!(flow.start <= reports.sender.window.start && reports.sender.window.end <= flow.end, "{cell}: {flow:?} holds the window");
    assert_eq!((reports.sender.role, reports.receiver.role), (Role::Sender, Role::Receiver));
    assert_eq!(reports.announced, (reports.sender.total.messages, reports.sender.total.bytes), "{cell}: the end is announced as counted");
    reports
}

/// The monotonic clock, as an endpoint reads it.
fn monotonic() -> Nanos {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).unwrap();
    Nanos::new(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

fn assert_part_of_total(report: &EndReport) {
    let (part, all) = (report.counts, report.total);
    let pairs = [
        (part.calls, all.calls),
        (part.messages, all.messages),
        (part.bytes, all.bytes),
        (part.sent, all.sent),
        (part.received, all.received),
        (part.short, all.short),
        (part.lost, all.lost),
        (part.late, all.late),
    ];
    assert!(pairs.iter().all(|(part, all)| part <= all), "{part:?} is part of {all:?}");
}

fn assert_stream_agrees(test: Test, family: Family) {
    let Reports { sender, receiver, .. } = checked(&cell(test, family, 1000), LENGTH, WARMUP);
    assert!(sender.counts.messages > 0 && receiver.counts.bytes > 0, "{test} {family}: messages flow in the measured part");
    assert!(sender.total.messages > sender.counts.messages, "{test} {family}: the warm-up is no part of the window");
    assert_eq!(sender.total.bytes, 1000 * sender.total.messages, "{test} {family}: messages are whole");
    assert_eq!(sender.total.sent, sender.total.messages);
    assert_eq!(receiver.total.received, receiver.total.messages);
    match test {
        Test::UdpStream => {
            assert!(receiver.total.messages <= sender.total.messages, "no datagram is received twice");
            assert_eq!(receiver.total.bytes, 1000 * receiver.total.messages, "{family}: datagrams are whole");
        }
        _ => {
            assert_eq!(receiver.total.bytes, sender.total.bytes, "{test} {family}: TCP loses nothing");
            assert_eq!(receiver.total.messages, sender.total.messages);
            assert!(sender.tcp.is_some_and(|tcp| tcp.data_segs_out > 0), "TCP's own account is read");
        }
    }
}

fn assert_transactions_agree(test: Test, family: Family) {
    let Reports { sender, receiver, .. } = checked(&cell(test, family, 16), LENGTH, WARMUP);
    assert!(sender.counts.messages > 0, "{test} {family}");
    assert_eq!(receiver.total.messages, sender.total.messages + sender.total.lost, "{test} {family}: every request is answered once");
    assert_eq!(receiver.total.received, sender.total.sent);
    assert_eq!(sender.total.received, sender.total.messages + sender.total.late);
    assert_eq!(sender.total.bytes, 16 * (sender.total.sent + sender.total.received), "requests and answers together");
    assert!(sender.latency.is_some() && receiver.latency.is_none(), "the requester times them");
}

#[test]
fn both_ends_of_a_stream_count_the_same() {
    for family in [Family::V4, Family::V6] {
        for test in [Test::TcpStream, Test::TcpMaerts, Test::UdpStream] {
            assert_stream_agrees(test, family);
        }
    }
}

#[test]
fn both_ends_of_request_and_response_count_the_same() {
    for family in [Family::V4, Family::V6] {
        for test in [Test::TcpRr, Test::UdpRr] {
            assert_transactions_agree(test, family);
        }
    }
}

#[test]
fn a_trial_of_a_number_of_messages_has_exactly_that_number() {
    for test in [Test::TcpStream, Test::TcpMaerts, Test::UdpStream, Test::TcpRr, Test::UdpRr] {
        let mut opened = 0;
        for messages in [1, 2, 100, 100, 100] {
            let Reports { sender, receiver, .. } = checked(&cell(test, Family::V4, 32), TrialEnd::Messages(messages), NO_WARMUP);
            // Of so few none is lost; a requester may give one up on a busy machine.
            assert_eq!(sender.counts.messages + sender.counts.lost, messages, "{test}");
            assert_eq!(sender.total.sent, messages, "{test}: without a warm-up there are no others");
            assert_eq!(receiver.total.received.max(receiver.total.messages), messages, "{test}");
            // The first opens the receiver's window, and is no part of its rates. Of a stream more may
            // come with it.
            let [first, within] = [receiver.counts.first.messages, receiver.counts.in_window().messages];
            assert_eq!(first + within, receiver.counts.messages, "{test}");
            assert!(first <= 1 || (test.is_stream() && test != Test::UdpStream && first <= messages), "{test}: {first}");
            assert_eq!((sender.counts.first.messages, receiver.total.first.messages), (0, 0), "{test}");
            opened += first;
        }
        // Of datagrams all may have come after their end was announced, which opens the window as well.
        assert!(opened > 0, "{test}");
    }
}

#[test]
fn the_warm_up_does_not_count_towards_the_number() {
    for test in [Test::TcpStream, Test::UdpStream, Test::TcpRr, Test::UdpRr] {
        let Reports { sender, .. } = checked(&cell(test, Family::V4, 32), TrialEnd::Messages(50), WARMUP);
        assert_eq!(sender.counts.messages + sender.counts.lost, 50, "{test}");
        assert_eq!(sender.total.sent, 50 + TrialEnd::warmup_messages(50, WARMUP), "{test}");
        if !test.is_stream() {
            let times = times_recorded(sender.latency.as_deref().unwrap());
            assert_eq!(times, sender.counts.messages, "{test}: nor are its round trips kept");
        }
    }
}

/// How many times an HdrHistogram holds.
pub fn times_recorded(text: &str) -> u64 {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    let histogram: hdrhistogram::Histogram<u64> =
        hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
    histogram.len()
}

#[test]
fn what_is_read_at_once_does_not_depend_on_what_was_sent_at_once() {
    for (size, read_size) in [(1000, 7), (1000, 999), (10, 65_536)] {
        let cell = Cell { read_size: Bytes::new(read_size), ..cell(Test::TcpStream, Family::V4, size) };
        let Reports { sender, receiver, .. } = checked(&cell, TrialEnd::Messages(300), NO_WARMUP);
        assert_eq!(receiver.total.bytes, sender.total.bytes);
        assert_eq!(receiver.total.messages, sender.total.messages, "messages are of {size} B however they are read");
        assert!(receiver.total.calls >= receiver.total.bytes.div_ceil(read_size), "no call reads more than {read_size} B");
    }
}

#[test]
fn a_read_smaller_than_a_datagram_takes_the_whole_datagram() {
    let cell = Cell { read_size: Bytes::new(7), ..cell(Test::UdpStream, Family::V4, 1000) };
    let Reports { sender, receiver, .. } = checked(&cell, TrialEnd::Messages(50), NO_WARMUP);
    assert!((1..=sender.total.messages).contains(&receiver.total.messages), "nothing of a datagram is left for the next call");
    assert_eq!(receiver.total.bytes, 7 * receiver.total.messages);
}

/// A receiver that takes nothing for longer than a send call waits, so that
/// the call is short.
#[test]
fn a_short_send_is_completed() {
    const SIZE: usize = 4 << 20;
    let listener = TcpListener::bind((loopback(Family::V4), 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let reader = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        take_cookie(&stream);
        stream.peek(&mut [0]).unwrap();
        thread::sleep(Duration::from_millis(150));
        let mut taken = Vec::new();
        stream.read_to_end(&mut taken).unwrap();
        taken
    });
    let (mut sender, served) = Endpoint::start();
    let cell = Cell { sndbuf: Some(Bytes::new(128 << 10)), ..cell(Test::TcpStream, Family::V4, SIZE as u64) };
    sender.prepare(task(Role::Sender, &cell, TrialEnd::Messages(3), NO_WARMUP));
    sender.connect(address);
    sender.tell(&ToEndpoint::Go);
    let (messages, bytes) = sender.hear_sent();
    sender.tell(&ToEndpoint::Drain(SentTotals::one(messages, bytes)));
    let report = sender.hear_done();
    let taken = reader.join().unwrap();
    served.join().unwrap().unwrap();
    let counts = report.total;
    assert_eq!(report.counts.messages, 3);
    assert!(counts.short > 0, "the first call waited in vain: {counts:?}");
    assert_eq!(counts.calls, counts.messages + counts.short, "each short call is followed by one more: {counts:?}");
    assert_eq!((counts.bytes, taken.len() as u64), (counts.messages * SIZE as u64, counts.bytes));
    assert!(taken.chunks(SIZE).all(|message| message == &taken[..SIZE]), "each goes on where its first call stopped");
    assert!(taken[..SIZE].iter().enumerate().all(|(at, byte)| *byte == (at % 251) as u8 | 1), "and is the message");
}
