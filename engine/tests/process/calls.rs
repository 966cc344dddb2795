//! The system calls of the traffic: the messages, and no lock, no print, no
//! memory, no clock between them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, UdpSocket};
use std::process::ChildStdin;
use std::thread;
use std::time::Duration;

use model::plan::TrialEnd;
use model::{Family, Nanos, Role, Test};

use crate::Skip;
use crate::support::{cell, loopback, task};
use crate::tracer::{self, Calls};

const SIZE: usize = 64;

/// What the two edges themselves do within the measured part: the first one
/// reads the run delay and two clocks, the last one two clocks.
fn edges() -> Calls {
    Calls::from([(libc::SYS_pread64, 1), (libc::SYS_clock_gettime, 4)])
}

/// The edges, and these.
fn edges_and(more: &[(i64, u64)]) -> Calls {
    let mut calls = edges();
    for (call, times) in more {
        *calls.entry(*call).or_default() += times;
    }
    calls
}

fn input(peer: std::net::SocketAddr, role: Role, test: Test, end: TrialEnd) -> String {
    let task = task(role, &cell(test, Family::V4, SIZE as u64), end, Nanos::from_millis(0));
    format!("{peer}\n{}\n", serde_json::to_string(&task).unwrap())
}

fn listener() -> TcpListener {
    TcpListener::bind((loopback(Family::V4), 0)).unwrap()
}

fn socket() -> UdpSocket {
    UdpSocket::bind((loopback(Family::V4), 0)).unwrap()
}

pub fn of_stream_senders() -> Result<(), Skip> {
    for messages in [1, 500, 1_500] {
        let expected = edges_and(&[(libc::SYS_sendto, messages)]);
        let sink = socket();
        let task = input(sink.local_addr().unwrap(), Role::Sender, Test::UdpStream, TrialEnd::Messages(messages));
        assert_eq!(tracer::calls(&task, drop)?, expected, "UDP, {messages} messages");

        let listener = listener();
        let task = input(listener.local_addr().unwrap(), Role::Sender, Test::TcpStream, TrialEnd::Messages(messages));
        let read = move |_: ChildStdin| {
            let taken = std::io::copy(&mut listener.accept().unwrap().0, &mut std::io::sink()).unwrap();
            assert_eq!(taken, messages * SIZE as u64);
        };
        assert_eq!(tracer::calls(&task, read)?, expected, "TCP, {messages} messages");
    }
    Ok(())
}

/// How often a receiver calls is not for it to choose, but nothing else is called.
fn assert_receives(calls: Calls, least: u64, what: &str) {
    let received = calls.get(&libc::SYS_recvfrom).copied().unwrap_or_default();
    assert!(received >= least, "{what}: {calls:?}");
    assert_eq!(calls, edges_and(&[(libc::SYS_recvfrom, received)]), "{what}");
}

pub fn of_stream_receivers() -> Result<(), Skip> {
    const BY_TIME: TrialEnd = TrialEnd::Length(Nanos::from_millis(1));
    for messages in [10, 200] {
        let listener = listener();
        let task = input(listener.local_addr().unwrap(), Role::Receiver, Test::TcpStream, BY_TIME);
        let write = move |_commands: ChildStdin| {
            let mut stream = listener.accept().unwrap().0;
            stream.set_nodelay(true).unwrap();
            (0..messages).for_each(|_| stream.write_all(&[7; SIZE]).unwrap());
            stream.shutdown(Shutdown::Write).unwrap();
            // The end of the stream ends the trial; the command to drain is not needed.
            assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        };
        assert_receives(tracer::calls(&task, write)?, 1, "TCP");

        let source = socket();
        let task = input(source.local_addr().unwrap(), Role::Receiver, Test::UdpStream, BY_TIME);
        let send = move |commands: ChildStdin| {
            let (_, receiver) = source.recv_from(&mut [0; SIZE]).unwrap();
            for _ in 0..messages {
                assert_eq!(source.send_to(&[7; SIZE], receiver).unwrap(), SIZE);
                thread::sleep(Duration::from_micros(100));
            }
            thread::sleep(Duration::from_millis(50));
            drop(commands);
        };
        assert_receives(tracer::calls(&task, send)?, 2, "UDP");
    }
    Ok(())
}

pub fn of_requesters() -> Result<(), Skip> {
    for messages in [1, 500] {
        let listener = listener();
        let task = input(listener.local_addr().unwrap(), Role::Sender, Test::TcpRr, TrialEnd::Messages(messages));
        let answer = move |_: ChildStdin| {
            let mut stream = listener.accept().unwrap().0;
            stream.set_nodelay(true).unwrap();
            let mut room = [0; SIZE];
            while stream.read_exact(&mut room).is_ok() {
                stream.write_all(&room).unwrap();
            }
        };
        let calls = tracer::calls(&task, answer)?;
        // One more before the first: the start of its round trip.
        let each = [(libc::SYS_sendto, messages), (libc::SYS_recvfrom, messages), (libc::SYS_clock_gettime, messages + 1)];
        assert_eq!(calls, edges_and(&each), "{messages} transactions");
    }
    Ok(())
}
