//! What a run that was stopped has already, and where it goes on.

use std::collections::HashSet;

use analysis::stopping::{Decision, Observer};
use model::host::HostFacts;
use model::run::Status;
use model::schedule::{self, Block};
use model::warning::Warning;
use model::{Plan, TrialRecord};

use crate::study::StudyError;

/// A run that was stopped, as it was stored.
pub struct Past<'a> {
    /// The facts of its hosts before the first trial.
    pub hosts: &'a [HostFacts],
    /// What was known of the whole run.
    pub warnings: &'a [Warning],
    /// Its trials, in the order in which they were stored.
    pub trials: &'a mut dyn Iterator<Item = TrialRecord>,
}

/// The trials of the past, seen once more.
#[derive(Debug)]
pub struct Replay {
    /// Has seen them.
    pub observer: Observer,
    /// How many there are.
    pub trials: u64,
    /// Why there is nothing left to do, if so.
    pub complete: Option<Status>,
    done: HashSet<(u32, u32)>,
}

impl Replay {
    /// Of a run that begins.
    pub fn nothing(plan: &Plan) -> Self {
        Self { observer: Observer::new(plan), trials: 0, complete: None, done: HashSet::new() }
    }

    /// Shows the trials to a fresh observer, as they were shown to the first.
    ///
    /// # Errors
    /// [`StudyError::OtherTrials`]: a trial that the plan does not have where
    /// it is, or has there twice.
    pub fn of(plan: &Plan, trials: &mut dyn Iterator<Item = TrialRecord>) -> Result<Self, StudyError> {
        let mut replay = Self::nothing(plan);
        let mut block: Option<Block> = None;
        for record in trials {
            let (index, position) = (record.block, record.position);
            if block.as_ref().is_none_or(|block| block.index != index) {
                replay.leave(plan, block.as_ref());
                block = (index < plan.blocks.most).then(|| schedule::block(plan.seed, index, plan.cells.len(), plan.blocks.most));
            }
            let planned = block.as_ref().and_then(|block| Some((&plan.cells[*block.order.get(position as usize)?], block.swapped)));
            if planned != Some((&record.cell, record.swapped)) || !replay.done.insert((index, position)) {
                return Err(StudyError::OtherTrials { block: index, position });
            }
            replay.trials += 1;
            replay.observer.push(&record);
        }
        replay.leave(plan, block.as_ref());
        Ok(replay)
    }

    /// The last trial of a block has been seen: it is decided once more.
    fn leave(&mut self, plan: &Plan, block: Option<&Block>) {
        let Some(index) = block.map(|block| block.index) else { return };
        if !self.is_whole(plan, index) {
            return;
        }
        match self.observer.after_block(index + 1) {
            Decision::GoOn => {}
            Decision::IntervalMet => self.complete = Some(Status::IntervalMet),
            // A block before it may lack a trial that could not be read.
            Decision::BlocksDone => {
                let whole = (0..=index).all(|index| self.is_whole(plan, index));
                self.complete = whole.then_some(Status::BlocksDone);
            }
        }
    }

    /// Whether a trial is there.
    pub fn has(&self, block: u32, position: usize) -> bool {
        u32::try_from(position).is_ok_and(|position| self.done.contains(&(block, position)))
    }

    fn is_whole(&self, plan: &Plan, block: u32) -> bool {
        (0..plan.cells.len()).all(|position| self.has(block, position))
    }
}

#[cfg(test)]
mod tests {
    use super::Replay;
    use crate::study::StudyError;
    use model::plan::RawPlan;
    use model::run::Status;
    use model::schedule;
    use model::trial::{Outcome, TRIAL_FORMAT};
    use model::{Plan, TrialRecord};
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    fn plan(seed: u64) -> Plan {
        let text = "name = \"x\"\nblocks = { least = 3, most = 3 }\n[[cells]]\ntest = [\"UDP_RR\", \"UDP_STREAM\"]\nsize = [1, 2]";
        model::plan::resolve(&RawPlan::parse(text).unwrap(), &[], seed).unwrap()
    }

    /// The trials of a whole run, none of which could be measured.
    fn trials(plan: &Plan) -> Vec<TrialRecord> {
        let block = |index| schedule::block(plan.seed, index, plan.cells.len(), plan.blocks.most);
        let record = |index: u32, position: usize, cell: usize, swapped| TrialRecord {
            format: TRIAL_FORMAT,
            block: index,
            position: position as u32,
            swapped,
            started_ms: 0,
            cell: plan.cells[cell].clone(),
            outcome: Outcome::Failed { error: String::new() },
            warnings: Vec::new(),
        };
        (0..plan.blocks.most)
            .flat_map(|index| {
                let block = block(index);
                let records: Vec<_> = block.order.iter().enumerate().map(|(at, cell)| record(index, at, *cell, block.swapped)).collect();
                records
            })
            .collect()
    }

    #[test]
    fn a_whole_run_is_complete_and_one_that_lacks_a_trial_is_not() {
        let plan = plan(7);
        let all = trials(&plan);
        let replay = Replay::of(&plan, &mut all.clone().into_iter()).unwrap();
        assert_eq!((replay.trials, replay.complete), (12, Some(Status::BlocksDone)));
        for lost in 0..all.len() {
            let mut rest = all.clone();
            let lost = rest.remove(lost);
            let replay = Replay::of(&plan, &mut rest.into_iter()).unwrap();
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
            let answer = Replay::of(&plan, &mut records.into_iter());
            assert!(matches!(answer, Err(StudyError::OtherTrials { .. })), "{answer:?}");
        };
        refused(&|records| records[5].swapped ^= true);
        refused(&|records| records[5].cell.size = model::Bytes::new(9));
        refused(&|records| records[5].block = 3);
        refused(&|records| records[5].position = 4);
        refused(&|records| records[5] = records[4].clone());
    }

    proptest! {
        /// Wherever a run was stopped, it lacks just what had not been stored.
        #[test]
        fn a_run_goes_on_where_it_was_stopped(seed in any::<u64>(), stored in 0_usize..12) {
            let plan = plan(seed);
            let all = trials(&plan);
            let replay = Replay::of(&plan, &mut all.clone().into_iter().take(stored)).unwrap();
            prop_assert_eq!(replay.trials, stored as u64);
            prop_assert!(replay.complete.is_none());
            for (at, record) in all.iter().enumerate() {
                prop_assert_eq!(replay.has(record.block, record.position as usize), at < stored);
            }
        }
    }
}
