//! From the values of two arms to a verdict for each cell and for all.

use std::collections::{BTreeMap, BTreeSet};

use model::sorting::Gather;

use super::evidence::Evidence;
use super::judged::{CellVerdict, Comparison, OverallVerdict, Verdict};
use super::{Design, Direction, Options, Values};
use stats::holm::holm;
use stats::instances::LOOKS;
use stats::median;
use stats::ranks::{self, Nulls};

/// Blocks beyond which more are of no avail: see [`blocks_needed`].
const MOST_NEEDED: usize = 60;

/// Blocks that a comparison of so many cells needs for any verdict; of separate
/// runs, each of them.
///
/// The most extreme result there can be has p = 2·2^-n: all pairs of n blocks
/// point one way. Holm asks the smallest p to be at most 1 − confidence over the
/// number of hypotheses, which are the cells and, of several, their mean. At
/// 95 %: 6 blocks for one cell, 10 for 18. Of separate runs of n blocks it is
/// 2/C(2n, n). Where runs are counted two of them on each side are enough for any p. Woven arms have their first look after
/// eight instances: fewer do not show how instances scatter.
pub fn blocks_needed(cells: usize, confidence: f64, design: Design) -> usize {
    needed_to_test(hypotheses(cells), confidence, design)
}

/// The same for so many hypotheses.
pub(super) fn needed_to_test(tested: usize, confidence: f64, design: Design) -> usize {
    let least = |n: usize| match design {
        Design::Paired => ranks::least_p_paired(n),
        Design::Separate => ranks::least_p_unpaired(n, n),
        Design::Woven => f64::from(u8::from(n < LOOKS[0])),
        // A mean of two has an interval.
        Design::Runs => f64::from(u8::from(n < 2)),
    };
    (1..MOST_NEEDED).find(|n| least(*n) * tested as f64 <= 1.0 - confidence + 1e-9).unwrap_or(MOST_NEEDED)
}

/// The cells, and where there are several, their mean.
pub(crate) const fn hypotheses(cells: usize) -> usize {
    if cells > 1 { cells + 1 } else { 1 }
}

/// One metric of every cell on two sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The values, cell by cell.
    pub cells: Vec<Values>,
    /// Direction in which the metric is better.
    pub direction: Direction,
}

/// Compares two sides by one metric; see [`compare_all`].
pub fn compare(cells: &[Values], direction: Direction, options: &Options) -> Comparison {
    let question = Question { cells: cells.to_vec(), direction };
    compare_all(std::slice::from_ref(&question), options).swap_remove(0)
}

/// Compares two sides, or several pairs of them, by several metrics.
///
/// Each cell is tested by a randomisation test on logarithms: of paired blocks
/// the signs of the log ratios are flipped, of separate runs the labels dealt
/// again ([`ranks`]), of several runs on a side their means compared
/// ([`stats::welch`]), and of woven arms those of instances ([`stats::instances`]). So is the mean of all cells, block by block. The cells and
/// means of all questions are one family, held to the confidence by Holm's
/// procedure. Better and worse need that, and an estimate beyond the threshold;
/// equivalence needs two one-sided tests, uncorrected, since a conclusion needs it
/// of every cell.
pub fn compare_all(questions: &[Question], options: &Options) -> Vec<Comparison> {
    let mut nulls = Nulls::default();
    let measured = |question: &Question| question.cells.iter().filter(|values| !values.is_empty()).count();
    let family: usize = questions.iter().map(|question| if measured(question) == 0 { 0 } else { hypotheses(measured(question)) }).sum();
    let family = family.max(options.chosen_among);
    let needed = needed_to_test(family.max(1), options.sure(), options.design).max(options.first_look);
    let samples: Vec<(Vec<Sample>, Sample)> = questions
        .iter()
        .map(|question| {
            let samples: Vec<Sample> = question.cells.iter().map(|values| Sample::new(values, options.design)).collect();
            let mean = mean_of(&samples, options.design);
            (samples, mean)
        })
        .collect();
    let mut tested: Vec<(Vec<Tested>, Tested)> = samples
        .iter()
        .map(|(cells, mean)| {
            let cells = cells.iter().map(|sample| Tested::new(sample, needed, &mut nulls)).collect();
            (cells, Tested::new(mean, needed, &mut nulls))
        })
        .collect();
    let level = adjust(&mut tested, questions, options);
    let conclude = |(question, (cells, mean)): (&Question, &(Vec<Tested>, Tested))| {
        let judge = |tested: &Tested| tested.judged(level, needed, question.direction, options);
        let judged: Vec<CellVerdict> = cells.iter().map(judge).collect();
        let measured = judged.iter().zip(&question.cells).filter(|(_, values)| !values.is_empty());
        let overall = overall(judge(mean), measured.map(|(judged, _)| judged.verdict));
        Comparison {
            direction: question.direction,
            design: options.design,
            threshold: options.threshold,
            confidence: options.confidence,
            held_to: options.sure(),
            tested: family.max(1),
            needed,
            cells: judged,
            overall,
            conclusion: overall.conclusion(),
        }
    };
    questions.iter().zip(&tested).map(conclude).collect()
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
        let logs =
            |values: &BTreeMap<u32, f64>| -> BTreeMap<u32, f64> { values.iter().filter_map(|(b, v)| Some((*b, log(v)?))).into_map() };
        let (baseline, candidate) = (logs(&values.baseline), logs(&values.candidate));
        let mut sample = Self { design: Some(design), ..Self::default() };
        match design {
            Design::Paired | Design::Woven => {
                let common: BTreeSet<u32> = baseline.keys().filter(|block| candidate.contains_key(block)).copied().into_set();
                sample.dropped = values.baseline.keys().filter(|block| values.candidate.contains_key(block)).count() - common.len();
                sample.medians = medians(&common.iter().map(|b| (baseline[b], candidate[b])).unzip());
                sample.first = common.iter().map(|block| (*block, candidate[block] - baseline[block])).into_map();
            }
            Design::Separate | Design::Runs => {
                sample.dropped = values.baseline.len() + values.candidate.len() - baseline.len() - candidate.len();
                sample.medians = medians(&(baseline.values().copied().collect(), candidate.values().copied().collect()));
                (sample.first, sample.second) = (baseline, candidate);
            }
        }
        sample
    }

    /// Blocks that can be compared; of two runs, in the one with fewer; of several,
    /// the runs of the side with fewer.
    fn blocks(&self) -> usize {
        match self.design {
            Some(Design::Separate | Design::Runs) => self.first.len().min(self.second.len()),
            _ => self.first.len(),
        }
    }

    fn evidence(&self, nulls: &mut Nulls) -> Option<Evidence> {
        let values = |of: &BTreeMap<u32, f64>| of.values().copied().collect::<Vec<f64>>();
        match self.design {
            Some(design @ (Design::Separate | Design::Runs)) => {
                Evidence::unpaired(&values(&self.first), &values(&self.second), design, nulls)
            }
            design => Evidence::paired(&values(&self.first), design.unwrap_or(Design::Paired), nulls),
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
        Design::Paired | Design::Woven => 0.0,
        Design::Separate | Design::Runs => {
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
        sums.into_iter().map(|(block, (sum, cells))| (block, sum / cells)).into_map()
    };
    Sample { first: means(|sample| &sample.first), second: means(|sample| &sample.second), design: Some(design), ..Sample::default() }
}

/// A hypothesis with its test.
struct Tested<'a> {
    sample: &'a Sample,
    evidence: Option<Evidence>,
    /// True where there are enough blocks for any verdict.
    enough: bool,
    p: Option<f64>,
    p_adjusted: Option<f64>,
}

impl<'a> Tested<'a> {
    fn new(sample: &'a Sample, needed: usize, nulls: &mut Nulls) -> Self {
        let evidence = sample.evidence(nulls);
        let p = evidence.as_ref().map(|evidence| evidence.p(0.0));
        Self { sample, evidence, enough: sample.blocks() >= needed, p, p_adjusted: None }
    }

    fn judged(&self, level: f64, needed: usize, direction: Direction, options: &Options) -> CellVerdict {
        let Sample { medians, dropped, .. } = *self.sample;
        let ratio = self.evidence.as_ref().map(|evidence| evidence.estimate(options.confidence, self.sample.blocks()).map(f64::exp));
        let verdict = self.verdict(level, needed, direction, options);
        CellVerdict { ratio, medians, p: self.p, p_adjusted: self.p_adjusted, dropped, verdict }
    }

    fn verdict(&self, level: f64, needed: usize, direction: Direction, options: &Options) -> Verdict {
        let blocks = self.sample.blocks();
        let least = options.threshold.ln_1p();
        let found = self.evidence.as_ref().filter(|_| self.enough);
        let Some((shift, smallest)) = found.and_then(|found| Some((found.value(), found.could_show(level, least)?))) else {
            // That the arms are equivalent is not corrected, and takes fewer blocks.
            if self.sample.design != Some(Design::Woven) && self.is_within(options) {
                return Verdict::Equivalent;
            }
            return Verdict::NotEnoughBlocks { blocks, missing: needed.saturating_sub(blocks) };
        };
        let sure = self.p_adjusted.is_some_and(|p| is_sure(p, options.sure()));
        let worse = (shift > 0.0) == (direction == Direction::LowerIsBetter);
        match (sure && shift.abs() > least, worse) {
            (true, true) => Verdict::Worse,
            (true, false) => Verdict::Better,
            (false, _) if self.is_within(options) => Verdict::Equivalent,
            (false, _) => Verdict::Inconclusive { smallest: smallest.exp_m1() },
        }
    }

    /// Returns whether both one-sided tests reject a shift of the threshold: a
    /// two-sided p of twice the error is a one-sided one of the error.
    fn is_within(&self, options: &Options) -> bool {
        let edge = options.threshold.ln_1p();
        let error = 2.0 * (1.0 - options.sure()) + 1e-9;
        self.evidence.as_ref().is_some_and(|found| found.value().abs() < edge && [edge, -edge].iter().all(|at| found.p(*at) <= error))
    }
}

/// Holm over the cells that were measured and, of several, their mean, of every
/// question. What has too few blocks stays among them, as one that shows nothing.
/// Gives the confidence at which those were held that were not rejected.
fn adjust<'a>(tested: &mut [(Vec<Tested<'a>>, Tested<'a>)], questions: &[Question], options: &Options) -> f64 {
    let confidence = options.sure();
    let mut family: Vec<&mut Tested<'a>> = Vec::new();
    let mut single = Vec::new();
    for ((cells, mean), question) in tested.iter_mut().zip(questions) {
        let measured = cells.iter_mut().zip(&question.cells).filter(|(_, values)| !values.is_empty());
        let before = family.len();
        family.extend(measured.map(|(tested, _)| tested));
        if family.len() - before > 1 {
            family.push(mean);
        } else {
            // The mean of one cell is that cell.
            single.push((before, mean));
        }
    }
    let p = |tested: &&mut Tested| tested.p.filter(|_| tested.enough).unwrap_or(1.0);
    let mut all: Vec<f64> = family.iter().map(p).collect();
    // Those that were not chosen are among them, as ones that show nothing.
    all.resize(all.len().max(options.chosen_among), 1.0);
    let adjusted = holm(&all);
    let rejected = adjusted.iter().filter(|p| is_sure(**p, confidence)).count();
    for (tested, p) in family.iter_mut().zip(&adjusted) {
        tested.p_adjusted = tested.p.map(|_| *p);
    }
    for (place, mean) in single {
        mean.p_adjusted = mean.p.and(adjusted.get(place).copied());
    }
    1.0 - (1.0 - confidence) / all.len().saturating_sub(rejected).max(1) as f64
}

/// Returns whether a p is small enough; rounding does not decide.
pub(super) fn is_sure(p: f64, confidence: f64) -> bool {
    p <= 1.0 - confidence + 1e-9
}

/// All together, from the verdicts of the cells that were measured.
fn overall(mean: CellVerdict, cells: impl Iterator<Item = Verdict>) -> OverallVerdict {
    let (mut better, mut worse, mut equivalent, mut inconclusive, mut too_few, mut least) = (0, 0, 0, 0, 0, None::<f64>);
    for verdict in cells {
        match verdict {
            Verdict::Better => better += 1,
            Verdict::Worse => worse += 1,
            Verdict::Equivalent => equivalent += 1,
            Verdict::Inconclusive { smallest } => {
                inconclusive += 1;
                least = Some(least.map_or(smallest, |least| least.max(smallest)));
            }
            Verdict::NotEnoughBlocks { .. } | Verdict::Mixed => too_few += 1,
        }
    }
    let verdict = match (better > 0 || mean.verdict == Verdict::Better, worse > 0 || mean.verdict == Verdict::Worse) {
        (true, true) => Verdict::Mixed,
        (true, false) => Verdict::Better,
        (false, true) => Verdict::Worse,
        (false, false) => match least {
            Some(smallest) => Verdict::Inconclusive { smallest },
            None if equivalent > 0 && too_few == 0 => Verdict::Equivalent,
            None => mean.verdict,
        },
    };
    OverallVerdict { mean, better, worse, equivalent, inconclusive, too_few, verdict }
}
