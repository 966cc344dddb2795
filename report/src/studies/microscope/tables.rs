//! Tables of exact counts: by message in the form of 1997's figures (instructions,
//! data reads, data writes by layer and size), by function in that of 1984's (calls of
//! each routine).

use std::collections::BTreeMap;
use std::fmt::Display;

use attribution::exact::{Counts, ExactRow, Lines, Measured, Region};
use model::order::Order;

use super::words::{by_scenario, standing};
use crate::document::{Block, Cell, Cut, Head, Keeps, Kind, Level, Table};
use crate::number::{NOTHING, percent, whole};

/// Functions of a scenario that are the answer.
const MOST_FUNCTIONS: usize = 15;

/// The name of a function.
pub const NAME: Cut = Cut { least: 28, keeps: Keeps::Start };

/// A count by which tables are made.
type Quantity = (&'static str, fn(&Counts) -> u64);

const QUANTITIES: [Quantity; 3] =
    [("instructions", |counts| counts.instructions), ("data reads", |counts| counts.reads), ("data writes", |counts| counts.writes)];

/// Every region of every kernel, with how its messages differ.
pub fn messages(measured: &[Measured]) -> Vec<Block> {
    let many = measured.len() > 1;
    let mut heads = vec!["message"];
    heads.extend(["instructions", "reads", "writes", "calls", "repeated", "usual", "median", "least", "most", "code", "read", "written"]);
    let tables = measured.iter().map(|one| {
        let row = |region: &Region| {
            let total = &region.total;
            let mut cells = vec![region.name.clone()];
            cells.extend([total.instructions, total.reads, total.writes, total.calls, total.repeated].map(whole));
            cells.push(percent(region.share()));
            cells.extend([region.instructions.median, region.instructions.least, region.instructions.most].map(whole));
            let lines = |count: fn(&Lines) -> u64| region.lines.as_ref().map_or_else(|| NOTHING.to_owned(), |lines| whole(count(lines)));
            cells.extend([lines(|all| all.code.median), lines(|all| all.read.median), lines(|all| all.written.median)]);
            cells
        };
        let table = Table::of_figures("", heads.clone(), one.regions.iter().map(row).collect::<Vec<_>>());
        let titled = if many { table.titled(format!("kernel {}", one.provenance.kernel)) } else { table };
        Block::from(titled)
    });
    let tables: Vec<Block> = tables.collect();
    if many { Block::behind("Every message, kernel by kernel", tables).into_iter().collect() } else { tables }
}

/// The matrix: messages by kernel, then the layers of each scenario's message.
pub fn kernels(measured: &[Measured]) -> Vec<Block> {
    let heads = |first: &str| -> Vec<String> {
        std::iter::once(first.to_owned()).chain(measured.iter().map(|one| one.provenance.kernel.clone())).collect()
    };
    let Some(first) = measured.first() else { return Vec::new() };
    let mut blocks = Vec::new();
    for (place, (name, of)) in QUANTITIES.into_iter().enumerate() {
        let row = |region: &Region| {
            let cell = |one: &Measured| one.region(&region.name).map_or_else(|| NOTHING.to_owned(), |found| whole(of(&found.total)));
            std::iter::once(region.name.clone()).chain(measured.iter().map(cell)).collect::<Vec<_>>()
        };
        let table = Table::of_figures(crate::words::capital(name), heads("message"), first.regions.iter().map(row).collect());
        match place {
            0 => blocks.push(table.into()),
            _ => blocks.extend(Block::behind(crate::words::capital(name), [table.into()])),
        }
    }
    for (_, regions) in by_scenario(first) {
        let Some(region) = standing(&regions) else { continue };
        let of_kernel = |one: &Measured| one.region(&region.name).map(|found| found.rows.layers.clone()).unwrap_or_default();
        let columns: Vec<Vec<ExactRow<_>>> = measured.iter().map(of_kernel).collect();
        blocks
            .push(by_key(format!("{}: instructions by layer", region.name), heads("layer"), &columns, |counts| counts.instructions).into());
    }
    blocks
}

/// Layers by size, a table a scenario and quantity.
pub fn layers(one: &Measured) -> Vec<Block> {
    by_size(one, "layer", |region| region.rows.layers.clone())
}

/// Categories by size likewise.
pub fn categories(one: &Measured) -> Vec<Block> {
    by_size(one, "kind of work", |region| region.rows.categories.clone())
}

fn by_size<K: Ord + Copy + Display>(one: &Measured, key: &str, rows: impl Fn(&Region) -> Vec<ExactRow<K>>) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (scenario, regions) in by_scenario(one) {
        let columns: Vec<Vec<ExactRow<K>>> = regions.iter().map(|region| rows(region)).collect();
        for (place, (name, of)) in QUANTITIES.into_iter().enumerate() {
            let sizes = regions.iter().map(|region| region.name.strip_prefix(scenario).and_then(|rest| rest.strip_prefix('-')));
            let sizes = sizes.map(|size| size.map_or_else(|| name.to_owned(), |size| format!("{size} B")));
            let heads = std::iter::once(key.to_owned()).chain(sizes).collect();
            let table: Block = by_key(format!("{scenario}: {name}"), heads, &columns, of).into();
            match place {
                0 => blocks.push(table),
                _ => blocks.extend(Block::behind(format!("{scenario}: {name}"), [table])),
            }
        }
    }
    blocks
}

/// A table of columns whose rows have the same keys, with their sum; the largest first, each cell as dark as it is
/// large.
fn by_key<K: Ord + Copy + Display>(title: String, heads: Vec<String>, columns: &[Vec<ExactRow<K>>], of: fn(&Counts) -> u64) -> Table {
    let mut keys: BTreeMap<K, u64> = BTreeMap::new();
    for row in columns.iter().flatten() {
        let all = keys.entry(row.key).or_default();
        *all = all.saturating_add(of(&row.counts));
    }
    let mut order: Vec<(K, u64)> = keys.into_iter().filter(|(_, all)| *all > 0).collect();
    order.order_by_key(|(key, all)| (std::cmp::Reverse(*all), *key));
    let count = |column: &Vec<ExactRow<K>>, key: K| column.iter().find(|row| row.key == key).map_or(0, |row| of(&row.counts));
    let most = columns.iter().flatten().map(|row| of(&row.counts)).max().unwrap_or(0).max(1) as f64;
    let row = |(key, _): &(K, u64)| -> Vec<Cell> {
        let shaded = |column: &Vec<ExactRow<K>>| {
            let count = count(column, *key);
            Cell::Shaded(whole(count).into(), count as f64 / most)
        };
        std::iter::once(key.to_string().into()).chain(columns.iter().map(shaded)).collect()
    };
    let mut rows: Vec<Vec<Cell>> = order.iter().map(row).collect();
    let sum = |column: &Vec<ExactRow<K>>| whole(of(&column.iter().map(|row| row.counts).sum())).into();
    rows.push(std::iter::once("message".into()).chain(columns.iter().map(sum)).collect());
    Table::of_figures(title, heads, rows)
}

/// Functions of each scenario's message, with their calls.
pub fn functions(one: &Measured) -> Vec<Block> {
    let regions = by_scenario(one).into_iter().filter_map(|(_, regions)| standing(&regions));
    let table = |region: &Region| {
        let all = &region.rows.functions;
        let row = |function: &attribution::exact::ExactFunction| {
            let counts = &function.counts;
            let mut cells = vec![function.name.clone()];
            cells.extend([counts.calls, counts.instructions, counts.reads, counts.writes].map(whole));
            cells.extend([function.layer.to_string(), function.category.to_string()]);
            cells
        };
        let mut heads: Vec<Head> = ["function", "calls", "instructions", "reads", "writes"].map(Head::from).to_vec();
        // Figures come first: where there is no room, words go.
        heads.extend([Head::ranked("layer", 1), Head::ranked("kind of work", 0)]);
        let mut table = Table::of_figures(format!("{}: {} functions", region.name, all.len()), heads, all.iter().map(row).collect());
        table.row_levels = (0..all.len()).map(|row| if row < MOST_FUNCTIONS { Level::Answer } else { Level::Usual }).collect();
        table.columns.iter_mut().take(1).for_each(|column| column.cut = Some(NAME));
        table.columns.iter_mut().skip(5).for_each(|column| column.kind = Kind::Words);
        Block::from(table)
    };
    regions.map(table).collect()
}
