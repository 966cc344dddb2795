//! The receipts of a run in a terminal that is asked for the answer alone: a table a
//! series, layer by layer, with both ends next to each other.

use std::collections::BTreeMap;

use analysis::group_by;
use analysis::result::receipt::{ReceiptStudy, SeriesReceipt};
use model::Role;

use super::tables::{self, Entry};
use super::{figure, words};
use crate::document::{Block, Cell, Head, Kind, Table};
use crate::number;

/// Layers below this share of the time at every size are left to the other forms.
const LEAST: f64 = 0.02;

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
    let sums = match words::red(study) {
        Some(red) => format!("{red}; -v names them with the remedy."),
        None => "All receipts add up.".to_owned(),
    };
    let close = [Block::Gap, Block::Paragraph(format!("{sums} {}", words::observer(study)).into())];
    tables.chain(close).collect()
}

/// Layers by end, at the least size and, of several, at the largest.
fn table(ends: &[&SeriesReceipt], sizes: usize) -> Table {
    let mut names: Vec<String> = Vec::new();
    let mut columns: Vec<(Head, BTreeMap<String, Cell>)> = Vec::new();
    for end in ends {
        let last = end.columns.len().saturating_sub(1);
        let mut places = vec![0, last];
        places.truncate(sizes);
        places.dedup();
        let layers = end.layers.rows.iter().filter(|row| row.cells.iter().any(|cell| cell.share >= LEAST)).map(|row| row.key.to_string());
        let ends = layers.chain(["not sampled", "CPU time"].map(str::to_owned));
        for name in ends.filter(|name| !names.contains(name)).collect::<Vec<_>>() {
            let before_sums = names.len().saturating_sub(2);
            let place = if names.is_empty() || name == "not sampled" || name == "CPU time" { names.len() } else { before_sums };
            names.insert(place, name);
        }
        let lines = tables::layer_sums(end);
        for place in places {
            let head = Head::terminal(9, [end.role.to_string(), format!("{} B", number::whole(end.columns[place].size.get()))]);
            let cells = lines.iter().filter_map(|line| Some((line.label.clone(), written(line.cells.get(place)?.as_ref()?, line.sum))));
            columns.push((head, cells.collect()));
        }
    }
    let mut heads = vec![Head::terminal(20, ["", "ns of CPU"])];
    heads.extend(columns.iter().map(|(head, _)| head.clone()));
    let row = |name: &String| -> Vec<Cell> {
        let of = |cells: &BTreeMap<String, Cell>| cells.get(name).cloned().unwrap_or(Cell::Nothing);
        std::iter::once(name.as_str().into()).chain(columns.iter().map(|(_, cells)| of(cells))).collect()
    };
    Table::of_rows(heads, names.iter().map(row).collect(), Kind::Figures)
}

/// Value and share; of the sum its margin: a layer's is much the same.
fn written(entry: &Entry, is_sum: bool) -> Cell {
    match is_sum {
        true => format!("{} {}", entry.value, entry.margin).into(),
        false => format!("{} {:>4}", entry.value, entry.share).into(),
    }
}

/// The costliest routines of an end at the largest size.
fn costliest(end: &SeriesReceipt) -> String {
    let place = end.columns.len().saturating_sub(1);
    let mut rows: Vec<(&str, f64)> =
        end.functions.rows.iter().filter_map(|row| Some((row.function.as_str(), row.cells.get(place)?.share))).collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    let named: Vec<String> = rows.iter().take(ROUTINES).map(|(name, share)| format!("{name} {}", figure::share(*share))).collect();
    let size = end.columns.get(place).map_or(String::new(), |column| number::whole(column.size.get()));
    let whose = if end.role == Role::Sender { "Sender" } else { "Receiver" };
    format!("{whose}, {size} B: {}", named.join(", "))
}
