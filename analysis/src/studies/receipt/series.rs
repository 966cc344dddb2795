//! Receipts of one end over the sizes of a series.

use std::collections::{BTreeMap, BTreeSet};

use model::cell::Series;
use model::profile::SampleSource;
use model::{Bytes, Role};

use super::boundaries::{Stack, boundaries};
use super::labelled;
use super::{CellReceipt, Column, RowAtSize, SeriesReceipt, SizeRow, SizeTable};
use attribution::Receipt;
use attribution::Row;
use attribution::{FunctionTable, time_growth};
use attribution::{Shape, settle};

/// One end of a series in one arm, sampled in one way.
type Key<'a> = (Series, Option<&'a str>, u8, SampleSource);

/// A receipt of a series, with the place of its cell.
type Place<'a> = (usize, &'a Receipt);

/// Every series of the cells that have receipts, in the order of its first cell,
/// the sender before the receiver. `segments` are TCP's, cell by cell.
pub fn series(cells: &[CellReceipt], segments: &[Option<Bytes>], stack: &Stack) -> Vec<SeriesReceipt> {
    let mut order: Vec<Key> = Vec::new();
    let mut found: BTreeMap<Key, Vec<Place>> = BTreeMap::new();
    for (place, cell) in cells.iter().enumerate() {
        for receipt in cell.receipts() {
            let key = (cell.cell.series(), cell.arm.as_deref(), u8::from(receipt.role == Role::Receiver), receipt.sampling.source);
            if !found.contains_key(&key) {
                order.push(key.clone());
            }
            found.entry(key).or_default().push((place, receipt));
        }
    }
    let made = order.iter().filter_map(|key| Some(one(key, found.remove(key)?, cells, segments, stack)));
    made.collect()
}

fn one(key: &Key, mut places: Vec<Place>, cells: &[CellReceipt], segments: &[Option<Bytes>], stack: &Stack) -> SeriesReceipt {
    let (series, arm, role, source) = key;
    places.sort_by_key(|(_, receipt)| receipt.size);
    let receipts: Vec<&Receipt> = places.iter().map(|(_, receipt)| *receipt).collect();
    let sizes: Vec<Bytes> = receipts.iter().map(|receipt| receipt.size).collect();
    let segment = places.iter().filter_map(|(place, _)| segments[*place]).max();
    SeriesReceipt {
        series: labelled(&series.to_string(), *arm),
        test: series.test(),
        family: series.family(),
        arm: arm.map(str::to_owned),
        role: if *role == 0 { Role::Sender } else { Role::Receiver },
        source: *source,
        boundaries: boundaries(&cells[places[0].0].cell, segment, stack, &sizes),
        columns: places.iter().map(|(place, receipt)| column(*place, receipt)).collect(),
        functions: FunctionTable::from_receipts(&receipts),
        categories: table(&receipts, |receipt| &receipt.rows.categories),
        layers: table(&receipts, |receipt| &receipt.rows.layers),
        paths: table(&receipts, |receipt| &receipt.rows.paths),
        directions: table(&receipts, |receipt| &receipt.split.directions),
        touching: row((), &receipts, &receipts.iter().map(|receipt| Some(&receipt.rows.touching)).collect::<Vec<_>>()),
    }
}

fn column(cell: usize, receipt: &Receipt) -> Column {
    Column {
        size: receipt.size,
        cell,
        cpu: receipt.cpu,
        wall: receipt.wall,
        not_sampled: receipt.unseen.not_sampled,
        bound: receipt.split.bound,
        bound_without_acknowledgement: receipt.split.bound_without_acknowledgement,
        red: receipt.is_red(),
    }
}

/// The rows that `of` picks, over sizes; all of them are tested at once.
fn table<K: Ord + Clone>(receipts: &[&Receipt], of: impl Fn(&Receipt) -> &[Row<K>]) -> SizeTable<K> {
    let found: Vec<BTreeMap<&K, &Row<K>>> =
        receipts.iter().map(|receipt| of(receipt).iter().map(|row| (&row.key, row)).collect()).collect();
    let keys: BTreeSet<&K> = found.iter().flat_map(|rows| rows.keys().copied()).collect();
    let of_sizes = |key: &K| found.iter().map(|rows| rows.get(key).copied()).collect::<Vec<_>>();
    let mut rows: Vec<SizeRow<K>> = keys.into_iter().map(|key| row(key.clone(), receipts, &of_sizes(key))).collect();
    settle(&mut rows.iter_mut().filter_map(|row| row.growth.as_mut()).collect::<Vec<_>>());
    let cost = |row: &SizeRow<K>| row.cells.iter().map(|cell| cell.share).sum::<f64>();
    rows.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    let grows = |row: &&SizeRow<K>| row.growth.is_some_and(|growth| growth.shape == Shape::Grows);
    let growing = (0..receipts.len()).map(|size| rows.iter().filter(grows).map(|row| row.cells[size].ns.value).sum()).collect();
    SizeTable { rows, growing }
}

fn row<K>(key: K, receipts: &[&Receipt], rows: &[Option<&Row<K>>]) -> SizeRow<K> {
    let at = |(receipt, row): (&&Receipt, &Option<&Row<K>>)| {
        row.map_or_else(|| RowAtSize { ns: receipt.unseen_row(), share: 0.0 }, |row| RowAtSize { ns: row.ns, share: row.share.value })
    };
    SizeRow { key, cells: receipts.iter().zip(rows).map(at).collect(), growth: time_growth(receipts, rows) }
}
