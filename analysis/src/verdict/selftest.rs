//! A machine against itself: how small a difference it can show, and how long
//! that takes.

use serde::Serialize;

use super::compare::{compare, needed_to_test};
use super::{Comparison, Design, Direction, Options, Values};
use stats::distribution::normal_quantile;
use stats::distribution::student_critical;
use stats::median;
use stats::power::{POWER, found_in_four_of_five};

/// For so many blocks it is said what they could show.
const OUTLOOKS: [usize; 6] = [10, 14, 20, 30, 50, 100];

/// More blocks than these are not proposed.
const MOST_BLOCKS: usize = 100_000;

/// Seconds in a minute.
const MINUTE: f64 = 60.0;

/// Differences that a number of blocks can show.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Outlook {
    /// Blocks.
    pub blocks: usize,
    /// Time that they take.
    pub minutes: f64,
    /// The true difference, as a share, that is found in four runs of five, in a
    /// cell of median noise with all cells taken into account; `None` where
    /// there are too few blocks for that.
    pub each_cell: Option<f64>,
    /// In a run of that cell alone.
    pub one_cell: Option<f64>,
    /// In the mean of all cells.
    pub mean: Option<f64>,
}

/// An arm against itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelfTest {
    /// The comparison; a difference here is a false one.
    pub comparison: Comparison,
    /// Blocks measured.
    pub blocks: usize,
    /// Time of a block with both arms.
    pub seconds_per_block: f64,
    /// Scatter of the ratio of one block, as a share: in the median cell.
    pub noise: f64,
    /// The same in the noisiest cell.
    pub worst_noise: f64,
    /// The same of the mean of all cells.
    pub mean_noise: f64,
    /// Differences that could be shown in how many minutes.
    pub outlooks: Vec<Outlook>,
    /// The blocks and minutes after which equal arms are shown equivalent in the
    /// noisiest cell, in four runs of five; `None` where no reasonable number does.
    /// A true difference of exactly the threshold is found in half of all runs at
    /// most, whatever their number of blocks.
    pub for_threshold: Option<Outlook>,
}

/// Summarises a machine against itself, from the values of `--arm a --arm a`
/// and how long each block took. `None` where too few blocks were measured to
/// tell the noise (6 at 95 %), or arms were not neighbours.
///
/// The noise is estimated by how far the interval of the ratio reaches (Lehmann 1963,
/// "Nonparametric confidence intervals for a shift parameter"), so that wild
/// values count as little as they do in a verdict.
///
/// `tested` is the number of hypotheses that share the error in such a study.
pub fn self_test(cells: &[Values], direction: Direction, seconds_per_block: f64, tested: usize, options: &Options) -> Option<SelfTest> {
    if options.design != Design::Paired {
        return None;
    }
    let comparison = compare(cells, direction, options);
    let noises: Vec<f64> = comparison.cells.iter().filter_map(|judged| noise(judged, options.confidence)).collect();
    let (noise_of_cell, mean_noise) = (median::median(&noises)?, noise(&comparison.overall.mean, options.confidence)?);
    let worst_noise = noises.iter().copied().fold(noise_of_cell, f64::max);
    let outlook = |blocks: usize, cell: f64| Outlook {
        blocks,
        minutes: blocks as f64 * seconds_per_block / MINUTE,
        each_cell: detectable(cell, blocks, tested, options),
        one_cell: detectable(cell, blocks, 1, options),
        mean: detectable(mean_noise, blocks, tested, options),
    };
    let for_threshold = blocks_for_equivalence(worst_noise, tested, options).map(|blocks| outlook(blocks, worst_noise));
    Some(SelfTest {
        blocks: comparison.overall.mean.ratio?.n,
        seconds_per_block,
        noise: noise_of_cell.exp_m1(),
        worst_noise: worst_noise.exp_m1(),
        mean_noise: mean_noise.exp_m1(),
        outlooks: OUTLOOKS.iter().map(|blocks| outlook(*blocks, noise_of_cell)).collect(),
        for_threshold,
        comparison,
    })
}

/// The scatter of one block's log ratio that an interval stands for.
fn noise(judged: &super::CellVerdict, confidence: f64) -> Option<f64> {
    let ratio = judged.ratio?;
    let interval = ratio.interval?;
    let n = ratio.n as f64;
    let reach = (interval.high.ln() - interval.low.ln()) / 2.0;
    let critical = student_critical(interval.confidence.max(confidence), n - 1.0);
    Some(reach * n.sqrt() / critical).filter(|noise| noise.is_finite())
}

/// The true difference, as a share, that so many blocks show in four runs of
/// five where `tested` hypotheses share the error, in the worst case that none
/// of the others is rejected. `noise` is the scatter of one block's log ratio as
/// the test sees it: of normal values 1.023 standard deviations, for ranks need
/// √(π/3) times their mean's error. `None` where there are too few blocks.
///
/// By [`found_in_four_of_five`]: a verdict needs an estimate beyond the threshold as well
/// as significance, and so a true difference that leads there.
pub fn detectable(noise: f64, blocks: usize, tested: usize, options: &Options) -> Option<f64> {
    if blocks < needed_to_test(tested, options.confidence, Design::Paired) {
        return None;
    }
    let (freedom, error) = (blocks as f64 - 1.0, noise / (blocks as f64).sqrt());
    let level = 1.0 - (1.0 - options.confidence) / tested as f64;
    Some(found_in_four_of_five(error, level, freedom, options.threshold.ln_1p()).exp_m1())
}

/// The number of blocks after which equal arms are shown equivalent in four runs of five,
/// in a cell with this scatter of a block's log ratio; `None` where no reasonable number is.
pub fn blocks_for_equivalence(noise: f64, tested: usize, options: &Options) -> Option<usize> {
    first(needed_to_test(tested, options.confidence, Design::Paired), |blocks| shows_equivalence(noise, *blocks, options))
}

/// Returns whether equal arms are shown equivalent in four runs of five: both
/// one-sided tests have to reject the threshold, so each may miss in one of ten.
fn shows_equivalence(noise: f64, blocks: usize, options: &Options) -> bool {
    let (freedom, error) = (blocks as f64 - 1.0, noise / (blocks as f64).sqrt());
    let critical = student_critical(1.0 - 2.0 * (1.0 - options.confidence), freedom);
    (critical + normal_quantile(f64::midpoint(1.0, POWER))) * error <= options.threshold.ln_1p()
}

/// The least number of blocks from `least` on that is enough: by doubling, then
/// halving the gap, since more blocks always show more.
fn first(least: usize, enough: impl Fn(&usize) -> bool) -> Option<usize> {
    let mut high = std::iter::successors(Some(least), |blocks| Some(blocks * 2)).take_while(|b| *b <= MOST_BLOCKS).find(&enough)?;
    let mut low = (high / 2).max(least);
    while low < high {
        let middle = low.midpoint(high);
        if enough(&middle) { high = middle } else { low = middle + 1 }
    }
    Some(high)
}
