//! What an analysis says: the one input of every report.

pub mod arms;
pub mod buffers;
pub mod levels;
mod metric;
pub mod open_loop;
pub mod published;
pub mod receipt;
pub mod repetitions;

use std::collections::BTreeMap;

use model::host::HostFacts;
use model::warning::Warning;
use model::{Bytes, Cell, Run};
use serde::Serialize;

pub use arms::{ArmResult, ArmVerdict};
pub use buffers::BufferMap;
pub use levels::LevelStudy;
pub use metric::Metric;
pub use open_loop::OpenLoopStudy;
pub use published::Published;
pub use receipt::ReceiptStudy;
pub use repetitions::RepetitionStudy;
pub use stats::cost::Term;
pub use stats::estimate::{Estimate, Interval, Method};

/// The version of [`Analysis`] as JSON.
pub const ANALYSIS_FORMAT: u32 = 1;

/// Everything a run shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// [`ANALYSIS_FORMAT`].
    pub format: u32,
    /// The run.
    pub run: Run,
    /// Its hosts before the run.
    pub hosts: Vec<HostFacts>,
    /// Blocks with at least one trial.
    pub blocks: u32,
    /// Trials that were measured.
    pub trials: u64,
    /// Trials that failed.
    pub failed: u64,
    /// One entry a cell, in the plan's order; of a study with arms, in the first
    /// of them.
    pub cells: Vec<CellResult>,
    /// One entry for each series of stream cells and each quantity.
    pub models: Vec<CostModel>,
    /// Whether exchanging the hosts' roles made a difference; `None` without
    /// any block that was measured.
    pub roles: Option<Roles>,
    /// Where the datagrams of all UDP trials went; `None` without any.
    pub datagrams: Option<Balance>,
    /// Every doubt, equal ones counted together, the gravest first.
    pub findings: Vec<Finding>,
    /// How many trials the machine disturbed.
    pub disturbed: Disturbed,
    /// Whether interrupt time came in ticks and was pooled over the trials of
    /// each cell.
    pub irq_pooled: bool,
    /// Where the time of each cell went; `None` of a study without receipts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<ReceiptStudy>,
    /// Goodput over socket buffers; empty of a study that varies none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<BufferMap>,
    /// What was published, where the run repeats a published study.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Box<Published>>,
    /// Every arm but the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<ArmResult>,
    /// Each of them against the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<ArmVerdict>,
    /// Conditions beside their base level; `None` of a plan that varies none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<LevelStudy>,
    /// Counts side by side; `None` where no cells differ in their count alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<RepetitionStudy>,
    /// Rates side by side; `None` where none was offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoopStudy>,
}

/// The results of the studies that the run has any of.
impl Analysis {
    /// Cost models, one for each series of stream cells and each quantity.
    pub fn models(&self) -> &[CostModel] {
        &self.models
    }

    /// The effect of exchanging the hosts' roles; `None` without any block that
    /// was measured.
    pub const fn roles(&self) -> Option<&Roles> {
        self.roles.as_ref()
    }

    /// The balance of the datagrams of all UDP trials; `None` without any.
    pub const fn datagrams(&self) -> Option<&Balance> {
        self.datagrams.as_ref()
    }

    /// The receipts of the run's cells; `None` of a study without.
    pub const fn receipt(&self) -> Option<&ReceiptStudy> {
        self.receipt.as_ref()
    }

    /// Goodput over socket buffers; empty of a study that varies none.
    pub fn buffers(&self) -> &[BufferMap] {
        &self.buffers
    }

    /// The published study that the run repeats, next to its own figures.
    pub fn published(&self) -> Option<&Published> {
        self.published.as_deref()
    }

    /// Every arm but the first.
    pub fn arms(&self) -> &[ArmResult] {
        &self.arms
    }

    /// Each of them compared with the first.
    pub fn verdicts(&self) -> &[ArmVerdict] {
        &self.verdicts
    }

    /// Conditions next to their base level; `None` of a plan that varies none.
    pub const fn levels(&self) -> Option<&LevelStudy> {
        self.levels.as_ref()
    }

    /// Counts side by side; `None` where no cells differ in their count alone.
    pub const fn repetitions(&self) -> Option<&RepetitionStudy> {
        self.repetitions.as_ref()
    }

    /// Rates side by side; `None` where none was offered.
    pub const fn open_loop(&self) -> Option<&OpenLoopStudy> {
        self.open_loop.as_ref()
    }
}

/// Measured trials that were disturbed, as their warnings say. A trial may be
/// so in several ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Disturbed {
    /// In any way.
    pub trials: u64,
    /// An end waited for a CPU.
    pub waited: u64,
    /// The hypervisor took CPU time.
    pub stolen: u64,
    /// A CPU was slowed down for its heat.
    pub throttled: u64,
    /// The receiver measured while nothing was being sent.
    pub misaligned: u64,
}

/// What one cell shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellResult {
    /// The cell.
    pub cell: Cell,
    /// The cell in words.
    pub label: String,
    /// Trials that were measured.
    pub trials: usize,
    /// What was estimated, over trials.
    pub metrics: BTreeMap<Metric, Estimate>,
    /// Round-trip times of a request/response cell, all trials merged. Where a
    /// rate is offered they count from the intended time of each request.
    pub latency: Option<Latency>,
    /// The same counted from the actual time of each request: what a closed
    /// loop would have seen. Only where a rate is offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncorrected: Option<Latency>,
    /// How long after its intended time each send began. Only where a rate is offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Latency>,
    /// How much longer than the shortest of its trial each stamped datagram
    /// took. It needs no common clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond_least: Option<Latency>,
    /// What kept the cell from being faster; `None` when it cannot be told.
    pub limit: Option<Limit>,
}

/// Times of one kind, such as round trips, all trials of a cell merged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latency {
    /// Number of transactions, or of messages that were timed.
    pub transactions: u64,
    /// Smallest, in ns.
    pub min_ns: u64,
    /// Largest, in ns.
    pub max_ns: u64,
    /// Percentiles in ns, each with an interval over blocks.
    pub percentiles: Vec<Percentile>,
}

/// One percentile of merged round-trip times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentile {
    /// 50, 90, 99 or 99.9.
    pub percent: f64,
    /// In ns.
    pub estimate: Estimate,
}

/// What kept a cell from being faster.
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

/// What a cost model explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Elapsed time per message at the receiver.
    Elapsed,
    /// CPU time of the sender's end.
    SenderCpu,
    /// CPU time of the receiver's end.
    ReceiverCpu,
}

/// The cost of a message over its size, for one series of cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostModel {
    /// The series in words, such as `UDP_STREAM` or `TCP_STREAM (nodelay)`.
    pub series: String,
    /// The protocol's name.
    pub protocol: model::Protocol,
    /// What it explains.
    pub quantity: Quantity,
    /// The fit, or why there is none.
    pub outcome: FitOutcome,
}

/// A fit, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FitOutcome {
    /// The model holds over the sizes measured.
    Fitted(Fit),
    /// It would mislead, and why; what to do instead.
    NotALine {
        /// In a sentence.
        reason: String,
    },
}

/// t = a + b·bytes + c·frames + w·wake-ups, in one or more pieces of the sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// The pieces, by rising size; more than one when there are breakpoints.
    pub pieces: Vec<Piece>,
    /// Between the pieces; one fewer than those.
    pub breakpoints: Vec<Breakpoint>,
    /// Share of the variance of the cells' medians that the model explains.
    pub r_squared: f64,
    /// The model against each size, by rising size.
    pub points: Vec<FitPoint>,
}

/// One straight piece of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Piece {
    /// Smallest size of the piece.
    pub from: Bytes,
    /// Largest.
    pub to: Bytes,
    /// The terms in it.
    pub terms: Vec<TermEstimate>,
    /// Said when bytes and frames could not be told apart in it: their
    /// correlation, each size weighing as in the fit.
    pub collinearity: Option<f64>,
}

/// A term and its coefficient in ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TermEstimate {
    /// The term.
    pub term: Term,
    /// ns per unit of the term.
    pub estimate: Estimate,
    /// Of a term that was counted: its least and its most per message over the
    /// sizes of the piece.
    pub counted: Option<[f64; 2]>,
}

impl TermEstimate {
    /// Whether it costs anything for sure: its interval lies above 0. The cost
    /// of a message as such may lie anywhere, for it is where the line starts.
    pub fn is_shown(&self) -> bool {
        self.term == Term::Message || self.estimate.interval.map_or(self.estimate.value, |interval| interval.low) > 0.0
    }
}

/// Where a model changes its line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Breakpoint {
    /// Largest size below it.
    pub after: Bytes,
    /// Smallest size above it.
    pub before: Bytes,
    /// The known threshold it sits at, if any: `MTU`, `MSS`, `page`, `socket buffer`, `GSO limit`.
    pub name: Option<String>,
}

/// A model against what was measured at one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FitPoint {
    /// Message size.
    pub size: Bytes,
    /// Measured, in ns.
    pub measured: Estimate,
    /// By the model, in ns.
    pub fitted: f64,
    /// (measured - fitted) / fitted.
    pub residual: f64,
}

/// Whether exchanging the hosts' roles made a difference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Roles {
    /// It was tested.
    Tested(RoleTest),
    /// There are too few blocks for any verdict.
    TooFewBlocks {
        /// How many there are.
        blocks: usize,
        /// How many this run has to have for one.
        needed: usize,
    },
}

/// A test of exchanged roles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RoleTest {
    /// Time per message with roles exchanged over that without; 1 is no
    /// difference. Of geometric means over blocks and their cells, each cell
    /// relative to its median, compared within groups of blocks and averaged
    /// over those; `n` is the number of blocks.
    pub ratio: Estimate,
    /// Probability of a difference this large by chance (randomisation test).
    pub p: f64,
    /// Blocks with roles exchanged.
    pub swapped: usize,
    /// Blocks without.
    pub straight: usize,
}

/// Where the datagrams went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Balance {
    /// Handed to the kernel by senders' calls that succeeded.
    pub sent: u64,
    /// Taken out by receivers' calls.
    pub received: u64,
    /// Each kernel counter that explains a loss, with its share, in order of
    /// the path; zeros are left out.
    pub dropped: Vec<(String, u64)>,
    /// What is left over. 0 on isolated hosts.
    pub unaccounted: i64,
}

/// A doubt and how often it came up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The gravest of its kind.
    pub warning: Warning,
    /// All of them in words: in how many trials, and how far at worst.
    pub text: String,
    /// What to do about it.
    pub remedy: String,
    /// Trials it was found in; 0 when it is of the whole run.
    pub trials: u64,
    /// Labels of the cells concerned, at most three, and how many there are.
    pub cells: Vec<String>,
    /// How many cells there are.
    pub cell_count: usize,
}
