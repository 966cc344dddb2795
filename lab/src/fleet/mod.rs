//! A fleet: pairs of many hosts, in rounds in which no host is in two pairs.
//!
//! All hosts are reached before the first round and stay reached; two of them are joined to
//! a [`Session`] for their trials and part again. A host that dies is reached again before
//! later rounds, and what was missed is made up for in rounds of its own at the end.

mod host;
mod meeting;
mod reach;
mod rest;

use std::ops::ControlFlow;
use std::sync::Arc;

use analysis::fleet::Meeting;
use model::host::HostFacts;
use model::plan::{ApprovedPlan, FleetPlan, RETRY_ROUNDS};
use model::run::Status;
use model::trial::Outcome;
use model::warning::Warning;
use model::{Plan, Refusal, TrialRecord};

use crate::connection::Credentials;
use crate::event::{Event, Listener};
use crate::host_diff;
use crate::study::{Past, Resumed, StudyError};
use crate::threads::{Stop, on_threads};
use host::Member;
use meeting::MeetingOutcome;
use rest::Rest;

#[cfg(doc)]
use crate::session::Session;

/// Times that a host that cannot be reached is looked for again, besides the retries at the end.
const SEARCHES: u32 = 3;

/// Runs a plan of a fleet from its first round to its last.
///
/// # Errors
/// See [`StudyError`]. Hosts that cannot be reached and trials that fail are recorded, as long
/// as two hosts are there.
pub fn run(plan: &ApprovedPlan, credentials: &Credentials, listener: &mut dyn Listener) -> Result<Status, StudyError> {
    let mut fleet = Fleet::new(plan, credentials, listener);
    if fleet.reach_all()?.is_break() {
        return Ok(Status::Interrupted);
    }
    fleet.require_two()?;
    fleet.note_absent();
    let facts = fleet.facts()?;
    let Some(facts) = facts else { return Ok(Status::Interrupted) };
    let event = Event::Opened { hosts: &facts, warnings: &fleet.warnings, control: None, between: &[] };
    let _ = fleet.listener.hear(&event).map_err(StudyError::Listener)?;
    let outcome = fleet.run_rounds(Rest::whole(plan));
    fleet.conclude(outcome)
}

/// Goes on with a run of a fleet that was stopped, after the trials that it has: pairs of
/// which nothing is stored in their own rounds, what else is missing in rounds at the end.
///
/// # Errors
/// See [`StudyError`]. Where the run cannot go on, the listener hears nothing.
pub fn resume(plan: &ApprovedPlan, credentials: &Credentials, past: Past, listener: &mut dyn Listener) -> Result<Resumed, StudyError> {
    let rest = Rest::after(plan, past.trials)?;
    if rest.is_empty() {
        let status = Status::BlocksDone;
        // Killed between its last trial and its end, it does not know yet.
        let _ = listener.hear(&Event::Closed { hosts: &[], warnings: past.warnings, status: &status }).map_err(StudyError::Listener)?;
        return Ok(Resumed { status, nothing_left: true });
    }
    let trials = rest.trials;
    if past.hosts.is_empty() && trials > 0 {
        return Err(StudyError::NoFacts);
    }
    let interrupted = Resumed { status: Status::Interrupted, nothing_left: false };
    let mut fleet = Fleet::new(plan, credentials, listener);
    fleet.warnings = past.warnings.to_vec();
    if fleet.reach_all()?.is_break() {
        return Ok(interrupted);
    }
    fleet.require_two()?;
    fleet.note_absent();
    let Some(facts) = fleet.facts()? else { return Ok(interrupted) };
    let warnings = &mut fleet.warnings;
    let begun = if trials > 0 {
        let changed = differences(past.hosts, &facts)?;
        warnings.push(Warning::Resumed { trials, changed });
        Event::Resumed { trials, warnings }
    } else {
        Event::Opened { hosts: &facts, warnings, control: None, between: &[] }
    };
    let _ = fleet.listener.hear(&begun).map_err(StudyError::Listener)?;
    let outcome = fleet.run_rounds(rest);
    fleet.conclude(outcome).map(|status| Resumed { status, nothing_left: false })
}

/// What is different of hosts that are there, and were there when the run began, and does not
/// keep their trials from comparing.
fn differences(then: &[HostFacts], now: &[HostFacts]) -> Result<Vec<String>, StudyError> {
    let found: Vec<(&HostFacts, &HostFacts)> =
        then.iter().filter_map(|then| Some((then, now.iter().find(|now| now.name == then.name)?))).collect();
    let (then, now): (Vec<HostFacts>, Vec<HostFacts>) = found.into_iter().map(|(then, now)| (then.clone(), now.clone())).unzip();
    let changed = host_diff::compare(&then, &now);
    match changed.grave.is_empty() {
        true => Ok(changed.slight),
        false => Err(StudyError::HostsChanged(changed.grave.join("; "))),
    }
}

/// Reaches the hosts of a plan and lets go of them; returns what each that cannot be reached
/// answered, by name, and `None` where the user did not want to wait.
///
/// # Errors
/// See [`StudyError`].
pub fn look_ahead(
    plan: &ApprovedPlan,
    credentials: &Credentials,
    listener: &mut dyn Listener,
) -> Result<Option<Vec<(String, String)>>, StudyError> {
    let mut fleet = Fleet::new(plan, credentials, listener);
    if fleet.reach_all()?.is_break() {
        return Ok(None);
    }
    fleet.require_two()?;
    let absent = fleet.places.iter().zip(&fleet.fleet.hosts).filter_map(|(place, host)| Some((host.name.clone(), place.error.clone()?)));
    Ok(Some(absent.collect()))
}

/// A host of the fleet, as far as it is there.
#[derive(Debug, Default)]
struct Place {
    /// The host; `None` of one that is not there, or in a meeting.
    member: Option<Box<Member>>,
    /// Answer of one that is not there.
    error: Option<String>,
    /// Searches in vain since it was there last.
    searches: u32,
}

struct Fleet<'a> {
    plan: Arc<Plan>,
    fleet: Arc<FleetPlan>,
    credentials: Arc<Credentials>,
    listener: &'a mut dyn Listener,
    places: Vec<Place>,
    warnings: Vec<Warning>,
}

/// A meeting of which something is missing.
#[derive(Debug)]
struct Missed {
    meeting: Meeting,
    round: u32,
    tries: u32,
}

impl<'a> Fleet<'a> {
    fn new(plan: &Plan, credentials: &Credentials, listener: &'a mut dyn Listener) -> Self {
        crate::process::raise_open_files();
        let fleet = plan.fleet.clone().unwrap_or_else(|| FleetPlan { hosts: Vec::new(), rounds: 1, parallel: false, least: 0.0 });
        Self {
            places: fleet.hosts.iter().map(|_| Place::default()).collect(),
            plan: Arc::new(plan.clone()),
            fleet: Arc::new(fleet),
            credentials: Arc::new(credentials.clone()),
            listener,
            warnings: Vec::new(),
        }
    }
}

impl Fleet<'_> {
    fn run_rounds(&mut self, rest: Rest) -> Result<Status, StudyError> {
        let Rest { rounds, mut missed, next, .. } = rest;
        for (at, (round, meetings)) in rounds.into_iter().enumerate() {
            if at > 0 && self.search(SEARCHES)?.is_break() {
                return Ok(Status::Interrupted);
            }
            self.require_some()?;
            let (left, flow) = self.run_round(round, meetings)?;
            missed.extend(left.into_iter().map(|meeting| Missed { meeting, round, tries: 0 }));
            if flow.is_break() {
                return Ok(Status::Interrupted);
            }
        }
        if self.make_up(missed, next)?.is_break() {
            return Ok(Status::Interrupted);
        }
        Ok(Status::BlocksDone)
    }

    /// Tries what was missed again, in rounds of its own, and records what stays missed.
    fn make_up(&mut self, mut missed: Vec<Missed>, mut round: u32) -> Result<ControlFlow<()>, StudyError> {
        loop {
            let (over, left): (Vec<Missed>, Vec<Missed>) = missed.into_iter().partition(|one| one.tries >= RETRY_ROUNDS);
            for one in over {
                if self.record_missed(&one)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if left.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            if self.search(SEARCHES + RETRY_ROUNDS)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            // Each host once a round, as in any other; who has to wait loses no try.
            let mut busy = vec![false; self.places.len()];
            let (mut now, mut later) = (Vec::new(), Vec::new());
            for mut one in left {
                let hosts = one.meeting.hosts;
                if hosts.iter().any(|host| busy[*host]) {
                    later.push(one);
                    continue;
                }
                one.tries += 1;
                if hosts.iter().all(|host| self.places[*host].member.is_some()) {
                    hosts.iter().for_each(|host| busy[*host] = true);
                    now.push(one);
                } else {
                    later.push(one);
                }
            }
            let mut position = 0;
            let meetings: Vec<Meeting> = now
                .iter()
                .map(|one| {
                    let meeting = Meeting { position, ..one.meeting.clone() };
                    position += meeting.slots.len();
                    meeting
                })
                .collect();
            let (left, flow) = if meetings.is_empty() { (Vec::new(), ControlFlow::Continue(())) } else { self.run_round(round, meetings)? };
            if flow.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            for meeting in left {
                let Some(one) = now.iter().find(|one| one.meeting.hosts == meeting.hosts) else { continue };
                // Its other meetings have their places in its own round, not in this one.
                let position = one.meeting.position + one.meeting.slots.len() - meeting.slots.len();
                later.push(Missed { meeting: Meeting { position, ..meeting }, round: one.round, tries: one.tries });
            }
            round += 1;
            missed = later;
        }
    }

    /// Records trials that no retry brought about.
    fn record_missed(&mut self, missed: &Missed) -> Result<ControlFlow<()>, StudyError> {
        let hosts = missed.meeting.hosts;
        // One that ran and failed has its record.
        let Some(error) = hosts.iter().find_map(|host| self.places[*host].error.clone()) else { return Ok(ControlFlow::Continue(())) };
        for (at, slot) in missed.meeting.slots.iter().enumerate() {
            let outcome = Outcome::Failed { error: error.clone(), lost: true };
            let record =
                meeting::record(&self.plan, &self.fleet, &missed.meeting, missed.round, missed.meeting.position + at, *slot, outcome);
            if self.tell_trial(&record)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Runs the meetings of a round; returns those of which something is missing.
    fn run_round(&mut self, round: u32, meetings: Vec<Meeting>) -> Result<(Vec<Meeting>, ControlFlow<()>), StudyError> {
        let mut flow = self.listener.hear(&Event::BlockStarted { block: round }).map_err(StudyError::Listener)?;
        let mut missed = Vec::new();
        if self.fleet.parallel && flow.is_continue() {
            let (left, ended) = self.run_at_once(round, meetings)?;
            (missed, flow) = (left, ended);
        } else {
            for meeting in meetings {
                if flow.is_break() {
                    break;
                }
                let Some(members) = self.take(&meeting) else {
                    missed.push(meeting);
                    continue;
                };
                let met = meeting::run(members, &self.plan, &self.fleet, meeting, round, self.listener);
                flow = self.put_back(met, &mut missed)?;
            }
        }
        let _ = self.listener.hear(&Event::BlockDone { blocks: round + 1 }).map_err(StudyError::Listener)?;
        Ok((missed, flow))
    }

    /// All pairs at once, each by a thread; nothing is written or shown before all are done.
    fn run_at_once(&mut self, round: u32, meetings: Vec<Meeting>) -> Result<(Vec<Meeting>, ControlFlow<()>), StudyError> {
        let mut missed = Vec::new();
        let mut work = Vec::new();
        for meeting in meetings {
            match self.take(&meeting) {
                Some(members) => work.push((members, meeting)),
                None => missed.push(meeting),
            }
        }
        let (plan, fleet) = (Arc::clone(&self.plan), Arc::clone(&self.fleet));
        let workers = work.len();
        let run = move |stop: &Stop, (members, meeting): ([Box<Member>; 2], Meeting)| {
            meeting::run(members, &plan, &fleet, meeting, round, &mut stop.clone())
        };
        let listener = &mut *self.listener;
        let all = on_threads(work, workers, run, |_| listener.hear(&Event::Tick)).map_err(StudyError::Listener)?;
        let mut flow = ControlFlow::Continue(());
        for met in all.done {
            if self.put_back(met, &mut missed)?.is_break() {
                flow = ControlFlow::Break(());
            }
        }
        Ok((missed, if all.stopped { ControlFlow::Break(()) } else { flow }))
    }

    /// Takes both hosts of a meeting; `None` where one is not there.
    fn take(&mut self, meeting: &Meeting) -> Option<[Box<Member>; 2]> {
        let [a, b] = meeting.hosts;
        if self.places[a].member.is_none() || self.places[b].member.is_none() {
            return None;
        }
        Some([self.places[a].member.take()?, self.places[b].member.take()?])
    }

    /// Takes note of a meeting that is over: its trials are told, its hosts are free again.
    fn put_back(&mut self, met: MeetingOutcome, missed: &mut Vec<Meeting>) -> Result<ControlFlow<()>, StudyError> {
        for (host, member) in met.hosts.into_iter().zip(met.members) {
            self.places[host] = match member {
                Ok(member) => Place { member: Some(member), ..Place::default() },
                Err(error) => Place { error: Some(error), ..Place::default() },
            };
        }
        for warning in met.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        missed.extend(met.missed);
        let mut flow = if met.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        for record in &met.records {
            if self.tell_trial(record)?.is_break() {
                flow = ControlFlow::Break(());
            }
        }
        met.listener.map_or(Ok(flow), |error| Err(StudyError::Listener(error)))
    }

    fn tell_trial(&mut self, record: &TrialRecord) -> Result<ControlFlow<()>, StudyError> {
        self.listener.hear(&Event::Trial(record)).map_err(StudyError::Listener)
    }

    /// Returns the number of hosts that are there.
    fn there(&self) -> usize {
        self.places.iter().filter(|place| place.member.is_some()).count()
    }

    fn first_error(&self) -> String {
        self.places.iter().find_map(|place| place.error.clone()).unwrap_or_default()
    }

    fn require_two(&self) -> Result<(), StudyError> {
        match self.there() {
            0 | 1 => Err(StudyError::TooFewHosts { there: self.there(), of: self.places.len(), first: self.first_error() }),
            _ => Ok(()),
        }
    }

    /// The end of an allocation takes all hosts with it: nothing is left to measure then.
    fn require_some(&self) -> Result<(), StudyError> {
        match self.there() {
            0 | 1 => Err(StudyError::FleetLost { there: self.there(), of: self.places.len(), first: self.first_error() }),
            _ => Ok(()),
        }
    }

    /// Puts hosts that cannot be reached among the warnings of the run.
    fn note_absent(&mut self) {
        for (place, host) in self.places.iter().zip(&self.fleet.hosts) {
            if let Some(error) = &place.error {
                let warning = Warning::Absent(Refusal {
                    what: format!("host {} of the fleet", host.name),
                    answer: error.clone(),
                    remedy: "It is looked for again in later rounds; its pairs are missing until then.".to_owned(),
                });
                // One that was away when the run began is away again.
                if !self.warnings.contains(&warning) {
                    self.warnings.push(warning);
                }
            }
        }
    }

    fn conclude(&mut self, outcome: Result<Status, StudyError>) -> Result<Status, StudyError> {
        let status = match &outcome {
            Ok(status) => status.clone(),
            Err(error) => Status::Failed { error: error.to_string() },
        };
        // Whoever was told to stop waits for no facts.
        let facts = if status == Status::Interrupted { None } else { self.facts().unwrap_or_default() };
        let event = Event::Closed { hosts: &facts.unwrap_or_default(), warnings: &self.warnings, status: &status };
        let closed = self.listener.hear(&event).map(drop).map_err(StudyError::Listener);
        outcome.and_then(|status| closed.map(|()| status))
    }
}
