//! Made-up comparisons: how often verdicts are false, true differences found,
//! and intervals hold the truth.
//!
//! The tests of this crate run some hundreds of each, `nettoll-bench` thousands.
//! One series in time is made up, as a machine would give it; which of
//! its values fall to which cell and arm is drawn by the plan's own randomiser.

use std::collections::BTreeMap;

use model::sorting::Gather;

use super::{Comparison, Design, Direction, Options, Question, Values, compare, compare_all};
use model::schedule::{self, Shape};
use stats::median;

/// Behaviour of the machine over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Normal, independent.
    Normal,
    /// Lognormal, independent, of four times the spread: clearly skewed.
    Lognormal,
    /// Two modes: three trials of ten take longer by six times the spread.
    Bimodal,
    /// Normal, and each trial takes longer than the one before: half as long
    /// again at the end of the run as at its beginning.
    Drifting,
    /// Each trial is like the one before: AR(1) with a correlation of 0.9.
    Autocorrelated,
}

impl Noise {
    /// All of it.
    pub const ALL: [Self; 5] = [Self::Normal, Self::Lognormal, Self::Bimodal, Self::Drifting, Self::Autocorrelated];

    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Lognormal => "lognormal",
            Self::Bimodal => "bimodal",
            Self::Drifting => "drifting",
            Self::Autocorrelated => "autocorrelated",
        }
    }
}

/// A made-up run of two arms.
#[derive(Debug, Clone, Copy)]
pub struct Study {
    /// Cells.
    pub cells: usize,
    /// Blocks.
    pub blocks: u32,
    /// Behaviour of the machine.
    pub noise: Noise,
    /// The standard deviation of one trial, as a share.
    pub spread: f64,
    /// True time of the candidate in the first cell, over the baseline.
    pub effect: f64,
}

/// A made-up run of several equal arms, by several metrics of the gate.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// Arms other than the baseline.
    pub arms: usize,
    /// Metrics.
    pub metrics: usize,
    /// Cells.
    pub cells: usize,
    /// Blocks.
    pub blocks: u32,
    /// The standard deviation of one trial, as a share.
    pub spread: f64,
}

/// Made-up runs of two sides, several of each.
#[derive(Debug, Clone, Copy)]
pub struct Runs {
    /// Cells.
    pub cells: usize,
    /// Runs on each side.
    pub runs: u32,
    /// Blocks of each run.
    pub blocks: u32,
    /// The standard deviation of one trial, as a share.
    pub spread: f64,
    /// The standard deviation of whole runs in one cell, as a share.
    pub between: f64,
    /// True time of the candidate in the first cell, over the baseline.
    pub effect: f64,
}

/// Outcomes of many.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    /// Studies made up.
    pub studies: u64,
    /// Those with an overall verdict that there is a difference.
    pub verdicts: u64,
    /// Those in which anything was significant, however small.
    pub significant: u64,
    /// Those in which the first cell's verdict is that the candidate is worse.
    pub found: u64,
    /// Those in which the first cell's verdict is that the arms are equivalent.
    pub equivalent: u64,
    /// Those in which any cell but the first has a verdict.
    pub others: u64,
    /// Those in which the first cell's own interval holds the truth.
    pub held: u64,
    /// Cells whose own interval holds the truth, of all.
    pub cells_held: f64,
}

impl Study {
    /// The values of one such run.
    pub fn values(&self, seed: u64) -> Vec<Values> {
        let shape = Shape { arms: 2, ..Shape::plain(self.cells, self.blocks) };
        let mut series = Series { random: SplitMix(seed), last: None, place: 0, study: self };
        let mut values = vec![Values::default(); self.cells];
        for index in 0..self.blocks {
            for slot in schedule::block(seed, index, shape).order {
                let effect = if slot.cell == 0 && slot.arm == 1 { self.effect } else { 1.0 };
                let value = 1_000.0 * (1 + slot.cell) as f64 * effect * series.next();
                let arm = if slot.arm == 0 { &mut values[slot.cell].baseline } else { &mut values[slot.cell].candidate };
                arm.insert(index, value);
            }
        }
        values
    }

    /// So many of them compared, with seeds of their own from `first` on.
    pub fn tally(&self, studies: u64, first: u64, options: &Options) -> Tally {
        let mut tally = Tally { studies, ..Tally::default() };
        for seed in first..first + studies {
            tally.count(&compare(&self.values(seed), Direction::LowerIsBetter, options), self.effect);
        }
        tally
    }
}

impl Family {
    /// Of so many of them, with seeds of their own from `first` on, those with any
    /// verdict that there is a difference.
    pub fn false_verdicts(&self, studies: u64, first: u64, options: &Options) -> u64 {
        let shown = |seed: u64| compare_all(&self.questions(seed), options).iter().any(|found| found.overall.verdict.is_shown());
        (first..first + studies).filter(|seed| shown(*seed)).count() as u64
    }

    /// One question an arm and metric; all arms have the same baseline.
    fn questions(&self, seed: u64) -> Vec<Question> {
        let mut random = SplitMix(seed.wrapping_mul(0x9e6c_63d0_876a_3f6b));
        let mut side = || -> BTreeMap<u32, f64> { (0..self.blocks).map(|block| (block, (self.spread * random.normal()).exp())).into_map() };
        let mut questions = Vec::new();
        for _ in 0..self.metrics {
            let baselines: Vec<BTreeMap<u32, f64>> = (0..self.cells).map(|_| side()).collect();
            for _ in 0..self.arms {
                let cells = baselines.iter().map(|baseline| Values { baseline: baseline.clone(), candidate: side() }).collect();
                questions.push(Question { cells, direction: Direction::LowerIsBetter });
            }
        }
        questions
    }
}

impl Runs {
    /// So many of them compared, with seeds of their own from `first` on.
    pub fn tally(&self, studies: u64, first: u64, options: &Options) -> Tally {
        let mut tally = Tally { studies, ..Tally::default() };
        for seed in first..first + studies {
            tally.count(&compare(&self.values(seed, options.design), Direction::LowerIsBetter, options), self.effect);
        }
        tally
    }

    /// The values of such runs: the median of each, or of one run on each side all blocks.
    fn values(&self, seed: u64, design: Design) -> Vec<Values> {
        let mut random = SplitMix(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let mut side = |effect: f64| -> BTreeMap<u32, f64> {
            let mut values = BTreeMap::new();
            for run in 0..self.runs {
                let own = 1_000.0 * effect * (self.between * random.normal()).exp();
                let blocks: Vec<f64> = (0..self.blocks).map(|_| own * (self.spread * random.normal()).exp()).collect();
                match design {
                    Design::Runs => values.extend(median::median(&blocks).map(|middle| (run, middle))),
                    Design::Paired | Design::Woven | Design::Separate => values.extend((0..).zip(blocks)),
                }
            }
            values
        };
        let effect = |cell: usize| if cell == 0 { self.effect } else { 1.0 };
        (0..self.cells).map(|cell| Values { baseline: side(1.0), candidate: side(effect(cell)) }).collect()
    }
}

impl Tally {
    fn count(&mut self, comparison: &Comparison, effect: f64) {
        let cells = comparison.cells.len();
        let sure = |judged: &super::CellVerdict| judged.is_significant(comparison.confidence);
        let held = |place: usize| {
            let truth = if place == 0 { effect } else { 1.0 };
            let interval = comparison.cells[place].ratio.and_then(|ratio| ratio.interval);
            interval.is_some_and(|interval| interval.low <= truth && truth <= interval.high)
        };
        self.verdicts += u64::from(comparison.overall.verdict.is_shown());
        self.significant += u64::from(comparison.cells.iter().chain([&comparison.overall.mean]).any(sure));
        self.found += u64::from(comparison.cells[0].verdict == super::Verdict::Worse);
        self.equivalent += u64::from(comparison.cells[0].verdict == super::Verdict::Equivalent);
        self.others += u64::from(comparison.cells.iter().skip(1).any(|judged| judged.verdict.is_shown()));
        self.held += u64::from(held(0));
        self.cells_held += (0..cells).filter(|place| held(*place)).count() as f64 / cells as f64;
    }

    /// This and another, of other seeds.
    pub fn and(self, other: Self) -> Self {
        Self {
            studies: self.studies + other.studies,
            verdicts: self.verdicts + other.verdicts,
            significant: self.significant + other.significant,
            found: self.found + other.found,
            equivalent: self.equivalent + other.equivalent,
            others: self.others + other.others,
            held: self.held + other.held,
            cells_held: self.cells_held + other.cells_held,
        }
    }

    /// A count as a share of the studies.
    pub fn share(&self, count: u64) -> f64 {
        count as f64 / self.studies as f64
    }
}

/// Times of one trial after the other, relative to its cell.
struct Series<'a> {
    random: SplitMix,
    last: Option<f64>,
    place: usize,
    study: &'a Study,
}

impl Series<'_> {
    fn next(&mut self) -> f64 {
        const CORRELATION: f64 = 0.9;
        let Study { spread, noise, cells, blocks, .. } = *self.study;
        let done = self.place as f64 / (cells * 2 * blocks as usize) as f64;
        self.place += 1;
        let z = self.random.normal();
        // No trial takes less than nothing.
        let linear = (1.0 + spread * z).max(0.01);
        match noise {
            Noise::Normal => linear,
            Noise::Lognormal => (4.0 * spread * z).exp(),
            Noise::Bimodal => linear + if self.random.uniform() < 0.3 { 6.0 * spread } else { 0.0 },
            Noise::Drifting => linear * (1.0 + 0.5 * done),
            Noise::Autocorrelated => {
                let fresh = (1.0 - CORRELATION * CORRELATION).sqrt();
                let value = self.last.map_or(z, |last| CORRELATION * last + fresh * z);
                self.last = Some(value);
                (spread * value).exp()
            }
        }
    }
}

/// Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators".
/// Noise needs no better, and tests run where other crates are not optimised.
struct SplitMix(u64);

impl SplitMix {
    /// A standard normal value (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// From 0 to 1, without 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
