//! The trials of two hosts that meet.

use std::error::Error;

use analysis::audit;
use analysis::fleet::{Meeting, Slot};
use model::plan::FleetPlan;
use model::schedule::trial_seed;
use model::trial::Outcome;
use model::warning::Warning;
use model::{Plan, Role, TrialRecord};

use super::host::Member;
use crate::error::TrialError;
use crate::event::Listener;
use crate::session::{JoinFailure, Session};
use crate::trial::{self, TrialSpec};

/// A meeting that is over.
#[derive(Debug)]
pub(super) struct MeetingOutcome {
    /// The hosts' places in the fleet.
    pub hosts: [usize; 2],
    /// The hosts, or how each was lost.
    pub members: [Result<Box<Member>, String>; 2],
    /// What was tried, with its outcome.
    pub records: Vec<TrialRecord>,
    /// What is to be known of every trial of the two.
    pub warnings: Vec<Warning>,
    /// What is missing.
    pub missed: Option<Meeting>,
    /// The user wants no more.
    pub stopped: bool,
    /// Error of the listener.
    pub listener: Option<Box<dyn Error + Send + Sync>>,
}

/// Runs the trials of a meeting. The first that fails ends it: what kept two hosts from one
/// trial keeps them from the next, and each attempt takes long.
pub(super) fn run(
    members: [Box<Member>; 2],
    plan: &Plan,
    fleet: &FleetPlan,
    meeting: Meeting,
    round: u32,
    listener: &mut dyn Listener,
) -> MeetingOutcome {
    let pair = plan.of_pair(meeting.hosts.map(|host| &fleet.hosts[host].at));
    let known = members.each_ref().map(|member| member.known.clone());
    let hosts = members.map(|member| member.host);
    let mut running = Running { plan, pair: &pair, fleet, meeting, round, listener, records: Vec::new() };
    let (hosts, warnings, end) = match Session::join(hosts, &known, &pair) {
        Ok(mut session) => {
            let end = running.trials(&mut session);
            let warnings = session.warnings().to_vec();
            (session.into_hosts(), warnings, end)
        }
        Err(refused) => {
            let JoinFailure { hosts, error } = *refused;
            let error = TrialError::from(error);
            running.fail(0, &error);
            (hosts, Vec::new(), End::Failed { done: 0, error })
        }
    };
    let Running { meeting, records, .. } = running;
    let ([a, b], [of_a, of_b]) = (hosts, known);
    let members = [Member { host: a, known: of_a }, Member { host: b, known: of_b }];
    let lost = match &end {
        End::Failed { error, .. } if error.is_loss_of_host() => Some(error.to_string()),
        _ => None,
    };
    let checked = members.map(|member| {
        let mut member = Box::new(member);
        match &lost {
            // Of two hosts one may be well: it answers.
            Some(error) if !member.is_well() => Err(error.clone()),
            _ => Ok(member),
        }
    });
    let hosts = meeting.hosts;
    let met = |missed, stopped, listener| MeetingOutcome { hosts, members: checked, records, warnings, missed, stopped, listener };
    match end {
        End::Done => met(None, false, None),
        End::Stopped => met(None, true, None),
        End::Listener(error) => met(None, true, Some(error)),
        End::Failed { done, .. } => {
            let slots = meeting.slots[done..].to_vec();
            met(Some(Meeting { slots, position: meeting.position + done, ..meeting }), false, None)
        }
    }
}

/// The end of a meeting.
enum End {
    Done,
    Stopped,
    Listener(Box<dyn Error + Send + Sync>),
    /// After so many trials.
    Failed {
        done: usize,
        error: TrialError,
    },
}

struct Running<'a> {
    plan: &'a Plan,
    /// The plan of these two.
    pair: &'a Plan,
    fleet: &'a FleetPlan,
    meeting: Meeting,
    round: u32,
    listener: &'a mut dyn Listener,
    records: Vec<TrialRecord>,
}

impl Running<'_> {
    fn trials(&mut self, session: &mut Session) -> End {
        for at in 0..self.meeting.slots.len() {
            let slot = self.meeting.slots[at];
            let seed = trial_seed(self.plan.seed, self.round, slot.cell);
            let spec = TrialSpec { seed, ..TrialSpec::clean(self.pair, &self.plan.cells[slot.cell], slot.swapped) };
            let started_ms = sys::clock::unix_ms();
            match trial::run(session, spec, self.listener) {
                Ok(done) => {
                    let mut record = self.record(at, Outcome::Measured(Box::new(done.measured)));
                    record.started_ms = started_ms;
                    let overhead = |role| session.loop_overhead_ns(role, slot.swapped);
                    let found = audit::warnings(&record, overhead(Role::Sender).max(overhead(Role::Receiver)), self.plan);
                    record.warnings = done.warnings.into_iter().chain(found).collect();
                    self.records.push(record);
                }
                Err(TrialError::Stopped) => return End::Stopped,
                Err(TrialError::Listener(error)) => return End::Listener(error),
                Err(error) => {
                    self.fail(at, &error);
                    return End::Failed { done: at, error };
                }
            }
        }
        End::Done
    }

    fn fail(&mut self, at: usize, error: &TrialError) {
        let record = self.record(at, Outcome::Failed { error: error.to_string(), lost: error.is_loss_of_host() });
        self.records.push(record);
    }

    fn record(&self, at: usize, outcome: Outcome) -> TrialRecord {
        let (meeting, slot) = (&self.meeting, self.meeting.slots[at]);
        record(self.plan, self.fleet, meeting, self.round, meeting.position + at, slot, outcome)
    }
}

/// The record of a trial of a meeting, begun now.
pub(super) fn record(
    plan: &Plan,
    fleet: &FleetPlan,
    meeting: &Meeting,
    round: u32,
    position: usize,
    slot: Slot,
    outcome: Outcome,
) -> TrialRecord {
    let [first, second] = meeting.hosts.map(|host| fleet.hosts[host].name.clone());
    TrialRecord {
        block: round,
        position: position as u32,
        swapped: slot.swapped,
        hosts: Some(if slot.swapped { [second, first] } else { [first, second] }),
        started_ms: sys::clock::unix_ms(),
        ..TrialRecord::new(plan.cells[slot.cell].clone(), outcome)
    }
}
