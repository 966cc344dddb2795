//! How far the receipt of a program stands, told from its own figures.

use attribution::{Doubt, LEAST_SAMPLES, Receipt, SAMPLER};
use serde::Serialize;

/// How far a receipt stands: what its rows may be read as.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "standing")]
pub enum Standing {
    /// Too few samples for any row, whatever their sum is.
    TooFew {
        /// Samples.
        samples: u64,
        /// Samples that a receipt needs.
        of: u64,
    },
    /// A sum fails: the rows are not to be used.
    Fails,
    /// The samples make another time than that on the CPU: the rows are shares of what was sampled.
    Part {
        /// Samples times period, over the time on the CPU.
        sampled: f64,
    },
    /// The samples were compared with no time: the rows are shares of what was sampled.
    NotCompared,
    /// Every sum is within its bounds.
    AddsUp,
}

impl Standing {
    /// That of a receipt: of several that hold, the first.
    pub fn of(receipt: &Receipt) -> Self {
        let (samples, sampled) = (receipt.sampling.samples, receipt.closure.sampler.value);
        if samples < LEAST_SAMPLES {
            Self::TooFew { samples, of: LEAST_SAMPLES }
        } else if receipt.is_red() {
            Self::Fails
        } else if receipt.doubts.iter().any(|doubt| matches!(doubt, Doubt::NotHeld)) {
            Self::NotCompared
        } else if !SAMPLER.contains(&sampled) {
            Self::Part { sampled }
        } else {
            Self::AddsUp
        }
    }
}
