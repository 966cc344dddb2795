//! A stored run, and whether all of it is there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use model::trial::{Outcome, TrialRecord};
use model::{Run, schedule};

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

    /// Its plan and status.
    pub fn run(&self) -> anyhow::Result<Run> {
        Ok(serde_json::from_slice(&fs::read(self.path.join("run.json"))?)?)
    }

    /// Its trials.
    pub fn trials(&self) -> anyhow::Result<Vec<TrialRecord>> {
        let bytes = self.bytes();
        let text = std::str::from_utf8(&bytes).context("trials.jsonl is not text")?;
        text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("read the trial {line}"))).collect()
    }

    /// The errors of trials that failed, after having seen that each trial of
    /// the plan is there once, in the plan's order.
    ///
    /// # Errors
    /// The first trial that is not as planned.
    pub fn failed_of_all(&self) -> anyhow::Result<Vec<String>> {
        let plan = self.run()?.plan;
        let trials = self.trials()?;
        let blocks = (0..plan.blocks.most).map(|index| schedule::block(plan.seed, index, plan.shape()));
        let planned: Vec<_> = blocks
            .flat_map(|block| {
                let places = block.order.into_iter().enumerate();
                places.map(|(at, slot)| (block.index, at as u32, block.swapped, slot)).collect::<Vec<_>>()
            })
            .collect();
        anyhow::ensure!(trials.len() == planned.len(), "{} trials are stored, {} were planned", trials.len(), planned.len());
        for (trial, (block, position, swapped, slot)) in trials.iter().zip(planned) {
            let same = (trial.block, trial.position, trial.swapped) == (block, position, swapped) && trial.cell == plan.cells[slot.cell];
            anyhow::ensure!(same, "another trial than planned at position {position} of block {block}");
        }
        let errors = trials.into_iter().filter_map(|trial| match trial.outcome {
            Outcome::Failed { error, .. } => Some(error),
            Outcome::Measured(_) | Outcome::Skipped { .. } => None,
        });
        Ok(errors.collect())
    }
}
