//! Changes of the cost of a message, a byte or a segment.
//!
//! The form of the model is one found for all blocks (`crate::cost`); here each
//! block's own trials are fitted with it, once for each arm. So every coefficient
//! has a pair of values a block, and is tested like any other pair: exactly,
//! because the arms' order was drawn.

use std::collections::BTreeMap;

use model::Bytes;
use serde::Serialize;

use super::compare::{is_sure, needed_to_test};
use super::evidence::Evidence;
use super::{Design, Options};
use crate::cost::Fit;
use stats::cost::Term;
use stats::cost::design::Point;
use stats::cost::robust;
use stats::estimate::Estimate;
use stats::holm::holm;
use stats::median;
use stats::ranks::Nulls;

/// A residual of up to 2 % is none: the same as the least noise of a cost model.
const LEAST_NOISE: f64 = 0.02;

/// The trials of one series of cells in one block by size, those of the baseline and
/// those of the candidate; their times are above 0. Of separate runs, blocks of the
/// same index need not have anything to do with each other.
pub type BlockPoints = [BTreeMap<Bytes, Point>; 2];

/// The form of a cost model: what both arms are fitted with.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    terms: Vec<Term>,
    pieces: Vec<FormPiece>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct FormPiece {
    from: Bytes,
    to: Bytes,
    /// Bytes of a full segment, where bytes and frames cannot be separated.
    segment: Option<f64>,
}

impl Form {
    /// The form of a fit, such as that of the baseline.
    pub fn from_fit(fit: &Fit) -> Self {
        let fitted = |term: &Term| *term != Term::FullSegment;
        let value = |terms: &[crate::cost::TermEstimate], of: Term| terms.iter().find(|t| t.term == of).map(|t| t.estimate.value);
        let terms = fit.pieces.first().map_or(Vec::new(), |piece| piece.terms.iter().map(|found| found.term).filter(fitted).collect());
        let piece = |piece: &crate::cost::Piece| {
            let full = value(&piece.terms, Term::FullSegment).zip(value(&piece.terms, Term::Byte));
            let segment = full.map(|(full, byte)| (full / byte).round()).filter(|bytes| bytes.is_finite() && *bytes >= 1.0);
            FormPiece { from: piece.from, to: piece.to, segment }
        };
        Self { terms, pieces: fit.pieces.iter().map(piece).collect() }
    }
}

/// Reason why coefficients cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CoefficientError {
    /// No block has all sizes.
    #[error("no block has a trial of every size of the model in {0}; nothing can be fitted block by block")]
    NoBlock(&'static str),
}

/// Change of a coefficient.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It rose, surely and by more than the threshold.
    Rose,
    /// It fell.
    Fell,
    /// No change shown.
    NotShown {
        /// The smallest change that could have been shown, in ns.
        smallest_ns: f64,
    },
    /// Whatever the values were, no change could be shown.
    NotEnoughBlocks {
        /// Blocks in which the model could be fitted in both arms.
        blocks: usize,
        /// Blocks that are missing.
        missing: usize,
    },
}

/// One coefficient of one piece in both arms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Coefficient {
    /// Smallest size of the piece.
    pub from: Bytes,
    /// Its largest.
    pub to: Bytes,
    /// Unit that it is counted by. A full segment is the cost of a byte times the
    /// payload of a segment, and says nothing of its own.
    pub term: Term,
    /// Median over blocks in the baseline, in ns.
    pub baseline_ns: f64,
    /// In the candidate.
    pub candidate_ns: f64,
    /// The change in ns.
    pub difference_ns: Estimate,
    /// The candidate's over the baseline's; `None` where the baseline's may be 0
    /// or less in some block, so that a ratio would say nothing.
    pub ratio: Option<Estimate>,
    /// Probability of a change at least as large by chance.
    pub p: f64,
    /// The same with all coefficients of the model taken into account (Holm).
    pub p_adjusted: f64,
    /// The verdict.
    pub change: Change,
}

/// A cost model in two arms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Coefficients {
    /// The way in which the arms were measured.
    pub design: Design,
    /// A change needs an estimate beyond this share: of the coefficient, or where
    /// it has no ratio, of the time of the largest message of its piece.
    pub threshold: f64,
    /// The confidence of changes and intervals.
    pub confidence: f64,
    /// Blocks fitted in the baseline and in the candidate.
    pub blocks: [usize; 2],
    /// Blocks that lacked a size, or that could not separate the terms.
    pub dropped: usize,
    /// The coefficients, piece by piece.
    pub coefficients: Vec<Coefficient>,
}

/// Compares the coefficients of one form in two arms.
///
/// # Errors
/// No block of an arm has a trial of every size of the form.
pub fn coefficients(blocks: &BTreeMap<u32, BlockPoints>, form: &Form, options: &Options) -> Result<Coefficients, CoefficientError> {
    let mut arms = [0, 1].map(|arm| -> BTreeMap<u32, Vec<Vec<f64>>> {
        let sizes = sizes_of(blocks.values().map(|points| &points[arm]), form);
        blocks.iter().filter_map(|(block, points)| Some((*block, fitted(&points[arm], form, &sizes)?))).collect()
    });
    for (fits, arm) in arms.iter().zip(["the baseline", "the candidate"]) {
        if fits.is_empty() {
            return Err(CoefficientError::NoBlock(arm));
        }
    }
    if options.design.is_paired() {
        let [baseline, candidate] = &mut arms;
        baseline.retain(|block, _| candidate.contains_key(block));
        candidate.retain(|block, _| baseline.contains_key(block));
    }
    if arms[0].is_empty() {
        return Err(CoefficientError::NoBlock("both arms"));
    }
    let counts = [arms[0].len(), arms[1].len()];
    let dropped = [0, 1].map(|arm| blocks.values().filter(|points| !points[arm].is_empty()).count() - counts[arm]);
    Ok(Coefficients {
        design: options.design,
        threshold: options.threshold,
        confidence: options.confidence,
        blocks: counts,
        dropped: dropped[0].max(dropped[1]),
        coefficients: Fits { arms, form, blocks }.compare(options),
    })
}

/// The sizes that most blocks have, within the form.
fn sizes_of<'a>(blocks: impl Iterator<Item = &'a BTreeMap<Bytes, Point>>, form: &Form) -> Vec<Bytes> {
    let mut counts: BTreeMap<Bytes, usize> = BTreeMap::new();
    let sizes = blocks.flat_map(BTreeMap::keys).filter(|size| form.pieces.iter().any(|piece| piece.holds(**size)));
    sizes.for_each(|size| *counts.entry(*size).or_default() += 1);
    let most = counts.values().copied().max().unwrap_or_default();
    counts.into_iter().filter(|(_, count)| count * 2 >= most).map(|(size, _)| size).collect()
}

/// The coefficients of each piece in one block; `None` where it lacks a size, or
/// its trials cannot separate the terms.
fn fitted(points: &BTreeMap<Bytes, Point>, form: &Form, sizes: &[Bytes]) -> Option<Vec<Vec<f64>>> {
    let at = |size: &Bytes| points.get(size).copied().filter(|point| point.time > 0.0 && point.time.is_finite());
    let piece = |piece: &FormPiece| {
        let points: Vec<Point> = sizes.iter().filter(|size| piece.holds(**size)).map(at).collect::<Option<_>>()?;
        robust::fit(&points, &form.terms, LEAST_NOISE)
    };
    if sizes.is_empty() { None } else { form.pieces.iter().map(piece).collect() }
}

impl FormPiece {
    fn holds(&self, size: Bytes) -> bool {
        self.from <= size && size <= self.to
    }
}

/// The coefficients of every block.
struct Fits<'a> {
    arms: [BTreeMap<u32, Vec<Vec<f64>>>; 2],
    form: &'a Form,
    blocks: &'a BTreeMap<u32, BlockPoints>,
}

/// One coefficient's values, and what they say.
struct Tested {
    piece: usize,
    term: Term,
    values: [Vec<f64>; 2],
    difference: Evidence,
    ratio: Option<Evidence>,
}

impl Fits<'_> {
    fn compare(&self, options: &Options) -> Vec<Coefficient> {
        let mut nulls = Nulls::default();
        let places = (0..self.form.pieces.len()).flat_map(|piece| (0..self.form.terms.len()).map(move |term| (piece, term)));
        let tested: Vec<Tested> = places.filter_map(|(piece, term)| self.test(piece, term, options.design, &mut nulls)).collect();
        let adjusted = holm(&tested.iter().map(|tested| tested.difference.p(0.0)).collect::<Vec<_>>());
        let rejected = adjusted.iter().filter(|p| is_sure(**p, options.confidence)).count();
        let level = 1.0 - (1.0 - options.confidence) / tested.len().saturating_sub(rejected).max(1) as f64;
        let needed = needed_to_test(tested.len(), options.confidence, options.design);
        let mut all = Vec::new();
        for (tested, p_adjusted) in tested.iter().zip(adjusted) {
            let found = self.judged(tested, p_adjusted, level, needed, options);
            let segment = self.form.pieces[tested.piece].segment.filter(|_| tested.term == Term::Byte);
            let full = segment.map(|bytes| found.scaled(Term::FullSegment, bytes));
            all.extend([Some(found), full].into_iter().flatten());
        }
        all
    }

    fn test(&self, piece: usize, term: usize, design: Design, nulls: &mut Nulls) -> Option<Tested> {
        let [baseline, candidate] = [0, 1].map(|arm| self.arms[arm].values().map(|fit| fit[piece][term]).collect::<Vec<f64>>());
        let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
        let (difference, ratio) = match design {
            Design::Paired | Design::Woven => {
                let pairs: Vec<(f64, f64)> = baseline.iter().copied().zip(candidate.iter().copied()).collect();
                let differences: Vec<f64> = pairs.iter().map(|(from, to)| to - from).collect();
                (
                    Evidence::paired(&differences, Design::Paired, nulls)?,
                    nulls.ratios(&pairs).map(|shifts| Evidence::Ranks(shifts, pairs.len() as f64 - 1.0)),
                )
            }
            // A logarithm of what is not above 0 is no number, and so is the ratio.
            Design::Separate | Design::Runs => {
                let ratio = Evidence::unpaired(&logs(&baseline), &logs(&candidate), design, nulls);
                (Evidence::unpaired(&baseline, &candidate, design, nulls)?, ratio)
            }
        };
        Some(Tested { piece, term: *self.form.terms.get(term)?, values: [baseline, candidate], difference, ratio })
    }

    fn judged(&self, tested: &Tested, p_adjusted: f64, level: f64, needed: usize, options: &Options) -> Coefficient {
        let n = tested.values[0].len().min(tested.values[1].len());
        let as_ratio = |value: f64| if options.design.is_paired() { value } else { value.exp() };
        let ratio = tested.ratio.as_ref().map(|found| found.estimate(options.confidence, n).map(as_ratio));
        let difference_ns = tested.difference.estimate(options.confidence, n);
        let size = ratio.map_or_else(|| self.share_of_largest(tested, difference_ns.value), |ratio| ratio.value.ln().abs());
        let change = match tested.difference.could_show(level, 0.0).filter(|_| n >= needed) {
            None => Change::NotEnoughBlocks { blocks: n, missing: needed.saturating_sub(n) },
            Some(_) if is_sure(p_adjusted, options.confidence) && size > options.threshold.ln_1p() => {
                if difference_ns.value > 0.0 {
                    Change::Rose
                } else {
                    Change::Fell
                }
            }
            Some(smallest_ns) => Change::NotShown { smallest_ns },
        };
        let FormPiece { from, to, .. } = self.form.pieces[tested.piece];
        let [baseline_ns, candidate_ns] = [0, 1].map(|arm| median::median(&tested.values[arm]).unwrap_or_default());
        let p = tested.difference.p(0.0);
        Coefficient { from, to, term: tested.term, baseline_ns, candidate_ns, difference_ns, ratio, p, p_adjusted, change }
    }

    /// A change as a share of the baseline's time for the largest message of the
    /// piece.
    fn share_of_largest(&self, tested: &Tested, change: f64) -> f64 {
        let piece = self.form.pieces[tested.piece];
        let points = || self.blocks.values().flat_map(|[baseline, _]| baseline).filter(|(size, _)| piece.holds(**size));
        let Some(largest) = points().map(|(size, _)| size).max() else { return 0.0 };
        let of_largest = points().filter(|(size, _)| *size == largest);
        let shares: Vec<f64> = of_largest.filter_map(|(_, point)| Some(point.count(tested.term)? * change / point.time)).collect();
        median::median(&shares).unwrap_or_default().abs()
    }
}

impl Coefficient {
    /// The cost of so many of its unit.
    fn scaled(&self, term: Term, by: f64) -> Self {
        let difference_ns = self.difference_ns.map(|ns| ns * by);
        let change = match self.change {
            Change::NotShown { smallest_ns } => Change::NotShown { smallest_ns: smallest_ns * by },
            other => other,
        };
        Self { term, baseline_ns: self.baseline_ns * by, candidate_ns: self.candidate_ns * by, difference_ns, change, ..self.clone() }
    }
}
