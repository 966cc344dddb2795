//! The results of one cell: estimates of every metric, merged times, and what
//! kept it from being faster.

use std::collections::BTreeMap;

use model::Cell;
use model::sorting::Gather;
use serde::Serialize;
use stats::estimate::Estimate;

use crate::confidence::Confidence;
use crate::ends::MOST_BEHIND;
use crate::figures::Figures;
use crate::latency::Latency;
use crate::metric::Metric;
use crate::table::CellTrials;

/// An end that keeps a CPU busy for this share of the time is what limits.
const BUSY: f64 = 0.95;

/// Share of datagrams from which on it is said that some were lost.
const LOST: f64 = 0.01;

/// The results of one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellResult {
    /// The cell.
    pub cell: Cell,
    /// The cell in words.
    pub label: String,
    /// Trials that were measured.
    pub trials: usize,
    /// Estimates over trials.
    pub metrics: BTreeMap<Metric, Estimate>,
    /// The sender's CPU time per message that was delivered, in ns: its part of that of both ends. `None` where no
    /// message was lost, since it is that per message sent then.
    #[serde(skip)]
    pub sender_per_delivered: Option<Estimate>,
    /// Round-trip times of a request/response cell, all trials merged. Where a
    /// rate is offered they count from the intended time of each request.
    pub latency: Option<Latency>,
    /// The same counted from the actual time of each request: what a closed
    /// loop would have seen. Only where a rate is offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncorrected: Option<Latency>,
    /// Time from the intended to the actual begin of each send. Only where a rate is offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Latency>,
    /// Time that each stamped datagram took beyond the shortest of its trial. It
    /// needs no common clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond_least: Option<Latency>,
    /// Reason why the cell was no faster; `None` when it is unknown.
    pub limit: Option<Limit>,
}

/// The reason why a cell was no faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The sender's end kept its CPU busy all the time.
    SenderCpu,
    /// The receiver's end did.
    ReceiverCpu,
    /// Both did.
    BothCpus,
    /// An end was ready but waited for a CPU that something else had.
    NoCpu,
    /// Neither: time went by in waiting for each other or for the link.
    Waiting,
    /// No more was offered, and what was offered was sent.
    Rate,
}

impl CellResult {
    /// CPU time of both ends, of the sender and of the receiver, per message that was delivered, in ns: in each trial
    /// the first is the sum of the others.
    pub fn cpu_per_delivered(&self) -> [Option<&Estimate>; 3] {
        let of = |metric: Metric| self.metrics.get(&metric);
        let sender = self.sender_per_delivered.as_ref().or_else(|| of(Metric::SenderCpuPerMessageNs));
        [of(Metric::CpuPerMessageNs), sender, of(Metric::ReceiverCpuPerMessageNs)]
    }

    /// The share of both ends' CPU time that was billed before they ran; `None` if it is not known of each.
    pub fn billed_share(&self) -> Option<f64> {
        let value = |metric: Metric| self.metrics.get(&metric).map(|found| found.value);
        Some(value(Metric::BilledPerMessageNs)? / value(Metric::CpuPerMessageNs)?).filter(|share| share.is_finite())
    }

    /// Returns whether datagrams were lost that those that came have paid for: from 1 % on.
    pub fn is_lossy(&self) -> bool {
        self.metrics.get(&Metric::LossShare).is_some_and(|share| share.value >= LOST)
    }

    /// The results of a cell's trials.
    pub(crate) fn from_trials(trials: &CellTrials, confidence: Confidence, seed: u64) -> Self {
        let of = |values: &[f64], error: Option<f64>| -> Option<Estimate> {
            // Without the trials that lost or left the most, the rest would look too good.
            let mut estimate = confidence.estimate(values).filter(|_| values.iter().all(|value| value.is_finite()))?;
            if let Some(error) = error {
                estimate.interval = estimate.interval.map(|interval| {
                    let wide = interval.widened(estimate.value, error);
                    // No time is below none.
                    stats::estimate::Interval { low: wide.low.max(0.0), ..wide }
                });
            }
            Some(estimate)
        };
        let estimate = |metric: &Metric| -> Option<(Metric, Estimate)> {
            let values: Vec<f64> = trials.figures.iter().filter_map(|trial| trial.get(*metric)).collect();
            Some((*metric, of(&values, Figures::tick_error(*metric, &trials.irq))?))
        };
        let metrics: BTreeMap<Metric, Estimate> = Metric::ALL.iter().filter_map(estimate).into_map();
        let value = |metric: Metric| metrics.get(&metric).map(|share| share.value);
        let delivered: Vec<f64> = trials.figures.iter().filter_map(Figures::sender_per_delivered).collect();
        let error = Figures::tick_error(Metric::CpuPerMessageNs, &trials.irq);
        let sender_per_delivered = value(Metric::LossShare).filter(|lost| *lost > 0.0).and_then(|_| of(&delivered, error));
        let kept = trials.cell.rate.is_some() && value(Metric::BehindShare).is_some_and(|share| share <= MOST_BEHIND);
        let limit = if kept { Some(Limit::Rate) } else { limit(value) };
        Self {
            cell: trials.cell.clone(),
            label: trials.cell.to_string(),
            trials: trials.figures.len(),
            metrics,
            sender_per_delivered,
            latency: trials.round_trips.finish(confidence, seed),
            uncorrected: trials.uncorrected.finish(confidence, seed),
            lateness: trials.lateness.finish(confidence, seed),
            beyond_least: trials.beyond_least.finish(confidence, seed),
            limit,
        }
    }
}

/// Reason why a cell was no faster, by the shares of its ends.
fn limit(share: impl Fn(Metric) -> Option<f64>) -> Option<Limit> {
    let (sender, receiver) = (share(Metric::SenderBusyShare)?, share(Metric::ReceiverBusyShare)?);
    let starved = |busy: f64, waited: Metric| busy < BUSY && share(waited).is_some_and(|waited| busy + waited >= BUSY);
    if starved(sender, Metric::SenderRunDelayShare) || starved(receiver, Metric::ReceiverRunDelayShare) {
        return Some(Limit::NoCpu);
    }
    Some(match (sender >= BUSY, receiver >= BUSY) {
        (true, true) => Limit::BothCpus,
        (true, false) => Limit::SenderCpu,
        (false, true) => Limit::ReceiverCpu,
        (false, false) => Limit::Waiting,
    })
}

#[cfg(test)]
mod tests {
    use super::Limit;
    use super::limit;
    use crate::metric::Metric;
    use crate::testing::{analyse, measured, record};
    use model::Test;

    /// Three of four datagrams are lost: one that arrives has paid for four.
    #[test]
    fn the_ends_of_a_delivered_message_sum_to_both() {
        let mut trial = measured(Test::UdpStream, 64);
        for counts in [&mut trial.receiver.counts, &mut trial.receiver.total] {
            (counts.messages, counts.bytes, counts.received) = (counts.messages / 4, counts.bytes / 4, counts.received / 4);
        }
        let analysis = analyse(std::iter::once(record(Test::UdpStream, 64, 0, trial)));
        let cell = &analysis.cells[0];
        let [both, sender, receiver] = cell.cpu_per_delivered().map(|found| found.unwrap().value);
        assert!(cell.is_lossy() && (both - sender - receiver).abs() < 1e-6, "{both} {sender} {receiver}");
        assert!((sender / cell.metrics[&Metric::SenderCpuPerMessageNs].value - 4.0).abs() < 1e-9);
        // Without loss there is nothing to add.
        let analysis = analyse(std::iter::once(record(Test::TcpStream, 64, 0, measured(Test::TcpStream, 64))));
        let cell = &analysis.cells[0];
        assert!(!cell.is_lossy() && cell.sender_per_delivered.is_none() && cell.cpu_per_delivered()[1].is_some());
    }

    #[test]
    fn an_end_without_a_cpu_is_told_from_one_that_waits_for_the_other() {
        let of = |shares: [f64; 4]| {
            let metrics = [Metric::SenderBusyShare, Metric::SenderRunDelayShare, Metric::ReceiverBusyShare, Metric::ReceiverRunDelayShare];
            limit(|metric| metrics.iter().position(|known| *known == metric).map(|place| shares[place]))
        };
        assert_eq!(of([0.97, 0.01, 0.5, 0.01]), Some(Limit::SenderCpu));
        assert_eq!(of([0.97, 0.01, 0.99, 0.0]), Some(Limit::BothCpus));
        assert_eq!(of([0.5, 0.1, 0.96, 0.01]), Some(Limit::ReceiverCpu));
        assert_eq!(of([0.5, 0.1, 0.5, 0.1]), Some(Limit::Waiting));
        assert_eq!(of([0.40, 0.58, 0.2, 0.1]), Some(Limit::NoCpu));
        assert_eq!(of([0.97, 0.02, 0.4, 0.57]), Some(Limit::NoCpu));
        // Where the kernel does not tell how long an end waited, it is not guessed.
        assert_eq!(
            limit(|metric| (metric == Metric::SenderBusyShare || metric == Metric::ReceiverBusyShare).then_some(0.4)),
            Some(Limit::Waiting)
        );
        assert_eq!(limit(|_| None), None);
    }
}
