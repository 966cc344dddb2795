//! One trial: both ends prepared, joined, let go, drained and read.

mod conditions;
mod cross_traffic;
mod many;
mod observe;
mod talk;
#[cfg(test)]
mod tests;
mod together;
pub(crate) mod woven;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use model::adjust::ArmRequest;
use model::arm::HostSettings;
use model::condition::ObservedConditions;
use model::control::{CONTROL_VERSION, Cookie, FromEndpoint, FromHost, Limits, SentTotals, Task, ToEndpoint, ToHost};
use model::end::EndReport;
use model::kernel::{HostCounters, WireCounters};
use model::plan::{ApprovedPlan, TrialEnd};
use model::silence;
use model::trial::{ClockOffset, Measured, Windows};
use model::warning::Warning;
use model::woven::Seat;
use model::{Cell, Nanos, Pass, Plan, Role};

use crate::arm;
use crate::clock::{self, ClockWatch};
use crate::error::TrialError;
use crate::event::{Event, Listener, Quiet};
use crate::refusal::{Refusal, refused};
use crate::remote::{self, EndpointMessage, HostError, RemoteHost};
use crate::session::{EndCpus, Session, turn};
use sys::clock::monotonic;

use conditions::Conditions;
pub(crate) use talk::Both;
use talk::STEP_LIMIT;
use together::Together;

/// Time that a trial of a number of messages may take.
const COUNT_LIMIT: Duration = Duration::from_secs(3_600);
/// Questions to each agent for its time before a trial, all at once: what was known before is kept.
const FEW_SIGHTS: u32 = 3;
/// And before and after a trial whose one-way times depend on it.
const MANY_SIGHTS: u32 = 20;
/// No start is held back by more than this, however far a host seems to be.
const LONGEST_HOLD: Duration = Duration::from_secs(2);
/// Time that flows may take to move their first messages, besides a few round trips.
const FLOW_LIMIT: Duration = Duration::from_secs(2);
/// And for each flow: all of them may share a CPU.
const FLOW_TURN: Duration = Duration::from_millis(20);
/// Round trips that they may take: of a lossy path one is repeated.
const FLOW_ROUNDS: u32 = 8;
/// Time from the word to measure to the window, on one machine: more than the word takes.
const LEAD: Duration = Duration::from_millis(5);
/// And a turn for each flow on a CPU: the processes that pass the word on may wait for all of them.
const LEAD_TURN: Duration = Duration::from_millis(8);

/// A trial that was carried out.
#[derive(Debug)]
pub(crate) struct Done {
    /// Counts of both ends.
    pub measured: Measured,
    /// Doubts that only the laboratory can raise. Those that the numbers raise
    /// are found by [`analysis::audit::warnings`].
    pub warnings: Vec<Warning>,
}

/// Specification of a trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrialSpec<'a> {
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
    /// Settings of its arm other than the cell.
    pub arm: Option<&'a HostSettings>,
    /// Seed of what it leaves to chance.
    pub seed: u64,
    /// The seats of its ends in a woven trial.
    pub woven: Option<Both<Seat>>,
    /// The port of the first flow's listener; `None`: any.
    pub data_port: Option<u16>,
}

impl<'a> TrialSpec<'a> {
    /// A trial next to which nothing is switched on, as long as the plan says.
    pub(crate) fn clean(plan: &'a Plan, cell: &'a Cell, swapped: bool) -> Self {
        let (pass, end, data_port) = (Pass::Clean, plan.end.of(cell), plan.data_port);
        Self { plan, cell, swapped, pass, end, arm: None, seed: plan.seed, woven: None, data_port }
    }

    /// Time of traffic before the measured part. Woven ends would all flood at once: they have their first round.
    fn warmup(&self) -> Nanos {
        if self.woven.is_some() { Nanos::default() } else { self.plan.warmup }
    }
}

/// Runs the first cell of a plan once, over a session that is open.
///
/// # Errors
/// What kept it from being carried out.
pub fn once(session: &mut Session, plan: &ApprovedPlan, listener: &mut dyn Listener) -> Result<Measured, TrialError> {
    // An approved plan has a cell.
    Ok(run(session, TrialSpec::clean(plan, &plan.cells[0], false), listener)?.measured)
}

/// Runs one trial. The listener hears of [`Event::Waiting`](crate::Event::Waiting) and
/// [`Event::Progress`](crate::Event::Progress), and may end the trial there.
///
/// # Errors
/// What kept it from being carried out. Both hosts are ready for the next
/// trial then, unless one of them is lost.
pub(crate) fn run(session: &mut Session, spec: TrialSpec, listener: &mut dyn Listener) -> Result<Done, TrialError> {
    if spec.cell.conditions.most_hosts() > 1
        && let Some(mut crowd) = session.crowd.take()
    {
        let outcome = many::run(session, &mut crowd, spec, listener);
        session.crowd = Some(crowd);
        return outcome;
    }
    let (cookie, limit) = (draw_cookie()?, longest(&spec));
    let end = Instant::now() + limit;
    let mut trial = Trial { session: &mut *session, spec, cookie, listener: &mut *listener, limit, end, together: None };
    let first = trial.first_commands()?;
    let shared = turn::take(session, listener, &first, sights(&spec))?;
    let outcome = carry_out(session, spec, cookie, &shared, None, listener);
    turn::give_back(session);
    outcome
}

/// Returns the distance of samples of a session, in this controller's turn on its hosts; measured where it is unknown.
fn usual_period(session: &mut Session, spec: TrialSpec) -> Result<Nanos, TrialError> {
    let (cookie, limit) = (draw_cookie()?, longest(&spec));
    let end = Instant::now() + limit;
    Trial { session, spec, cookie, listener: &mut Quiet, limit, end, together: None }.usual_period()
}

/// Carries out a trial in this controller's turn, in which others may have the hosts in the places `shared`, with the steps of
/// other trials where there are some. `cookie` is that of the first commands, where they went with the turn.
fn carry_out(
    session: &mut Session,
    spec: TrialSpec,
    cookie: Cookie,
    shared: &[usize],
    together: Option<&Together>,
    listener: &mut dyn Listener,
) -> Result<Done, TrialError> {
    let limit = longest(&spec);
    let mut conditions = Conditions::default();
    let outcome = conditions.bring_about(session, &spec).map_err(TrialError::from);
    // The wait for a turn is no part of it.
    let end = Instant::now() + limit;
    let outcome = outcome.and_then(|()| Trial { session: &mut *session, spec, cookie, listener, limit, end, together }.run());
    let mut outcome = outcome.map(|(measured, mut warnings)| {
        // A host that is lost by now is found lost by the next trial: this one is measured.
        warnings.extend(turn::company(session, shared).unwrap_or_default());
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
        // Of the other hosts of its flows an answer may be still to come.
        for role in [Role::Sender, Role::Receiver] {
            let mut others = session.other_hosts(role, spec.swapped, spec.cell);
            if let Err(lost) = others.try_for_each(|host| host.stop_endpoint().and_then(|()| host.stopped())) {
                outcome = Err(lost.into());
            }
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
    let bound = outcome.as_ref().ok().zip(spec.arm).and_then(|(done, arm)| arm::not_bound(arm, session, &done.measured, spec.swapped));
    if let Some(error) = bound {
        outcome = Err(error.into());
    }
    let lost = outcome.as_ref().err().is_some_and(TrialError::is_loss_of_host);
    match (conditions.take_away(session, &spec, lost), &mut outcome) {
        (Ok(taken), Ok(done)) => conditions::store(taken, &mut done.measured),
        // What came of the trial first is told, unless a host is lost now.
        (Err(error), came) if came.is_ok() || error.is_loss_of_host() => *came = Err(error.into()),
        _ => {}
    }
    outcome
}

/// Returns how often a host is asked for its time before a trial.
const fn sights(spec: &TrialSpec) -> u32 {
    if spec.cell.stamp { MANY_SIGHTS } else { FEW_SIGHTS }
}

/// Returns how long messages may flow.
fn flowing(spec: &TrialSpec) -> Duration {
    match spec.end {
        TrialEnd::Length(length) => Duration::from(spec.warmup() + length),
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
    /// Trials of other machines that are carried out at the same time.
    together: Option<&'a Together>,
}

/// A trial whose messages flow.
struct Begun {
    at: Instant,
    seen_before: Option<ClockOffset>,
    before: Both<HostCounters>,
    wire_before: Option<WireCounters>,
    crowded: Option<Warning>,
    sent: Both<Option<SentTotals>>,
    /// Time at which both ends begin to measure, by the controller's clock; 0 of a number of messages.
    opens: Nanos,
}

/// Reports of the ends of a trial.
type Reports = Both<EndReport>;

impl Trial<'_> {
    /// Whatever can go out together does: over a far path a trial is as long as its round trips.
    fn run(mut self) -> Result<(Measured, Vec<Warning>), TrialError> {
        let mut begun = self.begin()?;
        self.announce_end(&mut begun)?;
        self.finish(begun)
    }

    /// To the word at which both ends measure.
    fn begin(&mut self) -> Result<Begun, TrialError> {
        let begun = Instant::now();
        // Lost since the last trial, it would be taken for a fault of the ends.
        self.session.wire_counters()?;
        let addresses = self.prepare()?;
        let seen_before = self.session.clock(self.spec.swapped, monotonic(), ClockWatch::known);
        self.connect(&addresses)?;
        self.tell_to_observe()?;
        // Not before: the datagrams that join the ends are in no end's count.
        self.tell_counters()?;
        self.hear_observing()?;
        // A far host and one here need not be waited for: the word to count goes the way that messages go, or
        // that the word to send goes, and before them. Of two agents the nearer may send before the
        // word is with the other, where their ways are not equally quick both ways.
        let one_is_here = self.session.hosts().iter().any(|host| host.agent().is_none());
        let far = one_is_here && self.session.control_path().is_some() && self.spec.pass.is_clean() && self.together.is_none();
        if far {
            self.go()?;
        }
        let before = self.hear_counters()?;
        let wire_before = self.session.wire_counters()?;
        // Within the counters, so that they hold all that it sends.
        let crowded = cross_traffic::begin(self.session, self.spec.cell, self.spec.swapped)?;
        // Nothing of any trial is sent before all counters are read.
        self.meet(Nanos::default())?;
        if !far {
            self.go()?;
        }
        let (sent, opens) = self.open()?;
        Ok(Begun { at: begun, seen_before, before, wire_before, crowded, sent, opens })
    }

    /// Waits until each sender has sent its last, and has the ends drain.
    fn announce_end(&mut self, begun: &mut Begun) -> Result<(), TrialError> {
        self.await_ends(std::mem::take(&mut begun.sent))
    }

    /// From there to the reports of both ends.
    fn finish(mut self, begun: Begun) -> Result<(Measured, Vec<Warning>), TrialError> {
        let Begun { at: begun, seen_before, before, wire_before, crowded, .. } = begun;
        if self.spec.cell.stamp {
            self.ask_clocks(MANY_SIGHTS)?;
            remote::hear_clocks(self.session.hosts())?;
        }
        let reports = self.collect()?;
        self.meet(Nanos::default())?;
        let taken = cross_traffic::end(self.session, self.spec.swapped)?;
        let wire_after = self.session.settled_wire()?;
        self.tell_counters()?;
        self.ask_observed(&reports)?;
        let after = self.hear_counters()?;
        let elapsed = Nanos::from(begun.elapsed());
        let observed = self.hear_observed()?;
        let useful = useful_time(&reports, seen_before.is_none());
        let (clock, moved) = self.clock_over(seen_before, begun)?;
        let windows = match self.spec.end {
            TrialEnd::Length(asked) => Some(Windows::new(asked, reports.sender.window, reports.receiver.window, clock)),
            TrialEnd::Messages(_) => None,
        };
        let mut measured = Measured {
            sender_host: after.sender.since(&before.sender),
            receiver_host: after.receiver.since(&before.receiver),
            isolated: self.session.is_isolated(),
            apart: self.session.is_apart(),
            clock,
            windows,
            slices: 0,
            peers: Vec::new(),
            control: self.session.control_path(),
            overhead: elapsed.since(useful),
            conditions: (taken != ObservedConditions::default()).then(|| Box::new(taken)),
            wire: wire_after.zip(wire_before).map(|(after, before)| after.since(&before)),
            observed,
            wakeups: [Role::Sender, Role::Receiver].map(|role| self.session.wakeup_cost(role, self.spec.swapped, self.spec.cell)),
            sender: reports.sender,
            receiver: reports.receiver,
        };
        measured.count_by_sender(self.spec.cell);
        Ok((measured, moved.into_iter().chain(crowded).collect()))
    }

    fn ask_clocks(&mut self, times: u32) -> Result<(), HostError> {
        self.session.hosts().iter_mut().try_for_each(|host| host.ask_clock(times))
    }

    /// The ends' clocks over the trial that `begun` when they were seen. Where
    /// nothing depends on it closely, they were not looked at again.
    fn clock_over(&mut self, before: Option<ClockOffset>, begun: Instant) -> Result<(Option<ClockOffset>, Option<Warning>), HostError> {
        let Some(before) = before else { return Ok((None, None)) };
        let elapsed = Nanos::from(begun.elapsed());
        if !self.spec.cell.stamp {
            return Ok((Some(clock::from_then_on(before, elapsed)), None));
        }
        let now = monotonic();
        let mut after = |of| self.session.clock(self.spec.swapped, now, of).unwrap_or(before);
        let (known, fresh) = (after(ClockWatch::known), after(ClockWatch::fresh));
        // What the last questions alone showed says whether they moved.
        Ok((Some(clock::between(before, known, elapsed).0), clock::between(before, fresh, elapsed).1))
    }

    fn tell_counters(&mut self) -> Result<(), HostError> {
        let family = self.spec.cell.family;
        let device = |role| self.session.place(role, self.spec.swapped).device(family).to_owned();
        let devices = Both { sender: device(Role::Sender), receiver: device(Role::Receiver) };
        self.tell(|role| ToHost::Counters { device: devices.of(role).clone(), family })?;
        let (swapped, cell) = (self.spec.swapped, self.spec.cell);
        for role in [Role::Sender, Role::Receiver] {
            for host in self.session.other_hosts(role, swapped, cell) {
                host.tell(&ToHost::Counters { device: devices.of(role).clone(), family })?;
            }
        }
        Ok(())
    }

    fn hear_counters(&mut self) -> Result<Both<HostCounters>, HostError> {
        let read = |answer| match answer {
            FromHost::Counters(counters) => Ok(*counters),
            other => Err(other),
        };
        let heard = self.hear_answers(read, "counters");
        // Every answer is taken before a failure is returned.
        let (swapped, cell) = (self.spec.swapped, self.spec.cell);
        let mut others = |role| -> Vec<Result<HostCounters, HostError>> {
            let answer =
                |host: &mut RemoteHost| host.answer().and_then(|answer| read(answer).map_err(|other| host.unexpected("counters", &other)));
            self.session.other_hosts(role, swapped, cell).map(answer).collect()
        };
        let (senders, receivers) = (others(Role::Sender), others(Role::Receiver));
        let add = |sum: HostCounters, other: Result<HostCounters, HostError>| other.map(|other| sum.with(&other));
        let sum = |own, others: Vec<_>| others.into_iter().try_fold(own, add);
        let heard = heard?;
        Ok(Both { sender: sum(heard.sender, senders)?, receiver: sum(heard.receiver, receivers)? })
    }

    fn place(&self, role: Role) -> &EndCpus {
        self.session.place(role, self.spec.swapped)
    }

    /// What each host is to do first, where nothing but the trial itself is to be brought about there.
    fn first_commands(&mut self) -> Result<[Vec<ToHost>; 2], HostError> {
        if self.spec.cell.conditions != model::condition::Conditions::USUAL || self.spec.arm.is_some() {
            return Ok(Default::default());
        }
        let tasks = [self.task(Role::Sender)?, self.task(Role::Receiver)?];
        let [sender, receiver] = tasks.map(|task| vec![ToHost::Start, prepare(task)]);
        Ok(if self.spec.swapped { [receiver, sender] } else { [sender, receiver] })
    }

    /// The address of an end in the cell's family, as its own host writes it.
    fn address(&mut self, role: Role) -> Result<SocketAddr, HostError> {
        let family = self.spec.cell.family;
        let found = self.place(role).address(family);
        found.ok_or_else(|| {
            self.host(role).endpoint_error(format!("it has no address of {family}, since the plan had no cell of that family"))
        })
    }

    fn task(&mut self, role: Role) -> Result<Task, HostError> {
        let mut local = self.address(role)?;
        if role == self.spec.cell.test.listener() {
            local.set_port(self.spec.data_port.unwrap_or(0));
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
            warmup: self.spec.warmup(),
            silence: control.map_or(if self.spec.woven.is_some() { silence::WOVEN } else { silence::ON_ONE_MACHINE }, |path| path.silence)
                + wait,
            answer_limit: control.map_or(silence::ANSWER, |path| path.silence) + wait,
            irq_time_subtracted: place.irq_time_subtracted,
            program: self.spec.cell.external(role),
            seed: self.spec.seed,
            injection: None,
            woven: self.spec.woven.map(|seats| *seats.of(role)),
            hosts: self.session.flow_hosts(role, self.spec.swapped, self.spec.cell),
        })
    }

    fn prepare(&mut self) -> Result<Both<Vec<SocketAddr>>, TrialError> {
        let done = |answer| if matches!(answer, FromHost::Done) { Ok(()) } else { Err(answer) };
        let tool = self.spec.arm.and_then(|arm| arm.tool.clone());
        let start = |_| tool.clone().map_or(ToHost::Start, |tool| ToHost::Arm(ArmRequest::Start { tool }));
        const STARTED: &str = "the start of an endpoint";
        self.tell(start)?;
        let scheduled = self.is_scheduled();
        if scheduled {
            self.hear_answers(done, STARTED)?;
            self.schedule()?;
        }
        let tasks = Both { sender: self.task(Role::Sender)?, receiver: self.task(Role::Receiver)? };
        self.tell(|role| prepare(tasks.of(role).clone()))?;
        self.ask_clocks(sights(&self.spec))?;
        remote::hear_clocks(self.session.hosts())?;
        if !scheduled {
            self.hear_answers(done, STARTED)?;
        }
        self.hear_ready(tool.as_deref())
    }

    /// The addresses of both ends, once each has greeted and opened its sockets.
    fn hear_ready(&mut self, tool: Option<&str>) -> Result<Both<Vec<SocketAddr>>, TrialError> {
        let deadline = Instant::now() + self.step_limit();
        let (mut greeted, mut ready) = (Both::<bool>::default(), Both::default());
        loop {
            let awaited = if greeted.sender && greeted.receiver { "an open socket" } else { "the endpoint's hello" };
            let (role, heard) = self.hear(deadline, awaited)?;
            match heard {
                EndpointMessage::Said(FromEndpoint::Hello { version }) if !*greeted.of(role) => {
                    self.check_version(role, version, tool)?;
                    *greeted.of_mut(role) = true;
                }
                EndpointMessage::Said(FromEndpoint::Ready { addresses, not_bound, .. }) if *greeted.of(role) => {
                    not_bound.into_iter().for_each(|reason| self.session.note_not_bound(reason));
                    *ready.of_mut(role) = Some(addresses);
                }
                other => return Err(self.out_of_turn(role, awaited, &other).into()),
            }
            if let Some(ready) = ready.whole() {
                return Ok(ready);
            }
        }
    }

    fn check_version(&mut self, role: Role, theirs: u32, tool: Option<&str>) -> Result<(), HostError> {
        let host = self.host(role);
        match (theirs, tool) {
            (CONTROL_VERSION, _) => Ok(()),
            (_, Some(tool)) => {
                let what = format!("{tool} speaks version {theirs} of the control protocol, this is version {CONTROL_VERSION}");
                Err(host.endpoint_error(format!("{what}: tool= takes a nettoll that speaks the same")))
            }
            (_, None) => Err(HostError::Version { name: host.name().to_owned(), theirs }),
        }
    }

    fn connect(&mut self, addresses: &Both<Vec<SocketAddr>>) -> Result<(), TrialError> {
        // Of what an end says only the ports are taken: where it is, is known.
        let mut peers_of = |role: Role| -> Result<Vec<SocketAddr>, HostError> {
            let other = self.address(role.other())?;
            let hosts = self.session.flow_hosts(role.other(), self.spec.swapped, self.spec.cell);
            let place = self.place(role);
            // Address `i` is that of the host of flow `i`.
            let ip = |number: usize| number.checked_rem(hosts.len()).map_or(other.ip(), |at| hosts[at].local);
            let at = |(number, said): (usize, &SocketAddr)| place.scoped(SocketAddr::new(ip(number), said.port()));
            Ok(addresses.of(role.other()).iter().enumerate().map(at).collect())
        };
        let peers = Both { sender: peers_of(Role::Sender)?, receiver: peers_of(Role::Receiver)? };
        self.tell(|role| ToHost::Endpoint(ToEndpoint::Connect { peers: peers.of(role).clone() }))?;
        let connected = |heard| match heard {
            EndpointMessage::Said(FromEndpoint::Connected { addresses }) => Ok(addresses),
            other => Err(other),
        };
        let deadline = Instant::now() + self.step_limit();
        let Both { sender, receiver } = self.hear_both(deadline, "the connection", connected).map_err(|error| self.not_joined(error))?;
        let joined = Event::Connected { sender: &sender, receiver: &receiver };
        // Who wants the study to end waits for a trial that has begun.
        self.listener.hear(&joined).map(drop).map_err(TrialError::Listener)
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

    /// Lets messages flow. The host farther away hears it first, and a little before: it is then
    /// there before the other's messages are, where those take as long as the word.
    fn go(&mut self) -> Result<(), HostError> {
        let [sender, receiver] = [Role::Sender, Role::Receiver].map(|role| self.host(role).rtt());
        let order = if sender > receiver { [Role::Sender, Role::Receiver] } else { [Role::Receiver, Role::Sender] };
        self.host(order[0]).tell(&ToHost::Endpoint(ToEndpoint::Go))?;
        let hold = (sender.abs_diff(receiver) / 16).min(LONGEST_HOLD);
        if !hold.is_zero() {
            std::thread::sleep(hold);
        }
        self.host(order[1]).tell(&ToHost::Endpoint(ToEndpoint::Go))
    }

    /// Has both ends measure from one time on, once every flow of both moves: or, where some do not,
    /// after some time all the same. A trial of a number of messages counts for itself. Returns
    /// what ended its sending before, and the time.
    fn open(&mut self) -> Result<(Both<Option<SentTotals>>, Nanos), TrialError> {
        const AWAITED: &str = "the first messages";
        let mut sent: Both<Option<SentTotals>> = Both::default();
        if matches!(self.spec.end, TrialEnd::Messages(_)) {
            return Ok((sent, Nanos::default()));
        }
        let rtt = self.host(Role::Sender).rtt().max(self.host(Role::Receiver).rtt());
        let give_up = Instant::now() + FLOW_LIMIT + FLOW_TURN * self.spec.cell.flows + rtt * FLOW_ROUNDS;
        let mut flowing = Both::<bool>::default();
        while !(flowing.sender && flowing.receiver) && sent.sender.is_none() {
            match self.hear(give_up, AWAITED) {
                Ok((role, EndpointMessage::Said(FromEndpoint::Flowing))) => *flowing.of_mut(role) = true,
                Ok((role, EndpointMessage::Said(FromEndpoint::Sent(end)))) if self.sends(role) => *sent.of_mut(role) = Some(end),
                Ok((role, other)) => return Err(self.out_of_turn(role, AWAITED, &other).into()),
                Err(TrialError::Host(HostError::Silent { .. })) => break,
                Err(error) => return Err(error),
            }
        }
        self.meet(Nanos::default())?;
        // A word takes half of a round trip, or a little more.
        let lead = self.lead() + rtt * 9 / 16;
        let at = self.meet(monotonic() + self.spec.warmup().max(lead.into()))?;
        let seen = [Role::Sender, Role::Receiver].map(|role| self.host(role).clock().known(at));
        let times = Both { sender: seen[0].there(at), receiver: seen[1].there(at) };
        self.tell(|role| ToHost::Endpoint(ToEndpoint::Measure { at: *times.of(role) }))?;
        Ok((sent, at))
    }

    /// Time that a word to the ends may take on their machines.
    fn lead(&self) -> Duration {
        let flows = self.spec.cell.flows;
        let on_a_cpu = |role| flows.div_ceil(self.place(role).cpus(flows).len().max(1) as u32);
        let others = self.together.map_or(0, Together::members);
        LEAD + LEAD_TURN * (on_a_cpu(Role::Sender).max(on_a_cpu(Role::Receiver)) + others)
    }

    /// Waits until the trials of the other machines are as far; returns the latest of their times and its own.
    fn meet(&mut self, time: Nanos) -> Result<Nanos, HostError> {
        let Some(together) = self.together else { return Ok(time) };
        let limit = self.step_limit();
        together.meet(time, Instant::now() + limit).ok_or(HostError::Silent { awaited: "the trials of the other hosts", limit })
    }

    fn sends(&self, role: Role) -> bool {
        role == Role::Sender || self.spec.cell.bidirectional
    }

    /// Waits until each sender has sent its last, if it was not `sent` before, and announces it: to both ends where
    /// one sends, to each the other's where both do. Then neither is announced
    /// before both have come, since an announcement ends what an end measures.
    fn await_ends(&mut self, mut sent: Both<Option<SentTotals>>) -> Result<(), TrialError> {
        const AWAITED: &str = "the sender's end";
        let deadline = Instant::now() + flowing(&self.spec) + self.step_limit();
        let announced = loop {
            if let (Some(end), false) = (&sent.sender, self.spec.cell.bidirectional) {
                break Both { sender: end.clone(), receiver: end.clone() };
            }
            if let Some(both) = sent.whole() {
                break Both { sender: both.receiver, receiver: both.sender };
            }
            let (role, heard) = self.hear(deadline, AWAITED)?;
            match heard {
                EndpointMessage::Said(FromEndpoint::Sent(end)) if self.sends(role) => *sent.of_mut(role) = Some(end),
                // Of flows that were not waited for.
                EndpointMessage::Said(FromEndpoint::Flowing) => {}
                other => return Err(self.out_of_turn(role, AWAITED, &other).into()),
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
                EndpointMessage::Said(FromEndpoint::Done(done)) => *report = Some(*done),
                EndpointMessage::Gone(_) if report.is_some() => running -= 1,
                other => return Err(self.out_of_turn(role, AWAITED, &other).into()),
            }
        }
        reports.whole().ok_or(HostError::Silent { awaited: AWAITED, limit }.into())
    }
}

fn prepare(task: Task) -> ToHost {
    ToHost::Endpoint(ToEndpoint::Prepare(Box::new(task)))
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
