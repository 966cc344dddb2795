//! The results of one cell: estimates of every metric, merged times, and what
//! kept it from being faster.

use std::collections::BTreeMap;

use model::Cell;
use model::order::Gather;
use serde::Serialize;
use stats::estimate::Estimate;

use crate::claim::Claim;
use crate::ends::MOST_BEHIND;
use crate::figures::Figures;
use crate::latency::Latency;
use crate::metric::Metric;
use crate::table::CellTrials;

/// An end that keeps a CPU busy for this share of the time is what limits.
const BUSY: f64 = 0.95;

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
    /// The results of a cell's trials.
    pub(crate) fn from_trials(trials: &CellTrials, claim: Claim, seed: u64) -> Self {
        let estimate = |metric: &Metric| -> Option<(Metric, Estimate)> {
            let values: Vec<f64> = trials.figures.iter().filter_map(|trial| trial.get(*metric)).collect();
            // Without the trials that lost or left the most, the rest would look too good.
            let mut estimate = claim.estimate(&values).filter(|_| values.iter().all(|value| value.is_finite()))?;
            if let Some(error) = Figures::tick_error(*metric, &trials.irq) {
                estimate.interval = estimate.interval.map(|interval| {
                    let wide = interval.widened(estimate.value, error);
                    // No time is below none.
                    stats::estimate::Interval { low: wide.low.max(0.0), ..wide }
                });
            }
            Some((*metric, estimate))
        };
        let metrics: BTreeMap<Metric, Estimate> = Metric::ALL.iter().filter_map(estimate).into_map();
        let value = |metric: Metric| metrics.get(&metric).map(|share| share.value);
        let kept = trials.cell.rate.is_some() && value(Metric::BehindShare).is_some_and(|share| share <= MOST_BEHIND);
        let limit = if kept { Some(Limit::Rate) } else { limit(value) };
        Self {
            cell: trials.cell.clone(),
            label: trials.cell.to_string(),
            trials: trials.figures.len(),
            metrics,
            latency: trials.round_trips.finish(claim, seed),
            uncorrected: trials.uncorrected.finish(claim, seed),
            lateness: trials.lateness.finish(claim, seed),
            beyond_least: trials.beyond_least.finish(claim, seed),
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
