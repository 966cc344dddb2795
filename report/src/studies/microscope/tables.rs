//! Tables of exact counts: by message in the form of 1997's figures (instructions,
//! data reads, data writes by layer and size), by function in that of 1984's (calls of
//! each routine).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use attribution::Layer;
use attribution::exact::{Counts, ExactRow, Lines, Measured, Region};
use model::sorting::Order;

use super::words::{by_scenario, standing};
use crate::document::{Block, Cell, Cut, Head, Keeps, Kind, Level, RowKind, Table};
use crate::number::{NOTHING, percent, signed, whole};

/// Functions of a scenario that are the answer.
const MOST_FUNCTIONS: usize = 15;

/// The name of a function.
pub const NAME: Cut = Cut { least: 28, keeps: Keeps::Start };

/// A count by which tables are made.
type Quantity = (&'static str, fn(&Counts) -> u64);

const QUANTITIES: [Quantity; 3] =
    [("instructions", |counts| counts.instructions), ("data reads", |counts| counts.reads), ("data writes", |counts| counts.writes)];

/// Rows of the matrix that are the answer: messages with their dearest layers.
const MOST_MATRIX: usize = 13;

/// A change of a layer that is coloured: beyond this share of its message.
const LEAST_CHANGE: f64 = 0.005;

/// The matrix of the last kernel: each message by layer and size, dark as a layer is large; behind that the kernels
/// before it at the least size, and the change from the one before.
pub fn matrix(measured: &[Measured]) -> Option<Table> {
    let (last, earlier) = measured.split_last()?;
    let earlier: Vec<&Measured> = earlier.iter().filter(|one| one.provenance.kernel != last.provenance.kernel).collect();
    let scenarios = by_scenario(last);
    let sizes: BTreeSet<u64> = last.regions.iter().filter_map(|region| region.scenario().1).collect();
    let heads = sizes.iter().map(|size| format!("{} B", whole(*size)));
    let heads: Vec<String> = if sizes.is_empty() { vec!["a message".to_owned()] } else { heads.collect() };
    let mut table = MatrixRows::default();
    let layers_each = (MOST_MATRIX / scenarios.len().max(1)).saturating_sub(1);
    for (scenario, regions) in &scenarios {
        let Some(least) = regions.iter().copied().min_by_key(|region| region.scenario().1) else { continue };
        // A message without a size stands in the first column.
        let first = sizes.first().copied();
        let of_size = |size: Option<u64>| regions.iter().copied().find(|region| region.scenario().1.or(first) == size);
        let columns: Vec<Option<&Region>> =
            if sizes.is_empty() { vec![Some(least)] } else { sizes.iter().copied().map(Some).map(of_size).collect() };
        let before: Vec<Option<&Region>> = earlier.iter().map(|one| one.region(&least.name)).collect();
        let side = Sides { columns, before, least };
        let instructions = |region: &Region| region.total.instructions;
        let most = regions.iter().flat_map(|region| &region.rows.layers).map(|row| row.counts.instructions).max().unwrap_or(0);
        table.push(RowKind::Plain, Level::Answer, side.cells((*scenario).to_owned(), 0, instructions, instructions));
        for (place, layer) in layers_of(regions).into_iter().enumerate() {
            let level = if place < layers_each { Level::Answer } else { Level::Usual };
            table.push(
                RowKind::Part,
                level,
                side.cells(layer.to_string(), most, |region| region.rows.layer(layer).instructions, instructions),
            );
        }
        for (name, count) in &QUANTITIES[1..] {
            table.push(
                RowKind::Part,
                Level::Usual,
                side.cells((*name).to_owned(), 0, |region| count(&region.total), |region| count(&region.total)),
            );
        }
    }
    let kernels = earlier.iter().map(|one| Head::ranked(one.provenance.kernel.clone(), 14));
    let change = (!earlier.is_empty()).then(|| Head::ranked("change", 15));
    let sizes =
        heads.into_iter().enumerate().map(|(place, head)| Head::ranked(head, if place == 0 { 13 } else { 12 - place.min(11) as u8 }));
    let heads: Vec<Head> = std::iter::once(Head::from("instructions")).chain(sizes).chain(kernels).chain(change).collect();
    let MatrixRows { rows, kinds, levels } = table;
    Some(
        Table { row_kinds: kinds, row_levels: levels, ..Table::of_figures("", heads, rows) }
            .labelled("Instructions of a message by layer and size", ""),
    )
}

/// Rows of the matrix as they are put together.
#[derive(Default)]
struct MatrixRows {
    rows: Vec<Vec<Cell>>,
    kinds: Vec<RowKind>,
    levels: Vec<Level>,
}

impl MatrixRows {
    fn push(&mut self, kind: RowKind, level: Level, cells: Vec<Cell>) {
        self.rows.push(cells);
        self.kinds.push(kind);
        self.levels.push(level);
    }
}

/// One message: at each size on the last kernel, and at the least size on those before.
struct Sides<'r> {
    columns: Vec<Option<&'r Region>>,
    before: Vec<Option<&'r Region>>,
    least: &'r Region,
}

impl Sides<'_> {
    /// The cells of a row; those of sizes are as dark as their share of `most`, where that is not 0.
    fn cells(&self, name: String, most: u64, count: impl Fn(&Region) -> u64, of: impl Fn(&Region) -> u64) -> Vec<Cell> {
        let written = |region: &Option<&Region>| region.map(&count);
        let sized = self.columns.iter().map(|region| match written(region) {
            Some(found) if most > 0 => Cell::Shaded(whole(found).into(), found as f64 / most as f64),
            found => found.map(whole).into(),
        });
        let before = self.before.iter().map(|region| written(region).map(whole).into());
        let change = self.before.last().map(|region| self.change(*region, &count, &of));
        std::iter::once(name.into()).chain(sized).chain(before).chain(change).collect()
    }

    /// How the message of the least size changed from the kernel before, coloured where that is much of the whole.
    fn change(&self, before: Option<&Region>, count: impl Fn(&Region) -> u64, of: impl Fn(&Region) -> u64) -> Cell {
        let Some(before) = before else { return Cell::Nothing };
        let by = count(self.least) as i64 - count(before) as i64;
        let share = by.unsigned_abs() as f64 / of(before).max(1) as f64;
        let text = if by > 0 { format!("+{}", signed(by)) } else { signed(by) };
        if share > LEAST_CHANGE { Cell::Shaded(text.into(), (share / (10.0 * LEAST_CHANGE)).clamp(0.2, 1.0)) } else { text.into() }
    }
}

/// The layers of messages, the largest first.
fn layers_of(regions: &[&Region]) -> Vec<Layer> {
    let sum = |layer: Layer| regions.iter().map(|region| region.rows.layer(layer).instructions).fold(0, u64::saturating_add);
    let mut all: Vec<(Layer, u64)> = Layer::ALL.iter().map(|layer| (*layer, sum(*layer))).filter(|(_, sum)| *sum > 0).collect();
    all.order_by_key(|(layer, sum)| (std::cmp::Reverse(*sum), *layer));
    all.into_iter().map(|(layer, _)| layer).collect()
}

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
    let mut by_layer = Vec::new();
    for (_, regions) in by_scenario(first) {
        let Some(region) = standing(&regions) else { continue };
        let of_kernel = |one: &Measured| one.region(&region.name).map(|found| found.rows.layers.clone()).unwrap_or_default();
        let columns: Vec<Vec<ExactRow<_>>> = measured.iter().map(of_kernel).collect();
        by_layer.push(by_key(format!("{}: instructions by layer", region.name), heads("layer"), &columns, |counts| counts.instructions));
    }
    blocks.push(Block::usual(by_layer.into_iter().map(Block::from)));
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
