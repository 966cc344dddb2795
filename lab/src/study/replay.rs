//! Trials that a stopped run has already, and the place where it goes on.

use std::collections::HashMap;

use analysis::stopping::{Decision, Observer};
use model::host::HostFacts;
use model::run::Status;
use model::schedule::{self, Block, Slot};
use model::trial::Outcome;
use model::warning::Warning;
use model::woven::Slice;
use model::{Plan, TrialRecord};

use super::StudyError;
use crate::pass_duration::PassDurations;

/// A run that was stopped, as it was stored.
pub struct Past<'a> {
    /// The facts of its hosts before the first trial.
    pub hosts: &'a [HostFacts],
    /// Warnings about the whole run.
    pub warnings: &'a [Warning],
    /// Its trials, in the order in which they were stored.
    pub trials: &'a mut dyn Iterator<Item = TrialRecord>,
    /// The slices of its instances, with the place of the group and the number of the instance; none of a run in turn.
    pub slices: &'a mut dyn Iterator<Item = (usize, u32, Vec<Slice>)>,
}

/// The trials of the past, seen once more.
#[derive(Debug)]
pub struct Replay {
    /// Has seen them.
    pub observer: Observer,
    /// Has seen them too.
    pub durations: PassDurations,
    /// Their number.
    pub trials: u64,
    /// Status of a run with nothing left to do.
    pub complete: Option<Status>,
    /// Number of trials of a block.
    trials_each: u32,
    /// Outcome of each trial, by block and position.
    seen: HashMap<(u32, u32), Came>,
    /// Number of decided blocks: those before the highest that has been
    /// left. A trial that is measured again later decides nothing again.
    decided: u32,
}

/// Outcome of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    Measured,
    Failed,
    /// A host was lost with it.
    Lost,
}

impl Came {
    const fn from_outcome(outcome: &Outcome) -> Self {
        match outcome {
            // One that was left out would be left out again.
            Outcome::Measured(_) | Outcome::Skipped { .. } => Self::Measured,
            Outcome::Failed { lost: true, .. } => Self::Lost,
            Outcome::Failed { lost: false, .. } => Self::Failed,
        }
    }
}

impl Replay {
    /// Makes the replay of a run that begins.
    pub fn nothing(plan: &Plan) -> Self {
        Self {
            observer: Observer::new(plan),
            durations: PassDurations::default(),
            trials: 0,
            complete: None,
            trials_each: plan.shape().trials() as u32,
            seen: HashMap::new(),
            decided: 0,
        }
    }

    /// Shows the trials to a fresh observer, as they were shown to the first.
    ///
    /// A trial that was lost with its host is to be measured again, and so is a
    /// block of which nothing could be measured: that ended the study. Both may
    /// stand there twice: as they failed, and as they were measured later.
    ///
    /// # Errors
    /// [`StudyError::OtherTrials`]: a trial that the plan does not have where
    /// it is, or has there twice.
    pub fn from_trials(plan: &Plan, trials: &mut dyn Iterator<Item = TrialRecord>) -> Result<Self, StudyError> {
        let mut replay = Self::nothing(plan);
        let mut block: Option<Block> = None;
        // A trial that was measured again stands behind those of later blocks.
        let mut highest = None;
        for record in trials {
            let (index, position) = (record.block, record.position);
            if highest.is_none_or(|highest| highest < index) {
                replay.leave(highest);
                highest = Some(index);
            }
            if block.as_ref().is_none_or(|block| block.index != index) {
                block = (index < plan.blocks.most).then(|| schedule::block(plan.seed, index, plan.shape()));
            }
            let planned = block.as_ref().and_then(|block| Some((*block.order.get(position as usize)?, block.swapped)));
            let there = planned.is_some_and(|(slot, swapped)| swapped == record.swapped && is_of(plan, slot, &record));
            if !there || replay.has(index, position as usize) {
                return Err(StudyError::OtherTrials { block: index, position });
            }
            if replay.seen.insert((index, position), Came::from_outcome(&record.outcome)) == Some(Came::Failed) {
                // Of a block of nothing but failures each is measured again.
                let block = replay.seen.iter_mut().filter(|((block, _), came)| *block == index && **came == Came::Failed);
                block.for_each(|(_, came)| *came = Came::Lost);
            }
            replay.trials += 1;
            replay.observer.push(&record);
            if let Some((slot, _)) = planned {
                replay.durations.note(plan, slot, &record);
            }
        }
        replay.leave(highest);
        Ok(replay)
    }

    /// The last trial of a block has been seen: it is decided once more. One of
    /// which nothing could be measured ended the study undecided.
    fn leave(&mut self, block: Option<u32>) {
        let Some(index) = block else { return };
        let whole = (0..self.trials_each).all(|position| self.seen.contains_key(&(index, position)));
        if !whole || !self.is_measured(index) {
            return;
        }
        self.decided = index + 1;
        match self.observer.after_block(index + 1) {
            Decision::GoOn => {}
            Decision::IntervalMet => self.complete = Some(Status::IntervalMet),
            // A block before it may lack a trial that could not be read, or was lost.
            Decision::BlocksDone => {
                let whole = (0..=index).all(|index| self.is_whole(index));
                self.complete = whole.then_some(Status::BlocksDone);
            }
        }
    }

    /// Returns whether a trial is there and is not to be measured again.
    pub fn has(&self, block: u32, position: usize) -> bool {
        let came = u32::try_from(position).ok().and_then(|position| self.seen.get(&(block, position)));
        match came {
            Some(Came::Measured) => true,
            Some(Came::Failed) => self.is_measured(block),
            Some(Came::Lost) | None => false,
        }
    }

    /// Returns whether every trial of a block is there.
    pub fn is_whole(&self, block: u32) -> bool {
        (0..self.trials_each as usize).all(|position| self.has(block, position))
    }

    /// Returns whether it was decided after a block, and so is not again.
    pub const fn is_decided(&self, block: u32) -> bool {
        block < self.decided
    }

    /// Returns whether anything of a block could be measured.
    fn is_measured(&self, block: u32) -> bool {
        (0..self.trials_each).any(|position| self.seen.get(&(block, position)) == Some(&Came::Measured))
    }
}

/// Returns whether a record is of the trial that the plan has in a slot.
fn is_of(plan: &Plan, slot: Slot, record: &TrialRecord) -> bool {
    let arm = plan.arms.get(slot.arm).map(|arm| &arm.name);
    plan.cells[slot.cell] == record.cell && arm == record.arm.as_ref() && slot.pass == record.pass
}

#[cfg(test)]
mod tests {
    use super::Replay;
    use crate::study::StudyError;
    use crate::testing::measured;
    use model::plan::RawPlan;
    use model::run::Status;
    use model::schedule;
    use model::trial::Outcome;
    use model::{Bytes, Plan, TrialRecord};
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    fn plan(seed: u64) -> Plan {
        let text = "name = \"x\"\nblocks = { least = 3, most = 3 }\n[[cells]]\ntest = [\"UDP_RR\", \"UDP_STREAM\"]\nsize = [1, 2]";
        model::plan::resolve(&RawPlan::parse(text).unwrap(), &[], seed).unwrap().into_plan()
    }

    fn failed(lost: bool) -> Outcome {
        Outcome::Failed { error: String::new(), lost }
    }

    /// The trials of a whole run.
    fn trials(plan: &Plan) -> Vec<TrialRecord> {
        let block = |index| schedule::block(plan.seed, index, plan.shape());
        let record = |index: u32, position: usize, cell: usize, swapped| TrialRecord {
            block: index,
            position: position as u32,
            swapped,
            ..TrialRecord::new(plan.cells[cell].clone(), Outcome::Measured(Box::new(measured())))
        };
        (0..plan.blocks.most)
            .flat_map(|index| {
                let block = block(index);
                let records: Vec<_> =
                    block.order.iter().enumerate().map(|(at, slot)| record(index, at, slot.cell, block.swapped)).collect();
                records
            })
            .collect()
    }

    #[test]
    fn a_whole_run_is_complete_and_one_that_lacks_a_trial_is_not() {
        let plan = plan(7);
        let all = trials(&plan);
        let replay = Replay::from_trials(&plan, &mut all.clone().into_iter()).unwrap();
        assert_eq!((replay.trials, replay.complete), (12, Some(Status::BlocksDone)));
        for lost in 0..all.len() {
            let mut rest = all.clone();
            let lost = rest.remove(lost);
            let replay = Replay::from_trials(&plan, &mut rest.into_iter()).unwrap();
            assert_eq!(replay.complete, None, "{lost:?}");
            assert!(!replay.has(lost.block, lost.position as usize));
        }
    }

    #[test]
    fn trials_of_another_plan_are_refused() {
        let plan = plan(7);
        let refused = |change: &dyn Fn(&mut Vec<TrialRecord>)| {
            let mut records = trials(&plan);
            change(&mut records);
            let answer = Replay::from_trials(&plan, &mut records.into_iter());
            assert!(matches!(answer, Err(StudyError::OtherTrials { .. })), "{answer:?}");
        };
        refused(&|records| records[5].swapped ^= true);
        refused(&|records| records[5].cell.size = Bytes::new(9));
        refused(&|records| records[5].block = 3);
        refused(&|records| records[5].position = 4);
        refused(&|records| records[5] = records[4].clone());
    }

    #[test]
    fn a_trial_that_was_lost_with_its_host_is_measured_again() {
        let plan = plan(7);
        for (position, lost) in [(1, true), (1, false), (9, true)] {
            let mut all = trials(&plan);
            let whole = all[position].clone();
            all[position].outcome = failed(lost);
            let replay = Replay::from_trials(&plan, &mut all.clone().into_iter()).unwrap();
            // One that failed by itself would do so again.
            let complete = (!lost).then_some(Status::BlocksDone);
            assert_eq!((replay.has(whole.block, whole.position as usize), replay.complete.clone()), (!lost, complete));
            // The block was decided without it, unless it is the last.
            assert!(replay.is_decided(whole.block) && !replay.is_decided(3));
            // Measured after all others, it stands there twice, and no third time.
            all.push(whole.clone());
            let replay = Replay::from_trials(&plan, &mut all.clone().into_iter());
            assert_eq!(replay.ok().map(|replay| (replay.trials, replay.complete)), lost.then_some((13, Some(Status::BlocksDone))));
            all.push(whole);
            assert!(Replay::from_trials(&plan, &mut all.into_iter()).is_err());
        }
    }

    #[test]
    fn a_block_of_nothing_but_failures_is_measured_again() {
        let plan = plan(7);
        let mut all = trials(&plan);
        let again: Vec<TrialRecord> = all[4..8].to_vec();
        all[4..8].iter_mut().for_each(|record| record.outcome = failed(false));
        all.truncate(8);
        let replay = Replay::from_trials(&plan, &mut all.clone().into_iter()).unwrap();
        assert!(!replay.is_whole(1) && !replay.has(1, 0) && !replay.is_decided(1) && replay.is_decided(0));
        all.extend(again);
        let replay = Replay::from_trials(&plan, &mut all.into_iter()).unwrap();
        assert!(replay.is_whole(1) && replay.is_decided(1) && replay.complete.is_none());
    }

    proptest! {
        /// Wherever a run was stopped, it lacks just what had not been stored.
        #[test]
        fn a_run_goes_on_where_it_was_stopped(seed in any::<u64>(), stored in 0_usize..12) {
            let plan = plan(seed);
            let all = trials(&plan);
            let replay = Replay::from_trials(&plan, &mut all.clone().into_iter().take(stored)).unwrap();
            prop_assert_eq!(replay.trials, stored as u64);
            prop_assert!(replay.complete.is_none());
            for (at, record) in all.iter().enumerate() {
                prop_assert_eq!(replay.has(record.block, record.position as usize), at < stored);
            }
        }
    }
}
