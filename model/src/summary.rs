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
    /// All cells.
    pub cells: u64,
    /// Kinds of doubt.
    pub warnings: u64,
    /// The question that it was made for, in a few words.
    pub question: String,
    /// The answer in a sentence.
    pub headline: String,
    /// The same in a few words.
    pub brief: String,
    /// How well it is answered.
    pub grade: String,
    /// The reason for the grade.
    pub reason: String,
    /// The command that is next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
