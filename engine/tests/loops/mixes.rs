//! Streams whose messages have many sizes.

use std::io::Read;
use std::net::{TcpStream, UdpSocket};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use engine::traffic::Traffic;
use model::plan::TrialEnd;
use model::{Bytes, Cell, Family, Mix, Role, Test};

use crate::flow::{BY_TIME, Flow, task, tcp, udp};
use crate::support::{self, Endpoint};

const FAST: Duration = Duration::from_millis(40);

/// Small ones, one that fills a datagram of several frames, and some between.
fn mix() -> Mix {
    Mix::new("test", 7, &[(1, 0.4), (100, 0.3), (1_473, 0.2), (9_000, 0.1)]).unwrap()
}

fn mixed(test: Test) -> Cell {
    support::cell(test, Family::V4, 1).of_mix(mix())
}

/// The sizes of so many messages from the first.
fn first_sizes(messages: u64) -> impl Iterator<Item = u64> {
    mix().sequence().into_iter().cycle().take(messages as usize).map(u64::from)
}

fn ended(flow: Flow) -> (u64, Traffic) {
    flow.end_after(FAST);
    let sent = flow.sent();
    (sent.messages, flow.finish().unwrap())
}

fn is_sound(sent: u64, traffic: &Traffic) {
    let total = traffic.total;
    assert_eq!((total.messages, total.sent, total.errors), (sent, sent, 0));
    assert!(traffic.counts.messages > 0 && traffic.counts.messages <= sent);
    assert_eq!(total.bytes, first_sizes(sent).sum::<u64>(), "each message has the size that the sequence says");
}

/// Takes datagrams until nothing comes; their sizes in turn.
fn datagrams(socket: UdpSocket) -> JoinHandle<Vec<u64>> {
    thread::spawn(move || {
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let mut room = vec![0; 70_000];
        std::iter::from_fn(|| socket.recv(&mut room).ok().map(|length| length as u64)).collect()
    })
}

fn bytes(mut stream: TcpStream) -> JoinHandle<u64> {
    thread::spawn(move || std::io::copy(&mut stream.by_ref(), &mut std::io::sink()).unwrap())
}

#[test]
fn every_datagram_has_the_size_that_the_sequence_says() {
    let (ours, theirs) = udp();
    let taken = datagrams(theirs);
    let (sent, traffic) = ended(Flow::start(task(Role::Sender, &mixed(Test::UdpStream), BY_TIME), std::os::fd::OwnedFd::from(ours)));
    is_sound(sent, &traffic);
    // Some may be lost where the reader has no CPU; those that came are in turn.
    let mut expected = first_sizes(sent);
    let taken = taken.join().unwrap();
    assert!(!taken.is_empty() && taken.iter().all(|size| expected.any(|next| next == *size)));
}

#[test]
fn a_stream_gets_every_byte_and_short_calls_keep_messages_whole() {
    let (ours, theirs) = tcp();
    // So small that large messages take several calls.
    socket2::SockRef::from(&ours).set_send_buffer_size(2_048).unwrap();
    let taken = bytes(theirs);
    let (sent, traffic) = ended(Flow::start(task(Role::Sender, &mixed(Test::TcpStream), BY_TIME), std::os::fd::OwnedFd::from(ours)));
    is_sound(sent, &traffic);
    assert_eq!(taken.join().unwrap(), traffic.total.bytes);
}

#[test]
fn a_hosts_limit_of_bytes_holds_to_the_message() {
    let (ours, theirs) = udp();
    let _taken = datagrams(theirs);
    let mut task = task(Role::Sender, &mixed(Test::UdpStream), BY_TIME);
    task.limits.bytes = Some(Bytes::new(50_000));
    let flow = Flow::start(task, std::os::fd::OwnedFd::from(ours));
    let sent = flow.sent();
    flow.announce(sent.messages);
    assert!(sent.bytes <= 50_000 && sent.bytes + 9_000 > 50_000, "{sent:?}");
    assert!(flow.finish().unwrap_err().to_string().contains("reached the limit"));
}

#[test]
fn a_mix_that_cannot_be_sent_is_refused_before_anything_is_opened() {
    let refusal = |cell: &Cell, end: TrialEnd| {
        let (mut endpoint, served) = Endpoint::start();
        endpoint.tell(&model::control::ToEndpoint::Prepare(Box::new(task(Role::Sender, cell, end))));
        let failure = endpoint.hear_failure();
        served.join().unwrap().unwrap();
        failure
    };
    assert!(refusal(&mixed(Test::UdpStream), TrialEnd::Messages(100)).contains("a mix of sizes"));
    assert!(refusal(&mixed(Test::TcpRr), BY_TIME).contains("a mix of sizes"));
    let foreign = Mix { sizes: vec![(9, 1), (8, 1)], ..mix() };
    assert!(refusal(&Cell { mix: Some(foreign), ..mixed(Test::UdpStream) }, BY_TIME).contains("the sizes of a mix rise"));
    let large = Mix::new("large", 1, &[(1 << 30, 1.0)]).unwrap();
    let four = Cell { flows: 4, ..support::cell(Test::TcpStream, Family::V4, 1) }.of_mix(large);
    assert!(refusal(&four, BY_TIME).contains("of memory"));
}
