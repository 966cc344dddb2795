//! Prediction of a trial by the model of a transfer: the same wire and hosts, the
//! buffers as the kernel has them, the acknowledgements as they were counted.

use std::collections::BTreeMap;

use model::link::{Medium, Wire};
use model::plan::LinkKind;

use super::sample::TrialSample;
use linksim::frame::Cut;
use linksim::transfer::{self, AckPolicy, Load, SenderBuffer};

/// Payload of a run of the model: its start costs less than 1 % of that.
const BYTES: u64 = 1 << 20;

/// Runs of the model where chance has a part.
const RUNS: u64 = 5;

/// Counts of the two ends are not read at the same moment: what is hardly away
/// from a whole number is one.
fn whole(per_ack: f64) -> f64 {
    if (per_ack - per_ack.round()).abs() < 0.05 { per_ack.round() } else { per_ack }
}

/// Models of one link; equal questions are answered once.
pub(super) struct Predictor {
    wire: Option<Wire>,
    cut: Cut,
    known: BTreeMap<[u32; 5], Option<f64>>,
}

impl Predictor {
    /// Only of a relay are the hosts' times known.
    pub fn new(link: &LinkKind, cut: Cut) -> Self {
        let wire = match link {
            LinkKind::Relay(wire) if wire.rate.is_some() => Some(*wire),
            _ => None,
        };
        Self { wire, cut, known: BTreeMap::new() }
    }

    /// Payload bits a second of a trial whose messages have so many bytes; `None`
    /// where the trial does not tell enough.
    pub fn predict(&mut self, trial: &TrialSample, message: u32) -> Option<f64> {
        let (segment, window) = (trial.segment?.min(message), trial.window?);
        // An endless sender's buffer never is what limits.
        let sndbuf = trial.set[0].and_then(|set| u32::try_from(set).ok()).unwrap_or(u32::MAX / 4);
        let buffer = SenderBuffer::from_sockopt(sndbuf, segment);
        let per_ack = whole(trial.per_ack?.clamp(1.0, 16.0));
        // Some acknowledgements are for one segment more than the others.
        let (few, many) = (per_ack.floor(), per_ack.ceil());
        let mut rate = |per_ack: f64| self.run(segment, buffer, window, per_ack as u32);
        let (slow, fast) = (rate(few)?, rate(many)?);
        // The share of the segments that were acknowledged in the larger lots.
        let share = if many > few { (1.0 / few - 1.0 / per_ack) / (1.0 / few - 1.0 / many) } else { 0.0 };
        Some(8.0 / ((1.0 - share) / slow + share / fast))
    }

    /// Bytes a second.
    fn run(&mut self, segment: u32, buffer: SenderBuffer, window: u32, per_ack: u32) -> Option<f64> {
        let (wire, cut) = (self.wire?, self.cut);
        let key = [segment, buffer.segments, buffer.resumes_at, window, per_ack];
        *self.known.entry(key).or_insert_with(|| {
            let speech = AckPolicy { cut, message: segment, per_ack, ..AckPolicy::SEGMENT_FOR_SEGMENT };
            let load = Load {
                sender_buffer: buffer.segments.saturating_mul(segment),
                receiver_buffer: window,
                resumes_at: Some(buffer.resumes_at.saturating_mul(segment)),
                bytes: BYTES,
            };
            let by_chance = wire.medium == Medium::Half || wire.jitter.get() > 0;
            let runs = if by_chance { RUNS } else { 1 };
            let rates: Option<Vec<f64>> =
                (0..runs).map(|seed| transfer::run(wire, speech, load, seed).map(|made| made.bytes_per_s)).collect();
            rates.map(|rates| rates.iter().sum::<f64>() / runs as f64)
        })
    }
}
