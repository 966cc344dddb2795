//! What a study of ways finds.

use model::plan::Unfit;
use model::{Api, Bytes, Plan, Receive};
use serde::Serialize;
use stats::estimate::Estimate;

use crate::verdict::Shape;

/// Ways of sending, side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WayStudy {
    /// A series for each test, with whatever else distinguishes cells.
    pub series: Vec<WaySeries>,
}

impl WayStudy {
    /// Notes which ways of a woven plan are measured in turn, and why.
    pub(super) fn note_in_turn(&mut self, plan: &Plan) {
        for group in plan.groups() {
            let Some(why) = group.in_turn else { continue };
            for cell in group.members.iter().skip(1).map(|member| &plan.cells[member.cell]) {
                let series = super::series_of(cell);
                let of_series = self.series.iter_mut().filter(|one| one.series == series).flat_map(|one| &mut one.ways);
                of_series.filter(|way| (way.api, way.receive) == (cell.api, cell.receive)).for_each(|way| way.in_turn = Some(why));
            }
        }
    }
}

/// The ways of one series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaySeries {
    /// The series without its way.
    pub series: String,
    /// True where ratios are of rounds in which each way takes turns with the base.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub woven: bool,
    /// Message sizes, rising.
    pub sizes: Vec<Bytes>,
    /// The ways; the first is the base: plain `send` where it is one of them.
    pub ways: Vec<Way>,
    /// The cheapest way of each size; `None` where none was measured.
    pub cheapest: Vec<Option<Cheapest>>,
    /// Pairs of ways that have two sizes or more in common.
    pub crossings: Vec<Crossing>,
    /// Doubts about the shares of woven ways, the surest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<WayDoubt>,
}

/// A doubt about the share of a way at a size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WayDoubt {
    /// The place of the way.
    pub way: usize,
    /// The place of the size.
    pub size: usize,
    /// The shape of the series of its rounds or instances.
    pub shape: Shape,
    /// Probability of this by chance, of all ways and sizes of the series together (Bonferroni).
    pub p: f64,
}

/// One way.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Way {
    /// The api.
    pub api: Api,
    /// The way of receiving, where it is not the one that goes with the api.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<Receive>,
    /// Messages of a call.
    pub batch: u32,
    /// CPU time a message of both ends together, in ns, by size: the mean of the medians by the hosts'
    /// roles; of woven ways the base's, times the ratio. `None` of a size that the way was not measured at in
    /// each role that the series has.
    pub cost_ns: Vec<Option<Estimate>>,
    /// The same over that of the base: of woven ways of the rounds that they share.
    pub of_base: Vec<Option<Estimate>>,
    /// Times that the receiver was woken a message, by size.
    pub wakeups: Vec<Option<Estimate>>,
    /// Time that the first message of a full batch waits for the last, messages coming as fast as they
    /// were carried, in ns, by size; `None` of a way with a call for each message.
    pub batch_fills_ns: Vec<Option<Estimate>>,
    /// The reason for which it is measured in turn, where others are woven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_turn: Option<Unfit>,
    /// Its line over the sizes; `None` where its cost or the base's is no line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<WayLine>,
}

/// Costs of a way as a line in the size, by least squares of relative errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WayLine {
    /// CPU time of both ends of a message of no bytes, in ns.
    pub message_ns: Estimate,
    /// What each byte adds, in ns.
    pub byte_ns: Estimate,
    /// Cost of a message over the base's.
    pub message_of_base: Estimate,
    /// Cost of a byte over the base's.
    pub byte_of_base: Estimate,
}

/// The way that costs the least at a size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cheapest {
    /// Its place among the ways.
    pub way: usize,
    /// Ways that are not shown to cost more.
    pub ties: Vec<usize>,
}

/// Two ways that have two sizes or more in common, compared at each.
///
/// A size distinguishes them when the logarithm of the ratio of their costs lies further from 0 than blocks
/// explain, at the study's confidence for all sizes of this pair together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Crossing {
    /// Their places among the ways.
    pub ways: [usize; 2],
    /// The sizes that both were measured at in enough blocks to compare them, rising.
    pub sizes: Vec<Bytes>,
    /// The place of the cheaper way, by size; `None` where the size does not distinguish them.
    pub cheaper: Vec<Option<usize>>,
    /// The most by which either may exceed the cost of the other at the sizes that do not distinguish them,
    /// as a share of that cost, at the same confidence; `None` where there is no such size.
    pub at_most: Option<f64>,
    /// The sizes at which they cost the same, one between each two neighbours among the sizes that tell
    /// them apart of which each has another cheaper way.
    pub changes: Vec<Change>,
}

/// A size at which the cheaper of two ways changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// In bytes; without an interval where blocks are too few for one, or fewer than nine in ten draws have
    /// such a size.
    pub size: Estimate,
    /// The two measured sizes that it lies between.
    pub between: [Bytes; 2],
    /// The place of the cheaper way above it.
    pub above: usize,
}
