//! The sample of a trial's buffers.

use model::end::{EndReport, OptionValue, TcpInfo};

use crate::metric::Metric;
use crate::table::Trial;

/// Figures of a trial's buffers, beyond its row in the trial table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TrialSample {
    pub block: u32,
    /// Payload bits a second.
    pub goodput: f64,
    pub limit_share: Option<f64>,
    /// Time of a trial beyond its transfer, in ns.
    pub beyond: f64,
    /// `SO_SNDBUF` of the sender and `SO_RCVBUF` of the receiver: as set, and at
    /// the end.
    pub set: [Option<i64>; 2],
    pub got: [Option<i64>; 2],
    /// The window that the receiver offered last, in bytes.
    pub window: Option<u32>,
    /// The most segments that were seen in flight, and how often was looked.
    pub in_flight: Option<u32>,
    pub looks: u64,
    /// Payload of the largest segment.
    pub segment: Option<u32>,
    /// Data segments for each acknowledgement.
    pub per_ack: Option<f64>,
    pub resent: u64,
}

impl TrialSample {
    pub fn from_trial(trial: &Trial) -> Option<Self> {
        let (figures, measured) = (trial.figures, trial.measured);
        let (sender, receiver) = (&measured.sender, &measured.receiver);
        let known = |count: u32| (count > 0).then_some(count);
        Some(Self {
            block: figures.block,
            goodput: figures.get(Metric::GoodputBitPerS).filter(|goodput| *goodput > 0.0)?,
            limit_share: figures.get(Metric::LimitShare),
            beyond: measured.overhead.get() as f64,
            set: [option(sender, "SO_SNDBUF").map(|both| both[0]), option(receiver, "SO_RCVBUF").map(|both| both[0])],
            got: [option(sender, "SO_SNDBUF").map(|both| both[1]), option(receiver, "SO_RCVBUF").map(|both| both[1])],
            window: sender.tcp.and_then(|tcp| known(tcp.snd_wnd)),
            in_flight: sender.in_flight.map(|seen| seen.most),
            looks: sender.in_flight.map_or(0, |seen| seen.looks),
            segment: sender.tcp.and_then(|tcp| known(tcp.snd_mss)),
            per_ack: per_acknowledgement(sender, receiver),
            resent: sender.tcp.map_or(0, |tcp| u64::from(tcp.resent_since(sender.tcp_at_start))),
        })
    }
}

/// An option as it was set and as it ended.
fn option(end: &EndReport, name: &str) -> Option<[i64; 2]> {
    let found = end.options.iter().find(|option| option.name == name)?;
    match (&found.set, &found.got) {
        (OptionValue::Number(set), OptionValue::Number(got)) => Some([*set, *got]),
        _ => None,
    }
}

/// Segments for each acknowledgement of the measured part, as both ends' TCP counted
/// them: the receiver of a stream
/// sends nothing but acknowledgements.
fn per_acknowledgement(sender: &EndReport, receiver: &EndReport) -> Option<f64> {
    let since = |end: &EndReport, count: fn(TcpInfo) -> u32| {
        let before = end.tcp_at_start.map_or(0, count);
        Some(count(end.tcp?).saturating_sub(before))
    };
    let segments = since(sender, |tcp| tcp.data_segs_out)?;
    let acknowledgements = since(receiver, |tcp| tcp.segs_out)?;
    (segments > 0 && acknowledgements > 0).then(|| f64::from(segments) / f64::from(acknowledgements))
}
