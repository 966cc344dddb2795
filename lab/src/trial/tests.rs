//! Trials whose hosts are played: what goes out together, and what comes in between.

use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;

use engine::channel::{self, Receiver};
use model::control::{CONTROL_VERSION, FromEndpoint, FromHost, Route, SentTotals, ToEndpoint, ToHost};
use model::end::{Counts, Window};
use model::host::HostFacts;
use model::{Bytes, Cell, Nanos, Role, Test};
use testkit::made;

use super::{TrialSpec, run};
use crate::event::Quiet;
use crate::host::link::LOOPBACK;
use crate::remote::RemoteHost;
use crate::session::{KnownHost, Session};
use sys::clock;

/// When an agent that is asked for its turn gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    AtOnce,
    /// After the commands with the question have been refused, and before the questions for the time
    /// are answered.
    Soon,
    /// After those.
    Later,
}

/// A host with an endpoint that carries out every command.
struct Played {
    own: IpAddr,
    role: Role,
    turn: Turn,
    has_turn: bool,
    starts: u32,
}

impl Played {
    fn answers(&mut self, command: ToHost) -> Vec<FromHost> {
        let said = |message| FromHost::Endpoint(message);
        let refused = || vec![FromHost::Failed { error: "not its turn".to_owned() }];
        match command {
            ToHost::Hello { .. } => vec![FromHost::Hello { version: CONTROL_VERSION, pid: 1, boot: self.own.to_string() }],
            ToHost::Clock => {
                let mut answers = vec![FromHost::Clock { now: clock::monotonic() }];
                if self.turn == Turn::Later && !self.has_turn && self.starts > 0 {
                    self.has_turn = true;
                    answers.push(FromHost::Yours { shared: false });
                }
                answers
            }
            ToHost::Route { to } => {
                let device = if to.ip() == self.own { LOOPBACK } else { "eth9" }.to_owned();
                vec![FromHost::Route(Route { device, source: SocketAddr::new(self.own, 0), mtu: None })]
            }
            ToHost::Turn if self.turn == Turn::AtOnce => {
                self.has_turn = true;
                vec![FromHost::Yours { shared: false }]
            }
            ToHost::Turn => vec![FromHost::Waiting { place: 1 }],
            ToHost::Release => {
                self.has_turn = false;
                Vec::new()
            }
            ToHost::Start => {
                self.starts += 1;
                match self.has_turn {
                    true => vec![FromHost::Done, said(FromEndpoint::Hello { version: CONTROL_VERSION })],
                    false => refused(),
                }
            }
            ToHost::Endpoint(ToEndpoint::Prepare(_)) if !self.has_turn => {
                let mut answers = refused();
                if self.turn == Turn::Soon {
                    self.has_turn = true;
                    answers.push(FromHost::Yours { shared: false });
                }
                answers
            }
            ToHost::Endpoint(ToEndpoint::Prepare(task)) => {
                self.role = task.role;
                vec![said(FromEndpoint::Ready { addresses: vec![SocketAddr::new(self.own, 9)], not_bound: None, program: None })]
            }
            ToHost::Endpoint(ToEndpoint::Connect { .. }) => vec![said(FromEndpoint::Connected { addresses: Vec::new() })],
            ToHost::Counters { .. } => vec![FromHost::Counters(Box::default())],
            ToHost::Endpoint(ToEndpoint::Go) => vec![said(FromEndpoint::Flowing)],
            ToHost::Endpoint(ToEndpoint::Measure { .. }) if self.role == Role::Sender => {
                vec![said(FromEndpoint::Sent(SentTotals::one(9, 9)))]
            }
            ToHost::Endpoint(ToEndpoint::Measure { .. }) => Vec::new(),
            ToHost::Endpoint(ToEndpoint::Drain(_)) => {
                let report = made::end(self.role, Window::default(), Counts::default());
                vec![said(FromEndpoint::Done(Box::new(report))), FromHost::Gone { status: "exit status: 0".to_owned() }]
            }
            ToHost::Stop { mark } => vec![FromHost::Stopped { mark }],
            other => vec![FromHost::Failed { error: format!("{other:?} is not played") }],
        }
    }
}

/// A host that a thread plays; the thread returns how often an endpoint was started.
fn played(name: &str, own: &str, turn: Turn, is_agent: bool) -> (RemoteHost, thread::JoinHandle<u32>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let own: IpAddr = own.parse().unwrap();
    let playing = thread::spawn(move || {
        let mut commands = Receiver::<ToHost>::new(File::from(OwnedFd::from(theirs.try_clone().unwrap())));
        let mut answers = File::from(OwnedFd::from(theirs));
        let mut host = Played { own, role: Role::Sender, turn, has_turn: !is_agent, starts: 0 };
        while let Ok(command) = commands.receive() {
            for answer in host.answers(command) {
                if channel::send(&mut answers, &answer).is_err() {
                    break;
                }
            }
        }
        host.starts
    });
    (RemoteHost::played(name, ours, SocketAddr::new(own, 7), is_agent).unwrap(), playing)
}

/// Runs trials between a process of this machine and an agent; returns the round trips of the agent in
/// each, and how often it was to start an endpoint.
fn trials(number: usize, test: Test, stamp: bool, turn: Turn) -> (Vec<u32>, u32) {
    let plan = made::plan("x", vec![Cell { stamp, ..Cell::plain(test, Bytes::new(64)) }]);
    let (a, playing_a) = played("a", "192.0.2.1", Turn::AtOnce, false);
    let (b, playing_b) = played("b", "192.0.2.2", turn, true);
    let known =
        ["a", "b"].map(|name| KnownHost { facts: HostFacts { boot: name.to_owned(), ..HostFacts::default() }, offered: Vec::new() });
    let mut session = Session::join([a, b], &known, &plan).map_err(|failed| failed.error.to_string()).unwrap();
    let each = |_| {
        let before = session.hosts()[1].rounds();
        run(&mut session, TrialSpec::clean(&plan, &plan.cells[0], false), &mut Quiet).unwrap();
        session.hosts()[1].rounds() - before
    };
    let rounds = (0..number).map(each).collect();
    drop(session);
    playing_a.join().unwrap();
    (rounds, playing_b.join().unwrap())
}

#[test]
fn a_trial_is_six_round_trips_in_a_row_at_most() {
    for (test, stamp) in [(Test::UdpStream, true), (Test::TcpStream, false), (Test::UdpRr, false)] {
        let (rounds, starts) = trials(3, test, stamp, Turn::AtOnce);
        // One that is answered before it is waited for is none.
        assert!(starts == 3 && rounds.iter().all(|rounds| (3..=6).contains(rounds)), "{test}, stamped: {stamp}: {rounds:?}");
    }
}

#[test]
fn commands_with_the_question_for_a_turn_go_out_again_where_they_were_refused() {
    for turn in [Turn::Soon, Turn::Later] {
        let (rounds, starts) = trials(1, Test::UdpStream, true, turn);
        assert_eq!(starts, 2, "{turn:?}: refused once, carried out once");
        assert!(rounds[0] <= 8, "{turn:?}: {rounds:?}");
    }
}

#[test]
fn windows_are_stored_with_what_both_have_of_the_time() {
    let plan = made::plan("x", vec![Cell::plain(Test::UdpStream, Bytes::new(64))]);
    let hosts = [played("a", "192.0.2.1", Turn::AtOnce, false), played("b", "192.0.2.2", Turn::AtOnce, true)].map(|(host, _)| host);
    let known =
        ["a", "b"].map(|name| KnownHost { facts: HostFacts { boot: name.to_owned(), ..HostFacts::default() }, offered: Vec::new() });
    let mut session = Session::join(hosts, &known, &plan).map_err(|failed| failed.error.to_string()).unwrap();
    let done = run(&mut session, TrialSpec::clean(&plan, &plan.cells[0], false), &mut Quiet).unwrap();
    // The ends that are played measure for no time.
    let windows = done.measured.windows.unwrap();
    assert_eq!(windows.asked, Nanos::from_millis(150));
    assert!(windows.overlap_ns.unsigned_abs() <= done.measured.clock.unwrap().offset_ns.unsigned_abs());
}
