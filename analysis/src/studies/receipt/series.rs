//! Receipts of one end over the sizes of a series; the cost of checksums and of published
//! workloads, which follow from them.

use attribution::{Category, FunctionTable, Receipt, Row, Shape, SizeDistribution, by_key, compare, settle, time_growth, weigh};
use model::cell::Series;
use model::order::Order;
use model::plan::Factor;
use model::{Bytes, Role};

use super::boundaries::{Stack, boundaries};
use super::{CellReceipt, ChecksumCost, Column, RowAtSize, SeriesReceipt, SizeRow, SizeTable, WorkloadReceipt, labelled};
use crate::grouping::{but_for, group_by};

/// A receipt of a series, with the place of its cell.
type Place<'a> = (usize, &'a CellReceipt, &'a Receipt);

/// Every series of the cells that have receipts, in the order of its first cell,
/// the sender before the receiver: one end in one arm, sampled in one way.
/// `segments` are TCP's, cell by cell.
pub fn series(cells: &[CellReceipt], segments: &[Option<Bytes>], stack: &Stack) -> Vec<SeriesReceipt> {
    let all = cells.iter().enumerate().flat_map(|(place, cell)| cell.receipts().map(move |receipt| (place, cell, receipt)));
    let key = |(_, cell, receipt): &Place| (cell.cell.series(), cell.arm.clone(), receipt.role, receipt.sampling.source);
    group_by(all, key).into_iter().map(|((series, arm, ..), places)| one(&series, arm, places, segments, stack)).collect()
}

fn one(series: &Series, arm: Option<String>, mut places: Vec<Place>, segments: &[Option<Bytes>], stack: &Stack) -> SeriesReceipt {
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
        boundaries: boundaries(&places[0].1.cell, segment, stack, &sizes),
        columns: places.iter().map(|(place, _, receipt)| column(*place, receipt)).collect(),
        functions: FunctionTable::from_receipts(&receipts),
        categories: table(&receipts, |receipt| &receipt.rows.categories),
        layers: table(&receipts, |receipt| &receipt.rows.layers),
        paths: table(&receipts, |receipt| &receipt.rows.paths),
        directions: table(&receipts, |receipt| &receipt.split.directions),
        touching: row((), &receipts, &touching),
    }
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

/// W1 to W5 of Montazeri et al., "Homa", SIGCOMM 2018: name, what it is of, sizes.
pub const WORKLOADS: [(&str, &str, &str); 5] = [
    ("W1", "Facebook's key-value store", include_str!("../../../../reference/workloads/w1.csv")),
    ("W2", "a search application at Google", include_str!("../../../../reference/workloads/w2.csv")),
    ("W3", "all applications of a Google datacentre", include_str!("../../../../reference/workloads/w3.csv")),
    ("W4", "a Hadoop cluster at Facebook", include_str!("../../../../reference/workloads/w4.csv")),
    ("W5", "web search", include_str!("../../../../reference/workloads/w5.csv")),
];

/// Sizes that a series must have: between fewer there is no line.
const LEAST_SIZES: usize = 2;

/// Each workload over each series of streams whose sizes reach into it.
pub fn workloads(cells: &[CellReceipt], series: &[SeriesReceipt]) -> Vec<WorkloadReceipt> {
    let fit: Vec<&SeriesReceipt> = series.iter().filter(|series| series.test.is_stream() && series.columns.len() >= LEAST_SIZES).collect();
    if fit.is_empty() {
        return Vec::new();
    }
    // Files of our own, which a test reads: none is left out.
    let workloads = WORKLOADS.iter().filter_map(|(name, title, text)| Some((*name, *title, SizeDistribution::parse(text).ok()?)));
    let workloads: Vec<(&str, &str, SizeDistribution)> = workloads.collect();
    let weighed = fit.iter().flat_map(|series| {
        let receipts = receipts(cells, series);
        workloads.iter().filter_map(move |(name, title, sizes)| {
            Some(WorkloadReceipt {
                workload: (*name).to_owned(),
                title: (*title).to_owned(),
                mean_bytes: sizes.mean(),
                series: series.series.clone(),
                role: series.role,
                // A workload beyond every size measured has nothing to weigh.
                categories: weigh(sizes, &receipts, |receipt| &receipt.rows.categories).ok()?,
                layers: weigh(sizes, &receipts, |receipt| &receipt.rows.layers).ok()?,
            })
        })
    });
    weighed.collect()
}

fn receipts<'a>(cells: &'a [CellReceipt], series: &SeriesReceipt) -> Vec<&'a Receipt> {
    series.columns.iter().filter_map(|column| cells[column.cell].end(series.role).outcome.receipt()).collect()
}
