//! Each metric's title and how its figures are written.

use analysis::result::Metric;

use crate::number;

/// For a person: the title of a row or column.
pub const fn title(metric: Metric) -> &'static str {
    match metric {
        Metric::MessagesPerS => "Messages/s at the receiver",
        Metric::GoodputBitPerS => "Goodput",
        Metric::TimePerMessageNs => "Time per message",
        Metric::SentMessagesPerS => "Messages/s at the sender",
        Metric::SenderCpuPerMessageNs => "Sender CPU per message",
        Metric::ReceiverCpuPerMessageNs => "Receiver CPU per message",
        Metric::SenderCpuPerKibNs => "Sender CPU per KiB",
        Metric::ReceiverCpuPerKibNs => "Receiver CPU per KiB",
        Metric::HostCpuPerMessageNs => "Busy time of all CPUs per message",
        Metric::SenderBusyShare => "Sender busy",
        Metric::ReceiverBusyShare => "Receiver busy",
        Metric::SenderRunDelayShare => "Sender waiting for a CPU",
        Metric::ReceiverRunDelayShare => "Receiver waiting for a CPU",
        Metric::LossShare => "Lost",
        Metric::ReceiverWakeupsPerMessage => "Receiver wake-ups per message",
        Metric::SenderWakeupsPerMessage => "Sender wake-ups per message",
        Metric::FramesPerMessage => "Frames per message",
        Metric::Retransmits => "Segments sent again per trial",
        Metric::RoundTripP50Ns => "Median round trip of a trial",
        Metric::BackGoodputBitPerS => "Goodput back",
        Metric::OfferedMessagesPerS => "Messages/s offered",
        Metric::BehindShare => "Of the schedule not sent in time",
        Metric::JitterNs => "Jitter",
        Metric::ReorderedShare => "Out of order",
        Metric::LeastWayNs => "Shortest way of a datagram",
        Metric::ClockErrorNs => "Error of the clocks' difference",
        Metric::LimitBitPerS => "Limit of the link",
        Metric::LimitShare => "Of the link's limit",
    }
}

/// Writes a figure of the metric with its unit.
pub const fn writer(metric: Metric) -> fn(f64) -> String {
    match metric {
        Metric::MessagesPerS | Metric::SentMessagesPerS | Metric::OfferedMessagesPerS | Metric::Retransmits => number::count,
        Metric::GoodputBitPerS | Metric::BackGoodputBitPerS | Metric::LimitBitPerS => number::bits,
        Metric::SenderBusyShare
        | Metric::ReceiverBusyShare
        | Metric::SenderRunDelayShare
        | Metric::ReceiverRunDelayShare
        | Metric::BehindShare
        | Metric::ReorderedShare
        | Metric::LimitShare
        | Metric::LossShare => number::percent,
        Metric::ReceiverWakeupsPerMessage | Metric::SenderWakeupsPerMessage | Metric::FramesPerMessage => ratio,
        Metric::TimePerMessageNs
        | Metric::SenderCpuPerMessageNs
        | Metric::ReceiverCpuPerMessageNs
        | Metric::SenderCpuPerKibNs
        | Metric::ReceiverCpuPerKibNs
        | Metric::HostCpuPerMessageNs
        | Metric::JitterNs
        | Metric::LeastWayNs
        | Metric::ClockErrorNs
        | Metric::RoundTripP50Ns => number::time,
    }
}

fn ratio(value: f64) -> String {
    number::significant(value, 2)
}
