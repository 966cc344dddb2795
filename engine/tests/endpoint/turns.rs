//! Messages out of turn, and bytes that are no messages.

use std::net::{SocketAddr, UdpSocket};

use engine::channel::ChannelError;
use model::control::{FromEndpoint, SentTotals, ToEndpoint};
use model::frame::{LONGEST, encode};
use model::plan::TrialEnd;
use model::{Cell, Family, Nanos, Role, Test};

use crate::support::{Endpoint, Served, answer_cookie, cell, loopback, task};

fn peer() -> SocketAddr {
    SocketAddr::new(loopback(Family::V4), 9)
}

fn udp() -> Cell {
    cell(Test::UdpStream, Family::V4, 64)
}

fn prepare() -> ToEndpoint {
    ToEndpoint::Prepare(Box::new(task(Role::Sender, &udp(), TrialEnd::Length(Nanos::from_millis(20)), Nanos::from_millis(10))))
}

fn drain() -> ToEndpoint {
    ToEndpoint::Drain(SentTotals::one(1, 1))
}

/// An endpoint that has heard the first `turns` messages of a trial.
fn after(turns: usize) -> (Endpoint, Served, UdpSocket) {
    let socket = UdpSocket::bind((loopback(Family::V4), 0)).unwrap();
    let (mut endpoint, served) = Endpoint::start();
    let peer = socket.local_addr().unwrap();
    let measure = ToEndpoint::Measure { at: Nanos::default() };
    for message in [prepare(), ToEndpoint::Connect { peers: vec![peer] }, ToEndpoint::Go, measure].iter().take(turns) {
        endpoint.tell(message);
        match message {
            ToEndpoint::Prepare(_) => _ = endpoint.hear(),
            ToEndpoint::Connect { .. } => {
                answer_cookie(&socket);
                endpoint.hear();
            }
            _ => {}
        }
    }
    (endpoint, served, socket)
}

#[test]
fn a_message_out_of_turn_fails_the_trial_with_what_was_expected() {
    let all = [prepare(), ToEndpoint::Connect { peers: vec![peer()] }, ToEndpoint::Go, drain()];
    for (turn, expected) in ["prepare", "connect", "go"].into_iter().enumerate() {
        for wrong in all.iter().enumerate().filter(|(place, _)| *place != turn).map(|(_, message)| message) {
            let (mut endpoint, served, _socket) = after(turn);
            endpoint.tell(wrong);
            assert_eq!(endpoint.hear_failure(), format!("expected {expected}, got another message"));
            served.join().unwrap().unwrap();
        }
    }
}

#[test]
fn a_message_out_of_turn_while_messages_flow_fails_the_trial() {
    for (turns, expected) in [(3, "measure"), (4, "drain")] {
        for wrong in [prepare(), ToEndpoint::Connect { peers: vec![peer()] }, ToEndpoint::Go, drain()].into_iter().take(7 - turns) {
            let (mut endpoint, served, _socket) = after(turns);
            endpoint.tell(&wrong);
            // The sender's own end may come first.
            let error = std::iter::repeat_with(|| endpoint.hear()).take(2).find_map(|answer| match answer {
                FromEndpoint::Failed { error } => Some(error),
                _ => None,
            });
            assert_eq!(error, Some(format!("expected {expected}, got another message")));
            served.join().unwrap().unwrap();
        }
    }
}

#[test]
fn bytes_that_are_no_message_end_the_endpoint_in_every_phase() {
    let too_long = (LONGEST as u32 + 1).to_be_bytes().to_vec();
    let not_json = [&3u32.to_be_bytes()[..], b"{]}"].concat();
    let unknown = encode(&"sing").unwrap();
    for turns in 0..=4 {
        for bytes in [&too_long, &not_json, &unknown] {
            let (mut endpoint, served, _socket) = after(turns);
            endpoint.tell_bytes(bytes);
            assert!(matches!(served.join().unwrap(), Err(ChannelError::Frame(_))), "after {turns} messages: {bytes:?}");
        }
    }
}

#[test]
fn half_a_message_and_then_the_end_is_the_end() {
    for turns in 0..=4 {
        for half in [&[0][..], &[0, 0, 0, 100], &[0, 0, 0, 4, b'"', b'g']] {
            let (mut endpoint, served, _socket) = after(turns);
            endpoint.tell_bytes(half);
            endpoint.abandon();
            assert!(matches!(served.join().unwrap(), Err(ChannelError::Closed)), "after {turns} messages: {half:?}");
        }
    }
}

#[test]
fn the_traffic_stops_when_the_host_is_lost() {
    let (mut endpoint, served, socket) = after(3);
    endpoint.abandon();
    assert!(matches!(served.join().unwrap(), Err(ChannelError::Closed)));
    // What the traffic thread sent last, and then nothing: it has ended.
    socket.set_read_timeout(Some(std::time::Duration::from_millis(200))).unwrap();
    let silent = (0..1_000_000).any(|_| socket.recv(&mut [0; 64]).is_err());
    assert!(silent, "messages still flow");
}
