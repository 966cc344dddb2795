//! Messages that a trial needs, after Cabrera and others (1984): total time
//! against count, and the spread of the trials against it.
//!
//! ```text
//! trials -> CountSeries (total times by count and block) -> line: slope and intercept
//!        -> spread of each count -> settled? -> spread = c · count^-k -> the count to use
//! ```

mod result;
mod spread;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::plan::{Factor, PlanEnd, TrialEnd};
use model::sorting::{Gather, Order};
use model::{Cell, Plan};
use stats::bootstrap::Batches;

use super::{Context, Study};
use crate::confidence::Confidence;
use crate::ends;
use crate::grouping::{but_for, group_by};
use crate::table::Trial;

pub use result::*;

/// The precision that a count is advised for: 0.1 ms of 10 ms was the aim of 1984.
pub const PRECISION: f64 = 0.01;
/// The runs whose mean is to have it, as many as in 1984.
pub const RUNS: usize = 5;

/// The study of a plan with cells that differ in their count alone.
#[derive(Debug)]
pub(crate) struct Repetitions {
    end: PlanEnd,
    /// By the place of each cell of a series.
    cells: BTreeMap<usize, Totals>,
    /// Places of cells that differ in their count alone.
    series: Vec<(Cell, Vec<usize>)>,
}

/// The total times of a cell.
#[derive(Debug, Default)]
struct Totals {
    /// In ns by block, of trials that were whole.
    whole: BTreeMap<u32, f64>,
    /// The number of those that were not.
    short: usize,
}

/// One series, ready to be resampled.
#[derive(Debug)]
struct CountSeries<'a> {
    /// By rising count: the count, and the total time of each block.
    counts: Vec<(u64, &'a BTreeMap<u32, f64>)>,
    batches: &'a Batches,
    confidence: Confidence,
    seed: u64,
}

impl Study for Repetitions {
    type Result = RepetitionStudy;

    fn for_plan(plan: &Plan) -> Option<Self> {
        let counted = |cell: &Cell| cell.count.is_some() || matches!(plan.end, PlanEnd::Messages(_));
        let cells = (0..plan.cells.len()).filter(|place| counted(&plan.cells[*place]));
        let mut series = group_by(cells, |place| but_for(&plan.cells[*place], &[Factor::Count]));
        series.retain(|(_, places)| places.len() > 1);
        let cells = series.iter().flat_map(|(_, places)| places).map(|place| (*place, Totals::default())).into_map();
        (!series.is_empty()).then_some(Self { end: plan.end, cells, series })
    }

    fn push(&mut self, trial: &Trial) {
        let Some(totals) = self.cells.get_mut(&trial.place).filter(|_| trial.arm == 0) else { return };
        let TrialEnd::Messages(count) = self.end.of(trial.cell) else { return };
        let receiver = &trial.measured.receiver;
        let total = receiver.window.length().get();
        // Of a stream of bytes the last read may end within a message.
        let arrived = ends::messages(receiver, &receiver.counts, trial.cell).round();
        match total > 0 && arrived >= count as f64 {
            true => _ = totals.whole.insert(trial.record.block, total as f64),
            false => totals.short += 1,
        }
    }

    fn finish(self, context: &Context) -> Option<RepetitionStudy> {
        Some(self.study(context.plan(), context.batches, context.confidence))
    }
}

impl Repetitions {
    fn study(&self, plan: &Plan, batches: &Batches, confidence: Confidence) -> RepetitionStudy {
        let one = |(key, places): &(Cell, Vec<usize>)| self.one(key, places, plan, batches, confidence);
        RepetitionStudy { precision: PRECISION, runs: RUNS, series: self.series.iter().map(one).collect() }
    }

    fn one(&self, key: &Cell, places: &[usize], plan: &Plan, batches: &Batches, confidence: Confidence) -> RepetitionSeries {
        let count = |place: &usize| match plan.end.of(&plan.cells[*place]) {
            TrialEnd::Messages(count) => count,
            TrialEnd::Length(_) => 0,
        };
        let mut places = places.to_vec();
        places.order_by_key(count);
        let counts: Vec<(u64, &BTreeMap<u32, f64>)> = places.iter().map(|place| (count(place), &self.cells[place].whole)).collect();
        let series = CountSeries { counts, batches, confidence, seed: plan.seed };
        let results = series.counts.iter().zip(&places).map(|((count, totals), place)| {
            let totals: Vec<f64> = totals.values().copied().collect();
            CountResult {
                count: *count,
                cell: *place,
                total_ns: confidence.estimate(&totals),
                spread: spread::spread(&totals, confidence),
                short: self.cells[place].short,
            }
        });
        let counts: Vec<CountResult> = results.collect();
        let law = series.law();
        RepetitionSeries {
            series: key.series().to_string(),
            test: key.test,
            size: key.size,
            line: series.line(&counts),
            settled: series.settled(),
            advice: series.advice(&counts, law.as_ref()),
            law: law.map(|law| law.law),
            counts,
        }
    }
}

impl CountSeries<'_> {
    /// The total times of a count in one draw of batches: each as often as its
    /// batch was drawn.
    fn drawn(&self, totals: &BTreeMap<u32, f64>, times: &[u32]) -> Vec<f64> {
        let of_block = |(block, total): (&u32, &f64)| {
            let times = self.batches.of_block(*block).and_then(|batch| times.get(batch)).copied().unwrap_or_default();
            std::iter::repeat_n(*total, times as usize)
        };
        totals.iter().flat_map(of_block).collect()
    }
}
