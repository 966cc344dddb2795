//! Whether a series is of one kind at all, before anything is averaged: does it
//! warm up, change its level, drift, or fall into two modes?

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Direction, Values};
use stats::change::{Change, changes};
use stats::dip;
use stats::holm::holm;
use stats::median;
use stats::randomisation::p_in_tail;
use stats::ranks::pooled;
use stats::trend::{self, Trend};

/// How sure a doubt has to be; with doubts of the machine, of the order of each
/// series and of its modes, a quiet run raises one by chance in up to 3 %.
const SURE: f64 = 0.01;

/// Longer series are pooled, neighbours together, before their order is looked at.
const MOST_IN_ORDER: usize = 60;

/// Longer series are thinned to this many values before modes are looked for.
const MOST_FOR_MODES: usize = 200;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// What is compared with.
    Baseline,
    /// What is judged.
    Candidate,
}

/// What a series does that a mean or a median would hide.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// The first blocks, at most a third of all, are worse than the rest: run
    /// longer before measuring, or leave them out.
    WarmingUp {
        /// How many blocks it took.
        blocks: usize,
        /// Their median over that of the rest, less 1.
        by: f64,
    },
    /// The level changed once.
    Stepped {
        /// The first block after it.
        at: u32,
        /// The median after it over that before, less 1.
        by: f64,
    },
    /// It rose or fell all the time.
    Drifting {
        /// The change from the first to the last block, as a share.
        by: f64,
    },
    /// Two modes, in no order: something is one way in some blocks and another
    /// in the others, and what lies between them was never measured.
    Bimodal {
        /// The median of each mode; relative to the cell's median where it is
        /// of the run.
        modes: [f64; 2],
        /// The share of blocks in the upper one.
        upper: f64,
    },
    /// Of woven arms: rounds of one instance go together, and what differs belongs to its connections.
    RoundsGoTogether {
        /// Mean correlation of neighbours.
        lag_one: f64,
    },
    /// Of woven arms: instances differ by more than their rounds do. More connections help, longer slices do not.
    InstancesDiffer {
        /// Scatter between instances over that expected from their rounds.
        ratio: f64,
    },
    /// Of woven arms: the cost moves within a slice, so that its level depends on the slice's length. Both arms have
    /// this, and their ratio hardly depends on it.
    LevelByAge {
        /// The second half of a slice over the first, less 1.
        by: f64,
    },
}

/// A series that is not of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Doubt {
    /// The place of the cell; `None` of all together: the machine.
    pub cell: Option<usize>,
    /// The side; `None` of both.
    pub side: Option<Side>,
    /// What it does.
    pub shape: Shape,
    /// Probability of this by chance, with all series taken into account (changes of level:
    /// step-down maxT; trends and modes: Holm).
    pub p: f64,
}

/// Everything in the series of both sides that averaging would hide and that is
/// larger than `threshold`: first of the machine as a whole, from the
/// median of all series in each block, then of each cell and side.
///
/// Warm-up and steps by the change of level ([`changes`]), after the kinds of
/// Barrett and others 2017, "Virtual machine warmup blows hot and cold"; drift by
/// Mann and Kendall's test ([`trend`]), whichever of the two leaves less; modes by
/// the dip ([`dip`]) of what they leave.
pub fn doubts(cells: &[Values], direction: Direction, threshold: f64) -> Vec<Doubt> {
    let all = all_series(cells);
    let mut doubts = judge(&[machine(&all)], direction, threshold);
    doubts.extend(judge(&all, direction, threshold));
    doubts
}

/// Blocks from which on a correlation is told from chance.
const LEAST_FOR_CORRELATION: usize = 30;

/// Correlation of each block with the one before it, over all series (lag 1, as in Box
/// and Jenkins, "Time Series Analysis", 2.1.5); `None` of fewer than 30 blocks, and of
/// blocks that are all alike.
pub fn correlation(cells: &[Values]) -> Option<f64> {
    let logs = machine(&all_series(cells)).logs;
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let variance: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let together: f64 = logs.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    (logs.len() >= LEAST_FOR_CORRELATION && variance > 0.0).then(|| together / variance)
}

/// The logarithms of one side's values in one cell, in the order of blocks.
#[derive(Debug, Clone, Default)]
struct Series {
    cell: Option<usize>,
    side: Option<Side>,
    blocks: Vec<u32>,
    logs: Vec<f64>,
}

fn all_series(cells: &[Values]) -> Vec<Series> {
    let series = |cell: usize, side: Side, values: &BTreeMap<u32, f64>| {
        let logs = values.iter().map(|(block, value)| (*block, value.ln())).filter(|(_, log)| log.is_finite());
        let (blocks, logs) = logs.unzip();
        Series { cell: Some(cell), side: Some(side), blocks, logs }
    };
    let both = |(cell, values): (usize, &Values)| {
        [series(cell, Side::Baseline, &values.baseline), series(cell, Side::Candidate, &values.candidate)]
    };
    cells.iter().enumerate().flat_map(both).filter(|series| !series.logs.is_empty()).collect()
}

/// The median over all series of how far each block lies from the series'
/// median: one cell alone does not make it.
fn machine(all: &[Series]) -> Series {
    let mut by_block: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for series in all {
        let centre = median::median(&series.logs).unwrap_or_default();
        series.blocks.iter().zip(&series.logs).for_each(|(block, log)| by_block.entry(*block).or_default().push(log - centre));
    }
    let (blocks, logs) = by_block.into_iter().filter_map(|(block, logs)| Some((block, median::median(&logs)?))).unzip();
    Series { cell: None, side: None, blocks, logs }
}

/// What the order of a series shows.
struct Trace {
    change: Option<Change>,
    trend: Option<Trend>,
    p: f64,
}

impl Trace {
    /// Those of several series, tested together.
    fn of_all(all: &[Series]) -> Vec<Self> {
        let values: Vec<Vec<f64>> = all.iter().map(|series| pooled(&series.logs, MOST_IN_ORDER)).collect();
        let trends: Vec<Option<Trend>> = values.iter().map(|values| trend::trend(values)).collect();
        let p_of_trends = holm(&trends.iter().map(|trend| trend.map_or(1.0, |trend| trend.p)).collect::<Vec<_>>());
        let trends = trends.into_iter().zip(p_of_trends).map(|(trend, p)| trend.map(|trend| Trend { p, ..trend }));
        let found = changes(&values).into_iter().zip(trends);
        all.iter()
            .zip(&values)
            .zip(found)
            .map(|((series, values), (change, trend))| Self::of(series.logs.len(), values, change, trend))
            .collect()
    }

    /// Of a series of `length` values, pooled to `values`.
    fn of(length: usize, values: &[f64], change: Option<Change>, trend: Option<Trend>) -> Self {
        let p_change = change.map(|change| change.p);
        // Two tests of one series: the smaller p counts twice (Bonferroni).
        let p = p_change.into_iter().chain(trend.map(|trend| trend.p)).fold(1.0, f64::min) * 2.0;
        let left = |fitted: &dyn Fn(usize) -> f64| values.iter().enumerate().map(|(i, value)| (value - fitted(i)).abs()).sum::<f64>();
        let by_change = change.map_or(f64::INFINITY, |change| left(&|i| change.levels[usize::from(i >= change.before)]));
        let by_trend = trend.map_or(f64::INFINITY, |trend| left(&|i| trend.start + trend.slope * i as f64));
        let (change, trend) = if by_change <= by_trend { (change, None) } else { (None, trend) };
        // Back from pools to blocks.
        let pool = length as f64 / values.len().max(1) as f64;
        let change = change.map(|change| Change { before: (change.before as f64 * pool).round() as usize, ..change });
        let trend = trend.map(|trend| Trend { slope: trend.slope / pool, ..trend });
        Self { change, trend, p: p.min(1.0) }
    }

    /// What it is, where it is more than `least` in logarithms.
    fn shape(&self, series: &Series, direction: Direction, least: f64) -> Option<Shape> {
        if let Some(Change { before, levels: [head, tail], .. }) = self.change.filter(|change| apart(change.levels) > least) {
            let worse = (head > tail) == (direction == Direction::LowerIsBetter);
            return Some(match worse && before * 3 <= series.logs.len() {
                true => Shape::WarmingUp { blocks: before, by: (head - tail).exp_m1() },
                false => Shape::Stepped { at: *series.blocks.get(before)?, by: (tail - head).exp_m1() },
            });
        }
        let change = self.trend?.slope * (series.logs.len() as f64 - 1.0);
        (change.abs() > least).then(|| Shape::Drifting { by: change.exp_m1() })
    }

    /// What is left of a series without it.
    fn residuals(&self, logs: &[f64]) -> Vec<f64> {
        let fitted = |i: usize| match (self.change, self.trend) {
            (Some(change), _) => change.levels[usize::from(i >= change.before)] - change.levels[1],
            (None, Some(trend)) => trend.slope * i as f64,
            (None, None) => 0.0,
        };
        logs.iter().enumerate().map(|(i, log)| log - fitted(i)).collect()
    }
}

fn apart([a, b]: [f64; 2]) -> f64 {
    (a - b).abs()
}

fn judge(all: &[Series], direction: Direction, threshold: f64) -> Vec<Doubt> {
    let least = threshold.ln_1p();
    let mut doubts = Vec::new();
    let mut left: Vec<Vec<f64>> = Vec::new();
    for (series, order) in all.iter().zip(Trace::of_all(all)) {
        let p = order.p;
        let shape = order.shape(series, direction, least).filter(|_| p <= SURE);
        left.push(if shape.is_some() { order.residuals(&series.logs) } else { series.logs.clone() });
        doubts.extend(shape.map(|shape| Doubt { cell: series.cell, side: series.side, shape, p }));
    }
    let by_modes = holm(&left.iter().map(|values| modes_p(values)).collect::<Vec<_>>());
    for ((series, values), p) in all.iter().zip(&left).zip(by_modes) {
        let shape = modes(values).filter(|(modes, _)| apart(*modes) > least && p <= SURE);
        let shape = shape.map(|(modes, upper)| Shape::Bimodal { modes: modes.map(f64::exp), upper });
        doubts.extend(shape.map(|shape| Doubt { cell: series.cell, side: series.side, shape, p }));
    }
    doubts
}

/// The probability of modes so far apart by chance.
fn modes_p(values: &[f64]) -> f64 {
    let values: Vec<f64> = values.iter().copied().step_by(values.len().div_ceil(MOST_FOR_MODES).max(1)).collect();
    let p = |dip: f64| p_in_tail(dip, &dip::null(values.len()));
    dip::dip(&values).map_or(1.0, p)
}

/// The two modes, and the share of values in the upper one.
fn modes(values: &[f64]) -> Option<([f64; 2], f64)> {
    let sorted = median::sorted(values);
    let (lower, upper) = sorted.split_at_checked(dip::split(&sorted))?;
    Some(([median::of_sorted(lower)?, median::of_sorted(upper)?], upper.len() as f64 / sorted.len() as f64))
}
