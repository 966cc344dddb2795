//! Plays the host and the controller of endpoints.

// Each test program uses its own part of this.
#![allow(dead_code)]

pub mod several;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use engine::channel::{self, ChannelError, Receiver};
use engine::cookie::{self, Proof, Word};
use model::cell::default_read_size;
use model::control::{CONTROL_VERSION, Cookie, FromEndpoint, Limits, SentTotals, Task, ToEndpoint};
use model::end::EndReport;
use model::plan::TrialEnd;
use model::{Bytes, Cell, Family, Nanos, Role, Test};

/// Longer than anything here takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// The cookie of all trials here.
pub const COOKIE: Cookie = Cookie(*b"0123456789abcdef");

/// A cell with what is usual.
pub fn cell(test: Test, family: Family, size: u64) -> Cell {
    let size = Bytes::new(size);
    let read_size = default_read_size(test, size);
    Cell { family, read_size, nodelay: true, ..Cell::plain(test, size) }
}

/// The loopback address of a family.
pub fn loopback(family: Family) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::LOCALHOST.into(),
        Family::V6 => Ipv6Addr::LOCALHOST.into(),
    }
}

/// What one end of a trial over loopback has to do.
pub fn task(role: Role, cell: &Cell, end: TrialEnd, warmup: Nanos) -> Task {
    Task {
        role,
        cell: cell.clone(),
        local: SocketAddr::new(loopback(cell.family), 0),
        cpus: Vec::new(),
        ksoftirqd: Vec::new(),
        cookie: COOKIE,
        end,
        warmup,
        silence: Nanos::from_millis(50),
        answer_limit: Nanos::from_millis(100),
        seed: 0,
        woven: None,
        hosts: Vec::new(),
        program: None,
        irq_time_subtracted: false,
        progress: None,
        limits: Limits::default(),
        injection: None,
    }
}

/// An endpoint and the two ends of what it is talked to through.
#[derive(Debug)]
pub struct Endpoint {
    commands: Option<File>,
    answers: Receiver<FromEndpoint>,
    /// Warm-up of its task.
    warmup: Nanos,
    /// It was told when to measure.
    measures: bool,
    /// What came while it was to say that it flows.
    kept: VecDeque<FromEndpoint>,
}

/// How a served endpoint ends.
pub type Served = JoinHandle<Result<(), ChannelError>>;

impl Endpoint {
    /// One on a thread of this process, greeted.
    pub fn start() -> (Self, Served) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (input, output) = (file(theirs.try_clone().unwrap()), file(theirs));
        let served = thread::spawn(move || engine::endpoint::run(input, output, engine::endpoint::Files::Shared));
        let answers = ours.try_clone().unwrap();
        (Self::over(file(ours), file(answers)), served)
    }

    /// One that is talked to through these, greeted.
    pub fn over(commands: File, answers: File) -> Self {
        let mut endpoint = Self {
            commands: Some(commands),
            answers: Receiver::new(answers),
            warmup: Nanos::default(),
            measures: false,
            kept: VecDeque::new(),
        };
        assert_eq!(endpoint.hear(), FromEndpoint::Hello { version: CONTROL_VERSION });
        endpoint
    }

    pub fn tell(&mut self, message: &ToEndpoint) {
        if let ToEndpoint::Prepare(task) = message {
            (self.warmup, self.measures) = (task.warmup, false);
        }
        channel::send(self.commands.as_mut().unwrap(), message).unwrap();
    }

    /// Sends bytes that may be no message.
    pub fn tell_bytes(&mut self, bytes: &[u8]) {
        self.commands.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub fn hear(&mut self) -> FromEndpoint {
        self.hear_or_end().unwrap()
    }

    /// The next answer, or how the connection ended. An end that flows measures after its warm-up.
    pub fn hear_or_end(&mut self) -> Result<FromEndpoint, ChannelError> {
        if let Some(kept) = self.kept.pop_front() {
            return Ok(kept);
        }
        loop {
            match self.answers.receive_within(PATIENCE)? {
                FromEndpoint::Flowing => self.measure(),
                answer => return Ok(answer),
            }
        }
    }

    /// Has it measure after its warm-up, once: it may say that it flows when it was told already. It may have ended by
    /// then.
    pub fn measure(&mut self) {
        if std::mem::replace(&mut self.measures, true) {
            return;
        }
        let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).unwrap();
        let at = Nanos::from(Duration::from(now)) + self.warmup;
        if let Some(commands) = &mut self.commands {
            let _ = channel::send(commands, &ToEndpoint::Measure { at });
        }
    }

    pub fn hear_failure(&mut self) -> String {
        match self.hear() {
            FromEndpoint::Failed { error } => error,
            other => panic!("expected a failure, got {other:?}"),
        }
    }

    /// It is joined to its other end.
    pub fn hear_joined(&mut self) {
        let heard = self.hear();
        assert!(matches!(heard, FromEndpoint::Connected { .. }), "expected to be joined, got {heard:?}");
    }

    pub fn hear_done(&mut self) -> EndReport {
        match self.hear() {
            FromEndpoint::Done(report) => *report,
            other => panic!("expected a report, got {other:?}"),
        }
    }

    /// Hands it its task; returns where its socket is bound.
    pub fn prepare(&mut self, task: Task) -> SocketAddr {
        self.tell(&ToEndpoint::Prepare(Box::new(task)));
        match self.hear() {
            FromEndpoint::Ready { addresses, .. } => addresses[0],
            other => panic!("expected to be ready, got {other:?}"),
        }
    }

    /// Joins it to what is bound at `peer`.
    pub fn connect(&mut self, peer: SocketAddr) {
        self.tell(&ToEndpoint::Connect { peers: vec![peer] });
        self.hear_joined();
    }

    /// Joins it to the test, which plays the other end of its only flow.
    pub fn connect_to(&mut self, listener: &TcpListener) -> TcpStream {
        self.tell(&ToEndpoint::Connect { peers: vec![listener.local_addr().unwrap()] });
        let stream = listener.accept().unwrap().0;
        take_cookie(&stream);
        self.hear_joined();
        stream
    }

    /// Joins it to a UDP socket of the test's, which plays the other end of its
    /// only flow. The endpoint is bound at `address`.
    pub fn join(&mut self, role: Role, address: SocketAddr, socket: &UdpSocket) {
        self.tell(&ToEndpoint::Connect { peers: vec![socket.local_addr().unwrap()] });
        match role {
            Role::Sender => assert_eq!(answer_cookie(socket), address),
            Role::Receiver => show_cookie(socket, address),
        }
        self.hear_joined();
    }

    /// What a sender announces when it has sent its last message.
    pub fn hear_sent(&mut self) -> (u64, u64) {
        match self.hear() {
            FromEndpoint::Sent(sent) => (sent.all(), sent.bytes),
            other => panic!("expected the sender's end, got {other:?}"),
        }
    }

    /// Ends the control connection, as a host does that dies.
    pub fn abandon(&mut self) {
        if let Some(commands) = self.commands.take() {
            // A pipe has no such thing, and its end closes with `commands`.
            let _ = nix::sys::socket::shutdown(std::os::fd::AsRawFd::as_raw_fd(&commands), nix::sys::socket::Shutdown::Write);
        }
    }
}

/// What is shown for the first flow.
pub const SHOWN: Proof = Proof { cookie: COOKIE, flow: 0 };

/// Plays the side that connects; the socket is bound to the other end afterwards.
pub fn show_cookie(socket: &UdpSocket, address: SocketAddr) {
    socket.connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(socket.send(&SHOWN.bytes(Word::Ask)).unwrap(), cookie::SHOWN);
    let mut room = [0; 64];
    let length = socket.recv(&mut room).unwrap();
    assert!(SHOWN.is(&room[..length], Word::Answer), "{:?}", &room[..length]);
}

/// Plays the other side; returns who asked.
pub fn answer_cookie(socket: &UdpSocket) -> SocketAddr {
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut room = [0; 64];
    let (length, from) = socket.recv_from(&mut room).unwrap();
    assert!(SHOWN.is(&room[..length], Word::Ask), "{:?}", &room[..length]);
    socket.send_to(&SHOWN.bytes(Word::Answer), from).unwrap();
    from
}

/// Hears what an endpoint that connected asks, and answers.
pub fn take_cookie(mut stream: &TcpStream) {
    let mut room = [0; cookie::SHOWN];
    stream.read_exact(&mut room).unwrap();
    assert_eq!(room, SHOWN.bytes(Word::Ask));
    stream.write_all(&SHOWN.bytes(Word::Answer)).unwrap();
}

fn file(stream: UnixStream) -> File {
    File::from(OwnedFd::from(stream))
}

/// What both ends of a trial said.
#[derive(Debug)]
pub struct Reports {
    pub sender: EndReport,
    pub receiver: EndReport,
    /// Messages and bytes that the sender announced.
    pub announced: (u64, u64),
}

/// Runs a trial between two endpoints of this process.
pub fn trial(cell: &Cell, end: TrialEnd, warmup: Nanos) -> Reports {
    let ((mut sender, sender_served), (mut receiver, receiver_served)) = (Endpoint::start(), Endpoint::start());
    let reports = trial_between(&mut sender, &mut receiver, cell, end, warmup);
    for served in [sender_served, receiver_served] {
        served.join().unwrap().unwrap();
    }
    reports
}

/// Lets messages flow between two endpoints, and has both measure at one time where their trial ends
/// after some time.
pub fn let_flow(sender: &mut Endpoint, receiver: &mut Endpoint, end: TrialEnd) {
    receiver.tell(&ToEndpoint::Go);
    sender.tell(&ToEndpoint::Go);
    if let TrialEnd::Length(_) = end {
        for endpoint in [&mut *receiver, &mut *sender] {
            match endpoint.answers.receive_within(PATIENCE).unwrap() {
                FromEndpoint::Flowing => {}
                other => endpoint.kept.push_back(other),
            }
        }
        [receiver, sender].into_iter().for_each(Endpoint::measure);
    }
}

/// Runs a trial between two endpoints.
pub fn trial_between(sender: &mut Endpoint, receiver: &mut Endpoint, cell: &Cell, end: TrialEnd, warmup: Nanos) -> Reports {
    let (from, to) = (sender.prepare(task(Role::Sender, cell, end, warmup)), receiver.prepare(task(Role::Receiver, cell, end, warmup)));
    receiver.tell(&ToEndpoint::Connect { peers: vec![from] });
    sender.tell(&ToEndpoint::Connect { peers: vec![to] });
    receiver.hear_joined();
    sender.hear_joined();
    let_flow(sender, receiver, end);
    let (messages, bytes) = sender.hear_sent();
    for endpoint in [&mut *sender, &mut *receiver] {
        endpoint.tell(&ToEndpoint::Drain(SentTotals::one(messages, bytes)));
    }
    Reports { receiver: receiver.hear_done(), sender: sender.hear_done(), announced: (messages, bytes) }
}
