//! Levels of a condition, laid side by side: load, other traffic, links,
//! priorities, placement.
//!
//! ```text
//! trials -> CellData (a value of each figure a block, what the condition took)
//!        -> axis: which cells are equal but for one condition -> Series -> SeriesLevels
//!        -> findings: what is beyond a factor of two
//! ```
//!
//! Pairs are of trials of one block. Each trial counts the interrupt time that
//! it read itself, as those of arms do: what is pooled over the trials of a cell
//! would shift all of its pairs alike, and pass for a difference.

mod axis;
mod findings;
mod series;
mod taken;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::condition::Conditions;
use model::plan::{Factor, LinkKind};
use model::trial::Measured;
use model::{Bytes, Cell, Plan, TrialRecord};

use crate::figures::{Figures, IrqPool};
use crate::latency::RoundTrips;
use crate::result::Metric;
use crate::result::levels::{Compared, FactorLevels, LevelStudy};
use crate::stopping::Claim;
use series::{AtLevel, Series};

/// A percentile needs as many transactions beyond it to be one: of the 99th
/// percentile of a trial at least 1,000.
const LEAST_TRANSACTIONS: u64 = 1_000;

/// What is kept of one trial.
#[derive(Debug, Clone)]
struct Trial {
    block: u32,
    /// In the order of [`Compared::ALL`].
    values: [Option<f64>; Compared::ALL.len()],
    took: Option<taken::Use>,
}

/// What is kept of one cell.
#[derive(Debug, Default)]
struct CellData {
    trials: Vec<Trial>,
    notes: taken::Notes,
}

/// Gathers the trials of a plan that varies conditions; of any other nothing.
#[derive(Debug)]
pub struct Levels {
    varies: bool,
    link: LinkKind,
    cells: BTreeMap<usize, CellData>,
}

impl Levels {
    /// Of a plan.
    pub fn new(plan: &Plan) -> Self {
        let link = plan.link.kind;
        let mut conditions = plan.cells.iter().map(|cell| axis::plain(&cell.conditions, &link));
        let first = conditions.next();
        Self { varies: conditions.any(|other| Some(other) != first), link, cells: BTreeMap::new() }
    }

    /// Keeps a trial of the cell at a place.
    pub fn keep(&mut self, place: usize, record: &TrialRecord, measured: &Measured, figures: &Figures, trips: Option<&RoundTrips>) {
        if !self.varies {
            return;
        }
        let cell = &record.cell;
        let mut own = figures.clone();
        let mut irq = [IrqPool::default(); 2];
        irq[0].add(&measured.sender, cell);
        irq[1].add(&measured.receiver, cell);
        own.add_irq(&irq);
        let mut values = [None; Compared::ALL.len()];
        for (value, compared) in values.iter_mut().zip(Compared::ALL) {
            *value = figure(*compared, &own, cell, trips).filter(|value| value.is_finite());
        }
        let link = cell.conditions.link.unwrap_or(self.link);
        let data = self.cells.entry(place).or_default();
        data.trials.push(Trial { block: record.block, values, took: taken::Use::of(measured, &link) });
        if let Some(taken) = &measured.conditions {
            data.notes.add(taken);
        }
    }

    /// What they show of these cells; `None` where nothing stands beside a base.
    pub fn finish(&self, cells: &[Cell], claim: Claim) -> Option<LevelStudy> {
        if !self.varies {
            return None;
        }
        let factor = |factor: &Factor| {
            let series: Vec<_> = self.series(*factor, cells).iter().map(|series| series.result(&self.link, claim)).collect();
            (!series.is_empty()).then_some(FactorLevels { factor: *factor, series })
        };
        let factors: Vec<FactorLevels> = axis::AXES.iter().filter_map(factor).collect();
        let mut found: Vec<_> = factors.iter().flat_map(|of| of.series.iter().flat_map(|series| findings::of(of.factor, series))).collect();
        findings::sort(&mut found);
        (!factors.is_empty()).then_some(LevelStudy { factors, findings: found })
    }

    /// Cells that are equal but for one condition and their size; those alone
    /// that have several levels of it.
    fn series<'a>(&'a self, factor: Factor, cells: &'a [Cell]) -> Vec<Series<'a>> {
        type Members<'a> = Vec<(Conditions, Vec<(usize, &'a Cell)>)>;
        let mut all: Vec<(model::cell::Series, Members)> = Vec::new();
        for (place, cell) in cells.iter().enumerate() {
            let conditions = axis::plain(&cell.conditions, &self.link);
            let key = cell.series().under(axis::without(factor, &conditions));
            let series = match all.iter().position(|(known, _)| *known == key) {
                Some(found) => found,
                None => {
                    all.push((key, Vec::new()));
                    all.len() - 1
                }
            };
            let levels = &mut all[series].1;
            match levels.iter_mut().find(|(known, _)| *known == conditions) {
                Some((_, members)) => members.push((place, cell)),
                None => levels.push((conditions, vec![(place, cell)])),
            }
        }
        let several = all.into_iter().filter(|(_, levels)| levels.len() > 1);
        several.map(|(key, levels)| self.one(factor, key.to_string(), levels)).collect()
    }

    /// A series with its base first: the usual level, else the first of the plan.
    fn one<'a>(&'a self, factor: Factor, name: String, mut levels: Vec<(Conditions, Vec<(usize, &'a Cell)>)>) -> Series<'a> {
        let base = levels.iter().position(|(conditions, _)| axis::without(factor, conditions) == *conditions).unwrap_or(0);
        levels[..=base].rotate_right(1);
        let mut sizes: Vec<Bytes> = levels[0].1.iter().map(|(_, cell)| cell.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let cell = levels[0].1[0].1;
        let at = |(conditions, members): (Conditions, Vec<(usize, &Cell)>)| {
            let of_size = |size: &Bytes| {
                let place = members.iter().find(|(_, cell)| cell.size == *size)?.0;
                Some((place, self.cells.get(&place)?))
            };
            AtLevel { conditions, cells: sizes.iter().map(of_size).collect() }
        };
        let levels = levels.into_iter().map(at).collect();
        Series { factor, name, cell, sizes, levels }
    }
}

/// A figure of one trial.
fn figure(compared: Compared, figures: &Figures, cell: &Cell, trips: Option<&RoundTrips>) -> Option<f64> {
    let stream = cell.test.is_stream();
    match compared {
        Compared::Throughput => figures.get(if stream { Metric::GoodputBitPerS } else { Metric::MessagesPerS }),
        Compared::SenderTime => figures.get(Metric::SentMessagesPerS).filter(|rate| stream && *rate > 0.0).map(|rate| 1e9 / rate),
        Compared::SenderCpu => figures.get(Metric::SenderCpuPerMessageNs),
        Compared::ReceiverCpu => figures.get(Metric::ReceiverCpuPerMessageNs),
        Compared::RoundTripP50 => figures.get(Metric::RoundTripP50Ns),
        Compared::RoundTripP99 => trips.filter(|trips| trips.transactions() >= LEAST_TRANSACTIONS)?.percentile(99.0),
        Compared::Loss => figures.get(Metric::LossShare),
    }
}
