//! Result of a study with receipts: where the time goes.

use model::profile::SampleSource;
use model::{Bytes, Cell, Family, Refusal, Role, Test};
use serde::Serialize;

use attribution::{Bound, Category, Comparison, Direction, Figure, FunctionTable, Growth, Layer, Path, Receipt};
use stats::estimate::Estimate;

/// The receipts of a run, and what they show together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReceiptStudy {
    /// Origin of the rules: `built in`, or the name of a file.
    pub rules: String,
    /// Number of rules.
    pub rule_count: usize,
    /// One entry a cell and arm, in the plan's order.
    pub cells: Vec<CellReceipt>,
    /// One entry a series of cells (which differ in size alone), arm and end.
    pub series: Vec<SeriesReceipt>,
    /// Cost of watching: CPU time per message of a time pass over that of the
    /// clean pass of its block, the median over cells and ends; `n` is their number.
    pub observer: Option<Estimate>,
    /// Absences with their reasons, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absences: Vec<RefusalCount>,
}

impl ReceiptStudy {
    /// The series, with its arm, and the size that stand for the run: of series of which both ends have a receipt the
    /// first, datagrams before others since a message is one then, at its usual size.
    pub fn lead(&self) -> Option<(&str, Bytes)> {
        let senders = |is_datagrams: bool| {
            self.series.iter().filter(move |one| one.role == Role::Sender && (one.test == Test::UdpStream) == is_datagrams)
        };
        senders(true).chain(senders(false)).find_map(|sender| {
            let receiver = self.series.iter().find(|other| other.role == Role::Receiver && other.series == sender.series)?;
            let sizes = sender.columns.iter().map(|column| column.size);
            let sizes: Vec<Bytes> = sizes.filter(|size| receiver.columns.iter().any(|column| column.size == *size)).collect();
            Some((sender.series.as_str(), sender.usual(&sizes)?))
        })
    }
}

/// One cell of one arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellReceipt {
    /// The cell.
    pub cell: Cell,
    /// The cell in words, with its arm.
    pub label: String,
    /// The arm; `None` of a study without arms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The file of its folded stacks, without directory and ending; each end has
    /// one: `<file>.sender.folded`.
    pub file: String,
    /// The end that sent.
    pub sender: EndReceipt,
    /// The end that received.
    pub receiver: EndReceipt,
}

impl CellReceipt {
    /// One of its ends.
    pub const fn end(&self, role: Role) -> &EndReceipt {
        match role {
            Role::Sender => &self.sender,
            Role::Receiver => &self.receiver,
        }
    }

    /// Its series in words, with its arm.
    pub fn series(&self) -> String {
        super::labelled(&self.cell.series().to_string(), self.arm.as_deref())
    }

    /// The receipts that there are, the sender's first.
    pub fn receipts(&self) -> impl Iterator<Item = &Receipt> {
        [&self.sender, &self.receiver].into_iter().filter_map(|end| end.outcome.receipt())
    }
}

/// One end of a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EndReceipt {
    /// The receipt, or why there is none.
    pub outcome: ReceiptOutcome,
    /// Trials it was made from.
    pub passes: PassCounts,
    /// Work of this end that is in no row: of kernel threads (`ksoftirqd`) that
    /// could not be sampled, ns per message. `None` where it was sampled, or
    /// there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsampled_threads_ns: Option<f64>,
}

/// A receipt, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptOutcome {
    /// There is one.
    Made(Box<Receipt>),
    /// There is none.
    Absent {
        /// Why, and what to do, in a sentence.
        reason: String,
    },
}

impl Default for ReceiptOutcome {
    /// None, for no reason that is known.
    fn default() -> Self {
        Self::Absent { reason: String::new() }
    }
}

impl ReceiptOutcome {
    /// The receipt, if there is one.
    pub fn receipt(&self) -> Option<&Receipt> {
        match self {
            Self::Made(receipt) => Some(receipt),
            Self::Absent { .. } => None,
        }
    }
}

/// Trials of one end of one cell that a receipt was made from, by pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PassCounts {
    /// With nothing on.
    pub clean: u32,
    /// With the sampler on.
    pub time: u32,
    /// With scheduler tracepoints on.
    pub wait: u32,
    /// With counters on.
    pub count: u32,
    /// Trials of any pass that gave nothing: they failed, or were left out.
    pub missing: u32,
}

/// One end of cells that differ in size alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesReceipt {
    /// The series in words, with its arm.
    pub series: String,
    /// The test.
    pub test: Test,
    /// The version of IP below it.
    pub family: Family,
    /// The arm; `None` of a study without arms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The end.
    pub role: Role,
    /// The clock or event that spaces the samples, at every size.
    pub source: SampleSource,
    /// The columns of all tables, by rising size; at least one.
    pub columns: Vec<Column>,
    /// Sizes at which buffers change, by rising size.
    pub boundaries: Vec<Boundary>,
    /// Function by size: time and exact calls.
    pub functions: FunctionTable,
    /// Category by size; the rows stacked are the CPU time that samples show.
    pub categories: SizeTable<Category>,
    /// Layer by size.
    pub layers: SizeTable<Layer>,
    /// Layer with context and direction, by size.
    pub paths: SizeTable<Path>,
    /// Direction by size.
    pub directions: SizeTable<Option<Direction>>,
    /// Work that touches payload, by size.
    pub touching: SizeRow<()>,
}

impl SeriesReceipt {
    /// The largest of some sizes that one frame carries, where a boundary of the series says it; else the smallest.
    pub fn usual(&self, sizes: &[Bytes]) -> Option<Bytes> {
        let frame = self.boundaries.iter().find(|boundary| ["MSS", "MTU"].contains(&boundary.name.as_str()));
        let within = frame.and_then(|frame| sizes.iter().rev().find(|size| **size <= frame.last));
        within.or(sizes.first()).copied()
    }
}

/// One size of a series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// Message size.
    pub size: Bytes,
    /// Place of its cell in [`ReceiptStudy::cells`].
    pub cell: usize,
    /// Clean CPU time, ns per message.
    pub cpu: Figure,
    /// Clean elapsed time, ns per message.
    pub wall: Figure,
    /// CPU time that no sample shows, ns per message; `None` without records of switches.
    pub unsampled: Option<Figure>,
    /// CPU time that is billed before the end runs, ns per message; `None` without records of switches.
    pub charged: Option<Figure>,
    /// Rate that one processor could sustain if it did nothing else.
    pub bound: Bound,
    /// The same without the work of acknowledgements.
    pub bound_without_acknowledgement: Bound,
    /// True where its receipt does not add up.
    pub red: bool,
}

impl Column {
    /// CPU time that samples show, ns per message.
    pub fn sampled_ns(&self) -> f64 {
        [self.unsampled, self.charged].into_iter().flatten().fold(self.cpu.value, |left, ns| left - ns.value)
    }
}

/// Rows over sizes, the costliest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeTable<K> {
    /// The rows.
    pub rows: Vec<SizeRow<K>>,
    /// ns per message at each size, the rows that grow with the size together.
    pub growing: Vec<f64>,
}

/// One row over sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeRow<K> {
    /// The key of the row.
    pub key: K,
    /// One a size, in the order of the columns.
    pub cells: Vec<RowAtSize>,
    /// True where it depends on the size; `None` of too few samples, trials or sizes.
    pub growth: Option<Growth>,
}

/// A row at one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RowAtSize {
    /// Samples that it was counted from.
    pub samples: u64,
    /// ns per message.
    pub ns: Figure,
    /// Share of the on-CPU time, 0 to 1.
    pub share: f64,
}

/// A size above which the stack is known to handle messages differently.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Boundary {
    /// Its name: `MSS`, `MTU`, `socket buffer`, `page`, `GSO limit`.
    pub name: String,
    /// The largest size on its lower side.
    pub last: Bytes,
    /// Number of the columns on its lower side: a mark belongs before the
    /// column at this place. 0 or all of them: no size was measured beyond it.
    pub below: usize,
}

/// Something that a machine refused or a pass did not give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusalCount {
    /// The refusal.
    #[serde(flatten)]
    pub unavailable: Refusal,
    /// True where samples are what is missing, without which there is no receipt.
    #[serde(skip)]
    pub samples: bool,
    /// In how many trials (a trial with two ends counts once for each that lacks it).
    pub trials: u64,
}

/// Two runs' receipts, cell by cell and row by row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReceiptComparison {
    /// Cells and ends that both have, in the first run's order.
    pub pairs: Vec<ReceiptPair>,
    /// Labels of what only one of them has a receipt of: the first, the second.
    pub unpaired: [Vec<String>; 2],
}

/// One end of one cell in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReceiptPair {
    /// The cell in words, with its arm.
    pub label: String,
    /// The end.
    pub role: Role,
    /// By category.
    pub categories: Comparison<Category>,
    /// By layer.
    pub layers: Comparison<Layer>,
    /// By function.
    pub functions: Comparison<String>,
    /// Distance of the layers' shares, 0 to 1.
    pub total_variation: f64,
    /// True where each does not add up.
    pub red: [bool; 2],
    /// The source of the samples of each.
    pub sources: [SampleSource; 2],
}
