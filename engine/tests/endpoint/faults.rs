//! Paths that let control through and data not.

use std::io::Write;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::thread;

use engine::cookie::Word;
use engine::woven::{Board, Order};
use model::control::{SentTotals, Task, ToEndpoint};
use model::plan::TrialEnd;
use model::{Family, Nanos, Role, Test};

use crate::support::{Endpoint, SHOWN, cell, let_flow, loopback, show_cookie, task};

/// Long enough for a stall to tell of the path.
const LENGTH: TrialEnd = TrialEnd::Length(Nanos::from_millis(200));
const NO_WARMUP: Nanos = Nanos::from_millis(0);

/// A receiver that is let go; `show` plays the sender as far as the cookie.
fn receiver<T>(test: Test, show: impl FnOnce(SocketAddr) -> T) -> (Endpoint, T) {
    let (mut receiver, _) = Endpoint::start();
    let address = receiver.prepare(task(Role::Receiver, &cell(test, Family::V4, 64), LENGTH, NO_WARMUP));
    receiver.tell(&ToEndpoint::Connect { peers: vec![address] });
    let peer = show(address);
    receiver.hear();
    receiver.tell(&ToEndpoint::Go);
    (receiver, peer)
}

/// The handshake and the cookie pass, larger segments do not.
#[test]
fn a_connection_that_carries_no_data_is_no_figure() {
    for small in [0, 64] {
        let (mut receiver, mut stream) = receiver(Test::TcpStream, |address| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&SHOWN.bytes(Word::Ask)).unwrap();
            stream
        });
        receiver.measure();
        if small > 0 {
            // In the measured part nothing, after it a little.
            thread::sleep(std::time::Duration::from_millis(300));
            stream.write_all(&[7; 64]).unwrap();
        }
        receiver.tell(&ToEndpoint::Drain(SentTotals::one(100, 6_400)));
        let error = receiver.hear_failure();
        assert!(error.contains("the connection stands but no data arrives") && error.contains("MTU black hole"), "{error}");
    }
}

/// The controller of woven arms may have no time for a round on a busy machine.
#[test]
fn a_woven_stream_without_a_turn_is_measured() {
    let board = Board::new().unwrap();
    let ((mut sender, _), (mut receiver, _)) = (Endpoint::start(), Endpoint::start());
    let of = |role, seat, order| {
        board.clear(seat, order);
        Task { woven: board.seat(seat), ..task(role, &cell(Test::TcpStream, Family::V4, 64), LENGTH, NO_WARMUP) }
    };
    let from = sender.prepare(of(Role::Sender, 0, Order::Stop));
    let to = receiver.prepare(of(Role::Receiver, 1, Order::Tell));
    receiver.tell(&ToEndpoint::Connect { peers: vec![from] });
    sender.tell(&ToEndpoint::Connect { peers: vec![to] });
    receiver.hear_joined();
    sender.hear_joined();
    let_flow(&mut sender, &mut receiver, LENGTH);
    let (messages, bytes) = sender.hear_sent();
    for end in [&mut sender, &mut receiver] {
        end.tell(&ToEndpoint::Drain(SentTotals::one(messages, bytes)));
    }
    let [sender, receiver] = [sender, receiver].map(|mut end| end.hear_done());
    assert_eq!(sender.counts.messages, 0, "no turn");
    assert!(messages > 0 && receiver.total.bytes == 64 * messages, "{messages} {receiver:?}");
    // The last message before the measured part may still be on its way when the receiver begins it.
    assert!(receiver.counts.bytes < receiver.total.bytes, "{receiver:?}");
}

#[test]
fn datagrams_of_which_none_arrives_are_no_figure() {
    let (mut receiver, _socket) = receiver(Test::UdpStream, |address| {
        let socket = UdpSocket::bind((loopback(Family::V4), 0)).unwrap();
        show_cookie(&socket, address);
        socket
    });
    receiver.measure();
    receiver.tell(&ToEndpoint::Drain(SentTotals::one(100, 6_400)));
    let error = receiver.hear_failure();
    assert!(error.contains("none arrived, though the cookie did") && error.contains("MTU black hole"), "{error}");
}

/// A peer that takes the connection, and the request, and says nothing.
#[test]
fn a_requester_that_is_never_answered_ends() {
    let listener = std::net::TcpListener::bind((loopback(Family::V4), 0)).unwrap();
    let (mut requester, _) = Endpoint::start();
    requester.prepare(task(Role::Sender, &cell(Test::TcpRr, Family::V4, 64), LENGTH, NO_WARMUP));
    let _silent = requester.connect_to(&listener);
    requester.tell(&ToEndpoint::Go);
    // It has no answer, and so does not say that it flows.
    requester.measure();
    let (messages, _) = requester.hear_sent();
    // It does not wait for the word to drain.
    let error = requester.hear_failure();
    assert!(messages == 0 && error.contains("no data arrives"), "{error}");
}

/// What waits until the time for joining is over, and what it says then.
#[test]
fn a_firewall_between_is_guessed_where_nothing_comes_through() {
    let silent = UdpSocket::bind((loopback(Family::V4), 0)).unwrap().local_addr().unwrap();
    let held = UdpSocket::bind(silent).unwrap();
    let mut waiting = Vec::new();
    for (test, role) in [(Test::UdpStream, Role::Sender), (Test::UdpRr, Role::Receiver), (Test::TcpStream, Role::Receiver)] {
        let (mut endpoint, _) = Endpoint::start();
        let own = endpoint.prepare(task(role, &cell(test, Family::V4, 64), LENGTH, NO_WARMUP));
        endpoint.tell(&ToEndpoint::Connect { peers: vec![silent] });
        let port = if role == Role::Sender { silent.port() } else { own.port() };
        waiting.push((endpoint, format!("{test} {role}"), port));
    }
    for (mut endpoint, what, port) in waiting {
        let error = endpoint.hear_failure();
        let said = error.contains("control works, data does not") && error.contains(&format!("port {port} through"));
        assert!(said, "{what}: {error}");
    }
    drop(held);
}
