//! A study: blocks of trials in random order, until the intervals are narrow
//! enough or the plan's limit is reached.

mod armed;

use std::collections::HashMap;
use std::error::Error;
use std::ops::ControlFlow;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use analysis::audit;
use analysis::stopping::Decision;
use model::plan::OnLoss;
use model::run::Status;
use model::schedule::{self, Block, Slot};
use model::trial::{Outcome, TrialRecord};
use model::warning::Warning;
use model::{Pass, Plan, Role};

use crate::arm::{self, ArmController, ArmError};
use crate::connection::Credentials;
use crate::event::{Event, Listener};
use crate::host_diff;
use crate::remote::HostError;
use crate::resume::{Past, Replay};
use crate::session::Session;
use crate::trial::TrialError;

use armed::SessionPool;

/// How often in a row lost hosts are made anew before the study gives up.
const REOPENINGS: u32 = 3;

/// How long each attempt to find a lost agent again is put off: a machine that
/// restarts needs half a minute.
const PAUSES: [Duration; 6] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(20),
];

/// How often the user is heard during a pause.
const STEP: Duration = Duration::from_millis(250);

/// A study that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The hosts could not be made.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The arms cannot be brought about.
    #[error(transparent)]
    Arm(#[from] ArmError),
    /// A listener, such as the recorder, cannot go on.
    #[error("{0}")]
    Listener(Box<dyn Error + Send + Sync>),
    /// Nothing works.
    #[error("every trial of a block failed; the last: {0}")]
    NothingWorks(String),
    /// Hosts do not last.
    #[error("hosts were lost {0} times in a row, each time made anew; does something end nettoll's processes, or is memory short?")]
    LostAgain(u32),
    /// A host was lost, and the plan says to stop then.
    #[error("{0}; stopped as asked (on_loss = stop): go on with `nettoll study --resume` when the host is back")]
    Lost(String),
    /// A lost agent does not come back.
    #[error("a lost host was not found again in {attempts} attempts: {error}; go on with `nettoll study --resume` when it is back")]
    NotFound {
        /// How often it was looked for.
        attempts: usize,
        /// The last answer.
        error: HostError,
    },
    /// The hosts were lost, and what could be had in their place is not like them.
    #[error("the hosts were lost and those found in their place differ: {0}; run the study again: its trials would not compare")]
    OtherHosts(String),
    /// The hosts of a run that is to go on are not what they were.
    #[error("the hosts are not what they were when the run began, so its trials would not compare: {0}; undo that, or run the study anew")]
    HostsChanged(String),
    /// What the hosts were when the run began is not known.
    #[error("the run has trials but no facts of its hosts (hosts/*.json), so nobody can tell whether it may go on; run the study anew")]
    NoFacts,
    /// The trials of a run are not those of its plan.
    #[error(
        "the trial at position {position} of block {block} is not the one that the plan has there, or is there twice: \
         the run was changed by hand or by another version; run the study anew"
    )]
    OtherTrials {
        /// Its block.
        block: u32,
        /// Its place in it.
        position: u32,
    },
}

impl StudyError {
    /// Whether nothing was measured that could be shown.
    pub const fn says_nothing_of_trials(&self) -> bool {
        matches!(
            self,
            Self::Host(_)
                | Self::Arm(ArmError::HostWide { .. } | ArmError::NoSuchSysctl { .. })
                | Self::NothingWorks(_)
                | Self::HostsChanged(_)
                | Self::NoFacts
                | Self::OtherTrials { .. }
        )
    }
}

/// Runs a plan from its first block to its last.
///
/// # Errors
/// See [`StudyError`]. Failures of single trials are recorded, not errors.
pub fn run(plan: &Plan, credentials: &Credentials, listener: &mut dyn Listener) -> Result<Status, StudyError> {
    let session = match Session::open(plan, credentials, listener) {
        Ok(session) => session,
        Err(error) => {
            let status = match &error {
                TrialError::Stopped => Status::Interrupted,
                other => Status::Failed { error: other.to_string() },
            };
            let _ = listener.hear(&Event::Closed { hosts: &[], warnings: &[], status: &status }).map_err(StudyError::Listener)?;
            return not_opened(error);
        }
    };
    let mut study = Study::new(plan, credentials, session, listener, Replay::nothing(plan));
    let outcome = study.ready().and_then(|()| study.opened()).and_then(|()| study.run_blocks());
    study.conclude(outcome)
}

/// A user who does not want to wait for a busy agent has failed at nothing.
fn not_opened(error: TrialError) -> Result<Status, StudyError> {
    match error {
        TrialError::Stopped => Ok(Status::Interrupted),
        TrialError::Host(error) => Err(error.into()),
        TrialError::Listener(error) => Err(StudyError::Listener(error)),
        // Nothing is watched while hosts are made.
        error @ TrialError::NotObserved { .. } => Err(StudyError::NothingWorks(error.to_string())),
    }
}

/// Goes on with a run that was stopped, after the trials that it has.
///
/// # Errors
/// See [`StudyError`]. Where the run cannot go on, nothing is told to the
/// listener.
pub fn resume(plan: &Plan, credentials: &Credentials, past: Past, listener: &mut dyn Listener) -> Result<Resumed, StudyError> {
    let replay = Replay::of(plan, past.trials)?;
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
    let mut session = match Session::open(plan, credentials, listener) {
        Ok(session) => session,
        Err(error) => return not_opened(error).map(|status| Resumed { status, nothing_left: false }),
    };
    let changed = if fresh { host_diff::Differences::default() } else { host_diff::compare(past.hosts, session.facts()) };
    if !changed.grave.is_empty() {
        return Err(StudyError::HostsChanged(changed.grave.join("; ")));
    }
    session.inherit(past.warnings.to_vec());
    if !fresh {
        session.inherit(vec![Warning::Resumed { trials, changed: changed.slight }]);
    }
    let mut study = Study::new(plan, credentials, session, listener, replay);
    let begun = study.ready().and_then(|()| if fresh { study.opened() } else { study.resumed(trials) });
    let outcome = begun.and_then(|()| study.run_blocks());
    study.conclude(outcome).map(|status| Resumed { status, nothing_left: false })
}

/// A run that was resumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumed {
    /// How it ended.
    pub status: Status,
    /// It was complete already, and nothing was run.
    pub nothing_left: bool,
}

struct Study<'a> {
    plan: &'a Plan,
    credentials: &'a Credentials,
    session: Session,
    listener: &'a mut dyn Listener,
    replay: Replay,
    lost_in_a_row: u32,
    /// Passes that a host has refused, with what it answered.
    refused: HashMap<Pass, String>,
    arms: ArmController,
    others: SessionPool,
}

/// What came of one trial, and the loss of a host that ended it.
struct Carried {
    record: TrialRecord,
    lost: Option<String>,
}

impl<'a> Study<'a> {
    fn new(plan: &'a Plan, credentials: &'a Credentials, session: Session, listener: &'a mut dyn Listener, replay: Replay) -> Self {
        let (refused, arms, others) = (HashMap::new(), ArmController::default(), SessionPool::of(plan));
        Self { plan, credentials, session, listener, replay, lost_in_a_row: 0, refused, arms, others }
    }
}

impl Study<'_> {
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
            if !self.enter(slot)? {
                return Ok(ControlFlow::Break(()));
            }
            let Some(Carried { record, lost }) = self.run_trial(block, position, slot)? else { return Ok(ControlFlow::Break(())) };
            self.replay.observer.push(&record);
            self.replay.durations.note(slot, &record);
            match &record.outcome {
                Outcome::Measured(_) | Outcome::Skipped { .. } => measured = true,
                Outcome::Failed { error, .. } => last_failure = Some(error.clone()),
            }
            if self.tell(&Event::Trial(&record))?.is_break() || self.after(lost)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            self.leave();
        }
        match last_failure {
            Some(error) if !measured => Err(StudyError::NothingWorks(error)),
            _ => Ok(ControlFlow::Continue(())),
        }
    }

    /// Runs one trial; `None` where the user did not want to wait for it.
    fn run_trial(&mut self, block: &Block, position: usize, slot: Slot) -> Result<Option<Carried>, StudyError> {
        let cell = &self.plan.cells[slot.cell];
        let started_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let (mut lost, mut warnings) = (None, Vec::new());
        let (mut run, mut taken) = (cell.clone(), Vec::new());
        let outcome = match self.refused.get(&slot.pass) {
            Some(reason) => Ok(Err(reason.clone())),
            None => {
                let in_arm = self.run_in_arm(block, slot)?;
                (run, taken) = (in_arm.cell, in_arm.taken);
                in_arm.came.map(Ok)
            }
        };
        let outcome = match outcome {
            Ok(Ok(done)) => {
                warnings = done.warnings;
                Outcome::Measured(Box::new(done.measured))
            }
            Ok(Err(reason)) => Outcome::Skipped { reason },
            Err(error @ TrialError::NotObserved { .. }) => {
                let reason = error.to_string();
                self.refused.insert(slot.pass, reason.clone());
                Outcome::Skipped { reason }
            }
            Err(TrialError::Host(error)) => {
                lost = error.is_loss_of_host().then(|| error.to_string());
                Outcome::Failed { error: error.to_string(), lost: lost.is_some() }
            }
            Err(TrialError::Listener(error)) => return Err(StudyError::Listener(error)),
            Err(TrialError::Stopped) => return Ok(None),
        };
        let mut record = TrialRecord {
            block: block.index,
            position: position as u32,
            swapped: block.swapped,
            started_ms,
            as_run: (run != *cell).then(|| Box::new(run)),
            arm: self.plan.arms.get(slot.arm).map(|arm| arm.name.clone()),
            taken,
            pass: slot.pass,
            warnings,
            ..TrialRecord::new(cell.clone(), outcome)
        };
        let found = self.audit(&record);
        record.warnings.extend(found);
        let not_taken = self.plan.arms.get(slot.arm).and_then(|arm| arm::not_taken(arm, &record.warnings));
        if let (Some(error), Outcome::Measured(_)) = (not_taken, &record.outcome) {
            record.outcome = Outcome::Failed { error, lost: false };
        }
        Ok(Some(Carried { record, lost }))
    }

    fn audit(&self, record: &TrialRecord) -> Vec<Warning> {
        let overhead = |role| self.session.loop_overhead_ns(role, record.swapped);
        audit::warnings(record, overhead(Role::Sender).max(overhead(Role::Receiver)))
    }

    /// Makes lost hosts anew, or finds lost agents again.
    fn after(&mut self, lost: Option<String>) -> Result<ControlFlow<()>, StudyError> {
        let Some(error) = lost else {
            self.lost_in_a_row = 0;
            return Ok(ControlFlow::Continue(()));
        };
        let agents = !self.plan.hosts.is_empty();
        if agents && self.plan.on_loss == OnLoss::Stop {
            return Err(StudyError::Lost(error));
        }
        self.lost_in_a_row += 1;
        if self.lost_in_a_row > REOPENINGS {
            return Err(StudyError::LostAgain(REOPENINGS));
        }
        self.arms.rest_machine();
        let found = if agents { self.find_again(error)? } else { self.open_again()? };
        let Some(mut anew) = found else { return Ok(ControlFlow::Break(())) };
        let differences = host_diff::compare(self.session.facts(), anew.facts());
        if !anew.is_like(&self.session) || !differences.grave.is_empty() {
            let words = if differences.grave.is_empty() { "isolation, addresses or CPUs".to_owned() } else { differences.grave.join("; ") };
            return Err(StudyError::OtherHosts(words));
        }
        anew.inherit(self.session.warnings().to_vec());
        self.session = anew;
        Ok(ControlFlow::Continue(()))
    }

    /// Makes the hosts anew; `None` where the user wants no more of it.
    fn open_again(&mut self) -> Result<Option<Session>, StudyError> {
        match Session::open_as(&self.setting_in_hand(), self.plan, self.credentials, self.listener) {
            Ok(session) => Ok(Some(session)),
            Err(error) => not_opened(error).map(|_| None),
        }
    }

    /// Looks for the agents again, with longer and longer pauses; `None` where
    /// the user wants no more of it.
    fn find_again(&mut self, mut error: String) -> Result<Option<Session>, StudyError> {
        // What is left of the old connections must not stand before the new ones.
        self.session.hosts().iter_mut().for_each(crate::remote::RemoteHost::hang_up);
        for (attempt, pause) in (1..).zip(PAUSES) {
            let end = Instant::now() + pause;
            loop {
                let left = end.saturating_duration_since(Instant::now());
                let event = Event::Lost { error: &error, attempt, of: PAUSES.len() as u32, pause: left };
                if self.tell(&event)?.is_break() {
                    return Ok(None);
                }
                if left.is_zero() {
                    break;
                }
                std::thread::sleep(left.min(STEP));
            }
            let answer = match self.open_again() {
                Err(StudyError::Host(answer)) => answer,
                found => return found,
            };
            if !answer.may_pass() || attempt as usize == PAUSES.len() {
                return Err(StudyError::NotFound { attempts: attempt as usize, error: answer });
            }
            error = answer.to_string();
        }
        Ok(None)
    }

    fn opened(&mut self) -> Result<(), StudyError> {
        let (hosts, warnings) = (self.session.facts(), self.session.warnings());
        let event = Event::Opened { hosts, warnings, control: self.session.control_path() };
        self.listener.hear(&event).map(drop).map_err(StudyError::Listener)
    }

    fn resumed(&mut self, trials: u64) -> Result<(), StudyError> {
        let event = Event::Resumed { trials, warnings: self.session.warnings() };
        self.listener.hear(&event).map(drop).map_err(StudyError::Listener)
    }

    /// Tells how it ended.
    fn conclude(&mut self, outcome: Result<Status, StudyError>) -> Result<Status, StudyError> {
        let status = match &outcome {
            Ok(status) => status.clone(),
            Err(error) => Status::Failed { error: error.to_string() },
        };
        self.rest();
        // Of hosts that are lost nothing can be told any more, and whoever was
        // told to stop does not wait for others' trials.
        let hosts = self.session.gather_facts(self.listener).unwrap_or_default();
        let event = Event::Closed { hosts: &hosts, warnings: self.session.warnings(), status: &status };
        let closed = self.listener.hear(&event).map(drop).map_err(StudyError::Listener);
        outcome.and_then(|status| closed.map(|()| status))
    }

    fn tell(&mut self, event: &Event) -> Result<ControlFlow<()>, StudyError> {
        self.listener.hear(event).map_err(StudyError::Listener)
    }
}
