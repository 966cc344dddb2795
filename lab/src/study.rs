//! A study: blocks of trials in random order, until the intervals are narrow
//! enough or the plan's limit is reached.

use std::error::Error;
use std::time::{SystemTime, UNIX_EPOCH};

use analysis::audit;
use analysis::stopping::{Decision, Observer};
use model::run::Status;
use model::schedule::{self, Block};
use model::trial::{Outcome, TRIAL_FORMAT, TrialRecord};
use model::warning::Warning;
use model::{Plan, Role};

use crate::event::{Event, Listener, Wish};
use crate::remote::HostError;
use crate::session::Session;
use crate::trial;

/// How often in a row lost hosts are made anew before the study gives up.
const REOPENINGS: u32 = 3;

/// A study that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The hosts could not be made.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A listener, such as the recorder, cannot go on.
    #[error("{0}")]
    Listener(Box<dyn Error + Send + Sync>),
    /// Nothing works.
    #[error("every trial of a block failed; the last: {0}")]
    NothingWorks(String),
    /// Hosts do not last.
    #[error("hosts were lost {0} times in a row, each time made anew; does something end nettoll's processes, or is memory short?")]
    LostAgain(u32),
    /// The hosts were lost, and what could be had in their place is not like them.
    #[error("the hosts were lost and those made anew differ in isolation or CPUs; run the study again: its trials would not compare")]
    OtherHosts,
}

/// Runs a plan from its first block to its last.
///
/// # Errors
/// See [`StudyError`]. Failures of single trials are recorded, not errors.
pub fn run(plan: &Plan, listener: &mut dyn Listener) -> Result<Status, StudyError> {
    let session = match Session::open(&plan.link) {
        Ok(session) => session,
        Err(error) => {
            let status = Status::Failed { error: error.to_string() };
            listener.hear(&Event::Closed { hosts: &[], warnings: &[], status: &status }).map_err(StudyError::Listener)?;
            return Err(error.into());
        }
    };
    let mut study = Study { plan, session, listener, observer: Observer::new(plan), lost_in_a_row: 0 };
    let outcome = study.opened().and_then(|()| study.run_blocks());
    let status = match &outcome {
        Ok(status) => status.clone(),
        Err(error) => Status::Failed { error: error.to_string() },
    };
    let closed = study.closed(&status);
    outcome.and_then(|status| closed.map(|()| status))
}

struct Study<'a> {
    plan: &'a Plan,
    session: Session,
    listener: &'a mut dyn Listener,
    observer: Observer,
    lost_in_a_row: u32,
}

impl Study<'_> {
    fn run_blocks(&mut self) -> Result<Status, StudyError> {
        for index in 0..self.plan.blocks.most {
            self.tell(&Event::BlockStarted { block: index })?;
            let block = schedule::block(self.plan.seed, index, self.plan.cells.len(), self.plan.blocks.most);
            if self.run_block(&block)? == Wish::Stop {
                return Ok(Status::Interrupted);
            }
            self.tell(&Event::BlockDone { blocks: index + 1 })?;
            match self.observer.after_block(index + 1) {
                Decision::GoOn => {}
                Decision::IntervalMet => return Ok(Status::IntervalMet),
                Decision::BlocksDone => return Ok(Status::BlocksDone),
            }
        }
        Ok(Status::BlocksDone)
    }

    fn run_block(&mut self, block: &Block) -> Result<Wish, StudyError> {
        let mut last_failure = None;
        let mut measured = false;
        for (position, &cell) in block.order.iter().enumerate() {
            let record = self.run_trial(block, position, cell)?;
            self.observer.push(&record);
            match &record.outcome {
                Outcome::Measured(_) => measured = true,
                Outcome::Failed { error } => last_failure = Some(error.clone()),
            }
            if self.tell(&Event::Trial(&record))? == Wish::Stop {
                return Ok(Wish::Stop);
            }
        }
        match last_failure {
            Some(error) if !measured => Err(StudyError::NothingWorks(error)),
            _ => Ok(Wish::GoOn),
        }
    }

    fn run_trial(&mut self, block: &Block, position: usize, cell: usize) -> Result<TrialRecord, StudyError> {
        let cell = &self.plan.cells[cell];
        let started_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let outcome = trial::run(&mut self.session, self.plan, cell, block.swapped);
        let lost = outcome.as_ref().err().is_some_and(HostError::is_loss_of_host);
        let outcome = match outcome {
            Ok(measured) => Outcome::Measured(Box::new(measured)),
            Err(error) => Outcome::Failed { error: error.to_string() },
        };
        let mut record = TrialRecord {
            format: TRIAL_FORMAT,
            block: block.index,
            position: position as u32,
            swapped: block.swapped,
            started_ms,
            cell: cell.clone(),
            outcome,
            warnings: Vec::new(),
        };
        record.warnings = self.audit(&record);
        self.after_loss(lost)?;
        Ok(record)
    }

    fn audit(&self, record: &TrialRecord) -> Vec<Warning> {
        let overhead = |role| self.session.loop_overhead_ns(role, record.swapped);
        audit::warnings(record, overhead(Role::Sender).max(overhead(Role::Receiver)))
    }

    /// Makes lost hosts anew.
    fn after_loss(&mut self, lost: bool) -> Result<(), StudyError> {
        if !lost {
            self.lost_in_a_row = 0;
            return Ok(());
        }
        self.lost_in_a_row += 1;
        if self.lost_in_a_row > REOPENINGS {
            return Err(StudyError::LostAgain(REOPENINGS));
        }
        let mut anew = Session::open(&self.plan.link)?;
        if !anew.is_like(&self.session) {
            return Err(StudyError::OtherHosts);
        }
        anew.inherit(self.session.warnings().to_vec());
        self.session = anew;
        Ok(())
    }

    fn opened(&mut self) -> Result<(), StudyError> {
        let event = Event::Opened { hosts: self.session.facts(), warnings: self.session.warnings() };
        self.listener.hear(&event).map(drop).map_err(StudyError::Listener)
    }

    fn closed(&mut self, status: &Status) -> Result<(), StudyError> {
        let hosts = self.session.gather_facts().unwrap_or_default();
        let event = Event::Closed { hosts: &hosts, warnings: self.session.warnings(), status };
        self.listener.hear(&event).map(drop).map_err(StudyError::Listener)
    }

    fn tell(&mut self, event: &Event) -> Result<Wish, StudyError> {
        self.listener.hear(event).map_err(StudyError::Listener)
    }
}
