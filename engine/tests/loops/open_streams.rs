//! Streams that offer a rate.

use std::io::Read;
use std::thread;
use std::time::Duration;

use engine::traffic::Traffic;
use model::control::Task;
use model::end::Schedule;
use model::plan::TrialEnd;
use model::{Arrivals, BitRate, Cell, Family, OfferedRate, Pacing, Role, Test};

use crate::flow::{BY_TIME, Flow, in_three_attempts, paced, task, tcp, times, udp};
use crate::support::cell;

const BOTH: [Pacing; 2] = [Pacing::Sleep, Pacing::Spin];

/// Messages of a rate in a length of time.
fn messages_in(rate: u64, nanos: u64) -> u64 {
    (u128::from(rate) * u128::from(nanos) / 1_000_000_000) as u64
}

/// What is true of every stream that keeps to a schedule.
fn assert_kept(traffic: &Traffic, rate: u64, what: &str) -> Schedule {
    let schedule = traffic.schedule.as_ref().unwrap().schedule();
    let expected = messages_in(rate, traffic.usage.window.length().get());
    assert!(schedule.intended.abs_diff(expected) <= 1, "{what}: {schedule:?} for {expected}");
    let flow = traffic.flow.unwrap().length().get();
    // The schedule begins before the flow does; between the two the thread may lose its CPU.
    assert!(traffic.total.messages <= messages_in(rate, flow + 1_000_000) + 1, "{what}: nothing is sent before its time");
    // Those due before the first edge are sent after it.
    let done = traffic.counts.messages + schedule.behind;
    assert!((schedule.intended..=schedule.intended + 1 + messages_in(rate, 5_000_000)).contains(&done), "{what}: {done} of {schedule:?}");
    let lateness = schedule.lateness.as_deref().map_or(0, |text| times(text).len());
    assert_eq!(lateness, traffic.counts.messages, "{what}: each send has its lateness");
    schedule
}

#[test]
fn datagrams_are_sent_when_they_are_due() {
    for pacing in BOTH {
        for rate in [7, 1_000, 30_000] {
            let (ours, _theirs) = udp();
            let flow =
                Flow::start(task(Role::Sender, &paced(Test::UdpStream, 64, rate, pacing), BY_TIME), std::os::fd::OwnedFd::from(ours));
            flow.end_after(Duration::from_millis(200));
            assert_eq!(
                flow.sent().messages,
                flow.finish()
                    .map(|traffic| {
                        assert_kept(&traffic, rate, &format!("{rate}/s, {pacing}"));
                        traffic.total.messages
                    })
                    .unwrap()
            );
        }
    }
}

/// Messages of a cell whose arrivals are Poisson, and its schedule.
fn poisson(seed: u64, end: TrialEnd, pacing: Pacing) -> (Traffic, Schedule) {
    let (ours, _theirs) = udp();
    let cell = Cell { arrivals: Arrivals::Poisson, ..paced(Test::UdpStream, 64, 20_000, pacing) };
    let task = Task { seed, ..task(Role::Sender, &cell, end) };
    let flow = Flow::start(task, std::os::fd::OwnedFd::from(ours));
    if end == BY_TIME {
        flow.end_after(Duration::from_millis(200));
    }
    let traffic = flow.finish().unwrap();
    let schedule = traffic.schedule.as_ref().unwrap().schedule();
    (traffic, schedule)
}

#[test]
fn poisson_arrivals_are_sent_when_they_are_due() {
    for pacing in BOTH {
        let (traffic, schedule) = poisson(7, BY_TIME, pacing);
        let what = format!("{pacing}: {:?}, {} intended, {} behind", traffic.counts, schedule.intended, schedule.behind);
        // Of those due in the window each was sent or is behind; a few were due before it.
        let done = traffic.counts.messages + schedule.behind;
        assert!((schedule.intended..=schedule.intended + 200).contains(&done), "{what}");
        assert_eq!(times(schedule.lateness.as_deref().unwrap()).len(), traffic.counts.messages, "{what}");
        // Within six standard deviations of a Poisson number.
        let expected = 20_000.0 * traffic.usage.window.length().as_secs_f64();
        assert!((schedule.intended as f64 - expected).abs() <= 6.0 * expected.sqrt(), "{what}: {expected}");
        let (counted, schedule) = poisson(7, TrialEnd::Messages(500), pacing);
        assert_eq!((counted.counts.messages, schedule.intended, schedule.behind), (500, 500, 0));
    }
}

#[test]
fn bits_are_turned_into_messages() {
    let (ours, _theirs) = udp();
    // 800 bits a message.
    let cell = Cell { rate: Some(OfferedRate::Bits(BitRate::new(4_000_000))), ..cell(Test::UdpStream, Family::V4, 100) };
    let flow = Flow::start(task(Role::Sender, &cell, BY_TIME), std::os::fd::OwnedFd::from(ours));
    flow.end_after(Duration::from_millis(100));
    assert_kept(&flow.finish().unwrap(), 5_000, "4 Mbit/s");
}

#[test]
fn a_number_of_messages_is_that_number_at_any_rate() {
    for (pacing, rate) in [(Pacing::Sleep, 20_000), (Pacing::Spin, 20_000), (Pacing::Sleep, u64::MAX)] {
        let (ours, _theirs) = udp();
        let end = TrialEnd::Messages(500);
        let flow = Flow::start(task(Role::Sender, &paced(Test::UdpStream, 64, rate, pacing), end), std::os::fd::OwnedFd::from(ours));
        let traffic = flow.finish().unwrap();
        let schedule = traffic.schedule.unwrap().schedule();
        assert_eq!((traffic.counts.messages, schedule.intended, schedule.behind), (500, 500, 0));
    }
}

/// A receiver of a TCP stream that rests for a while, then takes everything.
fn rest_then_read(mut theirs: std::net::TcpStream, rest: Duration) -> u64 {
    let mut taken = 0;
    let mut room = vec![0; 1 << 16];
    theirs.read_exact(&mut room[..1]).unwrap();
    thread::sleep(rest);
    loop {
        match theirs.read(&mut room).unwrap() {
            0 => return taken + 1,
            more => taken += more as u64,
        }
    }
}

fn stalled(rest: Duration, length: Duration, pacing: Pacing) -> (Traffic, u64) {
    let (ours, theirs) = tcp();
    socket2::SockRef::from(&ours).set_send_buffer_size(64 << 10).unwrap();
    socket2::SockRef::from(&theirs).set_recv_buffer_size(64 << 10).unwrap();
    let reader = thread::spawn(move || rest_then_read(theirs, rest));
    // 8 MB a second fill both buffers long before the rest is over.
    let cell = paced(Test::TcpStream, 4_000, 2_000, pacing);
    let flow = Flow::start(task(Role::Sender, &cell, BY_TIME), std::os::fd::OwnedFd::from(ours));
    flow.end_after(length);
    let traffic = flow.finish().unwrap();
    (traffic, reader.join().unwrap())
}

#[test]
fn after_a_stall_the_schedule_stands() {
    for pacing in BOTH {
        in_three_attempts("open_streams::after_a_stall_the_schedule_stands", || {
            let (traffic, taken) = stalled(Duration::from_millis(150), Duration::from_millis(600), pacing);
            let schedule = assert_kept(&traffic, 2_000, "stalled");
            let late = times(schedule.lateness.as_deref().unwrap());
            assert!(late.max() >= 50_000_000, "the stall shows: {} ns", late.max());
            let caught_up = traffic.counts.messages as f64 / schedule.intended as f64;
            assert!(caught_up > 0.95, "{caught_up} of the messages in time, though 0.25 of it was a stall: {schedule:?}");
            assert_eq!(taken, traffic.total.bytes);
        });
    }
}

#[test]
fn what_was_not_offered_in_time_is_said() {
    let (traffic, taken) = stalled(Duration::from_millis(400), Duration::from_millis(300), Pacing::Sleep);
    let schedule = assert_kept(&traffic, 2_000, "to the end");
    assert!(schedule.behind * 2 > schedule.intended, "{schedule:?}");
    assert_eq!(taken, traffic.total.bytes, "messages are whole");
}
