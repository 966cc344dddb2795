//! One series at each level of a condition: ratios to the base, the curve over
//! sizes, what each unit costs.

use std::collections::{BTreeMap, BTreeSet};

use model::condition::Conditions;
use model::plan::{Factor, LinkKind};
use model::{Bytes, Cell};

use super::axis;
use super::taken;
use super::{BothLoaded, Compared, Curve, Level, LevelFigure, SeriesLevels, Shown, SizeFigure, Step, Taken, figure};
use crate::claim::Claim;
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
    pub taken: Option<&'a Taken>,
}

/// The cells of a series at one level, by the base's sizes.
pub struct AtLevel<'a> {
    pub conditions: Conditions,
    pub cells: Vec<Option<CellAtLevel<'a>>>,
}

/// A series at all levels, the base first.
pub struct Series<'a> {
    pub factor: Factor,
    pub name: String,
    pub cell: &'a Cell,
    pub sizes: Vec<Bytes>,
    pub levels: Vec<AtLevel<'a>>,
}

impl Series<'_> {
    /// What it shows.
    pub fn result(&self, plan: &LinkKind, claim: Claim) -> SeriesLevels {
        let levels = (0..self.levels.len()).map(|place| self.level(place, plan, claim)).collect();
        SeriesLevels {
            series: self.name.clone(),
            test: self.cell.test,
            sizes: self.sizes.clone(),
            levels,
            steps: self.steps(claim),
            both: self.both(claim),
        }
    }

    fn level(&self, place: usize, plan: &LinkKind, claim: Claim) -> Level {
        let level = &self.levels[place];
        let figures = Compared::ALL.iter().filter_map(|compared| Some((*compared, self.figure(place, *compared, claim)?))).collect();
        let taken = || level.cells.iter().flatten().filter_map(|cell| cell.taken);
        let mut notes = taken::Notes::default();
        taken().for_each(|taken| notes.merge(&taken.notes));
        Level {
            name: axis::name(self.factor, &level.conditions, plan),
            cells: level.cells.iter().map(|cell| cell.map(|cell| cell.place)).collect(),
            took: taken::took(taken().flat_map(|taken| &taken.uses), &notes, claim),
            figures,
            curve: self.curve(place, claim),
        }
    }

    /// `None` of a figure that the level does not have.
    fn figure(&self, place: usize, compared: Compared, claim: Claim) -> Option<LevelFigure> {
        let values = |cell: &Option<CellAtLevel>| cell.map(|cell| cell.values(compared)).unwrap_or_default();
        let own: Vec<BTreeMap<u32, f64>> = self.levels[place].cells.iter().map(values).collect();
        if own.iter().all(BTreeMap::is_empty) {
            return None;
        }
        let base: Vec<BTreeMap<u32, f64>> = self.levels[0].cells.iter().map(values).collect();
        let (against, mean) = match (place, compared.is_difference()) {
            (0, _) => (vec![None; own.len()], None),
            (_, true) => differences(&base, &own, claim),
            (_, false) => ratios(base, own.clone(), claim),
        };
        let by_size = own.iter().zip(against).map(|(own, against_base)| {
            let values: Vec<f64> = own.values().copied().collect();
            SizeFigure { value: claim.estimate(&values), against_base }
        });
        Some(LevelFigure { by_size: by_size.collect(), mean })
    }

    /// Of streams that have both the smallest and the largest size.
    fn curve(&self, place: usize, claim: Claim) -> Option<Curve> {
        if self.sizes.len() < 2 || !self.cell.test.is_stream() {
            return None;
        }
        let rise = |place: usize| -> Option<BTreeMap<u32, f64>> {
            let ends = [self.levels[place].cells.first()?, self.levels[place].cells.last()?];
            let [small, large] = ends.map(|cell| cell.map(|cell| cell.values(Compared::Throughput)));
            let (small, large) = (small?, large?);
            Some(small.iter().filter_map(|(block, small)| Some((*block, large.get(block)? / small))).collect())
        };
        let own = rise(place)?;
        let value = claim.estimate(&own.values().copied().collect::<Vec<_>>())?;
        let against_base = (place > 0).then(|| ratios(vec![rise(0)?], vec![own], claim).0[0]).flatten();
        Some(Curve { rise: value, against_base, flatter: side(against_base.as_ref(), |ratio| ratio < 1.0, |ratio| ratio > 1.0) })
    }

    /// The throughput at one level over that at another, all sizes together.
    fn throughput(&self, before: usize, after: usize, claim: Claim) -> Option<Estimate> {
        let of = |place: usize| -> Vec<BTreeMap<u32, f64>> {
            let values = |cell: &Option<CellAtLevel>| cell.map(|cell| cell.values(Compared::Throughput)).unwrap_or_default();
            self.levels[place].cells.iter().map(values).collect()
        };
        ratios(of(before), of(after), claim).1
    }

    /// The levels by ladder and units.
    fn ladders(&self) -> BTreeMap<String, BTreeMap<u32, usize>> {
        let mut ladders: BTreeMap<String, BTreeMap<u32, usize>> = BTreeMap::new();
        for (place, level) in self.levels.iter().enumerate() {
            for (name, units) in axis::rungs(self.factor, &level.conditions) {
                ladders.entry(name).or_default().insert(units, place);
            }
        }
        ladders
    }

    fn steps(&self, claim: Claim) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut ladders = self.ladders();
        let ordered = ["", "sender", "receiver", "both"].into_iter().filter_map(|at| Some((at.to_owned(), ladders.remove(at)?)));
        for (at, rungs) in ordered {
            let rungs: Vec<(u32, usize)> = rungs.into_iter().collect();
            steps.extend(rungs.windows(2).map(|pair| Step {
                at: at.clone(),
                from: pair[0].0,
                to: pair[1].0,
                ratio: self.throughput(pair[0].1, pair[1].1, claim),
            }));
        }
        steps
    }

    fn both(&self, claim: Claim) -> Vec<BothLoaded> {
        if self.factor != Factor::Load {
            return Vec::new();
        }
        let ladders = self.ladders();
        let both = ladders.get("both").into_iter().flatten().filter(|(units, _)| **units > 0);
        let one = |units: u32, place: usize| {
            let end = |name: &str| {
                let alone = *ladders.get(name)?.get(&units)?;
                Some((name.to_owned(), alone, self.throughput(0, alone, claim)?.value))
            };
            let (one, alone, _) = ["sender", "receiver"].into_iter().filter_map(end).min_by(|a, b| a.2.total_cmp(&b.2))?;
            let ratio = self.throughput(alone, place, claim);
            let near = side(ratio.as_ref(), |ratio| ratio > 1.0 / NEAR && ratio < NEAR, |_| false);
            // Beyond either bound, the whole of it.
            let far =
                [side(ratio.as_ref(), |ratio| ratio <= 1.0 / NEAR, |_| false), side(ratio.as_ref(), |ratio| ratio >= NEAR, |_| false)];
            let near = if far.contains(&Shown::Holds) { Shown::Fails } else { near };
            Some(BothLoaded { units, one, ratio, near })
        };
        both.filter_map(|(units, place)| one(*units, *place)).collect()
    }
}

/// Whether both ends of an interval say one thing or the other.
fn side(estimate: Option<&Estimate>, holds: fn(f64) -> bool, fails: fn(f64) -> bool) -> Shown {
    let Some(ends) = estimate.and_then(|estimate| estimate.interval) else { return Shown::NotShown };
    if holds(ends.low) && holds(ends.high) {
        Shown::Holds
    } else if fails(ends.low) && fails(ends.high) {
        Shown::Fails
    } else {
        Shown::NotShown
    }
}

/// Ratios by size, and their geometric mean; each with its own interval.
fn ratios(base: Vec<BTreeMap<u32, f64>>, own: Vec<BTreeMap<u32, f64>>, claim: Claim) -> (Vec<Option<Estimate>>, Option<Estimate>) {
    let options = Options { confidence: claim.found_at(), ..Options::default() };
    let values: Vec<Values> = base.into_iter().zip(own).map(|(baseline, candidate)| Values { baseline, candidate }).collect();
    // Which way is better changes verdicts alone.
    let comparison = compare(&values, Direction::HigherIsBetter, &options);
    (comparison.cells.iter().map(|judged| judged.ratio).collect(), comparison.overall.mean.ratio)
}

/// Differences by size, and their mean over sizes.
fn differences(base: &[BTreeMap<u32, f64>], own: &[BTreeMap<u32, f64>], claim: Claim) -> (Vec<Option<Estimate>>, Option<Estimate>) {
    let mut nulls = Nulls::default();
    let mut estimate = |values: Vec<f64>| {
        let shifts = nulls.paired(&values)?;
        Some(Estimate { value: shifts.value(), interval: shifts.interval(claim.found_at()), n: values.len() })
    };
    let pairs = |base: &BTreeMap<u32, f64>, own: &BTreeMap<u32, f64>| -> BTreeMap<u32, f64> {
        own.iter().filter_map(|(block, own)| Some((*block, own - base.get(block)?))).collect()
    };
    let all: Vec<BTreeMap<u32, f64>> = base.iter().zip(own).map(|(base, own)| pairs(base, own)).collect();
    let blocks: BTreeSet<u32> = all.iter().flat_map(BTreeMap::keys).copied().collect();
    let mean = |block: u32| {
        let known: Vec<f64> = all.iter().filter_map(|size| size.get(&block).copied()).collect();
        known.iter().sum::<f64>() / known.len() as f64
    };
    let by_size = all.iter().map(|size| estimate(size.values().copied().collect())).collect();
    (by_size, estimate(blocks.into_iter().map(mean).collect()))
}

impl CellAtLevel<'_> {
    /// A figure of each block.
    fn values(&self, compared: Compared) -> BTreeMap<u32, f64> {
        let value = |trial: &Figures| Some((trial.block, figure(compared, trial, &self.trials.cell)?));
        self.trials.figures.iter().filter_map(value).collect()
    }
}
