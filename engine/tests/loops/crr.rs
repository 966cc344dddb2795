//! Transactions that each have a connection of their own.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use engine::traffic::{FlowEnd, Traffic};
use model::plan::TrialEnd;
use model::{Bytes, Cell, Family, OfferedRate, Role, Test};

use crate::flow::{BY_TIME, Flow, task, times};
use crate::support::{cell, loopback};

/// The first connection of a flow: the requester's end, the answerer's with its listener.
fn joined(family: Family, from: Option<IpAddr>) -> (TcpStream, FlowEnd, SocketAddr) {
    let listener = TcpListener::bind((loopback(family), 0)).unwrap();
    let address = listener.local_addr().unwrap();
    // As an endpoint sets it, before anybody comes.
    socket2::SockRef::from(&listener).set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None).unwrap();
    if let Some(from) = from {
        socket.bind(&SocketAddr::new(from, 0).into()).unwrap();
    }
    socket.connect(&address.into()).unwrap();
    let accepted = listener.accept().unwrap().0;
    (socket.into(), FlowEnd { listener: Some(listener.into()), ..FlowEnd::from(OwnedFd::from(accepted)) }, address)
}

fn crr(family: Family, size: u64) -> Cell {
    cell(Test::TcpCrr, family, size)
}

fn both(cell: &Cell, end: TrialEnd, from: Option<IpAddr>, meanwhile: impl FnOnce(SocketAddr)) -> (Traffic, Traffic) {
    let (asks, answers, address) = joined(cell.family, from);
    let answerer = Flow::start(task(Role::Receiver, cell, end), answers);
    let asker = Flow::start(task(Role::Sender, cell, end), OwnedFd::from(asks));
    meanwhile(address);
    if end == BY_TIME {
        asker.end_after(Duration::from_millis(100));
    }
    let sent = asker.sent();
    answerer.announce(sent.messages);
    (asker.finish().unwrap(), answerer.finish().unwrap())
}

fn assert_agree(asker: &Traffic, answerer: &Traffic, size: u64) {
    let (asked, answered) = (asker.total, answerer.total);
    assert_eq!((asked.messages, asked.sent, asked.received), (answered.messages, answered.received, answered.sent));
    assert_eq!((asked.messages, asked.bytes, answered.bytes), (asked.sent, 2 * size * asked.sent, 2 * size * asked.sent));
    assert_eq!((asked.errors, asked.lost, answered.errors), (0, 0, 0), "{asked:?} {answered:?}");
    assert!(asker.tcp.is_none() && answerer.tcp.is_none(), "no connection lasts");
}

#[test]
fn both_ends_count_the_same() {
    for family in [Family::V4, Family::V6] {
        for size in [1, 100, 200_000] {
            let (asker, answerer) = both(&crr(family, size), BY_TIME, None, |_| {});
            assert_agree(&asker, &answerer, size);
            assert!(asker.counts.messages > 1, "{family}, {size} B");
            assert_eq!(times(&asker.latency.as_ref().unwrap().encode().unwrap()).len(), asker.counts.messages, "{family}, {size} B");
        }
    }
}

#[test]
fn a_counted_trial_has_its_number() {
    let (asker, answerer) = both(&crr(Family::V4, 10), TrialEnd::Messages(50), None, |_| {});
    assert_agree(&asker, &answerer, 10);
    assert_eq!((asker.counts.messages, asker.total.messages), (50, 50));
}

#[test]
fn a_rate_is_offered_one_at_a_time() {
    let cell = Cell { rate: Some(OfferedRate::Messages(500)), ..crr(Family::V4, 10) };
    let (asker, answerer) = both(&cell, BY_TIME, None, |_| {});
    assert_agree(&asker, &answerer, 10);
    let kept = asker.schedule.as_ref().unwrap().schedule();
    assert!(asker.total.messages <= 1 + asker.flow.unwrap().length().get() / 2_000_000, "none before its time");
    let [corrected, uncorrected] = [asker.latency.as_ref().unwrap().encode(), kept.uncorrected].map(|text| times(&text.unwrap()).len());
    assert_eq!((corrected, corrected + kept.unsent.unwrap()), (uncorrected, kept.intended), "answered or never asked");
    assert_eq!(times(kept.lateness.as_deref().unwrap()).len(), asker.counts.messages);
}

#[test]
fn every_connection_comes_from_where_the_first_came_from() {
    let from = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 5));
    let (asker, answerer) = both(&crr(Family::V4, 10), TrialEnd::Messages(50), Some(from), |_| {});
    // The answerer serves no other address.
    assert_agree(&asker, &answerer, 10);
}

/// What somebody gets who connects from `from` and asks.
fn bytes_got(from: Ipv4Addr, listener: SocketAddr, size: usize) -> usize {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::new(from.into(), 0).into()).unwrap();
    socket.connect(&listener.into()).unwrap();
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let _ = stream.write_all(&vec![1; size]);
    let mut got = Vec::new();
    let _ = stream.read_to_end(&mut got);
    got.len()
}

#[test]
fn a_stranger_is_told_nothing() {
    const SIZE: usize = 100;
    let mut strangers = 0;
    let (asker, answerer) = both(&crr(Family::V4, SIZE as u64), BY_TIME, None, |listener| {
        for last in 2..12 {
            strangers += bytes_got(Ipv4Addr::new(127, 0, 0, last), listener, SIZE);
        }
    });
    assert_eq!(strangers, 0, "bytes to addresses that have not shown the cookie");
    assert_agree(&asker, &answerer, SIZE as u64);
}

/// It comes from where the requester is, and takes its place in the queue.
#[test]
fn a_silent_connection_does_not_hold_up_the_requests() {
    let (asks, answers, listener) = joined(Family::V4, None);
    let silent = TcpStream::connect(listener).unwrap();
    let cell = crr(Family::V4, 10);
    let begun = Instant::now();
    let answerer = Flow::start(task(Role::Receiver, &cell, TrialEnd::Messages(20)), answers);
    let asker = Flow::start(task(Role::Sender, &cell, TrialEnd::Messages(20)), OwnedFd::from(asks));
    let sent = asker.sent();
    assert!(begun.elapsed() < Duration::from_secs(10), "not by the limit of a transaction: {:?}", begun.elapsed());
    answerer.announce(sent.messages);
    assert_agree(&asker.finish().unwrap(), &answerer.finish().unwrap(), 10);
    assert_eq!(sent.messages, 20);
    drop(silent);
}

#[test]
fn with_options_set_the_requester_closes_first_all_the_same() {
    let cell = Cell { sndbuf: Some(Bytes::new(20_000)), rcvbuf: Some(Bytes::new(30_000)), cc: Some("reno".into()), ..crr(Family::V4, 10) };
    let (asks, answers, _) = joined(Family::V4, None);
    let listener = TcpListener::from(answers.listener.unwrap());
    let server = thread::spawn(move || {
        let mut room = [0; 10];
        for _ in 0..20 {
            let mut connection = listener.accept().unwrap().0;
            connection.read_exact(&mut room).unwrap();
            connection.write_all(&room).unwrap();
            assert_eq!(connection.read(&mut room).unwrap(), 0, "the requester closes first");
        }
    });
    let asker = Flow::start(task(Role::Sender, &cell, TrialEnd::Messages(20)), OwnedFd::from(asks));
    assert_eq!(asker.finish().unwrap().counts.messages, 20);
    server.join().unwrap();
}

#[test]
fn an_answerer_that_closes_early_costs_a_request_and_no_more() {
    let (asks, answers, _) = joined(Family::V4, None);
    let listener = TcpListener::from(answers.listener.unwrap());
    let server = thread::spawn(move || {
        let (mut room, mut answered) = ([0; 10], 0);
        for number in 0..40 {
            let mut connection = listener.accept().unwrap().0;
            connection.read_exact(&mut room).unwrap();
            if number % 4 == 3 {
                connection.shutdown(Shutdown::Both).unwrap();
                continue;
            }
            connection.write_all(&room).unwrap();
            answered += 1;
        }
        answered
    });
    let asker = Flow::start(task(Role::Sender, &crr(Family::V4, 10), TrialEnd::Messages(40)), OwnedFd::from(asks));
    let traffic = asker.finish().unwrap();
    let answered: u64 = server.join().unwrap();
    assert_eq!((traffic.counts.messages, traffic.counts.lost), (answered, 40 - answered));
    assert_eq!((traffic.counts.sent, traffic.counts.errors), (40, 40 - answered));
}

#[test]
fn without_a_listener_there_is_nobody_to_serve() {
    let (_asks, answers, _) = joined(Family::V4, None);
    let error = Flow::start(task(Role::Receiver, &crr(Family::V4, 10), BY_TIME), answers.socket).finish().unwrap_err();
    assert!(error.to_string().contains("no listener"), "{error}");
}
