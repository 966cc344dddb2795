//! Trials of single sizes and of mixes, as predictions need them.

use std::collections::{BTreeSet, HashMap};

use model::cell::Series;
use model::{Bytes, Cell, Plan, Run, TrialRecord};

use crate::cost::Trials;
use crate::figures::{self, Figures, IrqPool};
use crate::stopping::Claim;
use stats::bootstrap::Batches;

/// Gathers the clean trials of streams of a run; of one with arms, those of the
/// baseline.
#[derive(Debug)]
pub struct Gatherer {
    plan: Plan,
    baseline: Option<String>,
    cells: Vec<CellTrials>,
    places: HashMap<Cell, usize>,
    blocks: BTreeSet<u32>,
}

/// The trials of one cell.
#[derive(Debug)]
pub struct CellTrials {
    /// The cell.
    pub cell: Cell,
    /// The figures of each trial.
    pub figures: Vec<Figures>,
    irq: [IrqPool; 2],
    segment: Option<Bytes>,
    /// Messages and bytes that were sent in all of them.
    pub sent: (u64, u64),
}

impl CellTrials {
    fn new(cell: &Cell) -> Self {
        Self { cell: cell.clone(), figures: Vec::new(), irq: Default::default(), segment: None, sent: (0, 0) }
    }

    /// The mean size of what was sent, in bytes; not a number when nothing was.
    pub fn mean_sent(&self) -> f64 {
        self.sent.1 as f64 / self.sent.0 as f64
    }

    /// As cost models take them.
    pub fn trials(&self) -> Trials<'_> {
        Trials { cell: &self.cell, figures: &self.figures, segment: self.segment }
    }
}

impl Gatherer {
    /// Of a run, without trials so far.
    pub fn new(run: &Run) -> Self {
        let baseline = run.plan.arms.first().map(|arm| arm.name.clone());
        Self { plan: run.plan.clone(), baseline, cells: Vec::new(), places: HashMap::new(), blocks: BTreeSet::new() }
    }

    /// Adds a trial.
    pub fn push(&mut self, record: &TrialRecord) {
        let Some(measured) = record.measured() else { return };
        let other_arm = record.arm.is_some() && record.arm != self.baseline;
        if !record.pass.is_clean() || other_arm || !record.cell.test.is_stream() {
            return;
        }
        let next = self.cells.len();
        let place = *self.places.entry(record.cell.clone()).or_insert(next);
        if place == next {
            self.cells.push(CellTrials::new(&record.cell));
        }
        let cell = &mut self.cells[place];
        self.blocks.insert(record.block);
        cell.irq[0].add(&measured.sender, &record.cell);
        cell.irq[1].add(&measured.receiver, &record.cell);
        cell.segment = cell.segment.max(figures::segment_size(measured));
        cell.sent.0 += measured.sender.counts.messages;
        cell.sent.1 += measured.sender.counts.bytes;
        cell.figures.push(Figures::of(record, measured, None));
    }

    /// All of it.
    pub fn finish(mut self) -> Gathered {
        for cell in &mut self.cells {
            cell.figures.iter_mut().for_each(|trial| trial.add_irq(&cell.irq));
        }
        let claim = Claim::of(&self.plan.blocks);
        Gathered { claim, batches: Batches::of(self.blocks.iter().copied()), seed: self.plan.seed, cells: self.cells }
    }
}

/// The trials of a run by cell.
#[derive(Debug)]
pub struct Gathered {
    /// The intervals that figures may claim.
    pub(super) claim: Claim,
    /// How blocks are resampled.
    pub(super) batches: Batches,
    /// Seed of the resampling.
    pub(super) seed: u64,
    cells: Vec<CellTrials>,
}

impl Gathered {
    /// Every series that a mix can be foretold from: cells without a mix or an
    /// offered rate that differ in size alone, at least two of them, the smallest
    /// first. In the order of their settings: that of trials was drawn.
    pub fn sweeps(&self) -> Vec<Vec<&CellTrials>> {
        let mut sweeps: Vec<(Series, Vec<&CellTrials>)> = Vec::new();
        for trials in &self.cells {
            let cell = &trials.cell;
            if cell.mix.is_some() || cell.rate.is_some() || cell.bidirectional || cell.stamp {
                continue;
            }
            let series = cell.series();
            match sweeps.iter_mut().find(|(known, _)| *known == series) {
                Some((_, members)) => members.push(trials),
                None => sweeps.push((series, vec![trials])),
            }
        }
        sweeps.retain(|(_, members)| members.len() > 1);
        sweeps.sort_by_cached_key(|(series, _)| series.clone());
        let sorted = |(_, mut members): (Series, Vec<_>)| {
            members.sort_by_key(|trials: &&CellTrials| trials.cell.size);
            members
        };
        sweeps.into_iter().map(sorted).collect()
    }

    /// A cell of each sweep, for making others like it.
    pub fn likes(&self) -> Vec<Cell> {
        self.sweeps().into_iter().filter_map(|sweep| sweep.first().map(|trials| trials.cell.clone())).collect()
    }

    /// The trials of a mix of this name in a series.
    pub fn mix(&self, name: &str, series: &Series) -> Option<&CellTrials> {
        let named = |cell: &Cell| cell.mix.as_ref().is_some_and(|mix| mix.name == name);
        self.cells.iter().find(|trials| named(&trials.cell) && trials.cell.series_of_sizes() == *series)
    }
}
