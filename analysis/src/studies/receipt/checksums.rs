//! Cost of computing checksums: cells that differ in nothing but whether the
//! device does it.

use model::Role;
use model::plan::Factor;

use super::boundaries::Stack;
use super::{CellReceipt, ChecksumCost};
use crate::grouping::but_for;
use attribution::{Category, Receipt, compare};

/// A pair for each cell and end that has a receipt with the transmit offload and
/// one without. What is left to the device counts as with it.
pub fn checksums(cells: &[CellReceipt], stack: &Stack) -> Vec<ChecksumCost> {
    let is_off = |cell: &CellReceipt| stack.computes(&cell.cell) == Some(false);
    let without = cells.iter().enumerate().filter(|(_, cell)| is_off(cell));
    without
        .flat_map(|(off, cell)| {
            let partner = cells.iter().position(|other| !is_off(other) && alike(other, cell));
            let roles = partner.into_iter().flat_map(|on| [Role::Sender, Role::Receiver].map(|role| (on, role)));
            roles.filter_map(move |(on, role)| cost(cells, [on, off], role)).collect::<Vec<_>>()
        })
        .collect()
}

fn alike(a: &CellReceipt, b: &CellReceipt) -> bool {
    let [of_a, of_b] = [a, b].map(|cell| but_for(&cell.cell, &[Factor::OffloadTx]));
    a.arm == b.arm && of_a == of_b
}

fn cost(cells: &[CellReceipt], pair: [usize; 2], role: Role) -> Option<ChecksumCost> {
    let receipt = |place: usize| cells[place].end(role).outcome.receipt();
    let (on, off) = (receipt(pair[0])?, receipt(pair[1])?);
    Some(ChecksumCost {
        cells: pair,
        label: cells[pair[1]].label.clone(),
        role,
        share: [share(on), share(off)],
        categories: compare(on, off, |receipt| &receipt.rows.categories),
        layers: compare(on, off, |receipt| &receipt.rows.layers),
    })
}

fn share(receipt: &Receipt) -> f64 {
    let sums = |category: Category| matches!(category, Category::Checksum | Category::CopyChecksum);
    receipt.rows.categories.iter().filter(|row| sums(row.key)).map(|row| row.share.value).sum()
}
