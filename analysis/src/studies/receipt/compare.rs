//! The receipts of two runs, row by row.

use std::collections::{BTreeMap, BTreeSet};

use model::sorting::Gather;
use model::{Cell, Role};

use super::{ReceiptComparison, ReceiptPair, ReceiptStudy};
use attribution::{Receipt, compare, total_variation};

/// The key of an end of a cell: no other of the run has it.
type Key<'a> = (&'a Cell, Option<&'a str>, Role);

/// An end with its label and receipt.
type End<'a> = (Key<'a>, &'a str, &'a Receipt);

/// Compares the receipts that both runs have of the same end of the same cell
/// in the same arm.
///
/// Each table of each pair is tested by itself (Holm over its rows); differences
/// are the second's less the first's.
pub fn compare_studies(a: &ReceiptStudy, b: &ReceiptStudy) -> ReceiptComparison {
    let (of_a, of_b) = (ends(a), ends(b));
    let found: BTreeMap<Key, &Receipt> = of_b.iter().map(|(key, _, receipt)| (*key, *receipt)).into_map();
    let known: BTreeSet<Key> = of_a.iter().map(|(key, _, _)| *key).into_set();
    let pairs = of_a.iter().filter_map(|(key, label, receipt)| Some(pair(label, receipt, found.get(key)?)));
    let unpaired = |(_, label, receipt): &End| format!("{label}, {}", receipt.role);
    ReceiptComparison {
        pairs: pairs.collect(),
        unpaired: [
            of_a.iter().filter(|(key, _, _)| !found.contains_key(key)).map(unpaired).collect(),
            of_b.iter().filter(|(key, _, _)| !known.contains(key)).map(unpaired).collect(),
        ],
    }
}

/// Every end with a receipt, with its label.
fn ends(study: &ReceiptStudy) -> Vec<End<'_>> {
    let of_cell = study.cells.iter().flat_map(|cell| {
        cell.receipts().map(move |receipt| ((&cell.cell, cell.arm.as_deref(), receipt.role), cell.label.as_str(), receipt))
    });
    of_cell.collect()
}

fn pair(label: &str, a: &Receipt, b: &Receipt) -> ReceiptPair {
    ReceiptPair {
        label: label.to_owned(),
        role: a.role,
        categories: compare(a, b, |receipt| &receipt.rows.categories),
        layers: compare(a, b, |receipt| &receipt.rows.layers),
        functions: compare(a, b, |receipt| &receipt.rows.functions),
        total_variation: total_variation(a, b),
        red: [a.is_red(), b.is_red()],
        sources: [a.sampling.source, b.sampling.source],
    }
}
