//! Scatter of the trials of one count, and the count to use that follows.
//!
//! The spread is 1.4826 times the median absolute deviation (Hampel 1974): one
//! trial of twenty that the machine disturbed leaves it as it is. Its interval is
//! the exact one of the median of the deviations, whose centre is taken as known.
//! Spreads are compared by their deviations' ranks (Fligner and Killeen 1976), each
//! count against the largest, all held together by Holm's procedure.
//!
//! Next to it stands the total time against the count: a robust line through the counts' medians.

use std::collections::BTreeMap;

use stats::cost::design::{LINE, Point};
use stats::cost::linear::solve;
use stats::cost::robust;
use stats::distribution::student_critical;
use stats::estimate::Estimate;
use stats::holm::holm;
use stats::ranks::Nulls;
use stats::{bootstrap, median};

use super::{Advice, CountLine, CountResult, CountSeries, PRECISION, RUNS, SpreadLaw, Trend};
use crate::confidence::Confidence;

/// From a median absolute deviation to a standard deviation of normal data.
const NORMAL: f64 = 1.4826;
/// Counts that a law or a line is fitted to: a line through fewer could not show that it is none.
const LEAST_COUNTS: usize = 4;
/// Student's 97.5 % quantile for the mean of [`RUNS`] values: four degrees of freedom.
const STUDENT: f64 = 2.776;
/// More runs than this nobody makes.
const MOST_RUNS: usize = 100_000;
/// A law says nothing of counts so many times beyond the largest.
const FARTHEST: f64 = 100.0;
/// The count at which the law's factor is given.
const THOUSAND: f64 = 1_000.0;

/// A law with what it became in each draw.
pub struct Law {
    pub law: SpreadLaw,
    /// Factor at a thousand and exponent of each draw.
    draws: Vec<[f64; 2]>,
}

/// Deviations from the median, as shares of it; empty of too few.
fn deviations(totals: &[f64]) -> Vec<f64> {
    match median::median(totals).filter(|centre| *centre > 0.0 && totals.len() > 2) {
        Some(centre) => totals.iter().map(|total| (total / centre - 1.0).abs()).collect(),
        None => Vec::new(),
    }
}

/// The spread of these times.
pub fn spread(totals: &[f64], confidence: Confidence) -> Option<Estimate> {
    Some(confidence.estimate(&deviations(totals))?.map(|deviation| deviation * NORMAL))
}

/// The spread that the mean of the runs must have for the precision.
fn wanted() -> f64 {
    PRECISION * (RUNS as f64).sqrt() / STUDENT
}

/// The advice to use the smallest count.
fn smallest(least: &CountResult) -> Advice {
    let high = least.spread.and_then(|spread| spread.interval).map(|ends| ends.high);
    Advice::Least { count: least.count, shown: high.is_some_and(|high| high <= wanted()) }
}

/// Runs of such a spread whose mean has the precision.
fn runs(spread: f64) -> usize {
    let enough = |runs: &usize| student_critical(0.95, (*runs - 1) as f64) * spread / (*runs as f64).sqrt() <= PRECISION;
    // Student's quantile is above the normal one, so that fewer never do.
    let least = (1.95 * spread / PRECISION).powi(2) as usize;
    (least.max(RUNS + 1)..MOST_RUNS).find(enough).unwrap_or(MOST_RUNS)
}

/// Factor at a thousand and exponent of the least squares line through the
/// logarithms; `None` of too few spreads above 0.
fn law(points: &[(f64, f64)]) -> Option<[f64; 2]> {
    let points: Vec<&(f64, f64)> = points.iter().filter(|(_, spread)| *spread > 0.0).collect();
    if points.len() < LEAST_COUNTS {
        return None;
    }
    let rows: Vec<Vec<f64>> = points.iter().map(|(count, _)| vec![1.0, -(count / THOUSAND).ln()]).collect();
    let logs: Vec<f64> = points.iter().map(|(_, spread)| spread.ln()).collect();
    let found = solve(&rows, &logs, &vec![1.0; logs.len()])?;
    Some([found[0].exp(), found[1]])
}

/// The count at which a law gives the wanted spread.
fn count([factor, exponent]: [f64; 2]) -> f64 {
    THOUSAND * (factor / wanted()).powf(1.0 / exponent)
}

impl CountSeries<'_> {
    /// The law of the spread.
    pub(super) fn law(&self) -> Option<Law> {
        let spread = |totals: &[f64]| median::median(&deviations(totals)).map_or(0.0, |deviation| deviation * NORMAL);
        let points = |of: &dyn Fn(&BTreeMap<u32, f64>) -> Vec<f64>| -> Vec<(f64, f64)> {
            self.counts.iter().map(|(count, totals)| (*count as f64, spread(&of(totals)))).collect()
        };
        let found = law(&points(&|totals| totals.values().copied().collect()))?;
        let draw = |times: Vec<u32>| law(&points(&|totals| self.drawn(totals, &times))).unwrap_or([f64::NAN; 2]);
        let draws: Vec<[f64; 2]> = bootstrap::draws(self.batches.len(), self.seed).map(draw).collect();
        let estimate = |place: usize| {
            let values: Vec<f64> = draws.iter().map(|draw| draw[place]).collect();
            self.confidence.drawn(found[place], &values, self.batches)
        };
        Some(Law { law: SpreadLaw { exponent: estimate(1), at_thousand: estimate(0) }, draws })
    }

    /// The smallest count from which on no spread is shown to be larger than the
    /// last one's.
    pub(super) fn settled(&self) -> Option<u64> {
        let all: Vec<Vec<f64>> = self.counts.iter().map(|(_, totals)| deviations(&totals.values().copied().collect::<Vec<_>>())).collect();
        let (last, others) = all.split_last()?;
        let mut nulls = Nulls::default();
        let p = others.iter().map(|other| {
            let shifts = nulls.unpaired(last, other)?;
            // A smaller spread is nobody's worry.
            Some(if shifts.value() > 0.0 { shifts.p(0.0) } else { 1.0 })
        });
        let adjusted = holm(&p.collect::<Option<Vec<f64>>>()?);
        let larger = adjusted.iter().rposition(|p| *p <= 1.0 - self.confidence.found_at());
        Some(self.counts[larger.map_or(0, |place| place + 1)].0)
    }

    /// The count to use.
    pub(super) fn advice(&self, counts: &[CountResult], law: Option<&Law>) -> Advice {
        let spreads: Vec<f64> = counts.iter().filter_map(|count| count.spread).map(|spread| spread.value).collect();
        let (Some(spread), Some(least), Some(most)) = (median::median(&spreads), counts.first(), counts.last()) else {
            return Advice::Unknown;
        };
        let trend = Trend::of(law.map(|law| &law.law));
        let Some(law) = law.filter(|_| trend == Trend::Falls) else {
            return match spread <= wanted() {
                true => smallest(least),
                false => Advice::MoreRuns { spread, trend, runs: runs(spread) },
            };
        };
        let needed = count([law.law.at_thousand.value, law.law.exponent.value]);
        if needed <= least.count as f64 {
            return smallest(least);
        }
        if needed > FARTHEST * most.count as f64 {
            let last = most.spread.map_or(spread, |spread| spread.value);
            return Advice::MoreRuns { spread: last, trend, runs: runs(last) };
        }
        let drawn: Vec<f64> = law.draws.iter().map(|draw| if draw[1] > 0.0 { count(*draw) } else { f64::NAN }).collect();
        Advice::Count { count: self.confidence.drawn(needed, &drawn, self.batches), beyond: needed > most.count as f64 }
    }
}
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
            self.confidence.drawn(found[place], &values, self.batches)
        };
        let miss = |point: &Point| (point.time / (found[0] + found[1] * point.size) - 1.0).abs();
        let worst = measured.iter().map(miss).fold(0.0, f64::max);
        CountLine::Fitted { per_message_ns: estimate(1), fixed_ns: estimate(0), worst_residual: worst }
    }
}
