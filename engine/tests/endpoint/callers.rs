//! The side that connects sends no message to what has not shown the cookie.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use engine::cookie::{Proof, SHOWN as LENGTH, Word};
use model::control::{Cookie, ToEndpoint};
use model::plan::TrialEnd;
use model::{Cell, Family, Nanos, Role, Test};

use crate::support::several::{join, ready, tasks};
use crate::support::{COOKIE, Endpoint, SHOWN, cell, loopback, task};

const FEW: TrialEnd = TrialEnd::Messages(10);
const NO_WARMUP: Nanos = Nanos::from_millis(0);

fn connects(test: Test) -> Role {
    test.listener().other()
}

/// An endpoint that is told that the other end is at `listener`.
fn sent_to(test: Test, listener: &TcpListener) -> Endpoint {
    let (mut endpoint, _) = Endpoint::start();
    endpoint.prepare(task(connects(test), &cell(test, Family::V4, 64), FEW, NO_WARMUP));
    endpoint.tell(&ToEndpoint::Connect { peers: vec![listener.local_addr().unwrap()] });
    endpoint
}

fn listener() -> TcpListener {
    TcpListener::bind((loopback(Family::V4), 0)).unwrap()
}

/// What a service says to whoever asks.
type Service = fn(&[u8]) -> Vec<u8>;

#[test]
fn a_service_that_is_no_other_end_gets_what_asks_and_no_more() {
    let services: [(&str, Service); 5] = [
        ("an echo", |ask| ask.to_vec()),
        ("a greeting", |_| b"220 mail.example.org ESMTP ready".to_vec()),
        ("the cookie of another trial", |_| Proof { cookie: Cookie([9; 16]), flow: 0 }.bytes(Word::Answer).to_vec()),
        ("the answer of another flow", |_| Proof { cookie: COOKIE, flow: 1 }.bytes(Word::Answer).to_vec()),
        ("its end", |_| Vec::new()),
    ];
    for test in [Test::TcpStream, Test::TcpMaerts, Test::TcpRr, Test::TcpCrr] {
        for (what, service) in services {
            let listener = listener();
            let mut endpoint = sent_to(test, &listener);
            let mut stream = listener.accept().unwrap().0;
            let mut ask = [0; LENGTH];
            stream.read_exact(&mut ask).unwrap();
            assert_eq!(ask, SHOWN.bytes(Word::Ask));
            assert!(ask[..16] != COOKIE.0, "what the controller chose does not go out");
            stream.write_all(&service(&ask)).unwrap();
            if service(&ask).is_empty() {
                stream.shutdown(std::net::Shutdown::Write).unwrap();
            }
            let error = endpoint.hear_failure();
            let said = if service(&ask).is_empty() { "did not answer" } else { "is not the other end of this trial" };
            assert!(error.contains(said) && error.contains("show the cookie to 127.0.0.1:"), "{test}, {what}: {error}");
            assert!(!error.contains("control works"), "{test}, {what}: {error}");
            let mut more = Vec::new();
            // It may be reset: the endpoint did not read all of a long greeting.
            let _ = stream.read_to_end(&mut more);
            assert!(more.is_empty(), "{test}, {what}: {} bytes more", more.len());
        }
    }
}

/// It is not said to be connected before the answer has come in full.
#[test]
fn half_an_answer_is_waited_for() {
    let listener = listener();
    let mut endpoint = sent_to(Test::TcpStream, &listener);
    let mut stream = listener.accept().unwrap().0;
    let answer = SHOWN.bytes(Word::Answer);
    stream.read_exact(&mut [0; LENGTH]).unwrap();
    stream.write_all(&answer[..LENGTH - 1]).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(60))).unwrap();
    assert!(stream.read(&mut [0]).is_err(), "nothing is sent meanwhile");
    stream.write_all(&answer[LENGTH - 1..]).unwrap();
    endpoint.hear_joined();
}

#[test]
fn a_refused_connection_is_not_taken_for_a_firewall_that_drops() {
    for test in [Test::TcpStream, Test::UdpStream] {
        let closed = match test {
            Test::TcpStream => listener().local_addr(),
            _ => UdpSocket::bind((loopback(Family::V4), 0)).and_then(|socket| socket.local_addr()),
        };
        let (mut sender, _) = Endpoint::start();
        sender.prepare(task(Role::Sender, &cell(test, Family::V4, 64), FEW, NO_WARMUP));
        sender.tell(&ToEndpoint::Connect { peers: vec![closed.unwrap()] });
        let error = sender.hear_failure();
        assert!(error.contains("refused") && error.contains("nothing listens there"), "{test}: {error}");
        assert!(!error.contains("control works"), "{test}: {error}");
    }
}

/// An echo service is no other end of datagrams either.
#[test]
fn datagrams_that_come_back_do_not_join() {
    let echo = UdpSocket::bind((loopback(Family::V4), 0)).unwrap();
    let (mut sender, _) = Endpoint::start();
    sender.prepare(task(Role::Sender, &cell(Test::UdpStream, Family::V4, 64), FEW, NO_WARMUP));
    sender.tell(&ToEndpoint::Connect { peers: vec![echo.local_addr().unwrap()] });
    let mut room = [0; 64];
    for _ in 0..4 {
        let (length, from) = echo.recv_from(&mut room).unwrap();
        assert!(SHOWN.is(&room[..length], Word::Ask), "still asking");
        echo.send_to(&room[..length], from).unwrap();
    }
    let (_, from) = echo.recv_from(&mut room).unwrap();
    for _ in 0..5 {
        echo.send_to(&SHOWN.bytes(Word::Answer), from).unwrap();
    }
    sender.hear_joined();
}

/// All flows connect and ask before the first is answered: a long path costs
/// its time once, not once a flow.
#[test]
fn flows_join_at_the_same_time() {
    const FLOWS: u32 = 200;
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&std::net::SocketAddr::new(loopback(Family::V4), 0).into()).unwrap();
    listener.listen(i32::try_from(FLOWS).unwrap()).unwrap();
    let listener = TcpListener::from(listener);
    let (mut sender, _) = Endpoint::start();
    let cell = Cell { flows: FLOWS, ..cell(Test::TcpStream, Family::V4, 64) };
    ready(&mut sender, task(Role::Sender, &cell, FEW, NO_WARMUP));
    sender.tell(&ToEndpoint::Connect { peers: vec![listener.local_addr().unwrap()] });
    let mut streams: Vec<(TcpStream, u32)> = Vec::new();
    for _ in 0..FLOWS {
        let mut stream = listener.accept().unwrap().0;
        let mut ask = [0; LENGTH];
        stream.read_exact(&mut ask).unwrap();
        let flow = engine::cookie::flow_of(COOKIE, &ask).unwrap();
        streams.push((stream, flow));
    }
    // Only now, and the last first.
    for (stream, flow) in streams.iter_mut().rev() {
        stream.write_all(&Proof { flow: *flow, ..SHOWN }.bytes(Word::Answer)).unwrap();
    }
    sender.hear_joined();
    let mut flows: Vec<u32> = streams.iter().map(|(_, flow)| *flow).collect();
    flows.sort_unstable();
    assert!(flows.into_iter().eq(0..FLOWS));
}

/// As many as come at once are let in, though nobody knows them yet.
#[test]
fn many_flows_of_two_endpoints_join() {
    for test in [Test::TcpStream, Test::TcpMaerts, Test::UdpStream, Test::TcpCrr] {
        let cell = Cell { flows: 150, ..cell(test, Family::V4, 64) };
        let ((mut sender, _), (mut receiver, _)) = (Endpoint::start(), Endpoint::start());
        let begun = Instant::now();
        join(&mut sender, &mut receiver, tasks(&cell, FEW, NO_WARMUP));
        assert!(begun.elapsed() < Duration::from_secs(9), "{test}: not by the limit");
    }
}
