//! From the values of two arms to a verdict for each cell and for all.

use std::collections::{BTreeMap, BTreeSet};

use super::judged::{Comparison, Judged, Overall, Verdict};
use super::{Design, Direction, Options, Values};
use stats::holm::holm;
use stats::median;
use stats::ranks::{self, Nulls, Shifts};

/// Blocks beyond which more are of no avail: see [`blocks_needed`].
const MOST_NEEDED: usize = 60;

/// Blocks that a comparison of so many cells needs for any verdict; of separate
/// runs, each of them.
///
/// The most extreme result there can be has p = 2·2^-n: all pairs of n blocks
/// point one way. Holm asks the smallest p to be at most 1 − confidence over the
/// number of hypotheses, which are the cells and, of several, their mean. At
/// 95 %: 6 blocks for one cell, 10 for 18. Of separate runs of n blocks it is
/// 2/C(2n, n).
pub fn blocks_needed(cells: usize, confidence: f64, design: Design) -> usize {
    needed_to_test(hypotheses(cells), confidence, design)
}

/// The same for so many hypotheses.
pub(super) fn needed_to_test(tested: usize, confidence: f64, design: Design) -> usize {
    let least = |n: usize| match design {
        Design::Paired => ranks::least_p_paired(n),
        Design::Separate => ranks::least_p_unpaired(n, n),
    };
    (1..MOST_NEEDED).find(|n| least(*n) * tested as f64 <= 1.0 - confidence + 1e-9).unwrap_or(MOST_NEEDED)
}

/// The cells, and where there are several, their mean.
pub(super) const fn hypotheses(cells: usize) -> usize {
    if cells > 1 { cells + 1 } else { 1 }
}

/// Compares two arms by one metric.
///
/// Each cell is tested by a randomisation test on logarithms: of paired blocks
/// the signs of the log ratios are flipped, of separate runs the labels dealt
/// again ([`ranks`]). So is the mean of all cells, block by block. All together
/// are held to the confidence by Holm's procedure; a verdict needs that, and an
/// estimate beyond the threshold.
pub fn compare(cells: &[Values], direction: Direction, options: &Options) -> Comparison {
    let mut nulls = Nulls::default();
    let samples: Vec<Sample> = cells.iter().map(|values| Sample::new(values, options.design)).collect();
    let measured: Vec<bool> = cells.iter().map(|values| !values.is_empty()).collect();
    let count = measured.iter().filter(|measured| **measured).count();
    let needed = blocks_needed(count, options.confidence, options.design);
    let mean = mean_of(&samples, options.design);
    let mut of_cells: Vec<Tested> = samples.iter().map(|sample| Tested::new(sample, needed, &mut nulls)).collect();
    let mut of_mean = Tested::new(&mean, needed, &mut nulls);
    let level = adjust(&mut of_cells, &mut of_mean, &measured, options.confidence);
    let judge = |tested: &Tested| tested.judged(level, needed, direction, options);
    let judged: Vec<Judged> = of_cells.iter().map(judge).collect();
    let overall =
        overall(judge(&of_mean), judged.iter().zip(&measured).filter(|(_, measured)| **measured).map(|(judged, _)| judged.verdict));
    Comparison {
        direction,
        design: options.design,
        threshold: options.threshold,
        confidence: options.confidence,
        tested: hypotheses(count),
        needed,
        cells: judged,
        overall,
        conclusion: overall.conclusion(options.threshold),
    }
}

/// Logarithms, ready to be tested.
#[derive(Debug, Default)]
struct Sample {
    /// Log ratios of the pairs by block; or of the first run's values alone.
    first: BTreeMap<u32, f64>,
    /// The second run's, of separate runs.
    second: BTreeMap<u32, f64>,
    medians: Option<[f64; 2]>,
    dropped: usize,
    design: Option<Design>,
}

impl Sample {
    fn new(values: &Values, design: Design) -> Self {
        let log = |value: &f64| Some(value.ln()).filter(|log| log.is_finite());
        let logs = |values: &BTreeMap<u32, f64>| -> BTreeMap<u32, f64> { values.iter().filter_map(|(b, v)| Some((*b, log(v)?))).collect() };
        let (baseline, candidate) = (logs(&values.baseline), logs(&values.candidate));
        let mut sample = Self { design: Some(design), ..Self::default() };
        match design {
            Design::Paired => {
                let common: BTreeSet<u32> = baseline.keys().filter(|block| candidate.contains_key(block)).copied().collect();
                sample.dropped = values.baseline.keys().filter(|block| values.candidate.contains_key(block)).count() - common.len();
                sample.medians = medians(&common.iter().map(|b| (baseline[b], candidate[b])).unzip());
                sample.first = common.iter().map(|block| (*block, candidate[block] - baseline[block])).collect();
            }
            Design::Separate => {
                sample.dropped = values.baseline.len() + values.candidate.len() - baseline.len() - candidate.len();
                sample.medians = medians(&(baseline.values().copied().collect(), candidate.values().copied().collect()));
                (sample.first, sample.second) = (baseline, candidate);
            }
        }
        sample
    }

    /// Blocks that can be compared; of two runs, in the one with fewer.
    fn blocks(&self) -> usize {
        match self.design {
            Some(Design::Separate) => self.first.len().min(self.second.len()),
            _ => self.first.len(),
        }
    }

    fn shifts(&self, nulls: &mut Nulls) -> Option<Shifts> {
        let values = |of: &BTreeMap<u32, f64>| of.values().copied().collect::<Vec<f64>>();
        match self.design {
            Some(Design::Separate) => nulls.unpaired(&values(&self.first), &values(&self.second)),
            _ => nulls.paired(&values(&self.first)),
        }
    }
}

/// Medians of the values whose logarithms these are.
fn medians(logs: &(Vec<f64>, Vec<f64>)) -> Option<[f64; 2]> {
    let of = |logs: &[f64]| median::median(&logs.iter().map(|log| log.exp()).collect::<Vec<_>>());
    Some([of(&logs.0)?, of(&logs.1)?])
}

/// The mean over cells in each block: of their log ratios, or, of separate runs,
/// of how far each cell's values lie from its median over both.
fn mean_of(samples: &[Sample], design: Design) -> Sample {
    let centre = |sample: &Sample| match design {
        Design::Paired => 0.0,
        Design::Separate => {
            let all: Vec<f64> = sample.first.values().chain(sample.second.values()).copied().collect();
            median::median(&all).unwrap_or_default()
        }
    };
    let both = samples.iter().filter(|sample| sample.blocks() > 0).map(|sample| (sample, centre(sample))).collect::<Vec<_>>();
    let means = |of: fn(&Sample) -> &BTreeMap<u32, f64>| {
        let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for (sample, centre) in &both {
            for (block, value) in of(sample) {
                let sum = sums.entry(*block).or_default();
                (sum.0, sum.1) = (sum.0 + value - centre, sum.1 + 1.0);
            }
        }
        sums.into_iter().map(|(block, (sum, cells))| (block, sum / cells)).collect()
    };
    Sample { first: means(|sample| &sample.first), second: means(|sample| &sample.second), design: Some(design), ..Sample::default() }
}

/// A hypothesis with its test.
struct Tested<'a> {
    sample: &'a Sample,
    shifts: Option<Shifts>,
    /// True where there are enough blocks for any verdict.
    enough: bool,
    p: Option<f64>,
    p_adjusted: Option<f64>,
}

impl<'a> Tested<'a> {
    fn new(sample: &'a Sample, needed: usize, nulls: &mut Nulls) -> Self {
        let shifts = sample.shifts(nulls);
        let p = shifts.as_ref().map(|shifts| shifts.p(0.0));
        Self { sample, shifts, enough: sample.blocks() >= needed, p, p_adjusted: None }
    }

    fn judged(&self, level: f64, needed: usize, direction: Direction, options: &Options) -> Judged {
        let Sample { medians, dropped, .. } = *self.sample;
        let ratio = self.shifts.as_ref().map(|shifts| shifts.estimate(options.confidence, self.sample.blocks()).map(f64::exp));
        let verdict = self.verdict(level, needed, direction, options);
        Judged { ratio, medians, p: self.p, p_adjusted: self.p_adjusted, dropped, verdict }
    }

    fn verdict(&self, level: f64, needed: usize, direction: Direction, options: &Options) -> Verdict {
        let blocks = self.sample.blocks();
        let reach = self.shifts.as_ref().filter(|_| self.enough).and_then(|shifts| Some((shifts.value(), shifts.reach(level)?)));
        let Some((shift, reach)) = reach else {
            return Verdict::NotEnoughBlocks { blocks, missing: needed.saturating_sub(blocks) };
        };
        let sure = self.p_adjusted.is_some_and(|p| is_sure(p, options.confidence));
        let worse = (shift > 0.0) == (direction == Direction::LowerIsBetter);
        match (sure && shift.abs() > options.threshold.ln_1p(), worse) {
            (true, true) => Verdict::Worse,
            (true, false) => Verdict::Better,
            (false, _) => Verdict::NoDifferenceShown { smallest: reach.exp_m1() },
        }
    }
}

/// Holm over the cells that were measured and, of several, their mean. What has
/// too few blocks stays among them, as one that shows nothing. Gives the
/// confidence at which those were held that were not rejected.
fn adjust<'a>(cells: &mut [Tested<'a>], mean: &mut Tested<'a>, measured: &[bool], confidence: f64) -> f64 {
    let several = measured.iter().filter(|measured| **measured).count() > 1;
    let mut family: Vec<&mut Tested<'a>> =
        cells.iter_mut().zip(measured).filter(|(_, measured)| **measured).map(|(tested, _)| tested).collect();
    if several {
        family.push(mean);
    } else {
        // The mean of one cell is that cell.
        mean.p_adjusted = mean.p;
    }
    let p = |tested: &&mut Tested| tested.p.filter(|_| tested.enough).unwrap_or(1.0);
    let adjusted = holm(&family.iter().map(p).collect::<Vec<_>>());
    let rejected = adjusted.iter().filter(|p| is_sure(**p, confidence)).count();
    for (tested, p) in family.iter_mut().zip(&adjusted) {
        tested.p_adjusted = tested.p.map(|_| *p);
    }
    1.0 - (1.0 - confidence) / family.len().saturating_sub(rejected).max(1) as f64
}

/// Returns whether a p is small enough; rounding does not decide.
pub(super) fn is_sure(p: f64, confidence: f64) -> bool {
    p <= 1.0 - confidence + 1e-9
}

/// All together, from the verdicts of the cells that were measured.
fn overall(mean: Judged, cells: impl Iterator<Item = Verdict>) -> Overall {
    let (mut better, mut worse, mut not_shown, mut too_few, mut least) = (0, 0, 0, 0, None::<f64>);
    for verdict in cells {
        match verdict {
            Verdict::Better => better += 1,
            Verdict::Worse => worse += 1,
            Verdict::NoDifferenceShown { smallest } => {
                not_shown += 1;
                least = Some(least.map_or(smallest, |least| least.max(smallest)));
            }
            Verdict::NotEnoughBlocks { .. } | Verdict::Mixed => too_few += 1,
        }
    }
    let verdict = match (better > 0 || mean.verdict == Verdict::Better, worse > 0 || mean.verdict == Verdict::Worse) {
        (true, true) => Verdict::Mixed,
        (true, false) => Verdict::Better,
        (false, true) => Verdict::Worse,
        (false, false) => least.map_or(mean.verdict, |smallest| Verdict::NoDifferenceShown { smallest }),
    };
    Overall { mean, better, worse, not_shown, too_few, verdict }
}
