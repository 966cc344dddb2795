//! The figures that a cell can have, by name.

use std::fmt;

use serde::Serialize;

/// A figure of a cell. Its name is the key in JSON and the column in CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Messages (transactions) per second at the receiver. The result.
    MessagesPerS,
    /// Payload bits per second at the receiver.
    GoodputBitPerS,
    /// Time per message at the receiver, 1e9 / messages per second. For
    /// request/response the mean time of a transaction.
    TimePerMessageNs,
    /// Messages per second at the sender.
    SentMessagesPerS,
    /// CPU time of the sender's end per message it sent (service demand). Like
    /// every figure of CPU per message or KiB it is absent where both ends send,
    /// for nothing says which way the time went; and at a sender that spins
    /// until the time of its next message has come.
    SenderCpuPerMessageNs,
    /// CPU time of the receiver's end per message it received.
    ReceiverCpuPerMessageNs,
    /// CPU time of the sender's end per KiB it sent.
    SenderCpuPerKibNs,
    /// CPU time of the receiver's end per KiB it received.
    ReceiverCpuPerKibNs,
    /// netperf's host-wide figure: busy time of all CPUs per message received.
    HostCpuPerMessageNs,
    /// Share of the measured time that the sender's end kept its CPUs busy;
    /// of several flows the mean over the CPUs that they are bound to.
    SenderBusyShare,
    /// The same of the receiver's end.
    ReceiverBusyShare,
    /// Share of the measured time that the sender was ready but waited for a
    /// CPU; of several flows the mean.
    SenderRunDelayShare,
    /// The same of the receiver.
    ReceiverRunDelayShare,
    /// Datagrams (or answers) lost, as a share of those sent over the whole trial.
    LossShare,
    /// Times the receiver slept, each a later wake-up, per message received.
    ReceiverWakeupsPerMessage,
    /// Times the sender slept, per message sent.
    SenderWakeupsPerMessage,
    /// Frames (GSO packets count once) per message that crossed the link from
    /// the sender, over the whole trial.
    FramesPerMessage,
    /// TCP segments sent again, per trial.
    Retransmits,
    /// Median round-trip time of the trials, in ns.
    RoundTripP50Ns,
    /// Where both ends send: payload bits per second that came back to the sender.
    BackGoodputBitPerS,
    /// Where a rate is offered: messages per second that the schedule has, all
    /// flows together.
    OfferedMessagesPerS,
    /// Share of the messages of the schedule that were not sent in time.
    BehindShare,
    /// Smoothed difference of the times that neighbouring datagrams took (RFC 3550, section 6.4.1).
    JitterNs,
    /// Datagrams that came after one with a higher number, as a share of those received.
    ReorderedShare,
    /// The shortest way of a stamped datagram, the difference of the ends'
    /// clocks taken off; it may be wrong by [`Metric::ClockErrorNs`].
    LeastWayNs,
    /// How far the difference of the ends' clocks may be from what was taken
    /// off; 0 where both read one clock.
    ClockErrorNs,
    /// On a wire of a rate: the payload bits per second for which the frames and
    /// acknowledgements that were counted leave room.
    LimitBitPerS,
    /// Goodput as a share of that.
    LimitShare,
}

impl Metric {
    /// Every metric, in the order of reports.
    pub const ALL: &'static [Self] = &[
        Self::MessagesPerS,
        Self::GoodputBitPerS,
        Self::TimePerMessageNs,
        Self::SentMessagesPerS,
        Self::SenderCpuPerMessageNs,
        Self::ReceiverCpuPerMessageNs,
        Self::SenderCpuPerKibNs,
        Self::ReceiverCpuPerKibNs,
        Self::HostCpuPerMessageNs,
        Self::SenderBusyShare,
        Self::ReceiverBusyShare,
        Self::SenderRunDelayShare,
        Self::ReceiverRunDelayShare,
        Self::LossShare,
        Self::ReceiverWakeupsPerMessage,
        Self::SenderWakeupsPerMessage,
        Self::FramesPerMessage,
        Self::Retransmits,
        Self::RoundTripP50Ns,
        Self::BackGoodputBitPerS,
        Self::OfferedMessagesPerS,
        Self::BehindShare,
        Self::JitterNs,
        Self::ReorderedShare,
        Self::LeastWayNs,
        Self::ClockErrorNs,
        Self::LimitBitPerS,
        Self::LimitShare,
    ];

    /// The name in JSON and CSV.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MessagesPerS => "messages_per_s",
            Self::GoodputBitPerS => "goodput_bit_per_s",
            Self::TimePerMessageNs => "time_per_message_ns",
            Self::SentMessagesPerS => "sent_messages_per_s",
            Self::SenderCpuPerMessageNs => "sender_cpu_per_message_ns",
            Self::ReceiverCpuPerMessageNs => "receiver_cpu_per_message_ns",
            Self::SenderCpuPerKibNs => "sender_cpu_per_kib_ns",
            Self::ReceiverCpuPerKibNs => "receiver_cpu_per_kib_ns",
            Self::HostCpuPerMessageNs => "host_cpu_per_message_ns",
            Self::SenderBusyShare => "sender_busy_share",
            Self::ReceiverBusyShare => "receiver_busy_share",
            Self::SenderRunDelayShare => "sender_run_delay_share",
            Self::ReceiverRunDelayShare => "receiver_run_delay_share",
            Self::LossShare => "loss_share",
            Self::ReceiverWakeupsPerMessage => "receiver_wakeups_per_message",
            Self::SenderWakeupsPerMessage => "sender_wakeups_per_message",
            Self::FramesPerMessage => "frames_per_message",
            Self::Retransmits => "retransmits",
            Self::RoundTripP50Ns => "round_trip_p50_ns",
            Self::BackGoodputBitPerS => "back_goodput_bit_per_s",
            Self::OfferedMessagesPerS => "offered_messages_per_s",
            Self::BehindShare => "behind_share",
            Self::JitterNs => "jitter_ns",
            Self::ReorderedShare => "reordered_share",
            Self::LeastWayNs => "least_way_ns",
            Self::ClockErrorNs => "clock_error_ns",
            Self::LimitBitPerS => "limit_bit_per_s",
            Self::LimitShare => "limit_share",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}
