//! Known costs, looked for in receipts.

use attribution::{Category, Figure, Layer, Receipt, compare};
use model::{Cell, Nanos, Role};
use serde::Serialize;

use crate::Analysis;
use crate::receipt::ReceiptOutcome;

/// The row of a sender's receipt that a known cost must be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Row {
    /// The layer of the program's own code.
    OwnCode,
    /// The layer of BPF programs and classic filters.
    Bpf,
    /// The layer of netfilter.
    Netfilter,
    /// The kind of work that copies are.
    DataMovement,
}

impl Row {
    /// By how much the row is larger in one receipt than in another; `None` where neither has a sample in it.
    fn growth(self, without: &Receipt, with: &Receipt) -> Option<Figure> {
        let of_layer = |layer| {
            let rows = compare(without, with, |receipt| &receipt.rows.layers).rows;
            rows.into_iter().find(|row| row.key == layer).map(|row| row.difference)
        };
        match self {
            Self::OwnCode => of_layer(Layer::User),
            Self::Bpf => of_layer(Layer::Bpf),
            Self::Netfilter => of_layer(Layer::Netfilter),
            Self::DataMovement => {
                let rows = compare(without, with, |receipt| &receipt.rows.categories).rows;
                rows.into_iter().find(|row| row.key == Category::DataMovement).map(|row| row.difference)
            }
        }
    }
}

/// A known cost at a sender, looked for in its row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownCost {
    /// The cause.
    pub cause: String,
    /// The row that it must be in.
    pub row: Row,
    /// The traffic, in words.
    pub traffic: String,
    /// The cost that was put in, in ns of CPU time per message; 0 where it could not be.
    pub injected_ns: f64,
    /// The row's growth over the cost, 1 where the receipt is right; or why there is none.
    #[serde(flatten)]
    pub found: Result<FoundCost, String>,
}

impl KnownCost {
    /// Looks for the cost of a cause in the traffic of a cell: `without` is the analysis of trials without it, `with` that of
    /// trials with it.
    pub fn look_for(cause: &str, row: Row, cell: &Cell, cost: &Result<Nanos, String>, without: &Analysis, with: &Analysis) -> Self {
        let injected_ns = cost.as_ref().map_or(0.0, |cost| cost.get() as f64);
        let found = cost.as_ref().map_err(Clone::clone).and_then(|_| {
            let (without, with) = (sender(without, cell)?, sender(with, cell)?);
            let growth = row.growth(without, with).ok_or("no sample is in the row that it must be in")?;
            Ok(FoundCost { ratio: growth.scaled(1.0 / injected_ns), samples: with.sampling.samples, red: with.is_red() })
        });
        Self { cause: cause.to_owned(), row, traffic: cell.to_string(), injected_ns, found }
    }
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

fn sender<'a>(analysis: &'a Analysis, cell: &Cell) -> Result<&'a Receipt, String> {
    let cells = analysis.receipt().map_or(&[][..], |study| &study.cells);
    let found = cells.iter().find(|other| other.cell == *cell).ok_or("the traffic has no trials")?;
    match &found.end(Role::Sender).outcome {
        ReceiptOutcome::Made(receipt) => Ok(receipt),
        ReceiptOutcome::Absent { reason } => Err(reason.clone()),
    }
}
