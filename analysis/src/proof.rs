//! Known costs, looked for in receipts.

use attribution::{Figure, Layer, Receipt, compare};
use model::{Cell, Nanos, Role};
use serde::Serialize;

use crate::Analysis;
use crate::receipt::{CellReceipt, ReceiptOutcome};

/// A known cost at a sender, looked for in the row of the program's own code.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownCost {
    /// The traffic, in words.
    pub traffic: String,
    /// The cost that was put in, in ns of CPU time per message.
    pub injected_ns: f64,
    /// The row's growth over the cost, 1 where the receipt is right; or why there is none.
    #[serde(flatten)]
    pub found: Result<FoundCost, String>,
}

/// A known cost that was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FoundCost {
    /// The row's growth over the cost that was put in.
    pub ratio: Figure,
    /// Samples of the receipt that has the cost.
    pub samples: u64,
    /// True where that receipt does not add up, so that its rows are not to be used.
    pub red: bool,
}

impl FoundCost {
    /// Whether the interval holds 1; `None` without an interval.
    pub fn holds(&self) -> Option<bool> {
        self.ratio.interval.map(|[low, high]| (low..=high).contains(&1.0))
    }
}

/// Looks for the work of each sender that has some: by how much the row of the program's own code is larger than
/// in the cell without work. `cost` says how much CPU time work takes.
pub fn known_costs(analysis: &Analysis, cost: impl Fn(Nanos) -> Option<Nanos>) -> Vec<KnownCost> {
    let cells: &[CellReceipt] = analysis.receipt().map_or(&[], |study| &study.cells);
    let worked = cells.iter().filter_map(|cell| Some((cell, cost(cell.cell.work)?.get() as f64)).filter(|_| cell.cell.work.get() > 0));
    let known = worked.map(|(with, injected_ns)| {
        let bare = Cell { work: Nanos::new(0), ..with.cell.clone() };
        let without = cells.iter().find(|other| other.cell == bare).ok_or_else(|| "the same traffic without work is missing".to_owned());
        let found = without.and_then(|without| found(sender(without)?, sender(with)?, injected_ns));
        KnownCost { traffic: bare.to_string(), injected_ns, found }
    });
    known.collect()
}

fn sender(cell: &CellReceipt) -> Result<&Receipt, String> {
    match &cell.end(Role::Sender).outcome {
        ReceiptOutcome::Made(receipt) => Ok(receipt),
        ReceiptOutcome::Absent { reason } => Err(reason.clone()),
    }
}

fn found(without: &Receipt, with: &Receipt, injected_ns: f64) -> Result<FoundCost, String> {
    let rows = compare(without, with, |receipt| &receipt.rows.layers).rows;
    let own = rows.into_iter().find(|row| row.key == Layer::User).ok_or("no sample is in the program's own code")?;
    Ok(FoundCost { ratio: own.difference.scaled(1.0 / injected_ns), samples: with.sampling.samples, red: with.is_red() })
}
