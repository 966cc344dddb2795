//! Total time against count: a robust line through the counts' medians.

use std::collections::BTreeMap;

use super::CountSeries;
use super::{CountLine, CountResult};
use stats::cost::design::{LINE, Point};
use stats::cost::robust;
use stats::{bootstrap, median};

/// A line through fewer counts could not show that it is none.
const LEAST_COUNTS: usize = 4;
/// Medians within 0.5 % of the line are on it.
const NOISE: f64 = 0.005;

impl CountSeries<'_> {
    /// The line with intervals from resampled blocks.
    pub(super) fn line(&self, counts: &[CountResult]) -> CountLine {
        let none = |reason: &str| CountLine::None { reason: reason.to_owned() };
        let (short, whole) =
            counts.iter().fold((0, 0), |(short, whole), count| (short + count.short, whole + count.total_ns.map_or(0, |t| t.n)));
        if short > whole {
            return none("in most trials not all messages arrived, so that their time is not that of the count");
        }
        let points = |times: Option<&[u32]>| -> Vec<Point> {
            let total = |(count, totals): &(u64, &BTreeMap<u32, f64>)| {
                let time = match times {
                    None => median::median(&totals.values().copied().collect::<Vec<f64>>()),
                    Some(times) => median::median(&self.drawn(totals, times)),
                };
                Some(Point { size: *count as f64, time: time.filter(|time| *time > 0.0)?, frames: None, wakeups: None })
            };
            self.counts.iter().filter_map(total).collect()
        };
        let measured = points(None);
        if measured.len() < LEAST_COUNTS {
            return none("a line needs four counts that were measured");
        }
        let Some(found) = robust::fit(&measured, LINE, NOISE) else { return none("no line goes through these counts") };
        let drawn: Vec<Option<Vec<f64>>> =
            bootstrap::draws(self.batches.len(), self.seed).map(|times| robust::fit(&points(Some(&times)), LINE, NOISE)).collect();
        let estimate = |place: usize| {
            let values: Vec<f64> = drawn.iter().map(|fit| fit.as_ref().map_or(f64::NAN, |fit| fit[place])).collect();
            self.claim.drawn(found[place], &values, self.batches)
        };
        let miss = |point: &Point| (point.time / (found[0] + found[1] * point.size) - 1.0).abs();
        let worst = measured.iter().map(miss).fold(0.0, f64::max);
        CountLine::Fitted { per_message_ns: estimate(1), fixed_ns: estimate(0), worst_residual: worst }
    }
}
