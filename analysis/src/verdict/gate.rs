//! The metrics that two sides are compared by, and those that a conclusion follows from.

use crate::metric::Metric;

/// A metric that two sides are compared by, and that a gate can have.
#[derive(Debug)]
pub struct GateMetric {
    /// The metric.
    pub metric: Metric,
    /// Its word on the command line.
    pub name: &'static str,
    /// Its name in a narrow table.
    pub title: &'static str,
}

/// The metrics that are compared, the cost of a message first. Messages per second and goodput
/// have the ratios of the time turned round.
pub const COMPARED: [GateMetric; 6] = [
    GateMetric { metric: Metric::CpuPerMessageNs, name: "cpu", title: "CPU, both ends" },
    GateMetric { metric: Metric::TimePerMessageNs, name: "time", title: "time" },
    GateMetric { metric: Metric::SenderCpuPerMessageNs, name: "sender-cpu", title: "sender CPU" },
    GateMetric { metric: Metric::ReceiverCpuPerMessageNs, name: "receiver-cpu", title: "receiver CPU" },
    GateMetric { metric: Metric::RoundTripP50Ns, name: "p50", title: "p50" },
    GateMetric { metric: Metric::RoundTripP99Ns, name: "p99", title: "p99" },
];

/// The metric that a conclusion follows from unless the user says so: what a delivered message costs both ends
/// together. Where no cell has it, as of ends that both send, it is the first of [`COMPARED`] that both sides have.
pub const GATE: [Metric; 1] = [Metric::CpuPerMessageNs];

/// What a conclusion follows from.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// The metrics that decide.
    pub metrics: Vec<Metric>,
    /// A verdict needs an estimate beyond this share; 0.02 is 2 %.
    pub threshold: f64,
}

impl Default for Gate {
    fn default() -> Self {
        Self { metrics: GATE.to_vec(), threshold: super::THRESHOLD }
    }
}
