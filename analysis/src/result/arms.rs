//! What a run with arms says beside its baseline.

use serde::Serialize;

use super::{CellResult, CostModel, Metric, Quantity};
use crate::verdict::{Coefficients, Comparison, Conclusion, Doubt, Means, SelfTest};

/// One arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmResult {
    /// Its name; what it sets stands in the plan.
    pub name: String,
    /// Its cells as they were run in it, in the order of the analysis' own.
    pub cells: Vec<CellResult>,
    /// Its cost models, one for each series of stream cells and each quantity.
    pub models: Vec<CostModel>,
}

/// A candidate against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmVerdict {
    /// The first arm of the plan.
    pub baseline: String,
    /// The other.
    pub candidate: String,
    /// Whether both set the same: then a difference shown is a false one.
    pub is_self_test: bool,
    /// Places of the cells that the two arms run in the same way because what
    /// sets them apart means nothing there, such as a congestion control to UDP.
    pub alike: Vec<usize>,
    /// The metric whose comparison the conclusion follows from.
    pub headline: Metric,
    /// The comparisons, the headline's first. Each is held to the confidence for
    /// itself: one that is not the headline says where a difference lies, and of
    /// several some may be shown by chance.
    pub metrics: Vec<MetricVerdict>,
    /// Changes of what is neither better nor worse, such as wake-ups; without a verdict.
    pub means: Vec<Means>,
    /// Changes of what a message, a byte and a segment cost.
    pub coefficients: Vec<SeriesVerdict>,
    /// Of a self-test: what this machine can show in how many minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_test: Option<SelfTest>,
    /// What follows for who asked.
    pub conclusion: Conclusion,
}

/// One metric in both arms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricVerdict {
    /// Which.
    pub metric: Metric,
    /// What the comparison says; its cells are in the order of the analysis'.
    pub comparison: Comparison,
    /// What averaging would hide.
    pub doubts: Vec<Doubt>,
    /// The values that were compared, cell by cell.
    pub pairs: Vec<Vec<Pair>>,
}

/// One block of a cell in both arms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pair {
    /// The block.
    pub block: u32,
    /// In the baseline.
    pub baseline: f64,
    /// In the candidate.
    pub candidate: f64,
}

/// The coefficients of one series in both arms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesVerdict {
    /// The baseline's series in words.
    pub series: String,
    /// Of which quantity.
    pub quantity: Quantity,
    /// What became of them, or why that cannot be told.
    pub outcome: CoefficientsOutcome,
}

/// Coefficients compared, or why they are not.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CoefficientsOutcome {
    /// They are.
    Compared(Coefficients),
    /// They cannot be.
    NotCompared {
        /// In a sentence.
        reason: String,
    },
}
