//! The metrics that two sides are compared by, and those that a conclusion follows from.

use crate::metric::Metric;

/// The metric that a report leads with: what the receiver got. Its inverse,
/// messages per second, and goodput have the same ratios turned round.
pub const HEADLINE: Metric = Metric::TimePerMessageNs;

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

/// The metrics that are compared, the headline first.
pub const COMPARED: [GateMetric; 5] = [
    GateMetric { metric: HEADLINE, name: "time", title: "time" },
    GateMetric { metric: Metric::SenderCpuPerMessageNs, name: "sender-cpu", title: "sender CPU" },
    GateMetric { metric: Metric::ReceiverCpuPerMessageNs, name: "receiver-cpu", title: "receiver CPU" },
    GateMetric { metric: Metric::RoundTripP50Ns, name: "p50", title: "p50" },
    GateMetric { metric: Metric::RoundTripP99Ns, name: "p99", title: "p99" },
];

/// The metrics that a conclusion follows from unless the user says so: a change that
/// saves time and costs CPU, or the tail, is not for everybody.
pub const GATE: [Metric; 4] = [HEADLINE, Metric::SenderCpuPerMessageNs, Metric::ReceiverCpuPerMessageNs, Metric::RoundTripP99Ns];
