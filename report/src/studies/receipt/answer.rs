//! The receipts of a run at a glance: a table a series, layer by layer, with both ends next
//! to each other at the least and the largest size.

use std::collections::BTreeMap;

use analysis::group_by;
use analysis::result::receipt::{ReceiptStudy, SeriesReceipt};
use attribution::Layer;
use model::Bytes;
use model::sorting::{Gather, Order};

use super::tables::{self, Line};
use super::{figure, words};
use crate::document::{Block, Cell, Column, Entry, Kind, Table};
use crate::number;

/// Layers below this share of the samples at every size are one row, `other rows`.
const LEAST: f64 = 0.02;
/// And those of fewer samples than these, which tell their share to within a half (two standard errors) at best.
const LEAST_SAMPLES: f64 = 16.0;

/// Routines that are named at either end.
const ROUTINES: usize = 3;

/// A piece for each series, then how the sums stand and what watching cost.
pub fn blocks(study: &ReceiptStudy) -> Vec<Block> {
    let piece = |(name, ends): (&str, Vec<&SeriesReceipt>)| {
        let costliest = ends.iter().map(|end| Block::Aside(costliest(end).into()));
        Block::piece(name, std::iter::once(table(study, &ends, lead(study, name)).into()).chain(costliest))
    };
    let (tone, sums) = words::sums(study);
    let close = Block::Conclusion(tone, format!("{sums} {}", words::observer(study)));
    series(study).into_iter().map(piece).chain([close]).collect()
}

/// The series with their ends, that of the headline first.
fn series(study: &ReceiptStudy) -> Vec<(&str, Vec<&SeriesReceipt>)> {
    let mut all = group_by(&study.series, |one| one.series.as_str());
    all.order_by_key(|(name, _)| lead(study, name).is_none());
    all
}

/// The size of the headline, of its own series.
fn lead(study: &ReceiptStudy, name: &str) -> Option<Bytes> {
    study.lead().filter(|(series, _)| *series == name).map(|(_, size)| size)
}

/// The piece of the series of the headline.
pub fn first(study: &ReceiptStudy) -> Option<Block> {
    let (name, ends) = series(study).into_iter().next()?;
    Some(Block::piece(name, [table(study, &ends, lead(study, name)).into()]))
}

/// A row of the table of a series.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Layer(Layer),
    Other,
    Unsampled,
    Billed,
    Cpu,
    /// The cost of sampling.
    Observer,
}

/// Layers by end, the costliest first: at the size of the headline, where it is of this series, else at the least; and at
/// the largest.
fn table(study: &ReceiptStudy, ends: &[&SeriesReceipt], lead: Option<Bytes>) -> Table {
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
    let last = [Row::Billed, Row::Cpu].into_iter().chain(study.observer.map(|_| Row::Observer));
    let rows: Vec<Row> = layers.into_iter().map(|(layer, _)| Row::Layer(layer)).chain(other).chain(unsampled).chain(last).collect();
    let names = rows.iter().map(|row| name(*row).into()).collect();
    let mut columns = vec![Column { cells: names, ..Column::new("ns of CPU", Kind::Words) }];
    for end in ends {
        let unsampled = tables::shows_unsampled(end).then_some(Row::Unsampled);
        let keys = end.layers.rows.iter().map(|row| Row::Layer(row.key)).chain(unsampled).chain([Row::Billed, Row::Cpu]);
        let mut lines: BTreeMap<Row, Line> = keys.zip(tables::layer_sums(end)).into_map();
        lines.insert(Row::Other, tables::sum_of_layers(end, &others));
        lines.insert(Row::Observer, tables::observers(study, end));
        let last = end.columns.len().saturating_sub(1);
        let lead = end.columns.iter().position(|column| Some(column.size) == lead).filter(|place| *place < last);
        let mut places = vec![lead.unwrap_or(0), last];
        places.dedup();
        columns.extend(places.into_iter().map(|place| {
            let size = format!("{} B", number::whole(end.columns[place].size.get()));
            let head = (format!("{}, {size}", words::title(end.role)), if place == last { 8 } else { 9 }, [end.role.to_string(), size]);
            let cell = |row: &Row| {
                lines.get(row).and_then(|line| line.cells.get(place)?.as_ref()).map_or(Cell::Nothing, |entry| written(entry, *row))
            };
            Column { cells: rows.iter().map(cell).collect(), ..Column::new((head.0.as_str(), head.1, head.2), Kind::Figures) }
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
        Row::Observer => figure::SAMPLED.to_owned(),
    }
}

/// Value and share; of the sum and the cost of sampling the margin: a layer's is much the same.
fn written(entry: &Entry, row: Row) -> Cell {
    let (value, title) = (entry.value.clone(), entry.title.clone());
    match row {
        Row::Cpu | Row::Observer => format!("{value} {}", entry.margin).into(),
        Row::Layer(_) | Row::Other | Row::Unsampled | Row::Billed => {
            Cell::Entry(Entry { value, title, share: entry.share.clone(), ..Entry::default() })
        }
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
    format!("{}, {size} B: {}", words::title(end.role), named.join(", "))
}
