//! The receipts of a run in a terminal that is asked for the answer alone: a table a
//! series, layer by layer, with both ends next to each other.

use std::collections::BTreeMap;

use analysis::group_by;
use analysis::result::receipt::{ReceiptStudy, SeriesReceipt};
use attribution::Layer;
use model::Role;
use model::order::{Gather, Order};

use super::tables::{self, Entry, Line};
use super::{figure, words};
use crate::document::{Block, Cell, Column, Head, Kind, Table, Tone};
use crate::number;

/// Layers below this share of the samples at every size are one row, `other rows`.
const LEAST: f64 = 0.02;
/// And those of fewer samples than these, which tell their share to within a half (two standard errors) at best.
const LEAST_SAMPLES: f64 = 16.0;

/// Routines that are named at either end.
const ROUTINES: usize = 3;

/// Everything, for a terminal with this number of columns.
pub fn blocks(study: &ReceiptStudy, room: usize) -> Vec<Block> {
    let series = group_by(study.series.iter().map(|one| (one.series.as_str(), one)), |(name, _)| *name);
    let tables = series.into_iter().flat_map(|(name, ends)| {
        let ends: Vec<&SeriesReceipt> = ends.into_iter().map(|(_, end)| end).collect();
        let table = [2, 1].map(|sizes| table(&ends, sizes)).into_iter();
        let fits = table.clone().find(|table| crate::sinks::terminal::width(table) <= room);
        let table = fits.or_else(|| table.last());
        let costliest = ends.iter().map(|end| Block::Aside(costliest(end).into()));
        table.map(|table| Block::Compact(name.to_owned(), table)).into_iter().chain(costliest).collect::<Vec<_>>()
    });
    let (tone, sums) = words::sums(study);
    let sums = match tone {
        Tone::Bad => vec![Block::Conclusion(tone, sums), Block::Paragraph(words::observer(study).into())],
        _ => vec![Block::Paragraph(format!("{sums} {}", words::observer(study)).into())],
    };
    let close = std::iter::once(Block::Gap).chain(sums);
    tables.chain(close).collect()
}

/// A row of the table of a series.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Layer(Layer),
    Other,
    Unsampled,
    Billed,
    Cpu,
}

/// Layers by end, at the least size and, of several, at the largest; the costliest first.
fn table(ends: &[&SeriesReceipt], sizes: usize) -> Table {
    let mut largest: BTreeMap<Layer, (f64, bool)> = BTreeMap::new();
    for row in ends.iter().flat_map(|end| &end.layers.rows) {
        let (share, is_borne) = largest.entry(row.key).or_default();
        for cell in &row.cells {
            *share = share.max(cell.share);
            *is_borne |= cell.share >= LEAST && cell.samples as f64 >= LEAST_SAMPLES;
        }
    }
    let others: Vec<Layer> = largest.iter().filter(|(_, (_, is_borne))| !is_borne).map(|(layer, _)| *layer).collect();
    let mut layers: Vec<(Layer, f64)> =
        largest.into_iter().filter(|(_, (_, is_borne))| *is_borne).map(|(layer, (share, _))| (layer, share)).collect();
    layers.order_by(|a, b| b.1.total_cmp(&a.1));
    let other = (!others.is_empty()).then_some(Row::Other);
    let unsampled = ends.iter().any(|end| tables::shows_unsampled(end)).then_some(Row::Unsampled);
    let rows: Vec<Row> =
        layers.into_iter().map(|(layer, _)| Row::Layer(layer)).chain(other).chain(unsampled).chain([Row::Billed, Row::Cpu]).collect();
    let mut columns = vec![Column {
        cells: rows.iter().map(|row| name(*row).into()).collect(),
        ..Column::new(Head::terminal(20, ["", "ns of CPU"]), Kind::Words)
    }];
    for end in ends {
        let unsampled = tables::shows_unsampled(end).then_some(Row::Unsampled);
        let keys = end.layers.rows.iter().map(|row| Row::Layer(row.key)).chain(unsampled).chain([Row::Billed, Row::Cpu]);
        let mut lines: BTreeMap<Row, Line> = keys.zip(tables::layer_sums(end)).into_map();
        lines.insert(Row::Other, tables::sum_of_layers(end, &others));
        let mut places = vec![0, end.columns.len().saturating_sub(1)];
        places.truncate(sizes);
        places.dedup();
        columns.extend(places.into_iter().map(|place| {
            let head = Head::terminal(9, [end.role.to_string(), format!("{} B", number::whole(end.columns[place].size.get()))]);
            let cell = |row: &Row| {
                lines.get(row).and_then(|line| line.cells.get(place)?.as_ref()).map_or(Cell::Nothing, |entry| written(entry, *row))
            };
            Column { cells: rows.iter().map(cell).collect(), ..Column::new(head, Kind::Figures) }
        }));
    }
    Table::of_columns(columns)
}

fn name(row: Row) -> String {
    match row {
        Row::Layer(layer) => layer.to_string(),
        Row::Other => "other rows".to_owned(),
        Row::Unsampled => figure::UNSAMPLED.to_owned(),
        Row::Billed => figure::BILLED.to_owned(),
        Row::Cpu => "CPU time".to_owned(),
    }
}

/// Value and share; of the sum its margin: a layer's is much the same.
fn written(entry: &Entry, row: Row) -> Cell {
    match row {
        Row::Cpu => format!("{} {}", entry.value, entry.margin).into(),
        Row::Layer(_) | Row::Other | Row::Unsampled | Row::Billed => format!("{} {:>4}", entry.value, entry.share).into(),
    }
}

/// The costliest routines of an end at the largest size.
fn costliest(end: &SeriesReceipt) -> String {
    let place = end.columns.len().saturating_sub(1);
    let mut rows: Vec<(&str, f64)> =
        end.functions.rows.iter().filter_map(|row| Some((row.function.as_str(), row.cells.get(place)?.share))).collect();
    rows.order_by(|a, b| b.1.total_cmp(&a.1));
    let named: Vec<String> = rows.iter().take(ROUTINES).map(|(name, share)| format!("{name} {}", figure::share(*share))).collect();
    let size = end.columns.get(place).map_or(String::new(), |column| number::whole(column.size.get()));
    let whose = if end.role == Role::Sender { "Sender" } else { "Receiver" };
    format!("{whose}, {size} B: {}", named.join(", "))
}
