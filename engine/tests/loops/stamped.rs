//! Datagrams that bear a number and a time.

use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use engine::traffic::Traffic;
use model::end::OneWay;
use model::plan::TrialEnd;
use model::{Bytes, Cell, Family, Pacing, Role, Test};

use crate::flow::{BY_TIME, Flow, paced, task, times, udp};
use crate::support::cell;

const SIZE: usize = 64;

fn stamped() -> Cell {
    Cell { stamp: true, ..cell(Test::UdpStream, Family::V4, SIZE as u64) }
}

fn monotonic() -> u64 {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).unwrap();
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

fn send(socket: &UdpSocket, number: u64, time: u64) {
    let mut message = [7; SIZE];
    message[..8].copy_from_slice(&number.to_be_bytes());
    message[8..16].copy_from_slice(&time.to_be_bytes());
    assert_eq!(socket.send(&message).unwrap(), SIZE);
}

/// What a receiver makes of these, all of them measured.
fn received(messages: &[(u64, u64)], short: u64) -> (Traffic, OneWay) {
    let (ours, theirs) = udp();
    let flow = Flow::start(task(Role::Receiver, &stamped(), BY_TIME), OwnedFd::from(ours));
    thread::sleep(Duration::from_millis(20));
    messages.iter().for_each(|(number, time)| send(&theirs, *number, *time));
    (0..short).for_each(|_| assert_eq!(theirs.send(&[1; 15]).unwrap(), 15));
    thread::sleep(Duration::from_millis(20));
    flow.announce(messages.len() as u64 + short);
    let traffic = flow.finish().unwrap();
    let one_way = traffic.one_way.as_ref().unwrap().one_way();
    assert_eq!(traffic.counts.messages, messages.len() as u64 + short, "all are counted");
    (traffic, one_way)
}

#[test]
fn a_receiver_reads_numbers_and_times() {
    let now = monotonic();
    // Sent 5 ms apart by their own account, all come at once.
    let messages: Vec<(u64, u64)> =
        [0, 1, 2, 5, 4, 6, 6, 7].iter().enumerate().map(|(place, number)| (*number, now - 5_000_000 * place as u64)).collect();
    let (_, one_way) = received(&messages, 0);
    assert_eq!((one_way.messages, one_way.missing, one_way.out_of_order, one_way.duplicates), (8, 1, 1, 1), "3 is missing");
    let beyond = times(one_way.beyond_base.as_deref().unwrap());
    assert_eq!(beyond.len(), 8);
    // The last is 35 ms older than the first, and comes a moment later.
    assert!((34_900_000..200_000_000).contains(&beyond.max()), "{}", beyond.max());
    assert!(beyond.min() <= 1 && one_way.base >= 0, "one clock: nothing comes before it is sent");
    assert!(one_way.jitter >= 1_000_000 && one_way.jitter <= beyond.max(), "{one_way:?}");
}

#[test]
fn datagrams_under_way_when_the_end_is_announced_are_among_those_counted() {
    for cell in [stamped(), Cell { stamp: false, ..stamped() }] {
        let (ours, theirs) = udp();
        let flow = Flow::start(task(Role::Receiver, &cell, TrialEnd::Messages(5)), OwnedFd::from(ours));
        send(&theirs, 0, monotonic());
        thread::sleep(Duration::from_millis(10));
        flow.announce(5);
        for number in 1..5 {
            thread::sleep(Duration::from_millis(5));
            send(&theirs, number, monotonic());
        }
        let last = monotonic();
        let traffic = flow.finish().unwrap();
        assert_eq!((traffic.counts.messages, traffic.total.messages), (5, 5), "{cell}");
        // The window ends with the last of them, and not with the silence.
        assert!(traffic.usage.window.end.get() < last + 40_000_000, "{cell}");
    }
}

#[test]
fn hostile_numbers_and_times_do_not_break_a_receiver() {
    let hostile =
        [(u64::MAX, 0), (1 << 63, u64::MAX), (1, 0), (2, u64::MAX), (1 << 31, 1), (3, monotonic()), (1 << 31, 5), (u64::MAX / 2, 1)];
    let (traffic, one_way) = received(&hostile, 5);
    assert!(one_way.messages <= traffic.counts.messages - 5, "what has no room for both is not read: {one_way:?}");
    assert!(one_way.missing < 1 << 31, "a jump counts once: {one_way:?}");
    assert_eq!(traffic.counts.errors, 0);
}

#[test]
fn a_sender_numbers_its_messages_and_says_when() {
    for cell in [stamped(), Cell { stamp: true, ..paced(Test::UdpStream, SIZE as u64, 20_000, Pacing::Spin) }] {
        let (ours, theirs) = udp();
        let before = monotonic();
        let traffic = Flow::start(task(Role::Sender, &cell, TrialEnd::Messages(100)), OwnedFd::from(ours)).finish().unwrap();
        let after = monotonic();
        assert_eq!((traffic.total.messages, traffic.schedule.is_some()), (100, cell.rate.is_some()));
        let mut last = before;
        for number in 0..100 {
            let mut message = [0; SIZE];
            assert_eq!(theirs.recv(&mut message).unwrap(), SIZE);
            let time = u64::from_be_bytes(message[8..16].try_into().unwrap());
            assert_eq!(u64::from_be_bytes(message[..8].try_into().unwrap()), number);
            assert!((last..=after).contains(&time), "message {number}");
            last = time;
        }
    }
}

#[test]
fn sender_and_receiver_agree() {
    let (theirs, ours) = udp();
    let cell = Cell { stamp: true, ..paced(Test::UdpStream, SIZE as u64, 2_000, Pacing::Sleep) };
    let receiver = Flow::start(task(Role::Receiver, &cell, BY_TIME), OwnedFd::from(ours));
    let sender = Flow::start(task(Role::Sender, &cell, BY_TIME), OwnedFd::from(theirs));
    thread::sleep(Duration::from_millis(200));
    receiver.stage.enter(engine::stage::Part::Drain);
    sender.end_after(Duration::from_millis(1));
    let sent = sender.sent();
    receiver.announce(sent.messages);
    let (sender, receiver) = (sender.finish().unwrap(), receiver.finish().unwrap());
    assert_eq!((sender.total.messages, receiver.total.messages), (sent.messages, sent.messages), "so few are not lost");
    let one_way = receiver.one_way.unwrap().one_way();
    assert_eq!(one_way.messages, receiver.counts.messages);
    assert_eq!((one_way.missing, one_way.out_of_order, one_way.duplicates), (0, 0, 0));
    assert!(one_way.base > 0, "one clock");
    assert_eq!(times(one_way.beyond_base.as_deref().unwrap()).len(), one_way.messages);
}

#[test]
fn a_message_without_room_is_refused() {
    for cell in [Cell { size: Bytes::new(15), ..stamped() }, Cell { read_size: Bytes::new(15), ..stamped() }] {
        for role in [Role::Sender, Role::Receiver] {
            let (ours, _theirs) = udp();
            let error = Flow::start(task(role, &cell, BY_TIME), OwnedFd::from(ours)).finish().unwrap_err();
            assert!(error.to_string().contains("16 B at least"), "{error}");
        }
    }
}
