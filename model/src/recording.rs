//! What `nettoll top --record` stores: the toll of a machine, window after window.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::quantity::Nanos;

/// The version of `top.json` and of its windows that this build writes and reads.
pub const RECORDING_FORMAT: u32 = 1;

/// A recording: `top.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// Version; a reader refuses one it does not know.
    pub format: u32,
    /// The name of the run directory.
    pub id: String,
    /// Start, in milliseconds since 1970 (UTC).
    pub started_ms: u64,
    /// The version of nettoll that recorded.
    pub tool: String,
    /// The machine's name; empty where it could not be read.
    pub host: String,
    /// Its kernel release; empty where it could not be read, as are the next two.
    pub kernel: String,
    /// Its CPU model.
    pub cpu_model: String,
    /// Its hardware in words.
    pub machine: String,
}

/// One window. Samples are counts; times `period`, they are CPU time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedWindow {
    /// Its end, in milliseconds since 1970 (UTC).
    pub time_ms: u64,
    /// Its length.
    pub elapsed: Nanos,
    /// CPUs that were online.
    pub cpus: u32,
    /// Distance of two samples of a CPU.
    pub period: Nanos,
    /// Samples that were due, and those that were made.
    pub samples: [u64; 2],
    /// CPU time of watching.
    pub own: Nanos,
    /// Samples of the network by layer.
    pub layers: BTreeMap<String, u64>,
    /// The same by kind of work.
    pub kinds: BTreeMap<String, u64>,
    /// True where messages were counted.
    pub has_messages: bool,
    /// By unit, at most [`MOST_RECORDED`].
    pub units: Vec<RecordedUnit>,
}

/// The most units of a window; those with the least work are one, [`OTHERS`].
pub const MOST_RECORDED: usize = 200;
/// The name of what has no row of its own.
pub const OTHERS: &str = "others";

/// One unit in one window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedUnit {
    /// Its path, or the words of a row that is no unit.
    pub name: String,
    /// Samples in calls.
    pub call: u64,
    /// Samples in softirqs.
    pub softirq: u64,
    /// The part of `softirq` that was shared out.
    pub shared: u64,
    /// Messages of both directions.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl RecordedUnit {
    /// Samples of all its work.
    pub const fn samples(&self) -> u64 {
        self.call.saturating_add(self.softirq)
    }
}
