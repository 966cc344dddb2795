//! The table of 1984: function by size, time and calls.

use model::Bytes;
use model::sorting::Order;
use serde::Serialize;

use crate::figure::Figure;
use crate::growth::{Growth, Trials, growth, settle};
use crate::receipt::{Calls, Receipt};
use crate::rows::{Row, by_key};
use crate::symbol::Symbol;

/// A row with fewer samples over all sizes is not tested: nothing could be shown.
pub const LEAST_TESTED: u64 = 50;

/// Functions over sizes, the costliest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionTable {
    /// The sizes, rising: the columns.
    pub sizes: Vec<Bytes>,
    /// The functions.
    pub rows: Vec<FunctionRow>,
}

/// One function.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionRow {
    /// Its name.
    pub function: String,
    /// One cell a size.
    pub cells: Vec<SizeCell>,
    /// Dependence of its time on the size; `None` of too few samples or trials.
    pub time: Option<Growth>,
    /// That of its calls; `None` where they were not counted at every size.
    pub calls: Option<Growth>,
}

/// A function at one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SizeCell {
    /// ns per message.
    pub ns: Figure,
    /// Share of the on-CPU time.
    pub share: f64,
    /// Exact calls per message; `None` where they were not counted, which prints as "-".
    pub calls: Option<Figure>,
}

impl FunctionTable {
    /// The table of receipts of one end, one a size.
    pub fn from_receipts(receipts: &[&Receipt]) -> Self {
        let mut receipts = receipts.to_vec();
        receipts.order_by_key(|receipt| receipt.size);
        let rows = by_key(&receipts, |receipt| &receipt.rows.functions);
        let mut rows: Vec<FunctionRow> = rows.into_iter().map(|(name, rows)| function(name, &receipts, &rows)).collect();
        settle(&mut rows.iter_mut().filter_map(|row| row.time.as_mut()).collect::<Vec<_>>());
        settle(&mut rows.iter_mut().filter_map(|row| row.calls.as_mut()).collect::<Vec<_>>());
        let cost = |row: &FunctionRow| row.cells.iter().map(|cell| cell.share).sum::<f64>();
        rows.order_by(|a, b| cost(b).total_cmp(&cost(a)));
        Self { sizes: receipts.iter().map(|receipt| receipt.size).collect(), rows }
    }
}

fn function(name: &str, receipts: &[&Receipt], rows: &[Option<&Row<String>>]) -> FunctionRow {
    let wanted = Symbol::parse(name).name;
    let is_wanted = |counted: &str| Symbol::parse(counted).name == wanted;
    let calls: Vec<Option<&Calls>> =
        receipts.iter().map(|receipt| receipt.calls.iter().find(|(counted, _)| is_wanted(counted)).map(|(_, calls)| calls)).collect();
    let cells = receipts.iter().zip(rows).zip(&calls).map(|((receipt, row), calls)| {
        let unseen = receipt.unseen_row();
        let (ns, share) = row.map_or((unseen, 0.0), |row| (row.ns, row.share.value));
        SizeCell { ns, share, calls: calls.map(|calls| calls.per_message) }
    });
    FunctionRow {
        function: name.to_owned(),
        cells: cells.collect(),
        time: time_growth(receipts, rows),
        calls: calls_growth(receipts, &calls),
    }
}

/// Dependence of the time of one row on the size. `rows` are the row at each
/// of the receipts, `None` where it was not sampled at all.
pub fn time_growth<K>(receipts: &[&Receipt], rows: &[Option<&Row<K>>]) -> Option<Growth> {
    let samples: u64 = rows.iter().flatten().map(|row| row.samples).sum();
    if samples < LEAST_TESTED {
        return None;
    }
    // If the size made no difference, every size would have this mean; a value
    // of s samples of c ns each then has the variance c²·s = c·mean.
    let possible: f64 = receipts.iter().map(|receipt| 1.0 / receipt.each).sum();
    let mean = samples as f64 / possible;
    let trials = receipts.iter().zip(rows).map(|(receipt, row)| {
        let values = row.map_or_else(|| vec![0.0; receipt.sampling.passes], |row| row.passes.clone());
        let own = values.iter().sum::<f64>() / values.len() as f64;
        let relative = receipt.cpu.error.map_or(0.0, |error| error / receipt.cpu.value);
        // One sample of one of the passes is worth the passes' number of `each`.
        let one = receipt.each * receipt.sampling.passes as f64;
        Trials { size: receipt.size.get() as f64, values, least_variance: one * mean, shared: (own * relative).powi(2) }
    });
    growth(&trials.collect::<Vec<_>>())
}

fn calls_growth(receipts: &[&Receipt], calls: &[Option<&Calls>]) -> Option<Growth> {
    let trials = receipts.iter().zip(calls).map(|(receipt, calls)| {
        calls.map(|calls| Trials {
            size: receipt.size.get() as f64,
            values: calls.passes.clone(),
            // A count is exact to one call.
            least_variance: calls.each * calls.each,
            shared: 0.0,
        })
    });
    growth(&trials.collect::<Option<Vec<_>>>()?)
}
