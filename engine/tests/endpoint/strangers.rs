//! Whoever does not show the cookie gets nothing and holds nobody up.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use engine::cookie::{Proof, SHOWN as LENGTH, Word};
use model::control::{Cookie, SentTotals, ToEndpoint};
use model::plan::TrialEnd;
use model::{Cell, Family, Nanos, Role, Test};

use crate::support::several::ready;
use crate::support::{COOKIE, Endpoint, SHOWN, cell, loopback, show_cookie, task};

const FEW: TrialEnd = TrialEnd::Messages(10);
const NO_WARMUP: Nanos = Nanos::from_millis(0);
const FLOWS: u32 = 2;

/// Runs the trial to its end, and returns what the receiver took.
fn finish(sender: &mut Endpoint, receiver: &mut Endpoint) -> u64 {
    for endpoint in [&mut *receiver, &mut *sender] {
        endpoint.tell(&ToEndpoint::Go);
    }
    let (messages, bytes) = sender.hear_sent();
    let sent = SentTotals { messages: vec![messages / u64::from(FLOWS); FLOWS as usize], bytes };
    for endpoint in [&mut *receiver, &mut *sender] {
        endpoint.tell(&ToEndpoint::Drain(sent.clone()));
    }
    sender.hear_done();
    receiver.hear_done().total.messages
}

fn two_flows(test: Test) -> Cell {
    Cell { flows: FLOWS, ..cell(test, Family::V4, 64) }
}

/// Everything that comes back to a stranger until its connection ends, or nothing does.
fn comes_back(mut stranger: TcpStream) -> usize {
    stranger.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut room = Vec::new();
    // The connection may be reset, or still be open.
    let _ = stranger.read_to_end(&mut room);
    room.len()
}

#[test]
fn silent_and_garbage_connections_do_not_hold_up_the_right_ones() {
    for test in [Test::TcpStream, Test::TcpMaerts] {
        let ((mut sender, _), (mut receiver, _)) = (Endpoint::start(), Endpoint::start());
        let cell = two_flows(test);
        let from = ready(&mut sender, task(Role::Sender, &cell, FEW, NO_WARMUP));
        let to = ready(&mut receiver, task(Role::Receiver, &cell, FEW, NO_WARMUP));
        let listener = if test.listener() == Role::Sender { from[0] } else { to[0] };
        let say = |bytes: &[u8]| {
            let mut stream = TcpStream::connect(listener).unwrap();
            stream.write_all(bytes).unwrap();
            stream
        };
        let wrong = Proof { cookie: Cookie([9; 16]), flow: 0 };
        let beyond = Proof { cookie: COOKIE, flow: FLOWS };
        let mut strangers: Vec<TcpStream> = (0..80).map(|_| say(b"")).collect();
        strangers.extend([
            say(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"),
            say(&wrong.bytes(Word::Ask)),
            say(&beyond.bytes(Word::Ask)),
            say(&SHOWN.bytes(Word::Ask)[..7]),
            say(&SHOWN.bytes(Word::Answer)),
            say(&COOKIE.0),
        ]);
        drop(say(b""));
        receiver.tell(&ToEndpoint::Connect { peers: from });
        sender.tell(&ToEndpoint::Connect { peers: to });
        receiver.hear_joined();
        sender.hear_joined();
        assert_eq!(finish(&mut sender, &mut receiver), 10 * u64::from(FLOWS), "{test}");
        let came_back: usize = strangers.into_iter().map(comes_back).sum();
        assert_eq!(came_back, 0, "{test}: bytes to those who did not show the cookie");
    }
}

/// A receiver of datagrams that waits for the cookie.
fn waiting(test: Test) -> (Endpoint, SocketAddr) {
    let (mut receiver, _) = Endpoint::start();
    let address = receiver.prepare(task(Role::Receiver, &cell(test, Family::V4, 64), FEW, NO_WARMUP));
    // Where the other end is said to be plays no part: it may be behind a translation of addresses.
    receiver.tell(&ToEndpoint::Connect { peers: vec!["192.0.2.9:9".parse().unwrap()] });
    (receiver, address)
}

fn stranger() -> UdpSocket {
    let socket = UdpSocket::bind((loopback(Family::V4), 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(150))).unwrap();
    socket
}

fn forged() -> Vec<Vec<u8>> {
    let ask = SHOWN.bytes(Word::Ask);
    let one_bit = |at: usize| ask.iter().enumerate().map(|(place, byte)| byte ^ u8::from(place == at)).collect();
    let mut all: Vec<Vec<u8>> = (0..LENGTH).map(one_bit).collect();
    all.push(Proof { flow: 1, ..SHOWN }.bytes(Word::Ask).to_vec());
    all.push(SHOWN.bytes(Word::Answer).to_vec());
    all.push(COOKIE.0.to_vec());
    all.push([&ask[..], b"x"].concat());
    all.extend([Vec::new(), vec![0; 1_400]]);
    all
}

#[test]
fn forged_datagrams_are_not_answered_and_not_counted() {
    for test in [Test::UdpStream, Test::UdpRr] {
        let (mut receiver, address) = waiting(test);
        let (before, ours, after) = (stranger(), stranger(), stranger());
        for datagram in forged() {
            before.send_to(&datagram, address).unwrap();
        }
        thread::sleep(Duration::from_millis(20));
        show_cookie(&ours, address);
        receiver.hear_joined();
        // Bound to its peer, it does not hear others, not even with the cookie.
        for datagram in forged().into_iter().chain([SHOWN.bytes(Word::Ask).to_vec()]) {
            after.send_to(&datagram, address).unwrap();
        }
        for stranger in [before, after] {
            let answer = stranger.recv(&mut [0; 64]);
            assert!(answer.is_err(), "{test}: {answer:?} bytes to an address that is not verified");
        }
        receiver.tell(&ToEndpoint::Go);
        (0..10).for_each(|_| assert_eq!(ours.send(&[7; 64]).unwrap(), 64));
        receiver.tell(&ToEndpoint::Drain(SentTotals::one(10, 640)));
        let total = receiver.hear_done().total;
        assert_eq!((total.received, total.errors), (10, 0), "{test}: {total:?}");
    }
}

/// An answer may be lost: it is asked for once more, after the endpoint has
/// said that it is connected, and as late as with the first messages.
#[test]
fn the_cookie_shown_again_is_answered_and_is_no_message() {
    let (mut receiver, address) = waiting(Test::UdpStream);
    let ours = stranger();
    show_cookie(&ours, address);
    receiver.hear_joined();
    let mut room = [0; 64];
    for _ in 0..3 {
        ours.send(&SHOWN.bytes(Word::Ask)).unwrap();
        assert_eq!(ours.recv(&mut room).unwrap(), LENGTH, "not longer than what asked for it");
        assert!(SHOWN.is(&room[..LENGTH], Word::Answer));
    }
    (0..4).for_each(|_| assert_eq!(ours.send(&SHOWN.bytes(Word::Ask)).unwrap(), LENGTH));
    (0..10).for_each(|_| assert_eq!(ours.send(&[7; 64]).unwrap(), 64));
    receiver.tell(&ToEndpoint::Go);
    receiver.tell(&ToEndpoint::Drain(SentTotals::one(10, 640)));
    let total = receiver.hear_done().total;
    assert_eq!((total.received, total.bytes), (10, 640), "{total:?}");
}

/// The side that connects asks again until it is answered.
#[test]
fn who_is_not_answered_asks_again() {
    let (mut sender, _) = Endpoint::start();
    let address = sender.prepare(task(Role::Sender, &cell(Test::UdpStream, Family::V4, 64), FEW, NO_WARMUP));
    let peer = UdpSocket::bind((loopback(Family::V4), 0)).unwrap();
    sender.tell(&ToEndpoint::Connect { peers: vec![peer.local_addr().unwrap()] });
    let mut room = [0; 64];
    for _ in 0..3 {
        let (length, from) = peer.recv_from(&mut room).unwrap();
        assert!(from == address && SHOWN.is(&room[..length], Word::Ask));
    }
    // Answers that are none, and then one to each that was asked.
    peer.send_to(&SHOWN.bytes(Word::Ask), address).unwrap();
    (0..3).for_each(|_| assert_eq!(peer.send_to(&SHOWN.bytes(Word::Answer), address).unwrap(), LENGTH));
    sender.hear_joined();
}
