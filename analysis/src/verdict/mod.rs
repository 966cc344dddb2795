//! Comparisons of arms: which one is better, by how much, and how sure that is.
//!
//! ```text
//! Values (a cell, both arms, by block) -> series: are they of one kind? -> Doubt
//!                                      -> compare -> Comparison -> conclude -> exit code
//! Points by size (a block, both arms)  -> coefficients -> per message, per byte, per segment
//! Values of an arm against itself      -> selftest -> what this machine can show
//! ```
//!
//! `docs/statistics.md` has the maths with their sources, and what simulations
//! show of them.

mod coefficients;
mod compare;
mod evidence;
mod false_alarm;
mod gate;
mod judged;
mod means;
mod selftest;
mod series;
mod sides;

pub mod simulation;
pub mod woven;

pub use crate::metric::Direction;
pub use coefficients::{BlockPoints, Change, Coefficient, CoefficientError, Coefficients, Form, coefficients};
pub use compare::{Question, blocks_needed, compare, compare_all};
pub use false_alarm::FalseAlarm;
pub use gate::{COMPARED, GATE, Gate, GateMetric};
pub use judged::{CellVerdict, Comparison, Conclusion, OverallVerdict, Verdict, conclude};
pub use means::{MEANS, Means, Shift, means};
pub use selftest::{Outlook, SelfTest, blocks_for_equivalence, detectable, self_test};
pub use series::{Doubt, Shape, Side, correlation, doubts};
pub use sides::{CoefficientsOutcome, MetricComparison, Pair, RunScatter, SeriesVerdict, SideComparison};

pub(crate) use compare::hypotheses;
pub(crate) use sides::{Sides, compare_gate, compare_sides};

use std::collections::BTreeMap;

use model::Plan;
use model::sorting::Gather;
use serde::Serialize;

use self::woven::looks;

/// A difference of up to 2 % is none worth a verdict unless the user says so.
pub const THRESHOLD: f64 = 0.02;

/// The confidence of verdicts and intervals unless the user says so.
pub const CONFIDENCE: f64 = 0.95;

/// The way in which the two arms were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// As neighbours within each block, in random order: what drifts hits both.
    Paired,
    /// In separate runs, one after the other: what changed on the machine between
    /// them cannot be distinguished from the arms. There is no drift protection.
    Separate,
    /// Woven: alive together, taking turns of some milliseconds. Each instance counts once.
    Woven,
    /// In several runs on a side at least: each run counts once, so that the scatter
    /// of runs is in the verdict.
    Runs,
}

impl Design {
    /// Returns whether a block, or an instance, has a value of each arm.
    pub const fn is_paired(self) -> bool {
        matches!(self, Self::Paired | Self::Woven)
    }
}

/// Demands on a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Options {
    /// A verdict needs an estimate beyond this share; 0.02 is 2 %.
    pub threshold: f64,
    /// The confidence of intervals; 1 − this is the probability of any false
    /// verdict in a comparison.
    pub confidence: f64,
    /// The way in which the arms were measured.
    pub design: Design,
    /// Looks that share the error, of woven arms; the present one among them.
    pub looks: usize,
    /// Instances at the first of them.
    pub first_look: usize,
    /// True where one run on each side is enough for a conclusion: the user says that
    /// runs do not differ of themselves.
    pub trust_single_runs: bool,
    /// The look at growing data that this is, the first being 1; 0 where data are looked at once.
    pub look: u32,
    /// Hypotheses that the cells were chosen among: no family is smaller.
    pub chosen_among: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threshold: THRESHOLD,
            confidence: CONFIDENCE,
            design: Design::Paired,
            looks: 1,
            first_look: 1,
            trust_single_runs: false,
            look: 0,
            chosen_among: 0,
        }
    }
}

impl Options {
    /// Those of the arms of a plan.
    pub fn of_arms(plan: &Plan) -> Self {
        let design = if plan.woven { Design::Woven } else { Design::Paired };
        let looks = if plan.woven { looks(&plan.blocks) } else { Vec::new() };
        let (first_look, looks) = (looks.first().copied().unwrap_or(1), looks.len().max(1));
        Self { confidence: plan.blocks.confidence, design, looks, first_look, ..Self::default() }
    }

    /// The confidence of verdicts, of which earlier and later looks have their share ([`stats::looks`], of woven arms
    /// [`stats::instances`]).
    fn sure(&self) -> f64 {
        match self.design {
            // The looks of a first run spend together what the first look of any study does.
            Design::Woven if self.look <= 1 => stats::instances::held_to(self.looks),
            _ => 1.0 - (1.0 - self.confidence) * stats::looks::share(self.look),
        }
    }

    /// The conclusion that the design allows. The blocks of one run share what that run
    /// has by chance (its addresses, its memory, its hour), so that many blocks of
    /// two runs say nothing of others.
    fn limited(&self, conclusion: Conclusion) -> Conclusion {
        match self.design {
            Design::Separate if !self.trust_single_runs => Conclusion::Inconclusive,
            _ => conclusion,
        }
    }
}

/// One metric of one cell in both arms, by block; of several runs, one value a run.
///
/// Where arms were measured in one run, a block's values are a pair; a block in
/// which one arm has none is left out. Ratios need values above 0: others are
/// left out too, and counted ([`CellVerdict::dropped`]).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values {
    /// Values of the baseline, one a block.
    pub baseline: BTreeMap<u32, f64>,
    /// Those of the candidate.
    pub candidate: BTreeMap<u32, f64>,
}

impl Values {
    /// From pairs of a block and its value.
    pub fn new(baseline: impl IntoIterator<Item = (u32, f64)>, candidate: impl IntoIterator<Item = (u32, f64)>) -> Self {
        Self { baseline: baseline.into_iter().into_map(), candidate: candidate.into_iter().into_map() }
    }

    /// Returns whether neither arm has any value: the metric is none of this cell.
    fn is_empty(&self) -> bool {
        self.baseline.is_empty() && self.candidate.is_empty()
    }
}

#[cfg(test)]
mod tests;
