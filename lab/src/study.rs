//! A study: blocks of trials in random order, until the intervals are narrow
//! enough or the plan's limit is reached.

mod ahead;
mod error;
mod in_arm;
mod pool;
mod recovery;
mod replay;
mod sampled;

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use analysis::stopping::Decision;
use model::host::HostFacts;
use model::plan::ApprovedPlan;
use model::run::Status;
use model::schedule::{self, Block, Slot};
use model::trial::Outcome;
use model::warning::Warning;
use model::{Pass, Plan};

use crate::arm::{ArmController, ArmError};
use crate::connection::Credentials;
use crate::error::TrialError;
use crate::event::{Event, Listener};
use crate::host_diff;
use crate::lacking;
use crate::session::Session;

pub use ahead::{Ahead, look_ahead};
pub use error::StudyError;
use pool::{SessionKey, SessionPool};
pub use replay::{Past, Replay};
use sampled::SampledGroups;

/// Runs a plan from its first block to its last.
///
/// # Errors
/// See [`StudyError`]. Failures of single trials are recorded, not errors.
pub fn run(plan: &ApprovedPlan, credentials: &Credentials, listener: &mut dyn Listener) -> Result<Status, StudyError> {
    let (sampled, no_slices) = SampledGroups::of_plan(plan);
    let mut session = match Session::open(plan, credentials, listener) {
        Ok(session) => session,
        Err(error) => {
            let status = match &error {
                TrialError::Stopped => Status::Interrupted,
                other => Status::Failed { error: other.to_string() },
            };
            let _ = listener.hear(&Event::Closed { hosts: &[], warnings: &[], status: &status }).map_err(StudyError::Listener)?;
            return StudyError::not_opened(error).map_or(Ok(Status::Interrupted), Err);
        }
    };
    session.inherit(no_slices);
    Study::new(plan, credentials, session, listener, Replay::nothing(plan), sampled).carry_out()
}

/// Goes on with a run that was stopped, after the trials that it has.
///
/// # Errors
/// See [`StudyError`]. Where the run cannot go on, nothing is told to the
/// listener.
pub fn resume(plan: &ApprovedPlan, credentials: &Credentials, past: Past, listener: &mut dyn Listener) -> Result<Resumed, StudyError> {
    let replay = Replay::from_trials(plan, past.trials)?;
    if let Some(status) = replay.complete.clone() {
        // Killed between its last trial and its end, it does not know yet.
        let _ = listener.hear(&Event::Closed { hosts: &[], warnings: past.warnings, status: &status }).map_err(StudyError::Listener)?;
        return Ok(Resumed { status, nothing_left: true });
    }
    let trials = replay.trials;
    // Killed before its first trial it has nothing that hosts could differ from.
    let fresh = trials == 0;
    if past.hosts.is_empty() && !fresh {
        return Err(StudyError::NoFacts);
    }
    let (sampled, no_slices) = SampledGroups::of_plan(plan);
    let mut session = match Session::open(plan, credentials, listener) {
        Ok(session) => session,
        Err(error) => {
            let interrupted = Resumed { status: Status::Interrupted, nothing_left: false };
            return StudyError::not_opened(error).map_or(Ok(interrupted), Err);
        }
    };
    match fresh {
        true => session.inherit(past.warnings.to_vec()),
        false => inherit(&mut session, past.hosts, past.warnings, trials)?,
    }
    session.inherit(no_slices);
    let status = Study::new(plan, credentials, session, listener, replay, sampled).carry_out()?;
    Ok(Resumed { status, nothing_left: false })
}

/// Gives a session the warnings of a run with so many trials that it goes on with.
///
/// # Errors
/// Its hosts are not those that the run had.
pub(crate) fn inherit(session: &mut Session, hosts: &[HostFacts], warnings: &[Warning], trials: u64) -> Result<(), StudyError> {
    let changed = host_diff::compare(hosts, session.facts());
    if !changed.grave.is_empty() {
        return Err(StudyError::HostsChanged(changed.grave.join("; ")));
    }
    session.inherit(warnings.to_vec());
    session.inherit(vec![Warning::Resumed { trials, changed: changed.slight }]);
    Ok(())
}

/// A run that was resumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumed {
    /// Its end.
    pub status: Status,
    /// It was complete already, and nothing was run.
    pub nothing_left: bool,
}

struct Study<'a> {
    plan: &'a Plan,
    credentials: &'a Credentials,
    sessions: SessionPool,
    listener: &'a mut dyn Listener,
    replay: Replay,
    lost_in_a_row: u32,
    /// Passes that a host has refused, with what it answered.
    refused: HashMap<Pass, String>,
    arms: ArmController,
    sampled: SampledGroups,
}

impl<'a> Study<'a> {
    fn new(
        plan: &'a Plan,
        credentials: &'a Credentials,
        session: Session,
        listener: &'a mut dyn Listener,
        replay: Replay,
        sampled: SampledGroups,
    ) -> Self {
        let (refused, arms, sessions) = (HashMap::new(), ArmController::default(), SessionPool::new(plan, session));
        Self { plan, credentials, sessions, listener, replay, lost_in_a_row: 0, refused, arms, sampled }
    }
}

impl Study<'_> {
    /// Runs what is left, sets everything back to what it was before the first trial, as far as the hosts are there,
    /// and tells how the study ended.
    fn carry_out(&mut self) -> Result<Status, StudyError> {
        let begun = self.ready().and_then(|()| begin(self.sessions.get(SessionPool::FIRST), self.replay.trials, self.listener));
        let outcome = begun.and_then(|()| self.run_blocks());
        let first = self.sessions.get_mut(SessionPool::FIRST);
        // The hosts after a run are not what its last arm made of them.
        self.arms.rest(first);
        close(first, self.listener, outcome)
    }

    /// Looks at what the arms change before anything is measured, and makes all
    /// links: what this machine refuses is to be known before hours are spent.
    fn ready(&mut self) -> Result<(), StudyError> {
        let first = self.sessions.get_mut(SessionPool::FIRST);
        self.arms = ArmController::open(self.plan, first)?;
        rehearse(&mut self.arms, first, self.plan)?;
        // Agents are looked for when they are needed: they serve others as well.
        for setting in if self.plan.hosts.is_empty() { self.sessions.settings().to_vec() } else { Vec::new() } {
            self.sessions.enter(&setting, self.plan, self.credentials, self.listener)?;
        }
        Ok(())
    }

    fn run_blocks(&mut self) -> Result<Status, StudyError> {
        for index in 0..self.plan.blocks.most {
            let block = schedule::block(self.plan.seed, index, self.plan.shape());
            if self.replay.is_whole(index) {
                continue;
            }
            if self.tell(&Event::BlockStarted { block: index })?.is_break() || self.run_block(&block)?.is_break() {
                return Ok(Status::Interrupted);
            }
            let _ = self.tell(&Event::BlockDone { blocks: index + 1 })?;
            if self.replay.is_decided(index) {
                continue;
            }
            if let Some(look) = self.replay.observer.look(index + 1) {
                let _ = self.tell(&Event::Look(&look))?;
            }
            match self.replay.observer.after_block(index + 1) {
                Decision::GoOn => {}
                Decision::IntervalMet => return Ok(Status::IntervalMet),
                Decision::BlocksDone => return Ok(Status::BlocksDone),
            }
        }
        Ok(Status::BlocksDone)
    }

    fn run_block(&mut self, block: &Block) -> Result<ControlFlow<()>, StudyError> {
        let mut last_failure = None;
        let mut measured = false;
        for (position, &slot) in block.order.iter().enumerate() {
            if self.replay.has(block.index, position) {
                // Whether anything works is not asked of half a block.
                measured = true;
                continue;
            }
            let Some(key) = self.enter(slot)? else { return Ok(ControlFlow::Break(())) };
            if self.weave_sampled(key, block, slot)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let outcome = self.run_slot(key, block, position, slot);
            self.warn_of_refusal(key, slot);
            self.sessions.share_warnings(key, SessionPool::FIRST);
            match outcome? {
                Some(Outcome::Measured(_) | Outcome::Skipped { .. }) => measured = true,
                // The host was found again since, and says nothing against the next block.
                Some(Outcome::Failed { lost: true, .. }) => measured = true,
                Some(Outcome::Failed { error, lost: false }) => last_failure = Some(error),
                None => return Ok(ControlFlow::Break(())),
            }
        }
        match last_failure {
            Some(error) if !measured => Err(StudyError::NothingWorks(error)),
            _ => Ok(ControlFlow::Continue(())),
        }
    }

    /// Returns the session that the trial of a slot needs, the first where its
    /// cell is impossible; `None` where the user does not want to wait for it.
    fn enter(&mut self, slot: Slot) -> Result<Option<SessionKey>, StudyError> {
        let Some(setting) = self.sessions.setting_for(self.plan, &self.arms, slot) else { return Ok(Some(SessionPool::FIRST)) };
        let key = self.sessions.enter(&setting, self.plan, self.credentials, self.listener)?;
        if let Some(key) = key {
            self.sessions.share_warnings(SessionPool::FIRST, key);
        }
        Ok(key)
    }

    /// Runs the trial of a slot, has it recorded and makes a host that was lost
    /// with it again; `None` where the user wants no more.
    fn run_slot(&mut self, key: SessionKey, block: &Block, position: usize, slot: Slot) -> Result<Option<Outcome>, StudyError> {
        let Some(record) = self.run_trial(key, block, position, slot)? else { return Ok(None) };
        self.replay.observer.push(&record);
        self.replay.durations.note(self.plan, slot, &record);
        if self.tell(&Event::Trial(&record))?.is_break() || self.recover(key, &record.outcome)?.is_break() {
            return Ok(None);
        }
        Ok(Some(record.outcome))
    }

    fn tell(&mut self, event: &Event) -> Result<ControlFlow<()>, StudyError> {
        self.listener.hear(event).map_err(StudyError::Listener)
    }
}

/// Tries each arm before anything is measured, but for those on other agents, which are looked for when they
/// are needed: one that is refused would fail every trial.
pub(crate) fn rehearse(arms: &mut ArmController, session: &mut Session, plan: &Plan) -> Result<(), StudyError> {
    let local = !plan.is_elsewhere();
    for (place, arm) in plan.arms.iter().enumerate() {
        let settings = arm.host_settings();
        if !settings.hosts.is_empty() {
            continue;
        }
        let tried = session.bind(&settings.cpus).map_err(ArmError::from);
        let tried = tried.and_then(|()| arms.rehearse(session, plan, place));
        let lacks = || lacking::of_arm(arm).filter(|_| local).map_or(Ok(()), |why| Err(ArmError::Lacking(why)));
        tried.and_then(|()| lacks()).map_err(|error| StudyError::OneArm { arm: arm.name.clone(), error })?;
    }
    Ok(session.bind(&BTreeMap::new())?)
}

/// Tells the listener that a run begins, or goes on after so many trials.
pub(crate) fn begin(first: &Session, trials: u64, listener: &mut dyn Listener) -> Result<(), StudyError> {
    let (hosts, warnings, between) = (first.facts(), first.warnings(), first.found_addresses());
    let event = match trials {
        0 => Event::Opened { hosts, warnings, control: first.control_path(), between: &between },
        _ => Event::Resumed { trials, warnings },
    };
    listener.hear(&event).map(drop).map_err(StudyError::Listener)
}

/// Tells the listener how a study ended, with the facts of its first session's hosts after it.
pub(crate) fn close(first: &mut Session, listener: &mut dyn Listener, outcome: Result<Status, StudyError>) -> Result<Status, StudyError> {
    let status = match &outcome {
        Ok(status) => status.clone(),
        Err(error) => Status::Failed { error: error.to_string() },
    };
    // A host that is lost has no facts any more; one that was told to stop does not wait for others' trials.
    let hosts = if listener.keeps_hosts() { first.gather_facts(listener).unwrap_or_default() } else { Vec::new() };
    let event = Event::Closed { hosts: &hosts, warnings: first.warnings(), status: &status };
    let closed = listener.hear(&event).map(drop).map_err(StudyError::Listener);
    outcome.and_then(|status| closed.map(|()| status))
}
