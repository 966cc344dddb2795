//! Which way a metric is better.

use serde::Serialize;

use crate::result::Metric;

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Times, costs, losses.
    LowerIsBetter,
    /// Rates.
    HigherIsBetter,
}

/// Which way a metric is better; `None` of one that is neither: how busy an end
/// is, how often it was woken and how many frames a message took are means, not
/// ends, and what was offered and how well clocks agree are nobody's merit.
pub const fn direction(metric: Metric) -> Option<Direction> {
    use Direction::{HigherIsBetter, LowerIsBetter};
    match metric {
        Metric::MessagesPerS | Metric::GoodputBitPerS | Metric::SentMessagesPerS | Metric::BackGoodputBitPerS => Some(HigherIsBetter),
        Metric::TimePerMessageNs
        | Metric::SenderCpuPerMessageNs
        | Metric::ReceiverCpuPerMessageNs
        | Metric::SenderCpuPerKibNs
        | Metric::ReceiverCpuPerKibNs
        | Metric::HostCpuPerMessageNs
        | Metric::LossShare
        | Metric::Retransmits
        | Metric::RoundTripP50Ns
        | Metric::BehindShare
        | Metric::JitterNs
        | Metric::ReorderedShare
        | Metric::LeastWayNs => Some(LowerIsBetter),
        _ => None,
    }
}
