//! Verdicts of a comparison, and the conclusion from them.

use serde::Serialize;

use super::{Design, Direction};
use stats::estimate::Estimate;

/// Verdict on one cell of two arms, or on all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The candidate is better, surely and by more than the threshold.
    Better,
    /// The candidate is worse, surely and by more than the threshold.
    Worse,
    /// Better in some cells and worse in others; of all cells only.
    Mixed,
    /// The whole interval lies within the threshold on both sides of none: two
    /// one-sided tests, each at 1 − confidence (Schuirmann 1987).
    Equivalent,
    /// Neither a difference beyond the threshold is shown, nor that there is none.
    Inconclusive {
        /// The smallest true difference that such a study shows in four of five, as a
        /// share; of all cells, in the one where least can be shown.
        smallest: f64,
    },
    /// Whatever the values were, no difference could be shown, and equivalence is not.
    NotEnoughBlocks {
        /// Blocks that there are; of two runs, in the one with fewer.
        blocks: usize,
        /// Blocks that are missing.
        missing: usize,
    },
}

impl Verdict {
    /// Returns whether it says that there is a difference.
    pub const fn is_shown(&self) -> bool {
        matches!(self, Self::Better | Self::Worse | Self::Mixed)
    }
}

/// One cell, or the mean of all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CellVerdict {
    /// The candidate over the baseline, with its own interval: other cells are
    /// not taken into account. `n` is the number of pairs, or of the values of
    /// the smaller of two runs. `None` without any.
    pub ratio: Option<Estimate>,
    /// Median of the baseline and of the candidate, over the blocks compared;
    /// `None` of the mean of all cells, and without any.
    pub medians: Option<[f64; 2]>,
    /// Probability of a ratio at least this far from 1 by chance; `None`
    /// without any values.
    pub p: Option<f64>,
    /// The same with all cells and their mean taken into account (Holm).
    pub p_adjusted: Option<f64>,
    /// Blocks, or values, left out for a value that is not above 0 or no number.
    pub dropped: usize,
    /// The verdict.
    pub verdict: Verdict,
}

impl CellVerdict {
    /// Returns whether the difference is surely one, however small.
    pub fn is_significant(&self, confidence: f64) -> bool {
        self.p_adjusted.is_some_and(|p| p <= 1.0 - confidence + 1e-9)
    }
}

/// All cells together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OverallVerdict {
    /// The geometric mean of the cells' ratios, each cell weighing the same.
    pub mean: CellVerdict,
    /// Cells in which the candidate is better.
    pub better: usize,
    /// Cells in which it is worse.
    pub worse: usize,
    /// Cells in which there is surely no difference beyond the threshold.
    pub equivalent: usize,
    /// Cells in which neither is shown.
    pub inconclusive: usize,
    /// Cells with too few blocks for a verdict.
    pub too_few: usize,
    /// Better or worse if the mean or any cell is, equivalent if every cell is.
    pub verdict: Verdict,
}

/// Two arms, by one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Direction in which the metric is better.
    pub direction: Direction,
    /// The way in which the arms were measured, which may protect from drift.
    pub design: Design,
    /// A verdict needs an estimate beyond this share.
    pub threshold: f64,
    /// The confidence of intervals.
    pub confidence: f64,
    /// The confidence of verdicts: that of intervals, but of woven arms that of one look.
    #[serde(skip)]
    pub held_to: f64,
    /// Hypotheses of the family: of every question the cells, and where there are several, their mean.
    pub tested: usize,
    /// Blocks that a verdict needs with so many; of two runs, in each.
    pub needed: usize,
    /// The cells, in the order given; with neither arm's values, one has a
    /// verdict of 0 blocks and counts for nothing.
    pub cells: Vec<CellVerdict>,
    /// All of them.
    pub overall: OverallVerdict,
    /// The conclusion for the user.
    pub conclusion: Conclusion,
}

impl Comparison {
    /// The conclusion without these cells; where they are all that was measured, with them.
    pub(super) fn without(&self, alike: &[usize]) -> Conclusion {
        let measured = |judged: &&CellVerdict| judged.ratio.is_some();
        let left: Vec<&CellVerdict> =
            self.cells.iter().enumerate().filter(|(place, _)| !alike.contains(place)).map(|(_, judged)| judged).filter(measured).collect();
        // One side's alone has no ratio, and a verdict of the mean is of all.
        let lacking = self.cells.iter().filter(measured).count() < self.overall.measured();
        match self.conclusion {
            Conclusion::Inconclusive if !left.is_empty() && !lacking => {
                let sure = left.iter().all(|judged| matches!(judged.verdict, Verdict::Better | Verdict::Equivalent));
                if sure { Conclusion::Done } else { Conclusion::Inconclusive }
            }
            conclusion => conclusion,
        }
    }
}

/// Conclusion for a script, the gravest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// In every cell the candidate is better or equivalent.
    Done,
    /// It is worse nowhere, but a difference beyond the threshold could hide.
    Inconclusive,
    /// The candidate is worse somewhere.
    Against,
}

impl Conclusion {
    /// The exit code: 0, 4 or 3.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Against => 3,
            Self::Inconclusive => 4,
        }
    }
}

/// Returns the conclusion from several comparisons: the gravest of them; of none,
/// that nothing could be shown.
pub fn conclude(comparisons: impl IntoIterator<Item = Conclusion>) -> Conclusion {
    comparisons.into_iter().max().unwrap_or(Conclusion::Inconclusive)
}

impl OverallVerdict {
    /// Cells that were measured on either side.
    pub const fn measured(&self) -> usize {
        self.better + self.worse + self.equivalent + self.inconclusive + self.too_few
    }

    /// The conclusion from it.
    pub(super) const fn conclusion(&self) -> Conclusion {
        match self.verdict {
            Verdict::Worse | Verdict::Mixed => Conclusion::Against,
            Verdict::Better | Verdict::Equivalent if self.inconclusive + self.too_few == 0 => Conclusion::Done,
            _ => Conclusion::Inconclusive,
        }
    }
}
