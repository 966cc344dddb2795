//! A run in a few figures: what a list of runs needs, without reading their trials.

use serde::{Deserialize, Serialize};

/// The version of `summary.json` that this build writes and reads.
pub const SUMMARY_FORMAT: u32 = 1;

/// A run in a few figures, made from its analysis.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this record; one of another is made again.
    pub format: u32,
    /// Length of the file of trials that it was made from. Of another length it says nothing.
    pub of_bytes: u64,
    /// Kernel of the hosts, as `uname -r` has it; several are separated by commas.
    pub kernel: String,
    /// Time from the start of the run to the start of its last trial, in milliseconds.
    pub duration_ms: u64,
    /// Trials that were measured.
    pub trials: u64,
    /// Trials that failed.
    pub failed: u64,
    /// Half-width of the widest interval of any cell's time per message, as a share of the
    /// median; `None` where there is none.
    pub widest: Option<f64>,
    /// Cells whose time per message is known as well as was asked for.
    pub met: u64,
    /// All cells.
    pub cells: u64,
    /// Kinds of doubt.
    pub warnings: u64,
    /// What it shows, in a line.
    pub headline: String,
}
