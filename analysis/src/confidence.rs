//! The intervals that a run may claim, and the numbers of blocks after which
//! they are looked at.

use model::plan::{Blocks, LOOKS};
use stats::bootstrap::{self, Batches};
use stats::estimate::{Estimate, Interval};
use stats::median;

/// The share of the plan's allowed error that one of several looks may spend.
///
/// Found by simulation, not by theory, because the looks are at exact intervals
/// whose coverage goes in steps. With all of it (looks at 95 %) the coverage
/// that remains is 93.7 % for normal and lognormal noise, but 86.7 % for two
/// equally likely modes, whose median lies in the gap between them. With 0.4
/// (looks at 98 %) no case simulated falls below 94.7 %. The price is small:
/// at 10 % noise 49 blocks in place of 35. Plans of less than 95 % spend less: at
/// 90 % with 0.4 coverage falls to 88 % in the worst case, with 0.3 to 94 %.
const fn spent_by_a_look(planned: f64) -> f64 {
    if planned < 0.95 { 0.3 } else { 0.4 }
}

/// The numbers of blocks after which intervals are looked at, in rising order:
/// [`LOOKS`], beyond them half as many again each time, no fewer than
/// `blocks.least`, and in any case `blocks.most`.
pub fn looks(blocks: &Blocks) -> Vec<u32> {
    let beyond = std::iter::successors(LOOKS.last().copied(), |look| look.checked_add(look / 2)).skip(1);
    let mut looks: Vec<u32> = LOOKS.iter().copied().chain(beyond.take_while(|look| *look < blocks.most)).collect();
    looks.retain(|look| (blocks.least..blocks.most).contains(look));
    looks.push(blocks.most);
    looks
}

/// Confidence that the intervals of a run may claim.
///
/// They are found at the confidence of a look: the plan's when there is one
/// look, and so much more when there are several that the plan's is left. Where
/// there are several they claim the plan's and no more, because looking spends
/// the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence {
    found_at: f64,
    planned: f64,
}

impl Confidence {
    /// The confidence of a study under `blocks`.
    pub fn new(blocks: &Blocks) -> Self {
        let planned = blocks.confidence;
        match looks(blocks).len() {
            0 | 1 => Self { found_at: planned, planned },
            _ => Self { found_at: 1.0 - (1.0 - planned) * spent_by_a_look(planned), planned },
        }
    }

    /// The confidence at which each of several intervals is found so that all hold together (Bonferroni).
    pub fn of_each(self, several: usize) -> f64 {
        1.0 - (1.0 - self.found_at) / several.max(1) as f64
    }

    /// The confidence at which intervals are found.
    pub const fn found_at(self) -> f64 {
        self.found_at
    }

    /// The median with its exact interval; `None` when no value is a number.
    pub fn estimate(self, values: &[f64]) -> Option<Estimate> {
        let mut estimate = median::estimate(values, self.found_at)?;
        estimate.interval = estimate.interval.map(|interval| self.limited(interval));
        Some(estimate)
    }

    /// The interval of `value` from what it became in each draw of `batches`
    /// batches of blocks. It holds `value` itself: an interval next to its own
    /// estimate, which a bootstrap of few blocks can give, would be read wrong.
    pub fn bootstrapped(self, value: f64, draws: &[f64], batches: usize) -> Option<Interval> {
        let interval = bootstrap::interval(draws, batches, self.found_at)?;
        Some(self.limited(Interval { low: interval.low.min(value), high: interval.high.max(value), ..interval }))
    }

    /// A figure over all blocks, with the interval of [`Self::bootstrapped`].
    pub fn drawn(self, value: f64, draws: &[f64], batches: &Batches) -> Estimate {
        Estimate { value, interval: self.bootstrapped(value, draws, batches.len()), n: batches.blocks() }
    }

    /// An interval that claims no more than it may.
    const fn limited(self, interval: Interval) -> Interval {
        let confidence = if self.found_at > self.planned { self.planned } else { interval.confidence };
        Interval { confidence, ..interval }
    }
}
