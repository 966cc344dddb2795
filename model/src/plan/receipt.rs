//! Fineness of a receipt.

use serde::{Deserialize, Serialize};

use super::error::PlanError;
use crate::quantity::Nanos;

/// Fineness with which the time of each cell is broken down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptPlan {
    /// Distance of two samples in CPU time; 10 µs to 100 ms. Where the machine
    /// counts cycles those are sampled instead, at a distance of their own.
    pub period: Nanos,
    /// Samples wanted of each end of each cell, over all time passes; at least 1.
    /// Time passes are made longer to get them, up to [`LONGEST_PASS`].
    pub samples: u64,
}

/// The usual distance of two samples. It shares no divisor worth the name with
/// the 4 ms (or 1 ms, 10 ms) tick: a sampler in step with the tick gave a
/// receiver 58 to 64 % of its real time.
pub const PERIOD: Nanos = Nanos::new(106_681);

/// The samples that bring a row of 1 % of the time to within 7 % of itself.
pub const SAMPLES: u64 = 20_000;

/// No time pass measures longer than this: rings have a limit.
pub const LONGEST_PASS: Nanos = Nanos::from_millis(5_000);

/// The share of a CPU that an end is taken to use before it is known.
pub const ASSUMED_SHARE: f64 = 0.5;

impl ReceiptPlan {
    /// Returns the length of a time pass with which one in each of `blocks` blocks
    /// gives `samples` samples, where there are `per_second` of them in a second:
    /// a tenth longer, for passes differ, and at most [`LONGEST_PASS`].
    pub fn pass(samples: u64, blocks: u32, per_second: f64) -> Nanos {
        const MARGIN: f64 = 1.1;
        let seconds = samples as f64 / per_second / f64::from(blocks.max(1)) * MARGIN;
        Nanos::new((seconds * 1e9) as u64).min(LONGEST_PASS)
    }

    /// The most samples that there are in a second: of an end that never waits.
    pub fn most_per_second(&self) -> f64 {
        1e9 / self.period.get() as f64
    }
}

impl Default for ReceiptPlan {
    fn default() -> Self {
        Self { period: PERIOD, samples: SAMPLES }
    }
}

/// `[receipt]`; written without keys it means the usual.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct RawReceipt {
    /// Distance of two samples.
    pub period: Option<Nanos>,
    /// Samples wanted.
    pub samples: Option<u64>,
}

impl RawReceipt {
    pub(super) fn resolve(self) -> Result<ReceiptPlan, PlanError> {
        let usual = ReceiptPlan::default();
        let plan = ReceiptPlan { period: self.period.unwrap_or(usual.period), samples: self.samples.unwrap_or(usual.samples) };
        if !(10_000..=100_000_000).contains(&plan.period.get()) {
            return Err(PlanError::Value {
                key: "receipt.period",
                value: plan.period.to_string(),
                reason: "samples are 10us to 100ms of CPU time apart; finer ones the kernel stretches and throttles",
            });
        }
        if !(1..=10_000_000).contains(&plan.samples) {
            return Err(PlanError::Value {
                key: "receipt.samples",
                value: plan.samples.to_string(),
                reason: "1 to 10000000 of each end and cell",
            });
        }
        Ok(plan)
    }
}
