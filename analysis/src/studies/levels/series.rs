//! One series at each level of a condition: ratios to the base, the curve over
//! sizes, what each unit costs.

use std::collections::{BTreeMap, BTreeSet};

use model::plan::{Factor, LinkKind};
use model::sorting::Gather;
use model::{Bytes, Cell, Test};

use super::axis::{self, Ladder};
use super::usage;
use super::{BothLoaded, CellUsage, Curve, Level, LevelFigure, LevelMetric, SeriesLevels, SizeFigure, Standing, Step, figure};
use crate::confidence::Confidence;
use crate::figures::Figures;
use crate::table::CellTrials;
use crate::verdict::{Direction, Options, Values, compare};
use stats::estimate::Estimate;
use stats::ranks::Nulls;

/// Both ends loaded are as one where the ratio lies between 1 / this and this.
pub const NEAR: f64 = 1.25;

/// A cell at a level that has trials.
#[derive(Clone, Copy)]
pub struct CellAtLevel<'a> {
    pub place: usize,
    pub trials: &'a CellTrials,
    pub usage: Option<&'a CellUsage>,
}

/// The cells of a series at one level, by the base's sizes.
pub struct AtLevel<'a> {
    /// One of them, without the plan's own link.
    pub cell: Cell,
    pub cells: Vec<Option<CellAtLevel<'a>>>,
}

/// A series at all levels, the base first.
pub struct LevelSeries<'a> {
    pub factor: Factor,
    pub name: String,
    pub test: Test,
    pub sizes: Vec<Bytes>,
    pub levels: Vec<AtLevel<'a>>,
}

impl LevelSeries<'_> {
    /// The comparisons of its levels.
    pub fn result(&self, plan: &LinkKind, confidence: Confidence) -> SeriesLevels {
        let levels = (0..self.levels.len()).map(|place| self.level(place, plan, confidence)).collect();
        SeriesLevels {
            series: self.name.clone(),
            test: self.test,
            sizes: self.sizes.clone(),
            levels,
            steps: self.steps(confidence),
            both: self.both(confidence),
        }
    }

    fn level(&self, place: usize, plan: &LinkKind, confidence: Confidence) -> Level {
        let level = &self.levels[place];
        let figures =
            LevelMetric::ALL.iter().filter_map(|compared| Some((*compared, self.figure(place, *compared, confidence)?))).collect();
        let used = || level.cells.iter().flatten().filter_map(|cell| cell.usage);
        let mut notes = usage::Notes::default();
        used().for_each(|usage| notes.merge(&usage.notes));
        Level {
            name: axis::name(self.factor, &level.cell, plan),
            cells: level.cells.iter().map(|cell| cell.map(|cell| cell.place)).collect(),
            took: usage::took(used().flat_map(|usage| &usage.trials), &notes, confidence),
            figures,
            curve: self.curve(place, confidence),
        }
    }

    /// `None` of a figure that the level does not have.
    fn figure(&self, place: usize, compared: LevelMetric, confidence: Confidence) -> Option<LevelFigure> {
        let own = self.levels[place].values(compared);
        if own.iter().all(BTreeMap::is_empty) {
            return None;
        }
        let base = self.levels[0].values(compared);
        let (against, mean) = match (place, compared.is_difference()) {
            (0, _) => (vec![None; own.len()], None),
            (_, true) => differences(&base, &own, confidence),
            (_, false) => ratios(base, own.clone(), confidence),
        };
        let by_size = own.iter().zip(against).map(|(own, against_base)| {
            let values: Vec<f64> = own.values().copied().collect();
            SizeFigure { value: confidence.estimate(&values), against_base }
        });
        Some(LevelFigure { by_size: by_size.collect(), mean })
    }

    /// The curve of a stream that has both the smallest and the largest size.
    fn curve(&self, place: usize, confidence: Confidence) -> Option<Curve> {
        if self.sizes.len() < 2 || !self.test.is_stream() {
            return None;
        }
        let rise = |place: usize| -> Option<BTreeMap<u32, f64>> {
            let ends = [self.levels[place].cells.first()?, self.levels[place].cells.last()?];
            let [small, large] = ends.map(|cell| cell.map(|cell| cell.values(LevelMetric::Throughput)));
            let (small, large) = (small?, large?);
            Some(small.iter().filter_map(|(block, small)| Some((*block, large.get(block)? / small))).collect())
        };
        let own = rise(place)?;
        let value = confidence.estimate(&own.values().copied().collect::<Vec<_>>())?;
        let against_base = (place > 0).then(|| ratios(vec![rise(0)?], vec![own], confidence).0[0]).flatten();
        Some(Curve { rise: value, against_base, flatter: side(against_base.as_ref(), |ratio| ratio < 1.0, |ratio| ratio > 1.0) })
    }

    /// The throughput at one level over that at another, all sizes together.
    fn throughput(&self, before: usize, after: usize, confidence: Confidence) -> Option<Estimate> {
        let of = |place: usize| self.levels[place].values(LevelMetric::Throughput);
        ratios(of(before), of(after), confidence).1
    }

    /// The levels by ladder and units.
    fn ladders(&self) -> BTreeMap<Ladder, BTreeMap<u32, usize>> {
        let mut ladders: BTreeMap<Ladder, BTreeMap<u32, usize>> = BTreeMap::new();
        for (place, level) in self.levels.iter().enumerate() {
            for (ladder, units) in axis::rungs(self.factor, &level.cell.conditions) {
                ladders.entry(ladder).or_default().insert(units, place);
            }
        }
        ladders
    }

    fn steps(&self, confidence: Confidence) -> Vec<Step> {
        let mut steps = Vec::new();
        for (ladder, rungs) in self.ladders() {
            let rungs: Vec<(u32, usize)> = rungs.into_iter().collect();
            steps.extend(rungs.windows(2).map(|pair| Step {
                at: ladder.name().to_owned(),
                from: pair[0].0,
                to: pair[1].0,
                ratio: self.throughput(pair[0].1, pair[1].1, confidence),
            }));
        }
        steps
    }

    fn both(&self, confidence: Confidence) -> Vec<BothLoaded> {
        if self.factor != Factor::Load {
            return Vec::new();
        }
        let ladders = self.ladders();
        let both = ladders.get(&Ladder::Both).into_iter().flatten().filter(|(units, _)| **units > 0);
        let one = |units: u32, place: usize| {
            let end = |ladder: Ladder| {
                let alone = *ladders.get(&ladder)?.get(&units)?;
                Some((ladder.name().to_owned(), alone, self.throughput(0, alone, confidence)?.value))
            };
            let (one, alone, _) = [Ladder::Sender, Ladder::Receiver].into_iter().filter_map(end).min_by(|a, b| a.2.total_cmp(&b.2))?;
            let ratio = self.throughput(alone, place, confidence);
            let near = side(ratio.as_ref(), |ratio| ratio > 1.0 / NEAR && ratio < NEAR, |_| false);
            // Beyond either bound, the whole of it.
            let far =
                [side(ratio.as_ref(), |ratio| ratio <= 1.0 / NEAR, |_| false), side(ratio.as_ref(), |ratio| ratio >= NEAR, |_| false)];
            let near = if far.contains(&Standing::Holds) { Standing::Fails } else { near };
            Some(BothLoaded { units, one, ratio, near })
        };
        both.filter_map(|(units, place)| one(*units, *place)).collect()
    }
}

/// Returns whether both ends of an interval say one thing or the other.
fn side(estimate: Option<&Estimate>, holds: fn(f64) -> bool, fails: fn(f64) -> bool) -> Standing {
    let Some(ends) = estimate.and_then(|estimate| estimate.interval) else { return Standing::NotShown };
    if holds(ends.low) && holds(ends.high) {
        Standing::Holds
    } else if fails(ends.low) && fails(ends.high) {
        Standing::Fails
    } else {
        Standing::NotShown
    }
}

/// Ratios by size, and their geometric mean; each with its own interval.
fn ratios(
    base: Vec<BTreeMap<u32, f64>>,
    own: Vec<BTreeMap<u32, f64>>,
    confidence: Confidence,
) -> (Vec<Option<Estimate>>, Option<Estimate>) {
    let options = Options { confidence: confidence.found_at(), ..Options::default() };
    let values: Vec<Values> = base.into_iter().zip(own).map(|(baseline, candidate)| Values { baseline, candidate }).collect();
    // Which way is better changes verdicts alone.
    let comparison = compare(&values, Direction::HigherIsBetter, &options);
    (comparison.cells.iter().map(|judged| judged.ratio).collect(), comparison.overall.mean.ratio)
}

/// Differences by size, and their mean over sizes.
fn differences(
    base: &[BTreeMap<u32, f64>],
    own: &[BTreeMap<u32, f64>],
    confidence: Confidence,
) -> (Vec<Option<Estimate>>, Option<Estimate>) {
    let mut nulls = Nulls::default();
    let mut estimate = |values: Vec<f64>| Some(nulls.paired(&values)?.estimate(confidence.found_at(), values.len()));
    let pairs = |base: &BTreeMap<u32, f64>, own: &BTreeMap<u32, f64>| -> BTreeMap<u32, f64> {
        own.iter().filter_map(|(block, own)| Some((*block, own - base.get(block)?))).collect()
    };
    let all: Vec<BTreeMap<u32, f64>> = base.iter().zip(own).map(|(base, own)| pairs(base, own)).collect();
    let blocks: BTreeSet<u32> = all.iter().flat_map(BTreeMap::keys).copied().into_set();
    let mean = |block: u32| {
        let known: Vec<f64> = all.iter().filter_map(|size| size.get(&block).copied()).collect();
        known.iter().sum::<f64>() / known.len() as f64
    };
    let by_size = all.iter().map(|size| estimate(size.values().copied().collect())).collect();
    (by_size, estimate(blocks.into_iter().map(mean).collect()))
}

impl AtLevel<'_> {
    /// A figure of each block, cell by cell.
    fn values(&self, compared: LevelMetric) -> Vec<BTreeMap<u32, f64>> {
        self.cells.iter().map(|cell| cell.map(|cell| cell.values(compared)).unwrap_or_default()).collect()
    }
}

impl CellAtLevel<'_> {
    /// A figure of each block.
    fn values(&self, compared: LevelMetric) -> BTreeMap<u32, f64> {
        let value = |trial: &Figures| Some((trial.block, figure(compared, trial, &self.trials.cell)?));
        self.trials.figures.iter().filter_map(value).collect()
    }
}
