//! One execution of one cell: what is stored of it.

use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::end::EndReport;
use crate::kernel::HostCounters;
use crate::quantity::Nanos;
use crate::warning::Warning;

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
    /// Whether the hosts' roles were exchanged: host `b` sent.
    pub swapped: bool,
    /// When it started, in milliseconds since 1970 (UTC).
    pub started_ms: u64,
    /// What was run.
    pub cell: Cell,
    /// What came of it.
    pub outcome: Outcome,
    /// What a reader must know before believing it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// What came of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Both ends reported.
    Measured(Box<Measured>),
    /// It could not be carried out; what was tried and what the system answered.
    Failed {
        /// In words.
        error: String,
    },
}

/// The two ends of a trial and the kernel's counters beside them.
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
    /// Whether nothing but the trial used the two hosts' counters.
    pub isolated: bool,
    /// Time from the first preparation to the last report, less the warm-up
    /// and the measured part: the fixed cost of a trial.
    pub overhead: Nanos,
}

impl TrialRecord {
    /// The measurements, when there are any.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Failed { .. } => None,
        }
    }
}
