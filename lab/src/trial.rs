//! One trial: both ends prepared, joined, let go, drained and read.

mod conditions;
mod cross_traffic;
mod observe;
mod talk;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use model::adjust::ArmRequest;
use model::arm::HostSettings;
use model::condition::ObservedConditions;
use model::control::{CONTROL_VERSION, Cookie, FromEndpoint, FromHost, Limits, Sent, Task, ToEndpoint, ToHost};
use model::end::EndReport;
use model::kernel::HostCounters;
use model::plan::TrialEnd;
use model::trial::{ClockOffset, Measured};
use model::warning::Warning;
use model::{Cell, Nanos, Pass, Plan, Role};

use crate::clock;
use crate::error::TrialError;
use crate::event::Listener;
use crate::pass_duration::Spacing;
use crate::refusal::{Refusal, refused};
use crate::remote::{Heard, HostError, RemoteHost};
use crate::session::{Place, Session, turn};

use conditions::Conditions;
use talk::{Both, STEP_LIMIT};

/// Time that a receiver waits for more after the sender's end: on one machine
/// whatever was sent has arrived by then.
const SILENCE: Nanos = Nanos::from_millis(20);
/// Time that a requester waits for an answer on one machine.
const ANSWER_LIMIT: Nanos = Nanos::from_millis(100);
/// Time that a trial of a number of messages may take.
const COUNT_LIMIT: Duration = Duration::from_secs(3_600);
/// Questions to each agent for its time before a trial: enough to see
/// whether the ends' windows lie together.
const FEW_SIGHTS: u32 = 3;
/// And before and after a trial whose one-way times depend on it.
const MANY_SIGHTS: u32 = 20;
/// No start is held back by more than this, however far a host seems to be.
const LONGEST_HOLD: Duration = Duration::from_secs(2);

/// A trial that was carried out.
#[derive(Debug)]
pub struct Done {
    /// Counts of both ends.
    pub measured: Measured,
    /// Doubts that only the laboratory can raise. Those that the numbers raise
    /// are found by [`analysis::audit::warnings`].
    pub warnings: Vec<Warning>,
}

/// Specification of a trial.
#[derive(Debug, Clone, Copy)]
pub struct TrialSpec<'a> {
    /// The study's plan.
    pub plan: &'a Plan,
    /// The cell.
    pub cell: &'a Cell,
    /// Host `b` is the sender.
    pub swapped: bool,
    /// Instruments switched on during it.
    pub pass: Pass,
    /// When it ends.
    pub end: TrialEnd,
    /// Distance of samples.
    pub spacing: Spacing,
    /// Settings of its arm besides the cell.
    pub arm: Option<&'a HostSettings>,
    /// Seed of what it leaves to chance.
    pub seed: u64,
}

impl<'a> TrialSpec<'a> {
    /// A trial next to which nothing is switched on, as long as the plan says.
    pub fn clean(plan: &'a Plan, cell: &'a Cell, swapped: bool) -> Self {
        Self { plan, cell, swapped, pass: Pass::Clean, end: plan.end.of(cell), spacing: Spacing::default(), arm: None, seed: plan.seed }
    }
}

/// Runs one trial. The listener hears of [`Event::Waiting`](crate::Event::Waiting) and
/// [`Event::Progress`](crate::Event::Progress), and may end the trial there.
///
/// # Errors
/// What kept it from being carried out. Both hosts are ready for the next
/// trial then, unless one of them is lost.
pub fn run(session: &mut Session, spec: TrialSpec, listener: &mut dyn Listener) -> Result<Done, TrialError> {
    let cookie = draw_cookie()?;
    let mut warnings = turn::take(session, listener)?;
    let mut conditions = Conditions::default();
    let outcome = conditions.bring_about(session, &spec).map_err(TrialError::from);
    let limit = longest(&spec);
    let end = Instant::now() + limit;
    let outcome = outcome.and_then(|()| Trial { session: &mut *session, spec, cookie, listener, limit, end }.run());
    let mut outcome = outcome.map(|(measured, moved)| {
        warnings.extend(moved);
        Done { measured, warnings }
    });
    if let Err(error) = &outcome
        && !error.is_loss_of_host()
    {
        // Both at once: one that spins in real time may let the other not even end.
        let hosts = session.hosts();
        let stopped = hosts.iter_mut().try_for_each(RemoteHost::stop_endpoint);
        if let Err(lost) = stopped.and_then(|()| hosts.iter_mut().try_for_each(RemoteHost::stopped)) {
            outcome = Err(lost.into());
        }
        // What was to flow next to it must not flow next to the next.
        if let Err(lost) = cross_traffic::stop(session, spec.swapped)
            && lost.is_loss_of_host()
        {
            outcome = Err(lost.into());
        }
        // With the wire went the hosts' devices: what the ends complain of follows from it.
        if let Err(lost) = session.wire_counters() {
            outcome = Err(lost.into());
        }
    }
    let lost = outcome.as_ref().err().is_some_and(TrialError::is_loss_of_host);
    match (conditions.take_away(session, &spec, lost), &mut outcome) {
        (Ok(taken), Ok(done)) => conditions::store(taken, &mut done.measured),
        // What came of the trial first is told, unless a host is lost now.
        (Err(error), came) if came.is_ok() || error.is_loss_of_host() => *came = Err(error.into()),
        _ => {}
    }
    turn::give_back(session);
    outcome
}

/// Returns how long messages may flow.
fn flowing(spec: &TrialSpec) -> Duration {
    match spec.end {
        TrialEnd::Length(length) => Duration::from(spec.plan.warmup + length),
        TrialEnd::Messages(_) => COUNT_LIMIT,
    }
}

/// Returns how long a trial may take from its first step to its last.
fn longest(spec: &TrialSpec) -> Duration {
    // Twice, for the steps before messages flow and for those after.
    flowing(spec) + STEP_LIMIT * 2
}

struct Trial<'a> {
    session: &'a mut Session,
    spec: TrialSpec<'a>,
    cookie: Cookie,
    listener: &'a mut dyn Listener,
    limit: Duration,
    end: Instant,
}

/// Reports of the ends of a trial.
type Reports = Both<EndReport>;

impl Trial<'_> {
    fn run(mut self) -> Result<(Measured, Vec<Warning>), TrialError> {
        let sights = if self.spec.cell.stamp { MANY_SIGHTS } else { FEW_SIGHTS };
        let seen_before = self.session.clock(self.spec.swapped, sights)?;
        let begun = Instant::now();
        // Lost since the last trial, it would be taken for a fault of the ends.
        self.session.wire_counters()?;
        let addresses = self.prepare()?;
        self.connect(&addresses)?;
        self.observe()?;
        // Not before: the datagrams that join the ends are in no end's count.
        let before = self.counters()?;
        let wire_before = self.session.wire_counters()?;
        // Within the counters, so that they hold all that it sends.
        let crowded = cross_traffic::begin(self.session, self.spec.cell, self.spec.swapped)?;
        self.go()?;
        self.await_ends()?;
        let reports = self.collect()?;
        let taken = cross_traffic::end(self.session, self.spec.swapped)?;
        let wire_after = self.session.settled_wire()?;
        let after = self.counters()?;
        let elapsed = Nanos::from(begun.elapsed());
        let observed = self.observed(&reports)?;
        let useful = useful_time(&reports, seen_before.is_none());
        let (clock, moved) = self.clock_over(seen_before, sights, begun)?;
        let mut measured = Measured {
            sender_host: after.sender.since(&before.sender),
            receiver_host: after.receiver.since(&before.receiver),
            isolated: self.session.is_isolated(),
            apart: self.session.is_apart(),
            clock,
            control: self.session.control_path(),
            overhead: elapsed.since(useful),
            conditions: (taken != ObservedConditions::default()).then(|| Box::new(taken)),
            wire: wire_after.zip(wire_before).map(|(after, before)| after.since(&before)),
            observed,
            sender: reports.sender,
            receiver: reports.receiver,
        };
        measured.count_by_sender(self.spec.cell);
        Ok((measured, moved.into_iter().chain(crowded).collect()))
    }

    /// The ends' clocks over the trial that `begun` after they were seen. Where
    /// nothing depends on it closely, they are not looked at again.
    fn clock_over(
        &mut self,
        before: Option<ClockOffset>,
        sights: u32,
        begun: Instant,
    ) -> Result<(Option<ClockOffset>, Option<Warning>), HostError> {
        let Some(before) = before else { return Ok((None, None)) };
        if !self.spec.cell.stamp {
            return Ok((Some(clock::from_then_on(before, Nanos::from(begun.elapsed()))), None));
        }
        let after = self.session.clock(self.spec.swapped, sights)?.unwrap_or(before);
        let (offset, moved) = clock::between(before, after, Nanos::from(begun.elapsed()));
        Ok((Some(offset), moved))
    }

    fn counters(&mut self) -> Result<Both<HostCounters>, HostError> {
        let family = self.spec.cell.family;
        let device = |role| self.session.place(role, self.spec.swapped).device(family).to_owned();
        let devices = Both { sender: device(Role::Sender), receiver: device(Role::Receiver) };
        self.ask_both(
            |role| ToHost::Counters { device: devices.of(role).clone(), family },
            |answer| match answer {
                FromHost::Counters(counters) => Ok(*counters),
                other => Err(other),
            },
            "counters",
        )
    }

    fn place(&self, role: Role) -> &Place {
        self.session.place(role, self.spec.swapped)
    }

    /// The address of an end in the cell's family, as its own host writes it.
    fn address(&mut self, role: Role) -> Result<SocketAddr, HostError> {
        let family = self.spec.cell.family;
        let found = self.place(role).address(family);
        found.ok_or_else(|| self.host(role).endpoint_error(format!("it has no address of {family}, for which the plan had no cell")))
    }

    fn task(&mut self, role: Role) -> Result<Task, HostError> {
        let mut local = self.address(role)?;
        if role == self.spec.cell.test.listener() {
            local.set_port(self.spec.plan.data_port.unwrap_or(0));
        }
        let place = self.place(role);
        let cpus = place.cpus(self.spec.cell.flows);
        let control = self.session.control_path();
        let link = self.spec.plan.link_of(self.spec.cell).kind;
        let wait = link.longest_wait() + cross_traffic::longest_wait(&link, self.spec.cell);
        Ok(Task {
            role,
            cell: self.spec.cell.clone(),
            local,
            cpus: cpus.iter().map(|place| place.cpu).collect(),
            ksoftirqd: cpus.iter().filter_map(|place| place.ksoftirqd).collect(),
            cookie: self.cookie,
            progress: self.spec.plan.progress,
            limits: Limits { time: Some(Nanos::from(self.limit)), bytes: None },
            end: self.spec.end,
            warmup: self.spec.plan.warmup,
            silence: control.map_or(SILENCE, |path| path.silence) + wait,
            answer_limit: control.map_or(ANSWER_LIMIT, |path| path.silence) + wait,
            irq_time_subtracted: place.irq_time_subtracted,
            program: self.spec.cell.external(role),
            seed: self.spec.seed,
        })
    }

    fn prepare(&mut self) -> Result<Both<Vec<SocketAddr>>, TrialError> {
        let done = |answer| if matches!(answer, FromHost::Done) { Ok(()) } else { Err(answer) };
        let tool = self.spec.arm.and_then(|arm| arm.tool.clone());
        let start = |_| tool.clone().map_or(ToHost::Start, |tool| ToHost::Arm(ArmRequest::Start { tool }));
        self.ask_both(start, done, "the start of an endpoint")?;
        let deadline = Instant::now() + self.step_limit();
        let versions = self.hear_both(deadline, "the endpoint's hello", |heard| match heard {
            Heard::Said(FromEndpoint::Hello { version }) => Ok(version),
            other => Err(other),
        })?;
        for role in [Role::Sender, Role::Receiver] {
            if let (theirs, Some(tool)) = (*versions.of(role), &tool)
                && theirs != CONTROL_VERSION
            {
                let what = format!("{tool} speaks version {theirs} of the control protocol, this is version {CONTROL_VERSION}");
                return Err(self.host(role).endpoint_error(format!("{what}: tool= takes a nettoll that speaks the same")).into());
            }
            if *versions.of(role) != CONTROL_VERSION {
                return Err(HostError::Version { name: self.host(role).name().to_owned(), theirs: *versions.of(role) }.into());
            }
        }
        self.schedule()?;
        let tasks = Both { sender: self.task(Role::Sender)?, receiver: self.task(Role::Receiver)? };
        self.tell(|role| ToHost::Endpoint(ToEndpoint::Prepare(Box::new(tasks.of(role).clone()))))?;
        let deadline = Instant::now() + self.step_limit();
        let ready = self.hear_both(deadline, "an open socket", |heard| match heard {
            Heard::Said(FromEndpoint::Ready { addresses, not_bound, .. }) => Ok((addresses, not_bound)),
            other => Err(other),
        })?;
        for reason in [ready.sender.1, ready.receiver.1].into_iter().flatten() {
            self.session.note_not_bound(reason);
        }
        Ok(Both { sender: ready.sender.0, receiver: ready.receiver.0 })
    }

    fn connect(&mut self, addresses: &Both<Vec<SocketAddr>>) -> Result<(), TrialError> {
        // Of what an end says only the ports are taken: where it is, is known.
        let mut peers_of = |role: Role| -> Result<Vec<SocketAddr>, HostError> {
            let other = self.address(role.other())?;
            let place = self.place(role);
            let at = |port: u16| SocketAddr::new(other.ip(), port);
            Ok(addresses.of(role.other()).iter().map(|said| place.scoped(at(said.port()))).collect())
        };
        let peers = Both { sender: peers_of(Role::Sender)?, receiver: peers_of(Role::Receiver)? };
        self.tell(|role| ToHost::Endpoint(ToEndpoint::Connect { peers: peers.of(role).clone() }))?;
        let connected = |heard| if matches!(heard, Heard::Said(FromEndpoint::Connected)) { Ok(()) } else { Err(heard) };
        let deadline = Instant::now() + self.step_limit();
        self.hear_both(deadline, "the connection", connected).map(drop).map_err(|error| self.not_joined(error))
    }

    /// Between machines nothing that comes through has a likely cause. What an
    /// end itself says of a wait that was in vain names it, and the port, already.
    fn not_joined(&mut self, error: TrialError) -> TrialError {
        let between = self.session.control_path().is_some();
        match error {
            TrialError::Host(error @ HostError::Silent { .. }) if between => {
                let mut name = |role| self.address(role).map_or_else(|_| String::new(), |address| address.ip().to_string());
                let (from, to) = (name(Role::Sender), name(Role::Receiver));
                let remedy = format!(
                    "both hosts answer on their control connections, so a firewall between {from} and {to} may drop what the trial sends: \
                     let it pass, or give it a port that passes with --data-port"
                );
                HostError::from(Refusal::new(error.to_string(), "", remedy)).into()
            }
            other => other,
        }
    }

    /// Lets messages flow. The host farther away is told first, so that both
    /// begin at the same time as far as it can be foreseen.
    fn go(&mut self) -> Result<(), HostError> {
        let [sender, receiver] = [Role::Sender, Role::Receiver].map(|role| self.host(role).rtt());
        let order = if sender > receiver { [Role::Sender, Role::Receiver] } else { [Role::Receiver, Role::Sender] };
        self.host(order[0]).tell(&ToHost::Endpoint(ToEndpoint::Go))?;
        // Half of each round trip is the way there.
        let hold = (sender.abs_diff(receiver) / 2).min(LONGEST_HOLD);
        if !hold.is_zero() {
            std::thread::sleep(hold);
        }
        self.host(order[1]).tell(&ToHost::Endpoint(ToEndpoint::Go))
    }

    /// Waits for the end of whoever sends, and announces it: to both ends where
    /// one sends, to each the other's where both do. Then neither is announced
    /// before both have come, since an announcement ends what an end measures.
    fn await_ends(&mut self) -> Result<(), TrialError> {
        const AWAITED: &str = "the sender's end";
        let deadline = Instant::now() + flowing(&self.spec) + self.step_limit();
        let mut sent: Both<Option<Sent>> = Both::default();
        let announced = loop {
            let (role, heard) = self.hear(deadline, AWAITED)?;
            match heard {
                Heard::Said(FromEndpoint::Sent(end)) if role == Role::Sender || self.spec.cell.bidirectional => {
                    *sent.of_mut(role) = Some(end)
                }
                other => return Err(self.out_of_turn(role, AWAITED, &other).into()),
            }
            if !self.spec.cell.bidirectional {
                let end = sent.sender.take().unwrap_or_default();
                break Both { sender: end.clone(), receiver: end };
            }
            if let Some(both) = sent.whole() {
                break Both { sender: both.receiver, receiver: both.sender };
            }
        };
        Ok(self.tell(|role| ToHost::Endpoint(ToEndpoint::Drain(announced.of(role).clone())))?)
    }

    /// The reports of both ends, once their processes, and with them their
    /// sockets, are gone.
    fn collect(&mut self) -> Result<Reports, TrialError> {
        const AWAITED: &str = "the reports";
        let limit = self.step_limit();
        let deadline = Instant::now() + limit;
        let mut reports: Both<Option<EndReport>> = Both::default();
        let mut running = 2;
        while running > 0 {
            let (role, heard) = self.hear(deadline, AWAITED)?;
            let report = reports.of_mut(role);
            match heard {
                Heard::Said(FromEndpoint::Done(done)) => *report = Some(*done),
                Heard::Gone(_) if report.is_some() => running -= 1,
                other => return Err(self.out_of_turn(role, AWAITED, &other).into()),
            }
        }
        reports.whole().ok_or(HostError::Silent { awaited: AWAITED, limit }.into())
    }
}

/// A cookie that nobody can guess.
fn draw_cookie() -> Result<Cookie, HostError> {
    let mut bytes = [0; 16];
    let remedy = "run nettoll where the system's random numbers can be read";
    getrandom::fill(&mut bytes).map_err(refused("drawing the trial's cookie (getrandom)", remedy))?;
    Ok(Cookie(bytes))
}

/// The warm-up and the measured part: what a trial is made for. Where the ends
/// read one clock, to the last byte that was measured: what a sender has handed
/// over may fill buffers for long.
fn useful_time(reports: &Reports, one_clock: bool) -> Nanos {
    let (sender, receiver) = (&reports.sender, &reports.receiver);
    let Some(flow) = sender.flow else { return sender.window.length() };
    let end = if one_clock { sender.window.end.max(receiver.window.end) } else { sender.window.end };
    end.since(flow.start)
}
