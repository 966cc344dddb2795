//! Receipts of one end over the sizes of a series.

use attribution::{FunctionTable, Receipt, Row, Shape, by_key, settle, time_growth};
use model::cell::Series;
use model::sorting::Order;
use model::{Bytes, Cell};

use super::{Boundary, CellReceipt, Column, RowAtSize, SeriesReceipt, SizeRow, SizeTable, labelled};
use crate::cost::threshold::thresholds;
use crate::grouping::group_by;
use crate::paths::Paths;

/// A receipt of a series, with the place of its cell.
type Place<'a> = (usize, &'a CellReceipt, &'a Receipt);

/// Every series of the cells that have receipts, in the order of its first cell,
/// the sender before the receiver: one end in one arm, sampled in one way.
/// `segments` are TCP's, cell by cell.
pub fn series(cells: &[CellReceipt], segments: &[Option<Bytes>], paths: &Paths) -> Vec<SeriesReceipt> {
    let all = cells.iter().enumerate().flat_map(|(place, cell)| cell.receipts().map(move |receipt| (place, cell, receipt)));
    let key = |(_, cell, receipt): &Place| (cell.cell.series(), cell.arm.clone(), receipt.role, receipt.sampling.source);
    group_by(all, key).into_iter().map(|((series, arm, ..), places)| one(&series, arm, places, segments, paths)).collect()
}

fn one(series: &Series, arm: Option<String>, mut places: Vec<Place>, segments: &[Option<Bytes>], paths: &Paths) -> SeriesReceipt {
    places.order_by_key(|(.., receipt)| receipt.size);
    let receipts: Vec<&Receipt> = places.iter().map(|(.., receipt)| *receipt).collect();
    let sizes: Vec<Bytes> = receipts.iter().map(|receipt| receipt.size).collect();
    let segment = places.iter().filter_map(|(place, ..)| segments[*place]).max();
    let touching: Vec<Option<&Row<()>>> = receipts.iter().map(|receipt| Some(&receipt.rows.touching)).collect();
    SeriesReceipt {
        series: labelled(&series.to_string(), arm.as_deref()),
        test: series.test(),
        family: series.family(),
        arm,
        role: receipts[0].role,
        source: receipts[0].sampling.source,
        boundaries: boundaries(&places[0].1.cell, segment, paths, &sizes),
        columns: places.iter().map(|(place, _, receipt)| column(*place, receipt)).collect(),
        functions: FunctionTable::from_receipts(&receipts),
        categories: table(&receipts, |receipt| &receipt.rows.categories),
        layers: table(&receipts, |receipt| &receipt.rows.layers),
        paths: table(&receipts, |receipt| &receipt.rows.paths),
        directions: table(&receipts, |receipt| &receipt.split.directions),
        touching: row((), &receipts, &touching),
    }
}

/// The thresholds of a series by rising size, against the sizes that were measured.
fn boundaries(cell: &Cell, segment: Option<Bytes>, paths: &Paths, sizes: &[Bytes]) -> Vec<Boundary> {
    let mut known = thresholds(cell, paths.of_cell(cell).mtu, segment);
    known.order_by_key(|threshold| threshold.last);
    // Both ends may have a socket buffer of one size.
    known.dedup();
    let below = |last| sizes.iter().filter(|size| size.get() <= last).count();
    known.iter().map(|one| Boundary { name: one.name.to_owned(), last: Bytes::new(one.last), below: below(one.last) }).collect()
}

fn column(cell: usize, receipt: &Receipt) -> Column {
    Column {
        size: receipt.size,
        cell,
        cpu: receipt.cpu,
        wall: receipt.wall,
        unsampled: receipt.off_cpu.unsampled,
        charged: receipt.off_cpu.charged,
        bound: receipt.split.bound,
        bound_without_acknowledgement: receipt.split.bound_without_acknowledgement,
        red: receipt.is_red(),
    }
}

/// The rows that `of` picks, over sizes; all of them are tested at once.
fn table<K: Ord + Clone>(receipts: &[&Receipt], of: impl Fn(&Receipt) -> &[Row<K>]) -> SizeTable<K> {
    let mut rows: Vec<SizeRow<K>> = by_key(receipts, of).into_iter().map(|(key, rows)| row(key.clone(), receipts, &rows)).collect();
    settle(&mut rows.iter_mut().filter_map(|row| row.growth.as_mut()).collect::<Vec<_>>());
    let cost = |row: &SizeRow<K>| row.cells.iter().map(|cell| cell.share).sum::<f64>();
    rows.order_by(|a, b| cost(b).total_cmp(&cost(a)));
    let grows = |row: &&SizeRow<K>| row.growth.is_some_and(|growth| growth.shape == Shape::Grows);
    let growing = (0..receipts.len()).map(|size| rows.iter().filter(grows).map(|row| row.cells[size].ns.value).sum()).collect();
    SizeTable { rows, growing }
}

fn row<K>(key: K, receipts: &[&Receipt], rows: &[Option<&Row<K>>]) -> SizeRow<K> {
    let at = |(receipt, row): (&&Receipt, &Option<&Row<K>>)| {
        row.map_or_else(
            || RowAtSize { samples: 0, ns: receipt.unseen_row(), share: 0.0 },
            |row| RowAtSize { samples: row.samples, ns: row.ns, share: row.share.value },
        )
    };
    SizeRow { key, cells: receipts.iter().zip(rows).map(at).collect(), growth: time_growth(receipts, rows) }
}
