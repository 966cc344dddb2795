//! One trial: both ends prepared, joined, let go, drained and read.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use model::control::{CONTROL_VERSION, FromEndpoint, FromHost, Task, ToEndpoint, ToHost};
use model::end::EndReport;
use model::kernel::HostCounters;
use model::plan::TrialEnd;
use model::trial::Measured;
use model::{Cell, Nanos, Plan, Role};

use crate::remote::{self, Heard, HostError, RemoteHost};
use crate::session::Session;

/// How long a receiver waits for more after the sender's end: on one machine
/// whatever was sent has arrived by then.
const SILENCE: Nanos = Nanos::from_millis(20);
/// How long a requester waits for an answer.
const ANSWER_LIMIT: Nanos = Nanos::from_millis(100);
/// How long both ends may take to prepare, and to report.
const STEP_LIMIT: Duration = Duration::from_secs(30);
/// How long a trial of a number of messages may take.
const COUNT_LIMIT: Duration = Duration::from_secs(3_600);

/// Runs one trial of a cell; `swapped` makes host `b` the sender.
///
/// # Errors
/// What kept it from being carried out. Both hosts are ready for the next
/// trial then, unless one of them is lost.
pub fn run(session: &mut Session, plan: &Plan, cell: &Cell, swapped: bool) -> Result<Measured, HostError> {
    let outcome = Trial { session: &mut *session, plan, cell, swapped }.run();
    if let Err(error) = &outcome
        && !error.is_loss_of_host()
    {
        for host in session.hosts() {
            host.stop_endpoint()?;
        }
    }
    outcome
}

struct Trial<'a> {
    session: &'a mut Session,
    plan: &'a Plan,
    cell: &'a Cell,
    swapped: bool,
}

/// One value for each role.
struct Both<T> {
    sender: T,
    receiver: T,
}

impl Trial<'_> {
    fn run(mut self) -> Result<Measured, HostError> {
        let begun = Instant::now();
        let before = self.counters()?;
        let addresses = self.prepare()?;
        self.connect(&addresses)?;
        self.go()?;
        self.await_sender()?;
        let reports = self.collect()?;
        let after = self.counters()?;
        let useful = useful_time(&reports.sender);
        Ok(Measured {
            sender_host: after.sender.since(&before.sender),
            receiver_host: after.receiver.since(&before.receiver),
            isolated: self.session.is_isolated(),
            overhead: Nanos::from(begun.elapsed()).since(useful),
            sender: reports.sender,
            receiver: reports.receiver,
        })
    }

    fn host(&mut self, role: Role) -> &mut RemoteHost {
        self.session.host(role, self.swapped)
    }

    fn tell(&mut self, command: impl Fn(Role) -> ToHost) -> Result<(), HostError> {
        // The receiver first: it has to be there when messages come.
        for role in [Role::Receiver, Role::Sender] {
            self.host(role).tell(&command(role))?;
        }
        Ok(())
    }

    /// Asks both hosts at once. Both answers are taken before either's failure
    /// is told, so that no answer is left for a later command.
    fn ask_both<T>(
        &mut self,
        command: impl Fn(Role) -> ToHost,
        read: impl Fn(FromHost) -> Result<T, FromHost>,
        expected: &str,
    ) -> Result<Both<T>, HostError> {
        self.tell(command)?;
        let mut answer = |role| {
            let host = self.host(role);
            host.answer().and_then(|answer| read(answer).map_err(|other| host.unexpected(expected, &other)))
        };
        let (receiver, sender) = (answer(Role::Receiver), answer(Role::Sender));
        Ok(Both { sender: sender?, receiver: receiver? })
    }

    /// Hears both ends until each of them has said what `pick` picks out of it.
    fn hear_both<T>(&mut self, awaited: &'static str, pick: impl Fn(Heard) -> Result<T, Heard>) -> Result<Both<T>, HostError> {
        let (mut sender, mut receiver) = (None, None);
        let deadline = Instant::now() + STEP_LIMIT;
        loop {
            let (role, heard) = self.hear(deadline, awaited)?;
            let said = pick(heard).map_err(|other| self.out_of_turn(role, awaited, &other))?;
            match role {
                Role::Sender => sender = Some(said),
                Role::Receiver => receiver = Some(said),
            }
            (sender, receiver) = match (sender, receiver) {
                (Some(sender), Some(receiver)) => return Ok(Both { sender, receiver }),
                other => other,
            };
        }
    }

    fn hear(&mut self, deadline: Instant, awaited: &'static str) -> Result<(Role, Heard), HostError> {
        let swapped = self.swapped;
        let left = deadline.saturating_duration_since(Instant::now());
        let (at, heard) = remote::hear_either(self.session.hosts(), left, awaited)?;
        Ok((if (at == 0) == swapped { Role::Receiver } else { Role::Sender }, heard))
    }

    fn out_of_turn(&mut self, role: Role, awaited: &str, heard: &Heard) -> HostError {
        let host = self.host(role);
        match heard {
            Heard::Gone(status) => host.endpoint_error(format!("it ended while {awaited} was awaited ({status}); did something kill it?")),
            Heard::Said(other) => host.unexpected(awaited, other),
        }
    }

    fn counters(&mut self) -> Result<Both<HostCounters>, HostError> {
        let (device, family) = (self.session.device().to_owned(), self.cell.family);
        self.ask_both(
            |_| ToHost::Counters { device: device.clone(), family },
            |answer| match answer {
                FromHost::Counters(counters) => Ok(*counters),
                other => Err(other),
            },
            "counters",
        )
    }

    fn task(&self, role: Role) -> Task {
        let place = self.session.place(role, self.swapped);
        Task {
            role,
            cell: self.cell.clone(),
            local: SocketAddr::new(place.address(self.cell.family), 0),
            cpu: place.cpu,
            ksoftirqd: place.ksoftirqd,
            end: self.plan.end,
            warmup: self.plan.warmup,
            silence: SILENCE,
            answer_limit: ANSWER_LIMIT,
            irq_time_subtracted: place.irq_time_subtracted,
        }
    }

    fn prepare(&mut self) -> Result<Both<SocketAddr>, HostError> {
        let done = |answer| if matches!(answer, FromHost::Done) { Ok(()) } else { Err(answer) };
        self.ask_both(|_| ToHost::Start, done, "the start of an endpoint")?;
        let versions = self.hear_both("the endpoint's hello", |heard| match heard {
            Heard::Said(FromEndpoint::Hello { version }) => Ok(version),
            other => Err(other),
        })?;
        for version in [versions.sender, versions.receiver] {
            if version != CONTROL_VERSION {
                return Err(HostError::Version { name: "a or b".to_owned(), theirs: version });
            }
        }
        let tasks = Both { sender: self.task(Role::Sender), receiver: self.task(Role::Receiver) };
        self.tell(|role| {
            let task = if role == Role::Sender { &tasks.sender } else { &tasks.receiver };
            ToHost::Endpoint(ToEndpoint::Prepare(Box::new(task.clone())))
        })?;
        let ready = self.hear_both("an open socket", |heard| match heard {
            Heard::Said(FromEndpoint::Ready { address, not_bound }) => Ok((address, not_bound)),
            other => Err(other),
        })?;
        for reason in [ready.sender.1, ready.receiver.1].into_iter().flatten() {
            self.session.note_not_bound(reason);
        }
        Ok(Both { sender: ready.sender.0, receiver: ready.receiver.0 })
    }

    fn connect(&mut self, addresses: &Both<SocketAddr>) -> Result<(), HostError> {
        self.tell(|role| {
            let peer = match role {
                Role::Sender => addresses.receiver,
                Role::Receiver => addresses.sender,
            };
            ToHost::Endpoint(ToEndpoint::Connect { peer })
        })?;
        let connected = |heard| if matches!(heard, Heard::Said(FromEndpoint::Connected)) { Ok(()) } else { Err(heard) };
        self.hear_both("the connection", connected).map(drop)
    }

    fn go(&mut self) -> Result<(), HostError> {
        self.tell(|_| ToHost::Endpoint(ToEndpoint::Go))
    }

    /// Waits for the sender's end and announces it.
    fn await_sender(&mut self) -> Result<(), HostError> {
        const AWAITED: &str = "the sender's end";
        let begun = Instant::now();
        let limit = match self.plan.end {
            TrialEnd::Length(length) => Duration::from(self.plan.warmup + length) + STEP_LIMIT,
            TrialEnd::Messages(_) => COUNT_LIMIT,
        };
        match self.hear(begun + limit, AWAITED)? {
            (Role::Sender, Heard::Said(FromEndpoint::Sent { messages, bytes })) => {
                self.tell(|_| ToHost::Endpoint(ToEndpoint::Drain { messages, bytes }))
            }
            (role, other) => Err(self.out_of_turn(role, AWAITED, &other)),
        }
    }

    /// The reports of both ends, once their processes, and with them their
    /// sockets, are gone.
    fn collect(&mut self) -> Result<Both<EndReport>, HostError> {
        const AWAITED: &str = "the reports";
        let deadline = Instant::now() + STEP_LIMIT;
        let (mut sender, mut receiver) = (None, None);
        let mut running = 2;
        while running > 0 {
            let (role, heard) = self.hear(deadline, AWAITED)?;
            let report = if role == Role::Sender { &mut sender } else { &mut receiver };
            match heard {
                Heard::Said(FromEndpoint::Done(done)) => *report = Some(*done),
                Heard::Gone(_) if report.is_some() => running -= 1,
                other => return Err(self.out_of_turn(role, AWAITED, &other)),
            }
        }
        match (sender, receiver) {
            (Some(sender), Some(receiver)) => Ok(Both { sender, receiver }),
            _ => Err(HostError::Silent { awaited: AWAITED, limit: STEP_LIMIT }),
        }
    }
}

/// The warm-up and the measured part: what a trial is made for.
fn useful_time(sender: &EndReport) -> Nanos {
    sender.flow.map_or(sender.window.length(), |flow| sender.window.end.since(flow.start))
}
