//! Several machines that send to one at once, or that one sends to: each by itself.

use std::collections::BTreeMap;

use model::Plan;
use model::condition::MOST_PAIRS;
use model::trial::PeerOutcome;
use serde::Serialize;
use stats::estimate::Estimate;

use super::{Context, Study};
use crate::table::Trial;

/// The machines of a cell, in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellPeers {
    /// Place of the cell.
    pub cell: usize,
    /// The arm; 0 in a run without.
    pub arm: usize,
    /// Least share of a trial in which all of them were received at once, by the clock of the host that they share, 0 to 1.
    pub least_overlap_share: Option<f64>,
    /// Each of them.
    pub hosts: Vec<PeerFigures>,
}

/// Figures of one of several machines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PeerFigures {
    /// Its name in the plan.
    pub host: String,
    /// Payload of its flows that arrives, in bits per second.
    pub goodput_bit_per_s: Option<Estimate>,
    /// CPU time of its own end per message that arrives, in ns.
    pub cpu_per_message_ns: Option<Estimate>,
    /// Messages that it sent, or that were sent to it, over all trials.
    pub sent: u64,
    /// Those of them that did not arrive.
    pub lost: u64,
    /// Trials that it took part in.
    pub trials: u64,
    /// Trials that it was missing from.
    pub missing: u64,
    /// Reason of the first of those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Collects the parts of machines.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    /// By arm and place of the cell.
    cells: BTreeMap<(usize, usize), Parts>,
}

#[derive(Debug, Default)]
struct Parts {
    least_overlap: Option<f64>,
    hosts: Vec<(String, Part)>,
}

#[derive(Debug, Default)]
struct Part {
    goodput: Vec<f64>,
    cpu: Vec<f64>,
    sent: u64,
    lost: u64,
    trials: u64,
    missing: u64,
    error: Option<String>,
}

impl Study for Peers {
    type Result = Vec<CellPeers>;

    fn for_plan(plan: &Plan) -> Option<Self> {
        plan.many_side().map(|_| Self::default())
    }

    fn push(&mut self, trial: &Trial) {
        if trial.measured.peers.is_empty() {
            return;
        }
        let parts = self.cells.entry((trial.arm, trial.place)).or_default();
        if let Some(overlap) = trial.measured.peers_overlap() {
            parts.least_overlap = Some(parts.least_overlap.map_or(overlap, |least| least.min(overlap)));
        }
        for peer in &trial.measured.peers {
            let known = parts.hosts.iter().position(|(host, _)| *host == peer.host);
            let place = known.unwrap_or(parts.hosts.len());
            if known.is_none() {
                // No plan has more; a damaged record may.
                if place >= MOST_PAIRS as usize {
                    continue;
                }
                parts.hosts.push((peer.host.clone(), Part::default()));
            }
            parts.hosts[place].1.add(&peer.outcome);
        }
    }

    fn finish(self, context: &Context) -> Option<Vec<CellPeers>> {
        let host = |(host, part): (String, Part)| PeerFigures {
            host,
            goodput_bit_per_s: context.confidence.estimate(&part.goodput),
            cpu_per_message_ns: context.confidence.estimate(&part.cpu),
            sent: part.sent,
            lost: part.lost,
            trials: part.trials,
            missing: part.missing,
            error: part.error,
        };
        let of_cell = |((arm, cell), parts): ((usize, usize), Parts)| CellPeers {
            cell,
            arm,
            least_overlap_share: parts.least_overlap,
            hosts: parts.hosts.into_iter().map(host).collect(),
        };
        Some(self.cells.into_iter().map(of_cell).collect::<Vec<_>>()).filter(|cells| !cells.is_empty())
    }
}

impl Part {
    fn add(&mut self, outcome: &PeerOutcome) {
        let counts = match outcome {
            PeerOutcome::Measured(counts) => counts,
            PeerOutcome::Missing { error } => {
                self.missing += 1;
                self.error.get_or_insert_with(|| error.clone());
                return;
            }
        };
        self.trials += 1;
        self.sent = self.sent.saturating_add(counts.sent);
        self.lost = self.lost.saturating_add(counts.sent.saturating_sub(counts.arrived));
        if counts.window.is_resolved() {
            self.goodput.push(counts.bytes as f64 * 8.0 / counts.window.length().as_secs_f64());
        }
        if counts.messages > 0 {
            self.cpu.push(counts.cpu_time.sum().get() as f64 / counts.messages as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Nanos;
    use model::end::{CpuTime, Window};
    use model::trial::{PeerCounts, PeerOutcome};

    use super::Part;

    #[test]
    fn a_machine_has_its_own_line_and_one_that_is_missing_its_reason() {
        let mut part = Part::default();
        let counts = PeerCounts {
            bytes: 1_000_000,
            messages: 1_000,
            sent: 1_100,
            arrived: 1_050,
            window: Window { start: Nanos::from_millis(3), end: Nanos::from_millis(503) },
            cpu_time: CpuTime { process: Nanos::new(5_000_000), ..CpuTime::default() },
        };
        part.add(&PeerOutcome::Measured(counts));
        part.add(&PeerOutcome::Missing { error: "gone".to_owned() });
        // A window that the clocks do not resolve has no rate, and nothing that arrived no cost.
        part.add(&PeerOutcome::Measured(PeerCounts { sent: 10, ..PeerCounts::default() }));
        assert_eq!((part.goodput, part.cpu), (vec![16e6], vec![5_000.0]));
        assert_eq!((part.sent, part.lost, part.trials, part.missing, part.error.as_deref()), (1_110, 60, 2, 1, Some("gone")));
    }
}
