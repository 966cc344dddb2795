//! What scatters in earlier runs, and by how much: trials, blocks, whole runs. From it
//! follow the cheapest split of a new study into blocks and trial lengths, and what it
//! can show (Kalibera and Jones 2013, "Rigorous benchmarking in reasonable time").
//!
//! Components are of logarithms, and robust: one disturbed trial of ten is not what the
//! others scatter by.

use std::collections::BTreeMap;

use model::Cell;
use model::plan::PlanEnd;
use model::sorting::Gather;
use stats::distribution::normal_quantile;
use stats::power::found_in_four_of_five;
use stats::{binomial, median};

use crate::metric::Metric;
use crate::table::{CellTrials, TrialTable};
use crate::verdict::{self, Options};

/// A standard deviation as the signed-rank test sees it: its mean's error is √(π/3) times
/// that of a mean of normal values.
const RANKS: f64 = 1.023;

/// Fewer blocks do not show how blocks scatter.
const LEAST_BLOCKS: usize = 6;

/// More blocks are not proposed.
const MOST_BLOCKS: u32 = 10_000;

/// A proposed trial is not longer or shorter than those measured by more than this factor:
/// beyond, it is not known how trials scatter.
const FARTHEST: f64 = 8.0;

/// Standard deviations of the time per message, as shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Components {
    /// Runs that they are from.
    pub runs: usize,
    /// Blocks of all of them.
    pub blocks: usize,
    /// Scatter of whole runs, beyond what their blocks explain; `None` of one run.
    pub run: Option<f64>,
    /// Scatter of blocks, all cells of which are hit alike; `None` of one cell, in which it
    /// cannot be distinguished from that of trials.
    pub block: Option<f64>,
    /// Scatter of trials of one cell within a block, in the median cell.
    pub trial: f64,
    /// In the noisiest cell.
    pub worst: f64,
    /// Metrics of the gate that the runs have.
    pub metrics: usize,
    /// What the runs show of trials of other lengths.
    pub law: LengthLaw,
}

/// The fall of the scatter of trials with their length, tested on runs of several lengths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LengthLaw {
    /// The runs have one length, which says nothing of others.
    Untested,
    /// It falls at least half as steeply as with the root of the length.
    Root {
        /// k of scatter = length^k.
        exponent: f64,
    },
    /// It does not.
    Other {
        /// The same.
        exponent: f64,
    },
}

impl LengthLaw {
    /// Halfway between a scatter that the length does not matter to, 0, and one that
    /// falls with its root, -0.5.
    const BORDER: f64 = -0.25;

    /// Of lengths and the scatter of trials at each, in any unit.
    fn of(scatters: &[(f64, f64)]) -> Self {
        let logs: Vec<(f64, f64)> =
            scatters.iter().filter(|(length, scatter)| *length > 0.0 && *scatter > 0.0).map(|(l, s)| (l.ln(), s.ln())).collect();
        let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / logs.len() as f64;
        let (x, y) = (mean(|log| log.0), mean(|log| log.1));
        let spread: f64 = logs.iter().map(|log| (log.0 - x).powi(2)).sum();
        // Lengths within a tenth of each other are one.
        let farthest = logs.iter().map(|log| (log.0 - x).abs()).fold(0.0, f64::max);
        if logs.len() < 2 || farthest < 0.05 {
            return Self::Untested;
        }
        let exponent = logs.iter().map(|log| (log.0 - x) * (log.1 - y)).sum::<f64>() / spread;
        if exponent <= Self::BORDER { Self::Root { exponent } } else { Self::Other { exponent } }
    }
}

/// Logarithms of one run, cell by cell, by block.
type RunLogs = Vec<BTreeMap<u32, f64>>;

impl Components {
    /// Those of runs of one study, in its first arm, over the cells that all of them
    /// have, and the number of metrics of `gate` that they have; `None` of fewer than 6
    /// blocks.
    pub fn of_runs(tables: &[&TrialTable], gate: &[Metric]) -> Option<Self> {
        let first = tables.first()?;
        let cell = |table: &TrialTable, cell: &Cell| -> BTreeMap<u32, f64> {
            let trials = table.arm(0).iter().find(|trials| trials.cell == *cell && cell.rate.is_none());
            let figures = trials.map_or(&[][..], |trials| &trials.figures);
            figures
                .iter()
                .filter_map(|trial| Some((trial.block, trial.get(Metric::TimePerMessageNs)?.ln())))
                .filter(|(_, log)| log.is_finite())
                .collect()
        };
        let logs: Vec<RunLogs> = tables.iter().map(|table| first.cells().iter().map(|of| cell(table, of)).collect()).collect();
        let has = |metric: &&Metric| {
            first.arm(0).iter().any(|trials: &CellTrials| trials.figures.iter().any(|trial| trial.get(**metric).is_some()))
        };
        let scatter = |(table, logs): (&&TrialTable, &RunLogs)| match table.plan().end {
            PlanEnd::Length(length) => Some((length.as_secs_f64(), Self::of_logs(std::slice::from_ref(logs))?.trial)),
            PlanEnd::Messages(_) | PlanEnd::Bytes(_) => None,
        };
        let law = LengthLaw::of(&tables.iter().zip(&logs).filter_map(scatter).collect::<Vec<_>>());
        Some(Self { metrics: gate.iter().filter(has).count().max(1), law, ..Self::of_logs(&logs)? })
    }

    fn of_logs(runs: &[RunLogs]) -> Option<Self> {
        let cells: Vec<usize> = (0..runs.first()?.len()).filter(|cell| runs.iter().all(|run| run[*cell].len() >= LEAST_BLOCKS)).collect();
        let centre = |run: &RunLogs, cell: usize| median::median(&run[cell].values().copied().collect::<Vec<_>>()).unwrap_or_default();
        let mut left: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let (mut of_blocks, mut offsets, mut blocks) = (Vec::new(), Vec::new(), 0);
        for run in runs {
            let mut by_block: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
            for cell in &cells {
                let own = centre(run, *cell);
                run[*cell].iter().for_each(|(block, log)| by_block.entry(*block).or_default().push(log - own));
            }
            let moods: BTreeMap<u32, f64> = match cells.len() {
                1 => by_block.keys().map(|block| (*block, 0.0)).into_map(),
                _ => by_block.iter().filter_map(|(block, logs)| Some((*block, median::median(logs)?))).into_map(),
            };
            for cell in &cells {
                let own = centre(run, *cell);
                left.entry(*cell).or_default().extend(run[*cell].iter().map(|(block, log)| log - own - moods[block]));
            }
            offsets.push(cells.iter().map(|cell| centre(run, *cell) - centre(&runs[0], *cell)).collect::<Vec<f64>>());
            of_blocks.push(median::deviation(&moods.values().copied().collect::<Vec<_>>())?.powi(2));
            blocks += moods.len();
        }
        // What the blocks' medians take away of each trial.
        let taken = match cells.len() {
            0 | 1 => 1.0,
            cells => (cells as f64 / (cells as f64 - 1.0)).sqrt(),
        };
        let trials: Vec<f64> = left.values().filter_map(|left| median::deviation(left)).map(|trial| trial * taken).collect();
        let (trial, worst) = (median::median(&trials)?, trials.iter().copied().fold(0.0, f64::max));
        let mood = of_blocks.iter().sum::<f64>() / of_blocks.len() as f64;
        let block = (cells.len() > 1).then(|| (mood - median::OVER_MEAN * trial * trial / cells.len() as f64).max(0.0).sqrt());
        let of_block = block.unwrap_or_default().powi(2) + trial * trial;
        let per_run = blocks as f64 / runs.len() as f64;
        let run = (runs.len() > 1).then(|| {
            let of_cell = |place: usize| variance(&offsets.iter().map(|run| run[place]).collect::<Vec<_>>());
            let between = median::median(&(0..cells.len()).map(of_cell).collect::<Vec<_>>()).unwrap_or_default();
            (between - median::OVER_MEAN * of_block / per_run).max(0.0).sqrt()
        });
        Some(Self { runs: runs.len(), blocks, run, block, trial, worst, metrics: 1, law: LengthLaw::Untested })
    }

    /// The scatter of one value of the noisiest cell when trials are `times` as long: that
    /// of trials falls with the root of their length, that of blocks does not.
    fn of_value(&self, times: f64) -> f64 {
        (self.block.unwrap_or_default().powi(2) + self.worst.powi(2) / times).sqrt()
    }

    /// The blocks after which the interval of the noisiest cell reaches no farther than
    /// `wanted`, in trials `times` as long; `None` where no reasonable number does.
    pub fn blocks_for(&self, wanted: f64, confidence: f64, times: f64) -> Option<u32> {
        let narrow = |blocks: u32| half_width(blocks, confidence, self.of_value(times)).is_some_and(|half| half <= wanted);
        let mut high =
            std::iter::successors(Some(1_u32), |blocks| Some(blocks * 2)).take_while(|b| *b <= MOST_BLOCKS).find(|b| narrow(*b))?;
        let mut low = high / 2;
        while low + 1 < high {
            let middle = low.midpoint(high);
            if narrow(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// How many times as long as those measured, of `length`, trials are cheapest where
    /// each takes `overhead` more: √(overhead · trials' variance / (length · blocks'
    /// variance)), Kalibera and Jones' optimal repetitions of a level; from an eighth to
    /// eight times.
    pub fn cheapest(&self, length: f64, overhead: f64) -> f64 {
        let block = self.block.unwrap_or_default();
        let times = (overhead / length).sqrt() * self.worst / block.max(f64::MIN_POSITIVE);
        times.clamp(1.0 / FARTHEST, FARTHEST)
    }

    /// The true difference of two arms, as a share, that so many blocks show in four runs
    /// of five in the median cell, where so many `cells` and `arms` share the error:
    /// what hits a block hits both. `None` where there are too few blocks.
    pub fn arms_show(&self, blocks: u32, cells: usize, arms: usize, options: &Options) -> Option<f64> {
        let tested = verdict::hypotheses(cells) * self.metrics * arms.saturating_sub(1).max(1);
        verdict::detectable(self.pair(self.trial), blocks as usize, tested, options)
    }

    /// The blocks after which equal arms are shown equivalent in the noisiest cell, in
    /// four runs of five.
    pub fn blocks_for_equivalence(&self, options: &Options) -> Option<usize> {
        verdict::blocks_for_equivalence(self.pair(self.worst), 1, options)
    }

    /// The scatter of the log ratio of two trials of a block.
    fn pair(&self, trial: f64) -> f64 {
        RANKS * 2.0_f64.sqrt() * trial
    }

    /// The true difference of so many runs on each side of `blocks` each, as a share, that
    /// is shown in four comparisons of five in one cell; `None` where runs are not known.
    pub fn runs_show(&self, runs: usize, blocks: u32, options: &Options) -> Option<f64> {
        let of_median = median::OVER_MEAN * self.of_value(1.0).powi(2) / f64::from(blocks);
        let error = (2.0 * (self.run?.powi(2) + of_median) / runs as f64).sqrt();
        let freedom = 2.0 * (runs as f64 - 1.0);
        Some(found_in_four_of_five(error, options.confidence, freedom, options.threshold.ln_1p()).exp_m1())
    }
}

fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)
}

/// The half-width of a median's interval, as a share of the median, to be
/// expected of `blocks` blocks when trials of a cell scatter normally with
/// standard deviation `noise` (a share of their mean, much below 1). `None`
/// when there are too few blocks for any interval.
///
/// The interval runs between the k-th smallest and the k-th largest of n
/// trials; their expected values are Blom's approximation to normal order
/// statistics, at p = (k - 3/8) / (n + 1/4) (Blom 1958, "Statistical Estimates
/// and Transformed Beta-Variables").
pub fn half_width(blocks: u32, confidence: f64, noise: f64) -> Option<f64> {
    let (rank, _) = binomial::median_rank(blocks as usize, confidence)?;
    let p = (rank as f64 - 0.375) / (f64::from(blocks) + 0.25);
    Some(-normal_quantile(p) * noise)
}

#[cfg(test)]
mod tests {
    use super::{Components, LengthLaw, RunLogs, half_width};
    use crate::verdict::Options;
    use rand_chacha::ChaCha8Rng;
    use stats::noise::{generator, normal};

    fn runs(count: usize, cells: usize, blocks: u32, [run, block, trial]: [f64; 3], random: &mut ChaCha8Rng) -> Vec<RunLogs> {
        let one = |random: &mut ChaCha8Rng| {
            let moods: Vec<f64> = (0..blocks).map(|_| block * normal(random)).collect();
            let mut cell = || {
                let own = run * normal(random);
                (0..blocks).map(|block| (block, own + moods[block as usize] + trial * normal(random))).collect()
            };
            (0..cells).map(|_| cell()).collect()
        };
        (0..count).map(|_| one(random)).collect()
    }

    #[test]
    fn components_come_back() {
        let mut random = generator(3);
        for truth in [[0.0, 0.0, 0.02], [0.0, 0.02, 0.02], [0.03, 0.02, 0.01], [0.02, 0.0, 0.04]] {
            let mut sums = [0.0; 3];
            for _ in 0..40 {
                let found = Components::of_logs(&runs(4, 12, 20, truth, &mut random)).unwrap();
                let parts = [found.run.unwrap(), found.block.unwrap(), found.trial];
                sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part * part / 40.0);
                assert!(found.worst >= found.trial && (found.runs, found.blocks) == (4, 80));
            }
            for (found, truth) in sums.iter().map(|sum| sum.sqrt()).zip(truth) {
                assert!((found - truth).abs() < 0.12 * truth + 0.0045, "{sums:?} {truth}");
            }
        }
        let lone = Components::of_logs(&runs(1, 1, 20, [0.0, 0.02, 0.02], &mut random)).unwrap();
        assert!(lone.run.is_none() && lone.block.is_none() && (lone.trial - 0.028).abs() < 0.015, "{lone:?}");
        assert!(Components::of_logs(&runs(1, 3, 5, [0.0, 0.0, 0.02], &mut random)).is_none() && Components::of_logs(&[]).is_none());
    }

    const KNOWN: Components = Components {
        runs: 3,
        blocks: 60,
        run: Some(0.01),
        block: Some(0.01),
        trial: 0.02,
        worst: 0.02,
        metrics: 1,
        law: LengthLaw::Untested,
    };

    /// Of all lengths the proposed one takes the least time, for it is a formula.
    #[test]
    fn the_cheapest_split_is_the_cheapest() {
        let (length, overhead) = (0.1, 0.05);
        let time = |times: f64| KNOWN.of_value(times).powi(2) * (overhead + length * times);
        let best = KNOWN.cheapest(length, overhead);
        for other in [0.25, 0.5, 0.9, 1.1, 2.0, 4.0] {
            assert!(time(best) <= time(best * other), "{best} {other}");
        }
        // Where blocks do not scatter, long trials are as good and cost less around them.
        assert_eq!(Components { block: Some(0.0), ..KNOWN }.cheapest(length, overhead), 8.0);
        let (short, long) = (KNOWN.blocks_for(0.01, 0.95, 1.0).unwrap(), KNOWN.blocks_for(0.01, 0.95, best).unwrap());
        assert!(short > 15 && long != short && KNOWN.blocks_for(0.0, 0.95, 1.0).is_none(), "{short} {long}");
    }

    #[test]
    fn the_law_of_the_root_is_tested_on_lengths_that_were_measured() {
        // Windows of 10, 100 and 800 ms on a machine whose scatter no length cures.
        assert!(matches!(LengthLaw::of(&[(0.01, 0.089), (0.1, 0.095), (0.8, 0.131)]), LengthLaw::Other { exponent } if exponent > 0.0));
        let falling = |k: f64| LengthLaw::of(&[(0.1, 0.1), (1.0, 0.1 * 10_f64.powf(k))]);
        assert!(matches!(falling(-0.5), LengthLaw::Root { exponent } if (exponent + 0.5).abs() < 1e-9));
        assert!(matches!(falling(-0.26), LengthLaw::Root { .. }) && matches!(falling(-0.24), LengthLaw::Other { .. }));
        assert_eq!([LengthLaw::of(&[]), LengthLaw::of(&[(0.1, 0.1), (0.1, 0.2)])], [LengthLaw::Untested; 2]);
    }

    #[test]
    fn more_blocks_and_runs_show_more() {
        let options = Options::default();
        let arms = |blocks| KNOWN.arms_show(blocks, 10, 3, &options);
        assert!(arms(6).is_none() && arms(20) > arms(100) && arms(1_000).unwrap() > 0.02);
        let runs = |runs| KNOWN.runs_show(runs, 20, &options).unwrap();
        assert!(runs(3) > runs(5) && runs(5) > 0.02, "{} {}", runs(3), runs(5));
        assert!(KNOWN.blocks_for_equivalence(&options).is_some_and(|blocks| blocks > 10));
    }

    #[test]
    fn nine_blocks_of_5_percent_noise_give_about_5_percent() {
        // The expected second of nine normal values is -0.932 (Harter 1961, table 1).
        let expected = half_width(9, 0.95, 0.05).unwrap();
        assert!((expected - 0.932 * 0.05).abs() < 0.001, "{expected}");
    }

    #[test]
    fn more_blocks_tell_more_and_five_tell_nothing() {
        assert_eq!(half_width(5, 0.95, 0.05), None);
        assert!(half_width(100, 0.95, 0.05) < half_width(30, 0.95, 0.05));
    }
}
