//! A stored run, and whether all of it is there.

use std::fs;
use std::path::{Path, PathBuf};

use model::trial::{Outcome, TrialRecord};
use model::{Plan, schedule};
use store::RunReader;

/// A run's directory.
#[derive(Debug)]
pub struct Stored {
    path: PathBuf,
}

impl Stored {
    /// At a path.
    pub const fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of its trials.
    pub fn bytes(&self) -> Vec<u8> {
        fs::read(self.path.join("trials.jsonl")).unwrap_or_default()
    }

    /// Number of whole lines of trials.
    pub fn lines(&self) -> usize {
        self.bytes().iter().filter(|byte| **byte == b'\n').count()
    }

    /// Its plan and its trials, all of them whole.
    pub fn read(&self) -> anyhow::Result<(Plan, Vec<TrialRecord>)> {
        let run = RunReader::open(&self.path)?;
        let trials = run.trials()?.map(|trial| trial.map_err(|bad| anyhow::anyhow!("trial {bad:?}")));
        Ok((run.run().plan.clone(), trials.collect::<anyhow::Result<_>>()?))
    }

    /// The errors of trials that failed, after having seen that each trial of
    /// the plan is there once, in the plan's order.
    ///
    /// # Errors
    /// The first trial that is not as planned.
    pub fn failed_of_all(&self) -> anyhow::Result<Vec<String>> {
        let (plan, trials) = self.read()?;
        let planned = if plan.woven { planned_places(&plan) } else { planned_trials(&plan) };
        anyhow::ensure!(trials.len() == planned.len(), "{} trials are stored, {} were planned", trials.len(), planned.len());
        for (trial, Planned { block, position, of_order }) in trials.iter().zip(planned) {
            let same = (trial.block, trial.position) == (block, position)
                && of_order.is_none_or(|(swapped, cell)| trial.swapped == swapped && trial.cell == plan.cells[cell]);
            anyhow::ensure!(same, "another trial than planned at position {position} of block {block}");
        }
        let errors = trials.into_iter().filter_map(|trial| match trial.outcome {
            Outcome::Failed { error, .. } => Some(error),
            Outcome::Measured(_) | Outcome::Skipped { .. } => None,
        });
        Ok(errors.collect())
    }
}

/// A trial of a plan.
struct Planned {
    block: u32,
    position: u32,
    /// Whether host `b` sends, and the place of its cell, where the plan says.
    of_order: Option<(bool, usize)>,
}

fn planned_trials(plan: &Plan) -> Vec<Planned> {
    let blocks = (0..plan.blocks.most).map(|index| schedule::block(plan.seed, index, plan.shape()));
    let of_block = |block: schedule::Block| {
        let of = move |(at, slot): (usize, schedule::Slot)| Planned {
            block: block.index,
            position: at as u32,
            of_order: Some((block.swapped, slot.cell)),
        };
        block.order.into_iter().enumerate().map(of).collect::<Vec<_>>()
    };
    blocks.flat_map(of_block).collect()
}

/// Groups of woven arms have an order of their own.
fn planned_places(plan: &Plan) -> Vec<Planned> {
    let members: usize = plan.groups().iter().map(|group| group.members.len()).sum();
    let of_block = |block| (0..members as u32).map(move |position| Planned { block, position, of_order: None });
    (0..plan.blocks.most).flat_map(of_block).collect()
}
