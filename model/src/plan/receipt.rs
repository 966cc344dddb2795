//! Fineness of a receipt.

use serde::{Deserialize, Serialize};

use super::error::PlanError;
use crate::quantity::Nanos;

/// Fineness with which the time of each cell is broken down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptPlan {
    /// Distance of two samples in CPU time; 10 µs to 100 ms. `None`: the shortest at which
    /// watching costs no more than [`COST`] on these hosts ([`period_for`]). Each pass has up to a tenth more
    /// ([`of_pass`]). Where the machine counts cycles those are sampled instead, at a distance of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Nanos>,
    /// Samples wanted of each end of each cell, over all time passes; at least 1.
    /// Time passes are made longer to get them, up to [`LONGEST_PASS`].
    pub samples: u64,
}

/// Share of an end's CPU time that samples may cost.
pub const COST: f64 = 0.03;

/// The shortest distance of two samples that is chosen. It shares no divisor worth the name with
/// the 4 ms (or 1 ms, 10 ms) tick: a sampler in step with the tick gave a
/// receiver 58 to 64 % of its real time.
pub const PERIOD: Nanos = Nanos::new(106_681);

/// The longest distance that is chosen: a cell must get its samples in seconds.
const LONGEST_PERIOD: Nanos = Nanos::new(2_000_003);

/// The distance that is assumed where the cost of a sample is not known yet: that of a
/// virtual machine where it is 20 µs.
pub const ASSUMED_PERIOD: Nanos = Nanos::new(706_681);

/// Samples that bring a row of 10 % of the time to within 9 % of itself, one of 1 % to
/// within three tenths.
pub const SAMPLES: u64 = 5_000;

/// Returns the distance at which samples that cost `cost` each take [`COST`] of the time, out
/// of step with ticks of 1, 4 and 10 ms; between [`PERIOD`] and 2 ms.
pub fn period_for(cost: Nanos) -> Nanos {
    let wanted = (cost.get() as f64 / COST).clamp(PERIOD.get() as f64, LONGEST_PERIOD.get() as f64) as u64;
    // Fewer than half of a hundred neighbours are in step, so one is always found.
    let out = (0..100).map(|step| wanted + step * wanted / 200).find(|period| is_out_of_step(*period));
    Nanos::new(out.unwrap_or(wanted))
}

/// Returns the distance of samples in a pass with this seed: up to a tenth more than `period`. A timer in step with the
/// traffic, or with the scheduler's tick, in one pass is out of step in the others.
pub fn of_pass(period: Nanos, seed: u64) -> Nanos {
    // The output function of SplitMix64 (Steele, Lea and Flood 2014), so that seeds that differ little differ here.
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Nanos::new(period.get().saturating_add(period.get() / 10 * ((mixed >> 32) & 1023) / 1023))
}

/// Returns whether up to ten periods never make whole milliseconds, by a fiftieth of a period.
fn is_out_of_step(period: u64) -> bool {
    const TICK: u64 = 1_000_000;
    (1..=10).all(|periods| {
        let over = period * periods % TICK;
        over.min(TICK - over) > period / 50
    })
}

/// No time pass measures longer than this: rings have a limit.
pub const LONGEST_PASS: Nanos = Nanos::from_millis(5_000);

/// The share of a CPU that an end is taken to use before it is known.
pub const ASSUMED_SHARE: f64 = 0.5;

impl ReceiptPlan {
    /// Returns the length of a time pass with which one in each of `blocks` blocks
    /// gives `samples` samples, where there are `per_second` of them in a second:
    /// three tenths longer, since passes differ, and no longer than [`LONGEST_PASS`].
    pub fn pass(samples: u64, blocks: u32, per_second: f64) -> Nanos {
        const MARGIN: f64 = 1.3;
        let seconds = samples as f64 / per_second / f64::from(blocks.max(1)) * MARGIN;
        Nanos::new((seconds * 1e9) as u64).min(LONGEST_PASS)
    }

    /// The most samples that there are in a second: of an end that never waits. `chosen` is
    /// the distance where the plan has none.
    pub fn most_per_second(&self, chosen: Option<Nanos>) -> f64 {
        1e9 / self.period.or(chosen).unwrap_or(ASSUMED_PERIOD).get() as f64
    }
}

impl Default for ReceiptPlan {
    fn default() -> Self {
        Self { period: None, samples: SAMPLES }
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
        let plan = ReceiptPlan { period: self.period, samples: self.samples.unwrap_or(SAMPLES) };
        if let Some(period) = plan.period.filter(|period| !(10_000..=100_000_000).contains(&period.get())) {
            return Err(PlanError::Value {
                key: "receipt.period",
                value: period.to_string(),
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

#[cfg(test)]
mod tests {
    use super::{COST, PERIOD, is_out_of_step, of_pass, period_for};
    use crate::quantity::Nanos;
    use proptest::prelude::{prop_assert, proptest};

    #[test]
    fn cheap_samples_are_taken_as_often_as_ever() {
        assert_eq!(period_for(Nanos::new(0)), PERIOD);
        assert_eq!(period_for(Nanos::new(2_000)), PERIOD);
        assert!(!is_out_of_step(1_000_003) && !is_out_of_step(500_000) && is_out_of_step(PERIOD.get()));
    }

    proptest! {
        #[test]
        fn passes_differ_by_a_tenth_at_most(period in 10_000..100_000_000_u64, seed in proptest::prelude::any::<u64>()) {
            let of = |seed| of_pass(Nanos::new(period), seed).get();
            prop_assert!((period..=period + period / 10).contains(&of(seed)));
            let several: std::collections::BTreeSet<u64> = (0..32).map(|more| of(seed.wrapping_add(more))).collect();
            prop_assert!(several.len() > 20, "{several:?}");
        }

        #[test]
        fn a_period_keeps_to_its_cost_and_out_of_step(cost in 3_300..60_000_u64) {
            let period = period_for(Nanos::new(cost)).get() as f64;
            prop_assert!(cost as f64 / period <= COST * 1.001);
            prop_assert!(period <= cost as f64 / COST * 1.5, "{period}");
            prop_assert!(is_out_of_step(period as u64));
        }
    }
}
