//! Rates that were offered: up to which one the sender kept to its schedule, and
//! from which one on those who wait see something else than a closed loop shows.
//!
//! A rate is reached where at most 1 % of its schedule was not sent in time, by
//! the median trial. Where it was not, what was sent stands next to it; nothing
//! is lowered.

mod result;
#[cfg(test)]
mod tests;

use model::plan::Factor;
use model::sorting::Order;
use model::{Arrivals, Cell, Pacing, Plan};

use super::{Context, Study};
use crate::cells::CellResult;
use crate::ends::MOST_BEHIND;
use crate::grouping::{but_for, group_by};
use crate::latency::{Latency, Percentile};
use crate::metric::Metric;

pub use result::*;

/// The corrected 99th percentile has left the uncorrected one from so many times
/// on: a sleeping sender's lateness alone is less.
pub const KNEE: f64 = 2.0;

/// The percents of the curves: every decade of the tail.
pub const PERCENTS: [f64; 12] = [10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 100.0];

/// The curves of one cell: round trips from the intended and from the actual time.
type Curves = [Vec<[f64; 2]>; 2];

/// The study of a run with cells that offer a rate.
#[derive(Debug)]
pub(crate) struct OpenLoop;

impl Study for OpenLoop {
    type Result = OpenLoopStudy;

    fn for_plan(_: &Plan) -> Option<Self> {
        Some(Self)
    }

    fn finish(self, context: &Context) -> Option<OpenLoopStudy> {
        let cells = &context.analysis.cells;
        let curves = |place: usize| {
            let trials = &context.table.arm(0)[place];
            [&trials.round_trips, &trials.uncorrected].map(|times| times.curve(&PERCENTS))
        };
        let offered = (0..cells.len()).filter(|place| cells[*place].cell.rate.is_some());
        let all = group_by(offered, |place| but_for(&cells[*place].cell, &[Factor::Rate]));
        let series: Vec<OpenLoopSeries> = all.into_iter().map(|(key, places)| one(cells, &key, &places, &curves)).collect();
        (!series.is_empty()).then_some(OpenLoopStudy { series })
    }
}

fn one(cells: &[CellResult], key: &Cell, places: &[usize], curves: &impl Fn(usize) -> Curves) -> OpenLoopSeries {
    let mut rates: Vec<RateResult> = places.iter().filter_map(|place| rate(&cells[*place], *place, curves(*place))).collect();
    rates.order_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s));
    let closed = Cell { pacing: Pacing::Sleep, arrivals: Arrivals::Periodic, ..key.clone() };
    OpenLoopSeries {
        series: key.series().to_string(),
        test: key.test,
        size: key.size,
        pacing: key.pacing,
        closed: cells.iter().position(|cell| cell.cell == closed),
        saturation: saturation(&rates),
        knee_per_s: knee(&rates, cells),
        rates,
    }
}

fn rate(cell: &CellResult, place: usize, [corrected, uncorrected]: Curves) -> Option<RateResult> {
    let rate = cell.cell.rate?;
    let behind = cell.metrics.get(&Metric::BehindShare).copied();
    Some(RateResult {
        cell: place,
        rate,
        offered_per_s: rate.messages_per_second(cell.cell.size) * f64::from(cell.cell.flows),
        sent_per_s: cell.metrics.get(&Metric::SentMessagesPerS).copied(),
        behind,
        reached: behind.map(|share| share.value <= MOST_BEHIND),
        corrected,
        uncorrected,
    })
}

fn saturation(rates: &[RateResult]) -> Saturation {
    let reached = rates.iter().take_while(|rate| rate.reached == Some(true)).last();
    let missed = rates.iter().find(|rate| rate.reached == Some(false));
    let most = rates.iter().filter_map(|rate| rate.sent_per_s).max_by(|a, b| a.value.total_cmp(&b.value));
    Saturation {
        reached_per_s: reached.map(|rate| rate.offered_per_s),
        missed_per_s: missed.map(|rate| rate.offered_per_s),
        most_sent_per_s: most,
    }
}

/// From the largest rate down, as long as the two have parted.
fn knee(rates: &[RateResult], cells: &[CellResult]) -> Option<f64> {
    let parted = rates.iter().rev().take_while(|rate| {
        let cell = &cells[rate.cell];
        let p99 = |times: &Option<Latency>| p99(times.as_ref()?);
        p99(&cell.latency).zip(p99(&cell.uncorrected)).is_some_and(|(corrected, uncorrected)| has_left(&corrected, &uncorrected))
    });
    parted.last().map(|rate| rate.offered_per_s)
}

/// Returns whether one time is shown to be so much longer than the other.
fn has_left(corrected: &Percentile, uncorrected: &Percentile) -> bool {
    let Some(shorter) = uncorrected.estimate.interval else { return false };
    // Of a lower bound the true one lies above it.
    let low = if corrected.at_least { Some(corrected.estimate.value) } else { corrected.estimate.interval.map(|ends| ends.low) };
    low.is_some_and(|low| low > shorter.high) && corrected.estimate.value >= KNEE * uncorrected.estimate.value
}

fn p99(times: &Latency) -> Option<Percentile> {
    times.percentiles.iter().find(|known| (known.percent - 99.0).abs() < 1e-6).copied()
}
