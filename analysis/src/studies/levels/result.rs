//! Result of the conditions that cells are under: cells that are equal but for one
//! of them, compared with its base level.

use std::collections::BTreeMap;

use model::plan::Factor;
use model::{Bytes, Test};
use serde::Serialize;

use stats::estimate::Estimate;

/// Every condition that the plan varies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelStudy {
    /// Condition by condition, in the order of [`Factor::ALL`].
    pub factors: Vec<FactorLevels>,
    /// Ratios to the base beyond a factor of two, what is shown first, then the
    /// farthest first.
    pub findings: Vec<LevelFinding>,
}

impl LevelStudy {
    /// Places of the cells that are not at a base level.
    pub fn variants(&self) -> impl Iterator<Item = usize> + '_ {
        let series = self.factors.iter().flat_map(|factor| &factor.series);
        series.flat_map(|series| series.levels.iter().skip(1)).flat_map(|level| level.cells.iter().flatten().copied())
    }
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactorLevels {
    /// Which.
    pub factor: Factor,
    /// Each series that has several levels of it.
    pub series: Vec<SeriesLevels>,
}

/// Cells of one series at each level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesLevels {
    /// The series in words, without the condition.
    pub series: String,
    /// The test that all its cells run.
    pub test: Test,
    /// The sizes at the base level, rising.
    pub sizes: Vec<Bytes>,
    /// The base first, the others in the plan's order; at least two.
    pub levels: Vec<Level>,
    /// Effect of each further unit on the throughput, where levels are units.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Both ends loaded against one, unit by unit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub both: Vec<BothLoaded>,
}

impl SeriesLevels {
    /// The base level's name.
    pub fn base(&self) -> &str {
        self.levels.first().map_or("", |level| &level.name)
    }
}

/// One level of a condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Level {
    /// As the plan writes it: `sender:2`, `same-core`.
    pub name: String,
    /// Place of the cell of each of the sizes; `None` where the level lacks it.
    pub cells: Vec<Option<usize>>,
    /// Usage of the condition; `None` where it takes nothing, or nothing is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took: Option<LevelUsage>,
    /// The figures compared.
    pub figures: BTreeMap<LevelMetric, LevelFigure>,
    /// Rise of the curve over sizes; of streams of several sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
}

/// A figure that levels are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LevelMetric {
    /// At the receiver: of streams payload bits a second, else transactions a second.
    Throughput,
    /// Elapsed time per message at the sender, in ns; of streams.
    SenderTime,
    /// CPU time of the sender's end per message, in ns.
    SenderCpu,
    /// CPU time of the receiver's end per message, in ns.
    ReceiverCpu,
    /// Median round trip, in ns.
    RoundTripP50,
    /// 99th percentile of the round trips of a trial of at least 1,000, in ns.
    RoundTripP99,
    /// Time until all messages of a trial have arrived, in ns; of trials of a number of messages.
    Completion,
    /// Jain's index of the flows; of trials with several that end by time.
    Fairness,
    /// Share of the datagrams lost. It is compared by its difference: where
    /// nothing is lost at the base there is no ratio.
    Loss,
}

impl LevelMetric {
    /// Every figure, in the order of reports.
    pub const ALL: &'static [Self] = &[
        Self::Throughput,
        Self::SenderTime,
        Self::SenderCpu,
        Self::ReceiverCpu,
        Self::RoundTripP50,
        Self::RoundTripP99,
        Self::Completion,
        Self::Fairness,
        Self::Loss,
    ];

    /// The name in JSON and CSV.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::SenderTime => "sender_time",
            Self::SenderCpu => "sender_cpu",
            Self::ReceiverCpu => "receiver_cpu",
            Self::RoundTripP50 => "round_trip_p50",
            Self::RoundTripP99 => "round_trip_p99",
            Self::Completion => "completion",
            Self::Fairness => "fairness",
            Self::Loss => "loss",
        }
    }

    /// Returns whether a level is compared by its difference to the base, not its ratio.
    pub const fn is_difference(self) -> bool {
        matches!(self, Self::Loss)
    }
}

/// A figure at one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelFigure {
    /// At each of the sizes.
    pub by_size: Vec<SizeFigure>,
    /// Against the base, all sizes together: the geometric mean of their ratios,
    /// or the mean of their differences. `None` at the base.
    pub mean: Option<Estimate>,
}

/// A figure at one level and size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SizeFigure {
    /// The median over trials.
    pub value: Option<Estimate>,
    /// Over the base, or less it ([`LevelMetric::is_difference`]), paired by block;
    /// `None` at the base.
    pub against_base: Option<Estimate>,
}

/// Goodput of the largest size over that of the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Curve {
    /// The ratio.
    pub rise: Estimate,
    /// That over the base's, paired by block; `None` at the base.
    pub against_base: Option<Estimate>,
    /// The conclusion; [`Standing::NotShown`] at the base.
    pub flatter: Standing,
}

/// Standing of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The whole interval says so.
    Holds,
    /// The whole interval says the opposite.
    Fails,
    /// The interval reaches to both sides, or there is none.
    NotShown,
}

/// Usage of the conditions of a level; medians over its trials.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LevelUsage {
    /// CPUs that the load on the sender's host kept busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_cpus: Option<Estimate>,
    /// The same on the receiver's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_cpus: Option<Estimate>,
    /// Payload bits a second that the pairs of other hosts exchanged, all together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs_bit_per_s: Option<Estimate>,
    /// Bits a second that their frames took on the wire, with preambles and gaps:
    /// in the busier direction, on a medium that is shared in both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs_wire_bit_per_s: Option<Estimate>,
    /// That as a share of the link's rate, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs_wire_share: Option<Estimate>,
    /// Payload bits a second of the bulk flows, all together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bulk_bit_per_s: Option<Estimate>,
    /// Jobs with what was run in their place: `compile by built in`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
    /// Reason why units were not in a pid namespace of their own, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_caged: Option<String>,
}

/// Effect of the units from one level to the next on the throughput.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// Their place: `sender`, `receiver`, `both`; empty where there is one place.
    pub at: String,
    /// Units before.
    pub from: u32,
    /// Units after.
    pub to: u32,
    /// Throughput after over before, the geometric mean over sizes.
    pub ratio: Option<Estimate>,
}

/// Load on both ends against as much on one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BothLoaded {
    /// Units at each loaded end.
    pub units: u32,
    /// The one end, `sender` or `receiver`: the one with which less goes through.
    pub one: String,
    /// Throughput with both over with one, the geometric mean over sizes.
    pub ratio: Option<Estimate>,
    /// True where it is within 20 % of it: between 0.8 and 1.25 times.
    pub near: Standing,
}

/// A figure that is beyond a factor of two of the base's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelFinding {
    /// The condition.
    pub factor: Factor,
    /// The level.
    pub level: String,
    /// The base.
    pub base: String,
    /// The series in words.
    pub series: String,
    /// Its test.
    pub test: Test,
    /// The figure.
    pub compared: LevelMetric,
    /// The size at which it is farthest from the base, and the ratio there.
    pub size: Bytes,
    /// Its ratio to the base there; it has an interval.
    pub ratio: Estimate,
    /// Sizes at which it is shown likewise.
    pub sizes: usize,
    /// Sizes compared.
    pub of: usize,
    /// True where the whole interval lies beyond a factor of two; else only the
    /// estimate does.
    pub shown: bool,
}
