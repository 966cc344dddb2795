//! One trial of a study in its arm: brings its session to the state of the arm, runs the trial
//! and records the outcome.

use std::collections::BTreeMap;

use analysis::audit;
use model::adjust::AppliedSetting;
use model::plan::HostPlace;
use model::schedule::{self, Block, Slot};
use model::trial::{Outcome, TrialRecord};
use model::warning::Warning;
use model::{Cell, Role};

use super::pool::SessionKey;
use super::{Study, StudyError};
use crate::arm::{self, ArmError};
use crate::error::TrialError;
use crate::trial::{self, Done, TrialSpec};

impl Study<'_> {
    /// Runs the trial of a slot; `None` where the user did not want to wait for it.
    pub(super) fn run_trial(
        &mut self,
        key: SessionKey,
        block: &Block,
        position: usize,
        slot: Slot,
    ) -> Result<Option<TrialRecord>, StudyError> {
        let started_ms = sys::clock::unix_ms();
        let planned = self.plan.cells[slot.cell].clone();
        let as_run = self.plan.cell_in(&planned, slot.arm).ok().filter(|_| !self.plan.arms.is_empty());
        let (mut taken, mut warnings) = (Vec::new(), Vec::new());
        let outcome = match self.refused.get(&slot.pass) {
            Some(reason) => Outcome::Skipped { reason: reason.clone() },
            None => {
                let (prepared, done) = loop {
                    let (prepared, done) = self.run_in_arm(key, block, slot)?;
                    let longer = done.as_ref().is_ok_and(|done| self.replay.durations.lengthen(self.plan, slot, &done.measured));
                    if !longer {
                        break (prepared, done);
                    }
                };
                if let Some((_, settings)) = prepared {
                    taken = settings;
                }
                match done {
                    Ok(done) => {
                        warnings = done.warnings;
                        Outcome::Measured(Box::new(done.measured))
                    }
                    Err(error) => match self.outcome_without(slot, error)? {
                        Some(outcome) => outcome,
                        None => return Ok(None),
                    },
                }
            }
        };
        let mut record = TrialRecord {
            block: block.index,
            position: position as u32,
            swapped: block.swapped,
            started_ms,
            as_run: as_run.map(Box::new),
            arm: self.plan.arms.get(slot.arm).map(|arm| arm.name.clone()),
            taken,
            pass: slot.pass,
            warnings,
            ..TrialRecord::new(planned, outcome)
        };
        let found = self.audit(key, &record);
        record.warnings.extend(found);
        let not_taken = self.plan.arms.get(slot.arm).and_then(|arm| arm::not_taken(arm, &record.warnings));
        if let (Some(error), Outcome::Measured(_)) = (not_taken, &record.outcome) {
            record.outcome = Outcome::Failed { error, lost: false };
        }
        Ok(Some(record))
    }

    /// Returns the outcome of a trial that was not carried out; `None` where the
    /// user ended it. A pass that a host refused is not tried again.
    fn outcome_without(&mut self, slot: Slot, error: TrialError) -> Result<Option<Outcome>, StudyError> {
        match error {
            TrialError::NotObserved { .. } => {
                let reason = error.to_string();
                self.refused.insert(slot.pass, reason.clone());
                Ok(Some(Outcome::Skipped { reason }))
            }
            TrialError::Host(error) => Ok(Some(Outcome::Failed { error: error.to_string(), lost: error.is_loss_of_host() })),
            TrialError::Listener(error) => Err(StudyError::Listener(error)),
            TrialError::Stopped => Ok(None),
        }
    }

    fn audit(&self, key: SessionKey, record: &TrialRecord) -> Vec<Warning> {
        let overhead = |role| self.sessions.get(key).loop_overhead_ns(role, record.swapped);
        audit::warnings(record, overhead(Role::Sender).max(overhead(Role::Receiver)), self.plan)
    }

    /// Runs the trial of a slot in its arm. Returns the cell as run with what was set on the hosts, and what came of the
    /// trial.
    fn run_in_arm(
        &mut self,
        key: SessionKey,
        block: &Block,
        slot: Slot,
    ) -> Result<(Option<Prepared>, Result<Done, TrialError>), StudyError> {
        let swapped = block.swapped;
        self.in_arm(key, slot, swapped, |study, cell| {
            let end = study.replay.durations.end(study.plan, block.index, slot);
            let arm = study.arms.settings(slot.arm);
            let seed = schedule::trial_seed(study.plan.seed, block.index, slot.cell);
            let spec = TrialSpec { pass: slot.pass, end, arm, seed, ..TrialSpec::clean(study.plan, cell, swapped) };
            trial::run(study.sessions.get_mut(key), spec, study.listener)
        })
    }

    /// Brings the hosts to the state of a slot's arm, carries out a trial of the cell as run, and takes away what the arm
    /// brought. Returns the cell with what was set on the hosts, and what came of the trial.
    pub(super) fn in_arm<T>(
        &mut self,
        key: SessionKey,
        slot: Slot,
        swapped: bool,
        carry_out: impl FnOnce(&mut Self, &Cell) -> Result<T, TrialError>,
    ) -> Result<(Option<Prepared>, Result<T, TrialError>), StudyError> {
        let (prepared, mut came) = match self.prepare(key, slot, swapped) {
            Ok(prepared) => {
                let came = carry_out(self, &prepared.0);
                (Some(prepared), came)
            }
            Err(ArmError::Trial(error)) => (None, Err(error.into())),
            Err(error) => return Err(error.into()),
        };
        // Whatever came of it, nothing of the arm is to be left to the next.
        let session = self.sessions.get_mut(key);
        let concluded = self.arms.conclude(session, self.plan, slot, swapped);
        session.bind(&BTreeMap::new())?;
        if let (Some(error), true) = (arm::of_trial(concluded)?, came.is_ok()) {
            came = Err(error.into());
        }
        Ok((prepared, came))
    }

    fn prepare(&mut self, key: SessionKey, slot: Slot, swapped: bool) -> Result<Prepared, ArmError> {
        let session = self.sessions.get_mut(key);
        if let Some(arm) = self.arms.settings(slot.arm) {
            session.bind(&arm.cpus)?;
        }
        let (cell, mut taken) = self.arms.prepare(session, self.plan, slot, swapped)?;
        if let Some(arm) = self.arms.settings(slot.arm) {
            let facts = |name: &String| session.facts().iter().find(|facts| facts.name == *name);
            let kernel =
                |name: &String| facts(name).map_or_else(String::new, |facts| format!("Linux {} on {}", facts.kernel, facts.cpu_model));
            let applied = |(name, at): (&String, &HostPlace)| AppliedSetting {
                name: format!("host.{name}"),
                asked: at.to_string(),
                got: kernel(name),
            };
            taken.extend(arm.hosts.iter().map(applied));
        }
        Ok((cell, taken))
    }
}

/// A cell as run, and what was set on the hosts for it.
pub(super) type Prepared = (Cell, Vec<AppliedSetting>);
