//! What a fleet shows.

use model::Cell;
use serde::Serialize;

use crate::metric::Metric;

/// The result of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetResult {
    /// The hosts, in the order of the plan.
    pub hosts: Vec<FleetHostResult>,
    /// Rounds of the plan.
    pub rounds: u32,
    /// Pairs that were measured in both directions.
    pub pairs: usize,
    /// Share of fleets without any fault that may have something named.
    pub level: f64,
    /// Least effect that is named.
    pub least: f64,
    /// Outliers, the largest effect first.
    pub named: Vec<Named>,
    /// The figures, in the order of the cells.
    pub figures: Vec<FleetFigure>,
}

/// A host of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetHostResult {
    /// Its name.
    pub name: String,
    /// Its rack, where it was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// Trials that it was measured in.
    pub measured: u64,
    /// Trials with it that failed.
    pub failed: u64,
    /// What its first failed trial answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One figure of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetFigure {
    /// The cell.
    pub cell: Cell,
    /// The cell in words.
    pub label: String,
    /// The metric.
    pub metric: Metric,
    /// Figure of two usual hosts, in the metric's unit.
    pub middle: f64,
    /// Relative standard deviation of a trial, beyond what hosts and pairs are.
    pub noise: f64,
    /// Relative standard deviation of hosts beyond that; `None` of fewer than 12 hosts.
    pub spread: Option<f64>,
    /// The rounds separate hosts; otherwise nothing is named.
    pub told_apart: bool,
    /// Changes of hosts, the worst first.
    pub hosts: Vec<HostChange>,
    /// Changes of pairs against what their hosts' changes add up to, the worst first.
    pub links: Vec<LinkChange>,
    /// Every direction of every pair, by the hosts' places.
    pub matrix: Vec<Square>,
    /// Changes of racks by trials between them, the worst first; empty without racks.
    pub racks: Vec<RackChange>,
}

/// A relative change of a figure with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// The change: −0.15 is 15 % less.
    pub change: f64,
    /// Its interval: ±1.96 simulated standard errors; `None` of trials so few that it would
    /// reach beyond a tenth and ten times.
    pub interval: Option<[f64; 2]>,
    /// Trials behind it.
    pub n: usize,
    /// It is beyond both the simulated limit and the least effect.
    pub falls_out: bool,
}

/// Changes of one host against the median host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostChange {
    /// Its place.
    pub host: usize,
    /// In both roles.
    pub both: Change,
    /// As sender.
    pub sender: Change,
    /// As receiver.
    pub receiver: Change,
    /// As sender against as receiver.
    pub asymmetry: Change,
}

/// Change of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LinkChange {
    /// Places of the hosts; of one direction the sender first.
    pub hosts: [usize; 2],
    /// It is of one direction; otherwise the lesser change of the two.
    pub one_way: bool,
    /// The change.
    pub change: Change,
}

/// One direction of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Square {
    /// Place of the host that sends.
    pub sender: usize,
    /// Place of the host that receives.
    pub receiver: usize,
    /// Median of its trials, in the metric's unit.
    pub value: f64,
    /// Trials.
    pub n: usize,
}

/// A rack against the median rack, by trials between racks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RackChange {
    /// Its name.
    pub rack: String,
    /// Number of its hosts.
    pub hosts: usize,
    /// Median of trials between its own hosts, in the metric's unit.
    pub within: Option<f64>,
    /// Change of trials with other racks; `None` where there are too few racks or trials.
    pub between: Option<Change>,
}

/// Kind of an outlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A host, whoever sends.
    Host,
    /// A host as sender.
    Sender,
    /// A host as receiver.
    Receiver,
    /// A host that sends and receives unlike.
    Asymmetry,
    /// A pair, in both directions.
    Link,
    /// One direction of a pair.
    Direction,
    /// A rack, in its trials with others.
    Rack,
}

/// Something that differs from the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Named {
    /// Its kind.
    pub fault: Fault,
    /// Names: of the host or the rack, or of both hosts of a pair, the sender first.
    pub who: Vec<String>,
    /// Place of the figure in [`FleetResult::figures`].
    pub figure: usize,
    /// The change.
    pub change: Change,
}
