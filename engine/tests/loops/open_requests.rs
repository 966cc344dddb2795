//! Requests that are sent when they are due, whatever is outstanding.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::time::Duration;

use engine::traffic::Traffic;
use model::control::Task;
use model::plan::TrialEnd;
use model::{Nanos, Pacing, Role, Test};

use crate::answerers::{Did, disorderly, late, slow_stream};
use crate::flow::{BY_TIME, Flow, in_three_attempts, paced, task, tcp, times, udp};

const BOTH: [Pacing; 2] = [Pacing::Sleep, Pacing::Spin];
const DELAY: Duration = Duration::from_millis(20);

/// What is true of every requester.
fn assert_adds_up(traffic: &Traffic, what: &str) {
    let total = traffic.total;
    assert_eq!(total.sent, total.messages + total.lost, "{what}: each request has its answer or is lost");
    assert_eq!(total.received, total.messages + total.late, "{what}");
    let kept = traffic.schedule.as_ref().unwrap().schedule();
    let length = |text: Option<&str>| text.map_or(0, |text| times(text).len());
    let corrected = length(traffic.latency.as_ref().unwrap().encode().as_deref());
    assert_eq!(corrected, length(kept.uncorrected.as_deref()), "{what}: each time is there from both starts");
    // Every request of the window was answered, was lost or was never sent.
    let unsent = kept.unsent.unwrap();
    let lost = kept.intended.checked_sub(corrected + unsent).unwrap_or_else(|| panic!("{what}: {corrected} of {kept:?}"));
    assert!(lost <= total.lost && unsent <= kept.behind, "{what}: {lost} of {total:?}, {kept:?}");
    // Some are due before the first edge.
    let before = total.sent.saturating_sub(kept.intended - unsent);
    // What came late has its time.
    assert!(unsent == 0 || lost + before + total.late >= total.lost, "{what}: {lost} of {total:?}, {kept:?}");
    assert!(length(kept.lateness.as_deref()) <= traffic.counts.sent, "{what}");
}

fn not_waiting(size: u64, pacing: Pacing) -> Traffic {
    let (ours, theirs) = tcp();
    let answering = slow_stream(theirs, size as usize, DELAY);
    let flow = Flow::start(task(Role::Sender, &paced(Test::TcpRr, size, 1_000, pacing), BY_TIME), OwnedFd::from(ours));
    flow.end_after(Duration::from_millis(300));
    let traffic = flow.finish().unwrap();
    let what = format!("{size} B, {pacing}");
    assert_adds_up(&traffic, &what);
    assert_eq!((traffic.total.lost, traffic.total.errors), (0, 0), "{what}");
    assert_eq!(answering.join().unwrap(), traffic.total.sent, "{what}");
    traffic
}

#[test]
fn requests_do_not_wait_for_answers() {
    for pacing in BOTH {
        for size in [1, 100] {
            // A spinning thread of another test may keep the answers from a CPU for all of an attempt.
            let attempts = (0..3).map(|_| not_waiting(size, pacing));
            let traffic = attempts.reduce(|best, one| if best.counts.messages > 100 { best } else { one }).unwrap();
            let what = format!("{size} B, {pacing}");
            // One at a time it would be 15.
            assert!(traffic.counts.messages > 100, "{what}: {:?}", traffic.counts);
            let corrected = times(&traffic.latency.as_ref().unwrap().encode().unwrap());
            assert!(corrected.min() >= DELAY.as_nanos() as u64 * 999 / 1_000, "{what}: {}", corrected.min());
        }
    }
}

#[test]
fn a_counted_trial_has_its_number_of_requests_and_waits_for_all() {
    for pacing in BOTH {
        let (ours, theirs) = tcp();
        let answering = slow_stream(theirs, 10, DELAY);
        let task =
            Task { warmup: Nanos::from_millis(1), ..task(Role::Sender, &paced(Test::TcpRr, 10, 2_000, pacing), TrialEnd::Messages(200)) };
        let traffic = Flow::start(task, OwnedFd::from(ours)).finish().unwrap();
        let kept = traffic.schedule.as_ref().unwrap().schedule();
        assert_eq!((traffic.counts.messages, traffic.counts.sent, kept.intended, kept.behind), (200, 200, 200, 0));
        assert_eq!(times(&traffic.latency.as_ref().unwrap().encode().unwrap()).len(), 200, "those of the warm-up are not kept");
        assert_eq!(answering.join().unwrap(), 220, "a tenth more to warm up");
    }
}

fn ask_disorderly(size: u64, pacing: Pacing, forgets: u64) -> (Traffic, Did) {
    let (ours, theirs) = udp();
    let answering = disorderly(theirs, forgets);
    let task = Task { answer_limit: Nanos::from_millis(150), ..task(Role::Sender, &paced(Test::UdpRr, size, 500, pacing), BY_TIME) };
    let flow = Flow::start(task, OwnedFd::from(ours));
    flow.end_after(Duration::from_millis(400));
    (flow.finish().unwrap(), answering.join().unwrap())
}

#[test]
fn answers_find_their_requests_in_any_order_and_lost_ones_are_counted() {
    for (size, pacing) in [(1, Pacing::Spin), (2, Pacing::Sleep), (3, Pacing::Sleep), (4, Pacing::Spin), (64, Pacing::Sleep)] {
        in_three_attempts("open_requests::answers_find_their_requests", || {
            let (traffic, did) = ask_disorderly(size, pacing, 10);
            let what = format!("{size} B, {pacing}: {did:?}, {:?}", traffic.total);
            assert_adds_up(&traffic, &what);
            assert_eq!((did.requests, traffic.total.errors), (traffic.total.sent, 0), "{what}");
            assert_eq!(traffic.total.received, did.answered, "{what}");
            assert_eq!(traffic.total.lost, did.forgotten + traffic.total.late, "{what}");
            assert!(did.forgotten >= 15, "{what}");
        });
    }
}

#[test]
fn what_a_mark_of_one_byte_cannot_tell_apart_is_not_outstanding() {
    let (ours, theirs) = udp();
    // Only the first is answered.
    let mut request = [0];
    let answering = std::thread::spawn(move || {
        assert_eq!(theirs.recv(&mut request).unwrap(), theirs.send(&request).unwrap());
        theirs
    });
    let task = Task { answer_limit: Nanos::from_millis(400), ..task(Role::Sender, &paced(Test::UdpRr, 1, 5_000, Pacing::Sleep), BY_TIME) };
    let flow = Flow::start(task, OwnedFd::from(ours));
    flow.end_after(Duration::from_millis(200));
    let traffic = flow.finish().unwrap();
    let kept = traffic.schedule.as_ref().unwrap().schedule();
    assert_eq!((traffic.total.sent, traffic.total.lost, traffic.total.messages), (129, 128, 1));
    assert!(kept.intended >= 900, "{kept:?}");
    assert!(kept.behind.abs_diff(kept.intended - 129) <= 30, "the others are behind: {kept:?}");
    assert_eq!(kept.unsent, Some(kept.behind), "and were not sent later either");
    assert_adds_up(&traffic, "one byte");
    drop(answering.join().unwrap());
}

/// Takes and answers one request after the other, `service` for each, until the stream ends.
fn one_after_the_other(mut stream: std::net::TcpStream, size: usize, service: Duration) -> std::thread::JoinHandle<u64> {
    std::thread::spawn(move || {
        let (mut room, mut answered) = (vec![0; size], 0);
        while stream.read_exact(&mut room).is_ok() && stream.write_all(&room).is_ok() {
            answered += 1;
            std::thread::sleep(service);
        }
        answered
    })
}

#[test]
fn offered_beyond_capacity_every_request_is_answered_or_missing() {
    for pacing in BOTH {
        let (ours, theirs) = tcp();
        socket2::SockRef::from(&ours).set_send_buffer_size(16 << 10).unwrap();
        socket2::SockRef::from(&theirs).set_recv_buffer_size(16 << 10).unwrap();
        let answering = one_after_the_other(theirs, 4_000, Duration::from_millis(1));
        // At most 1,000 a second are answered, and the buffers hold few.
        let flow = Flow::start(task(Role::Sender, &paced(Test::TcpRr, 4_000, 1_500, pacing), BY_TIME), OwnedFd::from(ours));
        flow.end_after(Duration::from_millis(500));
        let traffic = flow.finish().unwrap();
        let kept = traffic.schedule.as_ref().unwrap().schedule();
        let what = format!("{pacing}: {kept:?}, {:?}", traffic.total);
        assert_adds_up(&traffic, &what);
        assert_eq!((traffic.total.lost, answering.join().unwrap()), (0, traffic.total.messages), "{what}");
        let answered = times(&traffic.latency.as_ref().unwrap().encode().unwrap()).len();
        assert_eq!(kept.intended, answered + kept.unsent.unwrap(), "{what}");
        assert!(kept.unsent.unwrap() * 5 > kept.intended, "{what}");
    }
}

#[test]
fn answers_after_their_limit_are_late() {
    let (ours, theirs) = udp();
    let answering = late(theirs, Duration::from_millis(60));
    let task = Task {
        answer_limit: Nanos::from_millis(20),
        silence: Nanos::from_millis(200),
        ..task(Role::Sender, &paced(Test::UdpRr, 16, 200, Pacing::Sleep), BY_TIME)
    };
    let flow = Flow::start(task, OwnedFd::from(ours));
    flow.end_after(Duration::from_millis(300));
    let traffic = flow.finish().unwrap();
    let did = answering.join().unwrap();
    assert_adds_up(&traffic, "late");
    assert_eq!((traffic.total.messages, traffic.total.late), (0, did.answered), "{did:?}");
    assert_eq!((traffic.total.lost, traffic.total.lost), (traffic.total.sent, did.requests));
    // Each has its true time.
    let times = times(&traffic.latency.as_ref().unwrap().encode().unwrap());
    let intended = traffic.schedule.as_ref().unwrap().schedule().intended;
    assert!(times.len() + 1 >= intended && times.min() >= 59_000_000, "{} of {intended}, {} ns", times.len(), times.min());
}
