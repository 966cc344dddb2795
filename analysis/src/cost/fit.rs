//! Cost models: what a message costs over its size, for one series of cells.

use model::Bytes;
use model::cell::Series;
use serde::Serialize;
use stats::cost::Term;
use stats::estimate::Estimate;

use crate::metric::Metric;

/// A quantity that a cost model explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Elapsed time per message at the receiver.
    Elapsed,
    /// CPU time of the sender's end.
    SenderCpu,
    /// CPU time of the receiver's end.
    ReceiverCpu,
}

/// The cost of a message over its size, for one series of cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostModel {
    /// The series; as JSON in words, such as `UDP_STREAM` or `TCP_STREAM (nodelay)`.
    #[serde(serialize_with = "in_words")]
    pub series: Series,
    /// The protocol's name.
    pub protocol: model::Protocol,
    /// The quantity that it explains.
    pub quantity: Quantity,
    /// The fit, or why there is none.
    pub outcome: FitOutcome,
}

impl Quantity {
    /// Every quantity, in the order of reports.
    pub const ALL: &'static [Self] = &[Self::Elapsed, Self::SenderCpu, Self::ReceiverCpu];

    /// The figure of a trial that it is.
    pub const fn metric(self) -> Metric {
        match self {
            Self::Elapsed => Metric::TimePerMessageNs,
            Self::SenderCpu => Metric::SenderCpuPerMessageNs,
            Self::ReceiverCpu => Metric::ReceiverCpuPerMessageNs,
        }
    }
}

/// Writes a series as its words.
pub(crate) fn in_words<S: serde::Serializer>(series: &Series, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(series)
}

/// A fit, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FitOutcome {
    /// The model holds over the sizes measured.
    Fitted(Fit),
    /// It would mislead, and why; what to do instead.
    NotALine {
        /// In a sentence.
        reason: String,
    },
}

/// t = a + b·bytes + c·frames + w·wake-ups, in one or more pieces of the sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// The pieces, by rising size; more than one when there are breakpoints.
    pub pieces: Vec<Piece>,
    /// Between the pieces; one fewer than those.
    pub breakpoints: Vec<Breakpoint>,
    /// Share of the variance of the cells' medians that the model explains.
    pub r_squared: f64,
    /// The model against each size, by rising size.
    pub points: Vec<FitPoint>,
}

/// One straight piece of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Piece {
    /// Smallest size of the piece.
    pub from: Bytes,
    /// Largest.
    pub to: Bytes,
    /// The terms in it.
    pub terms: Vec<TermEstimate>,
    /// Said when bytes and frames could not be separated in it: their
    /// correlation, each size weighing as in the fit.
    pub collinearity: Option<f64>,
}

/// A term and its coefficient in ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TermEstimate {
    /// The term.
    pub term: Term,
    /// ns per unit of the term.
    pub estimate: Estimate,
    /// Least and most of a counted term per message over the sizes of the piece;
    /// `None` of other terms.
    pub counted: Option<[f64; 2]>,
}

impl TermEstimate {
    /// Returns whether it costs anything for sure: its interval lies above 0. The cost
    /// of a message is where the line starts, and is one unless that is below 0.
    pub fn is_shown(&self) -> bool {
        (self.term == Term::Message && self.estimate.value >= 0.0)
            || self.estimate.interval.map_or(self.estimate.value, |interval| interval.low) > 0.0
    }
}

/// Place where a model changes its line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Breakpoint {
    /// Largest size below it.
    pub after: Bytes,
    /// Smallest size above it.
    pub before: Bytes,
    /// The known threshold it sits at, if any: `MTU`, `MSS`, `page`, `socket buffer`, `GSO limit`.
    pub name: Option<String>,
}

/// A model against what was measured at one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FitPoint {
    /// Message size.
    pub size: Bytes,
    /// Measured, in ns.
    pub measured: Estimate,
    /// By the model, in ns.
    pub fitted: f64,
    /// (measured - fitted) / fitted.
    pub residual: f64,
}
