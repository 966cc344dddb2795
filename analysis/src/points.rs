//! The trials of a series as what coefficients are fitted to, block by block.

use std::collections::BTreeMap;

use model::Cell;

use crate::figures::Figures;
use crate::result::{Metric, Quantity};
use crate::verdict::{BlockPoints, SizePoint};

/// Which of the two that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What is compared with.
    Baseline,
    /// What is judged.
    Candidate,
}

/// Adds the trials of one cell.
pub fn add(blocks: &mut BTreeMap<u32, BlockPoints>, trials: &[Figures], cell: &Cell, quantity: Quantity, side: Side) {
    for trial in trials {
        let Some(time_ns) = trial.get(quantity.metric()).filter(|time| *time > 0.0) else { continue };
        let point = SizePoint {
            size: cell.size,
            time_ns,
            frames: trial.get(Metric::FramesPerMessage),
            wakeups: trial.get(Metric::ReceiverWakeupsPerMessage),
        };
        let block = blocks.entry(trial.block).or_default();
        match side {
            Side::Baseline => block.baseline.push(point),
            Side::Candidate => block.candidate.push(point),
        }
    }
}
