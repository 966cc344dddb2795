//! One execution of one cell: what is stored of it.

mod peers;
mod seen;
mod slices;

use serde::{Deserialize, Serialize};

use crate::adjust::AppliedSetting;
use crate::cell::Cell;
use crate::condition;
use crate::end::{EndReport, Window};
use crate::kernel::{HostCounters, WireCounters};
use crate::pass::Pass;
use crate::profile::Observation;
use crate::quantity::Nanos;
use crate::traffic::{Protocol, Role};
use crate::wakeups::WakeupCost;
use crate::warning::Warning;

pub use peers::{Peer, PeerCounts, PeerOutcome};

/// The version of a line of `trials.jsonl` that this build writes and reads.
pub const TRIAL_FORMAT: u32 = 1;

/// One line of `trials.jsonl`: the unit of replication and of storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Version of this record; a reader refuses one it does not know.
    pub format: u32,
    /// The block it belongs to, from 0.
    pub block: u32,
    /// Its place in the block, from 0.
    pub position: u32,
    /// The group of a woven study that it ran in, by its place among those of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// True where the hosts' roles were exchanged: host `b` sent.
    pub swapped: bool,
    /// The hosts of a fleet that sent and that received, by name; `None` of a study of two hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<[String; 2]>,
    /// Start, in milliseconds since 1970 (UTC).
    pub started_ms: u64,
    /// The cell of the plan that the trial belongs to.
    pub cell: Cell,
    /// The cell as run: `cell` with the settings of the arm. `None` of a plan
    /// without arms, where it is `cell`. Read it with [`TrialRecord::cell_as_run`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_run: Option<Box<Cell>>,
    /// The arm it belongs to, by name; `None` of a plan without arms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Settings that the arm, or the cell, made on the hosts, read back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<AppliedSetting>,
    /// The pass: the observation that ran with it.
    #[serde(default = "Pass::usual", skip_serializing_if = "Pass::is_clean")]
    pub pass: Pass,
    /// Outcome.
    pub outcome: Outcome,
    /// Warnings: what a reader must know before believing it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// Outcome of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Both ends reported.
    Measured(Box<Measured>),
    /// It was left out: this machine refused its pass before.
    Skipped {
        /// The attempt, the system's answer, and the remedy.
        reason: String,
    },
    /// It could not be carried out; what was tried and what the system answered.
    Failed {
        /// In words.
        error: String,
        /// True where a host was lost with it: `study --resume` measures it again.
        /// The study itself goes on with the next trial.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        lost: bool,
    },
}

/// The two ends of a trial and the kernel's counters next to them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The end that sent.
    pub sender: EndReport,
    /// The end that received. Its figure is the result.
    pub receiver: EndReport,
    /// Change of the kernel's counters on the sender's host, over the whole trial.
    pub sender_host: HostCounters,
    /// The same on the receiver's host.
    pub receiver_host: HostCounters,
    /// True where nothing but the trial used the two hosts' counters.
    pub isolated: bool,
    /// True where the hosts were given and are not one network namespace: each has
    /// CPUs and counters of its own, which others use as well.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub apart: bool,
    /// Difference of the two ends' clocks; `None` where they read the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockOffset>,
    /// How far the windows of the two ends are one time; `None` of a trial of a number of
    /// messages, whose ends count to the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
    /// Slices that the measured part consists of, as long as they are together; 0 of a trial that was not woven.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub slices: u32,
    /// Distance of the hosts from the controller; `None` where it started both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlPath>,
    /// Time from the first preparation to the last report, less the warm-up
    /// and the measured part: the fixed cost of a trial.
    pub overhead: Nanos,
    /// Counts of frames on the wire between the hosts, both ways, over the whole
    /// trial; `None` where nettoll made none that can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireCounters>,
    /// Conditions as they really were, where they were not the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Box<condition::ObservedConditions>>,
    /// Observations of each end, in any pass but a clean one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Box<Observed>>,
    /// What one wake-up of the sender and of the receiver is billed before the end runs, by the probe of its host;
    /// `None` where that is not known.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub wakeups: [Option<WakeupCost>; 2],
    /// The machines of the end that is several, each by itself; empty where each end is on one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<Peer>,
}

impl Measured {
    /// Counts the receiver's messages by the sender's: in a TCP stream of many sizes only the sender knows where a message ends.
    /// The receiver's messages become its bytes over the mean size of all that
    /// was sent, in place of the mean of the whole mix.
    pub fn count_by_sender(&mut self, cell: &Cell) {
        let sent = self.sender.total;
        if cell.mix.is_none() || cell.protocol() == Protocol::Udp || sent.bytes == 0 {
            return;
        }
        let in_all = |bytes: u64| u128::from(bytes) * u128::from(sent.messages) / u128::from(sent.bytes);
        for counts in [&mut self.receiver.counts, &mut self.receiver.total] {
            let messages = in_all(counts.bytes);
            counts.messages = u64::try_from(messages).unwrap_or(u64::MAX);
            counts.received = counts.messages;
            counts.first.messages = u64::try_from(in_all(counts.first.bytes)).unwrap_or(u64::MAX);
        }
    }
}

/// Observations of the two ends of a trial, next to their own reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// The end that sent.
    pub sender: Observation,
    /// The end that received.
    pub receiver: Observation,
}

impl Observed {
    /// Returns the observation of the end with a role.
    pub const fn of(&self, role: Role) -> &Observation {
        match role {
            Role::Sender => &self.sender,
            Role::Receiver => &self.receiver,
        }
    }
}

/// The receiver's clock against the sender's, during one trial. A one-way time
/// as the two ends read it, less `offset_ns`, is the true one, within `error_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// The receiver's clock less the sender's.
    pub offset_ns: i64,
    /// Largest error of that, either way: half of the least round trip of
    /// the control connections, and what the clocks moved during the trial.
    pub error_ns: u64,
}

/// How far the windows of the two ends of a trial are one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    /// Length that each was to have.
    pub asked: Nanos,
    /// Time that lies in both, in ns, the receiver's put on the sender's clock: within
    /// [`ClockOffset::error_ns`]. Negative: the time that lies between them.
    pub overlap_ns: i64,
}

impl Windows {
    /// Least share of what a window was to be, and of either window what both have: below it
    /// figures that compare the ends speak of different times.
    pub const LEAST: f64 = 0.9;

    /// Of a sender's window and a receiver's, each on its own clock.
    pub fn new(asked: Nanos, sender: Window, receiver: Window, clock: Option<ClockOffset>) -> Self {
        let offset = clock.map_or(0, |clock| i128::from(clock.offset_ns));
        let [start, end] = [receiver.start, receiver.end].map(|at| i128::from(at.get()) - offset);
        let overlap = end.min(sender.end.get().into()) - start.max(sender.start.get().into());
        let overlap_ns = i64::try_from(overlap).unwrap_or(if overlap < 0 { i64::MIN } else { i64::MAX });
        Self { asked, overlap_ns }
    }
}

/// Distance of the hosts from the controller, and what that means for a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlPath {
    /// Least round-trip time to the host farther away.
    pub rtt: Nanos,
    /// Time for which a receiver waited for more after the sender's end was announced,
    /// and a requester for an answer: that of [`between_machines`](crate::silence::between_machines).
    pub silence: Nanos,
}

impl TrialRecord {
    /// A record of a clean trial, the first of its run, without an arm and without warnings.
    pub const fn new(cell: Cell, outcome: Outcome) -> Self {
        Self {
            format: TRIAL_FORMAT,
            block: 0,
            position: 0,
            group: None,
            swapped: false,
            hosts: None,
            started_ms: 0,
            cell,
            as_run: None,
            arm: None,
            taken: Vec::new(),
            pass: Pass::Clean,
            outcome,
            warnings: Vec::new(),
        }
    }

    /// The cell as run, with the settings of the arm.
    pub fn cell_as_run(&self) -> &Cell {
        self.as_run.as_deref().unwrap_or(&self.cell)
    }

    /// The measurements, when there are any.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Skipped { .. } | Outcome::Failed { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClockOffset, Windows};
    use crate::end::Window;
    use crate::quantity::Nanos;

    #[test]
    fn windows_overlap_on_one_clock_and_what_lies_between_them_is_negative() {
        let window = |start, end| Window { start: Nanos::from_millis(start), end: Nanos::from_millis(end) };
        let overlap = |receiver, offset_ms: i64| {
            let clock = ClockOffset { offset_ns: offset_ms * 1_000_000, error_ns: 0 };
            Windows::new(Nanos::from_millis(500), window(1_000, 1_500), receiver, Some(clock)).overlap_ns / 1_000_000
        };
        assert_eq!(overlap(window(1_000, 1_500), 0), 500);
        assert_eq!(overlap(window(1_461, 1_961), 0), 39);
        assert_eq!(overlap(window(1_645, 2_145), 0), -145);
        assert_eq!(overlap(window(3_461, 3_961), 2_000), 461 - 422);
        assert_eq!(overlap(window(500, 1_000), -500), 500);
        let hostile = Window { start: Nanos::new(u64::MAX), end: Nanos::new(0) };
        let clock = ClockOffset { offset_ns: i64::MIN, error_ns: u64::MAX };
        assert_eq!(Windows::new(Nanos::default(), hostile, hostile, Some(clock)).overlap_ns, i64::MIN);
    }
}
