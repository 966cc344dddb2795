//! One execution of a study: what `run.json` says of it.

use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::proof::KeptProof;
use crate::warning::Warning;

/// The version of `run.json` that this build writes and reads.
pub const RUN_FORMAT: u32 = 1;

/// One execution of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Version of the run directory; a reader refuses one it does not know.
    pub format: u32,
    /// The name of the run directory.
    pub id: String,
    /// The plan as resolved, with its seed.
    pub plan: Plan,
    /// Start, in milliseconds since 1970 (UTC).
    pub started_ms: u64,
    /// The version of nettoll that ran it.
    pub tool: String,
    /// Status.
    pub status: Status,
    /// Warnings about all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Proof of receipts that was kept on the hosts' machine, of a run that has receipts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Box<KeptProof>>,
    /// Earlier runs that this one goes on with, whose trials are pooled with its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooled: Option<Pooled>,
}

/// Earlier runs of the same plan whose trials are pooled with those of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pooled {
    /// Their names, the first one's first: each was a look at the data, as is the run itself.
    pub runs: Vec<String>,
    /// Cells of the first one's plan: those that are measured again were chosen among so many.
    pub cells: usize,
}

/// Status of a run, or why it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Under way, or killed: the trials on disk are whole.
    Running,
    /// Every cell's interval is as narrow as was asked.
    IntervalMet,
    /// A look at woven arms settled every verdict.
    Settled,
    /// The limit on blocks came first.
    BlocksDone,
    /// The user stopped it.
    Interrupted,
    /// It could not go on.
    Failed {
        /// In words.
        error: String,
    },
}

impl Status {
    /// In words, for a report.
    pub fn describe(&self) -> String {
        match self {
            Self::Running => "not finished (killed, or still running)".to_owned(),
            Self::IntervalMet => "stopped because every interval asked for was met".to_owned(),
            Self::Settled => "stopped because every verdict was settled".to_owned(),
            Self::BlocksDone => "all blocks done".to_owned(),
            Self::Interrupted => "interrupted".to_owned(),
            Self::Failed { error } => format!("failed: {error}"),
        }
    }
}

/// The version of `summary.json` that this build writes and reads.
pub const SUMMARY_FORMAT: u32 = 1;

/// A run in a few figures, made from its analysis.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this record; one of another is made again.
    pub format: u32,
    /// Length of the file of trials that it was made from. With another length it is not used.
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
