//! How many messages a trial needs, after Cabrera and others (1984): total time
//! against count, and the spread of the trials against it.
//!
//! ```text
//! trials -> Series (total times by count and block) -> line: slope and intercept
//!        -> spread of each count -> settled? -> spread = c · count^-k -> the count to use
//! ```

mod line;
mod spread;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::plan::PlanEnd;
use model::trial::Measured;
use model::{Cell, Plan, TrialRecord};

use crate::figures;
use crate::result::repetitions::{CountResult, RepetitionSeries, RepetitionStudy};
use crate::stopping::Claim;
use stats::bootstrap::Batches;

/// The precision that a count is advised for: 0.1 ms of 10 ms was the aim of 1984.
pub const PRECISION: f64 = 0.01;
/// The runs whose mean is to have it, as many as in 1984.
pub const RUNS: usize = 5;

/// Gathers the trials of cells that have a count of their own.
#[derive(Debug)]
pub struct Repetitions {
    /// By place: block and total time in ns of each trial that was whole, and
    /// how many were not.
    cells: BTreeMap<usize, (BTreeMap<u32, f64>, usize)>,
    /// Cells that differ in their count alone, where there are several.
    series: Vec<(Cell, Vec<usize>)>,
}

/// One series, ready to be resampled.
#[derive(Debug)]
struct Series<'a> {
    /// By rising count: the count, and the total time of each block.
    counts: Vec<(u64, &'a BTreeMap<u32, f64>)>,
    batches: &'a Batches,
    claim: Claim,
    seed: u64,
}

impl Repetitions {
    /// Of a plan.
    pub fn new(plan: &Plan) -> Self {
        let mut series: Vec<(Cell, Vec<usize>)> = Vec::new();
        let counted = |cell: &Cell| cell.count.is_some() || matches!(plan.end, PlanEnd::Messages(_));
        for (place, cell) in plan.cells.iter().enumerate().filter(|(_, cell)| counted(cell)) {
            let key = Cell { count: None, ..cell.clone() };
            match series.iter_mut().find(|(known, _)| *known == key) {
                Some((_, places)) => places.push(place),
                None => series.push((key, vec![place])),
            }
        }
        series.retain(|(_, places)| places.len() > 1);
        let cells = series.iter().flat_map(|(_, places)| places).map(|place| (*place, Default::default())).collect();
        Self { cells, series }
    }

    /// Keeps a trial of the cell at a place.
    pub fn keep(&mut self, place: usize, record: &TrialRecord, measured: &Measured, end: PlanEnd) {
        let Some((totals, short)) = self.cells.get_mut(&place) else { return };
        let model::plan::TrialEnd::Messages(count) = end.of(&record.cell) else { return };
        let total = measured.receiver.window.length().get();
        // Of a stream of bytes the last read may end within a message.
        let arrived = figures::messages(&measured.receiver, &measured.receiver.counts, &record.cell).round();
        match total > 0 && arrived >= count as f64 {
            true => _ = totals.insert(record.block, total as f64),
            false => *short += 1,
        }
    }

    /// What they show; `None` where no cells differ in their count alone.
    pub fn finish(&self, plan: &Plan, batches: &Batches, claim: Claim) -> Option<RepetitionStudy> {
        let one = |(key, places): &(Cell, Vec<usize>)| self.one(key, places, plan, batches, claim);
        let series: Vec<RepetitionSeries> = self.series.iter().map(one).collect();
        (!series.is_empty()).then_some(RepetitionStudy { precision: PRECISION, runs: RUNS, series })
    }

    fn one(&self, key: &Cell, places: &[usize], plan: &Plan, batches: &Batches, claim: Claim) -> RepetitionSeries {
        let count = |place: &usize| match plan.end.of(&plan.cells[*place]) {
            model::plan::TrialEnd::Messages(count) => count,
            model::plan::TrialEnd::Length(_) => 0,
        };
        let mut places = places.to_vec();
        places.sort_by_key(count);
        let counts: Vec<(u64, &BTreeMap<u32, f64>)> = places.iter().map(|place| (count(place), &self.cells[place].0)).collect();
        let series = Series { counts, batches, claim, seed: plan.seed };
        let results = series.counts.iter().zip(&places).map(|((count, totals), place)| {
            let totals: Vec<f64> = totals.values().copied().collect();
            CountResult {
                count: *count,
                cell: *place,
                total_ns: claim.estimate(&totals),
                spread: spread::of(&totals, claim),
                short: self.cells[place].1,
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

impl Series<'_> {
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
