//! Usage of the conditions of trials, as it really was.

use std::collections::BTreeSet;

use model::condition::{LoadUsage, ObservedConditions, TrafficTotals};
use model::plan::LinkKind;
use model::trial::Measured;

use super::LevelUsage;
use crate::confidence::Confidence;
use crate::metric::bounds;
use linksim::limit;

/// Usage in one trial.
#[derive(Debug, Clone, Default)]
pub struct TrialUsage {
    sender_cpus: Option<f64>,
    receiver_cpus: Option<f64>,
    pairs: Option<f64>,
    wire: Option<f64>,
    share: Option<f64>,
    bulk: Option<f64>,
}

/// Jobs that others replaced on the hosts of a level, and a reason why units were not caged.
#[derive(Debug, Clone, Default)]
pub struct Notes {
    replaced: BTreeSet<String>,
    not_caged: Option<String>,
}

/// A host tells so few jobs; what is more is noise.
const MOST_REPLACED: usize = 16;

impl Notes {
    /// Adds those of a trial.
    pub fn add(&mut self, taken: &ObservedConditions) {
        for load in [&taken.sender_load, &taken.receiver_load].into_iter().flatten() {
            for replaced in load.replaced.iter().take(MOST_REPLACED) {
                if self.replaced.len() < MOST_REPLACED {
                    self.replaced.insert(format!("{} by {}", replaced.job, replaced.by));
                }
            }
            if self.not_caged.is_none() {
                self.not_caged.clone_from(&load.not_caged);
            }
        }
    }

    /// Adds those of another cell.
    pub fn merge(&mut self, other: &Self) {
        self.replaced.extend(other.replaced.iter().cloned());
        if self.not_caged.is_none() {
            self.not_caged.clone_from(&other.not_caged);
        }
    }
}

impl TrialUsage {
    /// The usage in a trial over a link; `None` where its conditions took nothing.
    pub fn new(measured: &Measured, link: &LinkKind) -> Option<Self> {
        let taken = measured.conditions.as_deref()?;
        let sum = |of: &dyn Fn(&TrafficTotals) -> Option<f64>| {
            let all: Vec<f64> = taken.pairs.iter().filter_map(of).collect();
            (!all.is_empty()).then(|| all.iter().sum::<f64>())
        };
        let wire = sum(&|pair| wire(pair, link));
        let share = wire.zip(link.rate()).map(|(bits, rate)| bits / rate.get() as f64);
        // More than the link carries was counted wrongly: the trial's doubt says so.
        let possible = bounds::is_possible(share.unwrap_or_default());
        Some(Self {
            sender_cpus: taken.sender_load.as_ref().and_then(cpus),
            receiver_cpus: taken.receiver_load.as_ref().and_then(cpus),
            pairs: sum(&|pair| payload(pair)).filter(|_| possible),
            wire: wire.filter(|_| possible),
            share: share.filter(|_| possible),
            bulk: taken.bulk.as_ref().and_then(payload),
        })
    }
}

fn cpus(load: &LoadUsage) -> Option<f64> {
    let elapsed = load.elapsed.get();
    (elapsed > 0).then(|| load.cpu.get() as f64 / elapsed as f64)
}

fn payload(traffic: &TrafficTotals) -> Option<f64> {
    per_second(traffic.bytes.get(), traffic)
}

/// Wire time of the frames of a pair, in bits a second.
fn wire(pair: &TrafficTotals, link: &LinkKind) -> Option<f64> {
    let cost = |way: usize| limit::counted(pair.frames[way], pair.frame_bytes[way]).cost;
    if pair.frames == [0, 0] {
        return None;
    }
    let bytes = match limit::Medium::of_link(link) {
        limit::Medium::Shared => cost(0).saturating_add(cost(1)),
        limit::Medium::FullDuplex => cost(0).max(cost(1)),
    };
    per_second(bytes, pair)
}

fn per_second(bytes: u64, traffic: &TrafficTotals) -> Option<f64> {
    let seconds = traffic.elapsed.as_secs_f64();
    (seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds)
}

/// The medians over the trials of a level; `None` where none took anything.
pub fn took<'a>(trials: impl Iterator<Item = &'a TrialUsage>, notes: &Notes, confidence: Confidence) -> Option<LevelUsage> {
    let trials: Vec<&TrialUsage> = trials.collect();
    if trials.is_empty() {
        return None;
    }
    let median = |of: fn(&TrialUsage) -> Option<f64>| confidence.estimate(&trials.iter().filter_map(|trial| of(trial)).collect::<Vec<_>>());
    let took = LevelUsage {
        sender_cpus: median(|trial| trial.sender_cpus),
        receiver_cpus: median(|trial| trial.receiver_cpus),
        pairs_bit_per_s: median(|trial| trial.pairs),
        pairs_wire_bit_per_s: median(|trial| trial.wire),
        pairs_wire_share: median(|trial| trial.share),
        bulk_bit_per_s: median(|trial| trial.bulk),
        replaced: notes.replaced.iter().cloned().collect(),
        not_caged: notes.not_caged.clone(),
    };
    (took != LevelUsage::default()).then_some(took)
}

#[cfg(test)]
mod tests {
    use super::TrialUsage;
    use crate::testing::measured;
    use model::condition::{ObservedConditions, TrafficTotals};
    use model::{Bytes, Nanos, Test};

    #[test]
    fn pairs_use_no_more_of_a_wire_than_it_carries() {
        let of = |frames: u64| {
            let pair = TrafficTotals {
                elapsed: Nanos::from_millis(1_000),
                frames: [frames, 0],
                frame_bytes: [1_514 * frames, 0],
                bytes: Bytes::new(1_448 * frames),
            };
            let mut trial = measured(Test::UdpStream, 1024);
            trial.conditions = Some(Box::new(ObservedConditions { pairs: vec![pair], ..ObservedConditions::default() }));
            let usage = TrialUsage::new(&trial, &"shared-wire 10M".parse().unwrap()).unwrap();
            (usage.share.is_some(), usage.pairs.is_some(), usage.wire.is_some())
        };
        // A full frame takes 1,538 byte times: 828 of them are 101.9 %, 830 are 102.1 %.
        assert_eq!(of(828), (true, true, true));
        assert_eq!(of(830), (false, false, false));
    }
}
