//! One trial: both ends prepared, joined, let go, drained and read.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use model::control::{FromEndpoint, FromHost, Task, ToEndpoint, ToHost};
use model::end::EndReport;
use model::kernel::HostCounters;
use model::plan::TrialEnd;
use model::trial::Measured;
use model::{Cell, Nanos, Plan, Role};

use crate::remote::{HostError, RemoteHost};
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
        let traffic = self.await_sender()?;
        let reports = self.collect()?;
        let after = self.counters()?;
        Ok(Measured {
            sender_host: after.sender.since(&before.sender),
            receiver_host: after.receiver.since(&before.receiver),
            isolated: self.session.is_isolated(),
            overhead: Nanos::from(begun.elapsed()).since(traffic.into()),
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

    fn both<T>(&mut self, mut of: impl FnMut(&mut Self, Role) -> Result<T, HostError>) -> Result<Both<T>, HostError> {
        Ok(Both { receiver: of(self, Role::Receiver)?, sender: of(self, Role::Sender)? })
    }

    fn counters(&mut self) -> Result<Both<HostCounters>, HostError> {
        let (device, family) = (self.session.device().to_owned(), self.cell.family);
        self.tell(|_| ToHost::Counters { device: device.clone(), family })?;
        self.both(|trial, role| match trial.host(role).answer()? {
            FromHost::Counters(counters) => Ok(*counters),
            other => Err(trial.host(role).unexpected("counters", &other)),
        })
    }

    fn prepare(&mut self) -> Result<Both<SocketAddr>, HostError> {
        self.tell(|_| ToHost::Start)?;
        self.both(|trial, role| trial.host(role).answer().map(drop))?;
        for role in [Role::Receiver, Role::Sender] {
            let task = self.task(role);
            self.host(role).tell_endpoint(ToEndpoint::Prepare(Box::new(task)))?;
        }
        let deadline = Instant::now() + STEP_LIMIT;
        let ready = self.both(|trial, role| {
            loop {
                if let FromEndpoint::Ready { address, not_bound } = trial.host(role).hear_endpoint(deadline)? {
                    return Ok((address, not_bound));
                }
            }
        })?;
        for reason in [ready.sender.1, ready.receiver.1].into_iter().flatten() {
            self.session.note_not_bound(reason);
        }
        Ok(Both { sender: ready.sender.0, receiver: ready.receiver.0 })
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

    fn connect(&mut self, addresses: &Both<SocketAddr>) -> Result<(), HostError> {
        self.tell(|role| {
            let peer = match role {
                Role::Sender => addresses.receiver,
                Role::Receiver => addresses.sender,
            };
            ToHost::Endpoint(ToEndpoint::Connect { peer })
        })?;
        let deadline = Instant::now() + STEP_LIMIT;
        self.both(|trial, role| {
            loop {
                if let FromEndpoint::Connected = trial.host(role).hear_endpoint(deadline)? {
                    return Ok(());
                }
            }
        })
        .map(drop)
    }

    fn go(&mut self) -> Result<(), HostError> {
        self.tell(|_| ToHost::Endpoint(ToEndpoint::Go))
    }

    /// Waits for the sender's end and announces it; returns how long messages flowed.
    fn await_sender(&mut self) -> Result<Duration, HostError> {
        let begun = Instant::now();
        let (planned, limit) = match self.plan.end {
            TrialEnd::Length(length) => {
                let planned = Duration::from(self.plan.warmup + length);
                (Some(planned), planned + STEP_LIMIT)
            }
            TrialEnd::Messages(_) => (None, COUNT_LIMIT),
        };
        loop {
            if let FromEndpoint::Sent { messages, bytes } = self.host(Role::Sender).hear_endpoint(begun + limit)? {
                let flowed = begun.elapsed();
                self.tell(|_| ToHost::Endpoint(ToEndpoint::Drain { messages, bytes }))?;
                return Ok(planned.unwrap_or(flowed));
            }
        }
    }

    fn collect(&mut self) -> Result<Both<EndReport>, HostError> {
        let deadline = Instant::now() + STEP_LIMIT;
        let reports = self.both(|trial, role| {
            loop {
                if let FromEndpoint::Done(report) = trial.host(role).hear_endpoint(deadline)? {
                    return Ok(*report);
                }
            }
        })?;
        self.both(|trial, role| trial.host(role).await_end_of_endpoint(deadline))?;
        Ok(reports)
    }
}
