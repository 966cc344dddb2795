//! What an endpoint does without its host: it ends, and soon.

use std::fs::File;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use engine::channel::ChannelError;
use model::control::{SentTotals, Task, ToEndpoint};
use model::plan::TrialEnd;
use model::{Bytes, Cell, Family, Nanos, Role, Test};

use crate::Skip;
use crate::child;
use crate::support::{Endpoint, cell, loopback, task};

/// Far below every time limit that an endpoint has of its own.
const SOON: Duration = Duration::from_secs(3);
const LONG: TrialEnd = TrialEnd::Length(Nanos::from_millis(60_000));
const SHORT: TrialEnd = TrialEnd::Length(Nanos::from_millis(1));
const NO_WARMUP: Nanos = Nanos::from_millis(0);

/// Ends the host's side, and sees the process gone.
fn assert_ends(mut endpoint: Endpoint, mut process: Child, phase: &str) {
    endpoint.abandon();
    let deadline = Instant::now() + SOON;
    while process.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            process.kill().unwrap();
            process.wait().unwrap();
            panic!("{phase}: still there {SOON:?} after its host");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn long(role: Role, test: Test, warmup: Nanos) -> Task {
    task(role, &cell(test, Family::V4, 64), LONG, warmup)
}

pub fn in_every_phase() -> Result<(), Skip> {
    // They stay open, so that nothing is refused.
    let mut sockets = Vec::new();
    for (test, role) in
        [(Test::UdpStream, Role::Sender), (Test::UdpStream, Role::Receiver), (Test::UdpRr, Role::Sender), (Test::UdpRr, Role::Receiver)]
    {
        for (phase, turns, warmup) in [
            ("greeted", 0, NO_WARMUP),
            ("prepared", 1, NO_WARMUP),
            ("connected", 2, NO_WARMUP),
            ("warm-up", 3, Nanos::from_millis(60_000)),
            ("measured part", 3, NO_WARMUP),
        ] {
            let (mut endpoint, process) = child::endpoint();
            let address = (turns > 0).then(|| endpoint.prepare(long(role, test, warmup)));
            if let Some(address) = address.filter(|_| turns > 1) {
                let socket = UdpSocket::bind((loopback(Family::V4), 0)).unwrap();
                endpoint.join(role, address, &socket);
                sockets.push(socket);
            }
            if turns > 2 {
                endpoint.tell(&ToEndpoint::Go);
                thread::sleep(Duration::from_millis(20));
            }
            assert_ends(endpoint, process, &format!("{test} {role}, {phase}"));
        }
    }
    Ok(())
}

pub fn while_nobody_connects() -> Result<(), Skip> {
    for (test, role) in [(Test::TcpStream, Role::Receiver), (Test::TcpMaerts, Role::Sender)] {
        let (mut endpoint, process) = child::endpoint();
        endpoint.prepare(long(role, test, NO_WARMUP));
        endpoint.tell(&ToEndpoint::Connect { peers: vec![SocketAddr::new(loopback(Family::V4), 9)] });
        thread::sleep(Duration::from_millis(20));
        assert_ends(endpoint, process, &format!("{test} {role}, accepting"));
    }
    Ok(())
}

/// A listener whose queue is full does not answer.
pub fn while_nobody_answers() -> Result<(), Skip> {
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&SocketAddr::new(loopback(Family::V4), 0).into()).unwrap();
    listener.listen(0).unwrap();
    let peer = listener.local_addr().unwrap().as_socket().unwrap();
    let waiting: Vec<_> = (0..4).map(|_| std::net::TcpStream::connect_timeout(&peer, Duration::from_millis(100))).collect();
    if waiting.iter().all(Result::is_ok) {
        return Err(Skip("this kernel's queue of connections does not fill".to_owned()));
    }
    let (mut endpoint, process) = child::endpoint();
    endpoint.prepare(long(Role::Sender, Test::TcpStream, NO_WARMUP));
    endpoint.tell(&ToEndpoint::Connect { peers: vec![peer] });
    thread::sleep(Duration::from_millis(20));
    assert_ends(endpoint, process, "connecting");
    Ok(())
}

/// The trial's end is announced, and the other end goes on for ever.
pub fn while_it_drains() -> Result<(), Skip> {
    let listener = TcpListener::bind((loopback(Family::V4), 0)).unwrap();
    let (mut endpoint, process) = child::endpoint();
    // More than the kernel holds for a reader that takes nothing.
    let cell = Cell { sndbuf: Some(Bytes::new(16 << 10)), ..cell(Test::TcpStream, Family::V4, 1000) };
    endpoint.prepare(task(Role::Sender, &cell, SHORT, NO_WARMUP));
    let _silent = endpoint.connect_to(&listener);
    endpoint.tell(&ToEndpoint::Go);
    let (messages, bytes) = endpoint.hear_sent();
    endpoint.tell(&ToEndpoint::Drain(SentTotals::one(messages, bytes)));
    thread::sleep(Duration::from_millis(20));
    assert_ends(endpoint, process, "sender, waiting for its receiver");

    let socket = UdpSocket::bind((loopback(Family::V4), 0)).unwrap();
    let (mut endpoint, process) = child::endpoint();
    let silence = Nanos::from_millis(60_000);
    let address = endpoint.prepare(Task { silence, ..task(Role::Receiver, &datagrams(), SHORT, NO_WARMUP) });
    endpoint.join(Role::Receiver, address, &socket);
    endpoint.tell(&ToEndpoint::Go);
    endpoint.tell(&ToEndpoint::Drain(SentTotals::one(9, 9)));
    thread::sleep(Duration::from_millis(20));
    assert_ends(endpoint, process, "receiver, waiting for what is missing");
    Ok(())
}

fn datagrams() -> Cell {
    cell(Test::UdpStream, Family::V4, 64)
}

/// The host is killed, and what it talked to its endpoint through is held open
/// by somebody else: here by the test, whose pipes both of them have.
pub fn though_pipes_stay_open() -> Result<(), Skip> {
    for phase in ["greeted", "prepared"] {
        let mut host = child::command("host").spawn().unwrap();
        let (commands, answers) = (OwnedFd::from(host.stdin.take().unwrap()), OwnedFd::from(host.stdout.take().unwrap()));
        let held = commands.try_clone().unwrap();
        let mut endpoint = Endpoint::over(File::from(commands), File::from(answers));
        if phase == "prepared" {
            endpoint.prepare(long(Role::Receiver, Test::UdpStream, NO_WARMUP));
        }
        host.kill().unwrap();
        host.wait().unwrap();
        // Its end of the pipe closes with the last process that has it.
        let end = endpoint.hear_or_end();
        assert!(matches!(end, Err(ChannelError::Closed)), "{phase}: {end:?}");
        drop(held);
    }
    Ok(())
}

/// A real-time end that spins might let nobody run who could end it.
pub fn and_the_kernel_bounds_what_runs_in_real_time() -> Result<(), Skip> {
    let (mut endpoint, mut process) = child::endpoint();
    let mut task = long(Role::Sender, Test::UdpStream, NO_WARMUP);
    task.limits.time = Some(Nanos::from_millis(2_000));
    endpoint.prepare(task);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", process.id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max realtime timeout")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[3..5], ["2000000", "2000000"], "in microseconds: {line}");
    process.kill().unwrap();
    process.wait().unwrap();
    Ok(())
}
