//! How trials end when datagrams are missing, late, or announced in vain.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use model::control::{SentTotals, Task, ToEndpoint};
use model::end::EndReport;
use model::plan::TrialEnd;
use model::{Family, Nanos, Role, Test};

use crate::support::{Endpoint, answer_cookie, cell, loopback, task};

const SIZE: usize = 64;
const NO_WARMUP: Nanos = Nanos::from_millis(0);

/// Answers requests, except every third; of those the first is answered when
/// the request after it comes. Returns how many were never answered.
fn forgetful_answerer(socket: &UdpSocket, over: &AtomicBool) -> u64 {
    answer_cookie(socket);
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let (mut requests, mut dropped, mut kept) = (0u64, 0, None);
    let mut room = [0; SIZE];
    while !over.load(Ordering::Relaxed) {
        let Ok((_, from)) = socket.recv_from(&mut room) else { continue };
        requests += 1;
        match requests {
            3 => kept = Some(room),
            n if n % 3 == 0 => dropped += 1,
            _ => {
                if let Some(late) = kept.take() {
                    socket.send_to(&late, from).unwrap();
                }
                socket.send_to(&room, from).unwrap();
            }
        }
    }
    dropped
}

fn ask_the_forgetful(end: TrialEnd) -> (EndReport, u64) {
    let answerer = UdpSocket::bind((loopback(Family::V4), 0)).unwrap();
    let address = answerer.local_addr().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let answering = thread::spawn({
        let over = Arc::clone(&over);
        move || forgetful_answerer(&answerer, &over)
    });
    let (mut requester, served) = Endpoint::start();
    let cell = cell(Test::UdpRr, Family::V4, SIZE as u64);
    let task = Task { answer_limit: Nanos::from_millis(30), ..task(Role::Sender, &cell, end, NO_WARMUP) };
    requester.prepare(task);
    requester.connect(address);
    requester.tell(&ToEndpoint::Go);
    let (messages, bytes) = requester.hear_sent();
    requester.tell(&ToEndpoint::Drain(SentTotals::one(messages, bytes)));
    let report = requester.hear_done();
    over.store(true, Ordering::Relaxed);
    served.join().unwrap().unwrap();
    (report, answering.join().unwrap())
}

#[test]
fn a_requester_counts_lost_and_late_answers_and_goes_on() {
    let (report, dropped) = ask_the_forgetful(TrialEnd::Messages(20));
    let counts = report.total;
    assert_eq!(counts.messages + counts.lost, 20, "it went on to the end: {counts:?}");
    assert!(dropped >= 4 && counts.late >= 1, "{dropped} dropped, {counts:?}");
    assert_eq!(counts.lost, dropped + counts.late, "each given up either came late or never");
    assert_eq!(counts.sent, counts.messages + counts.lost);
    assert_eq!(counts.received, counts.messages + counts.late);
    assert_eq!(counts.errors, 0);
    // What came late has its true time, beyond the limit of 30 ms.
    let times = base64::engine::general_purpose::STANDARD.decode(report.latency.unwrap()).unwrap();
    let times: Histogram<u64> = Deserializer::new().deserialize(&mut times.as_slice()).unwrap();
    assert_eq!(times.len(), counts.messages + counts.late);
    assert!(times.max() >= 30_000_000, "{} ns", times.max());
}

#[test]
fn a_requester_that_waits_in_vain_ends_with_its_time() {
    let (report, dropped) = ask_the_forgetful(TrialEnd::Length(Nanos::from_millis(100)));
    let counts = report.total;
    // The last request may have been given up after it was answered.
    let (missing, late) = (counts.sent - counts.messages, dropped + counts.late);
    assert_eq!(counts.lost, missing);
    assert!((late..=late + 1).contains(&missing), "{dropped} dropped, {counts:?}");
}

/// A receiver that was let go, and a socket joined to it.
fn receiver(silence: Nanos, end: TrialEnd) -> (Endpoint, UdpSocket) {
    let socket = UdpSocket::bind((loopback(Family::V4), 0)).unwrap();
    let (mut receiver, _) = Endpoint::start();
    let cell = cell(Test::UdpStream, Family::V4, SIZE as u64);
    let address = receiver.prepare(Task { silence, ..task(Role::Receiver, &cell, end, NO_WARMUP) });
    receiver.join(Role::Receiver, address, &socket);
    receiver.tell(&ToEndpoint::Go);
    if matches!(end, TrialEnd::Length(_)) {
        receiver.measure();
    }
    (receiver, socket)
}

fn send(socket: &UdpSocket, messages: u64) {
    for _ in 0..messages {
        assert_eq!(socket.send(&[7; SIZE]).unwrap(), SIZE);
    }
}

fn drain(messages: u64) -> ToEndpoint {
    ToEndpoint::Drain(SentTotals::one(messages, messages * SIZE as u64))
}

const ENDS: [TrialEnd; 2] = [TrialEnd::Length(Nanos::from_millis(20)), TrialEnd::Messages(10)];

#[test]
fn a_receiver_takes_datagrams_until_it_has_as_many_as_were_announced() {
    for end in ENDS {
        // So long that the end cannot come of it.
        let (mut receiver, socket) = receiver(Nanos::from_millis(600_000), end);
        send(&socket, 4);
        receiver.tell(&drain(10));
        thread::sleep(Duration::from_millis(30));
        send(&socket, 6);
        let report = receiver.hear_done();
        assert_eq!((report.total.messages, report.total.bytes), (10, 10 * SIZE as u64), "{end:?}");
    }
}

#[test]
fn a_receiver_ends_by_silence_when_datagrams_are_missing() {
    for end in ENDS {
        let (mut receiver, socket) = receiver(Nanos::from_millis(60), end);
        send(&socket, 10);
        receiver.tell(&drain(15));
        assert_eq!(receiver.hear_done().total.messages, 10, "{end:?}");
    }
}

#[test]
fn a_receiver_to_which_nothing_is_sent_ends() {
    for end in ENDS {
        let (mut receiver, _socket) = receiver(Nanos::from_millis(20), end);
        receiver.tell(&drain(0));
        assert_eq!(receiver.hear_done().total.calls, 0, "{end:?}");
    }
}
