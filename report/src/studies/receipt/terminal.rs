//! The receipts of a series in a terminal: a few sizes, as many as fit.

use analysis::result::receipt::{ReceiptStudy, SeriesReceipt};
use model::order::Order;
use model::profile::CountTier;

use super::tables::{self, Entry, Line};
use super::words;
use crate::document::{Block, Column, Kind, Table, Tone};
use crate::number::{self, tight};
use crate::sinks::terminal::width;
use crate::words::{capital, plural};

/// Rows of layers below this share of the time are left to the page.
const LEAST_PATH: f64 = 0.01;
/// The costliest routines that are shown.
const MOST_ROUTINES: usize = 12;
/// The most of a routine's name.
const LONGEST_NAME: usize = 24;
/// Width of the longest margin: routines have room for it even where none is as long.
const MARGIN: usize = 5;

/// One end of a series, where a terminal has this number of columns.
pub fn series(study: &ReceiptStudy, series: &SeriesReceipt, room: usize) -> Block {
    // As many sizes as every table has room for; routines have long names.
    let most = |fits: &dyn Fn(&[usize]) -> bool| {
        let picked = (2..=series.columns.len()).rev().map(|wanted| sizes(series, wanted)).find(|picked| fits(picked));
        picked.unwrap_or_else(|| sizes(series, 1))
    };
    let costliest = &series.functions.rows[..series.functions.rows.len().min(MOST_ROUTINES)];
    let routines = tables::routines(costliest);
    let routines = |picked: &[usize]| table("routine: ns and calls", &routines, series, picked);
    let picked = most(&|picked| all_tables(study, series, picked).iter().all(|table| width(table) <= room));
    let few = most(&|picked| width(&routines(picked)) <= room);
    let mut blocks = Vec::new();
    if series.columns.len() > picked.len() {
        let all: Vec<String> = series.columns.iter().map(|column| number::whole(column.size.get())).collect();
        let left =
            format!("{} of {} sizes measured ({} B); all are in the HTML report and the JSON.", picked.len(), all.len(), all.join(", "));
        blocks.push(Block::Aside(left.into()));
    }
    for column in picked.iter().map(|place| &series.columns[*place]).filter(|column| column.red) {
        let red = format!("RED at {} B: this receipt does not add up.", number::whole(column.size.get()));
        blocks.push(Block::Conclusion(Tone::Bad, red));
    }
    // The first line of a table's head is empty: it parts the tables.
    blocks.extend(all_tables(study, series, &picked).into_iter().chain([routines(&few)]).map(Block::Table));
    let cells = costliest.iter().flat_map(|row| few.iter().map(|place| &row.cells[*place]));
    let ways: Vec<Option<CountTier>> = cells.filter_map(|cell| Some(cell.calls?.1)).collect();
    let more = match series.functions.rows.len() - costliest.len() {
        0 => String::new(),
        more => format!("{} in the HTML report and the JSON. ", capital(&plural(more as u64, "more routine"))),
    };
    let counted = format!("{more}Calls per message: {}; - where there is no count; c↑ they rise with the size.", words::tiers(&ways));
    let on = words::interrupts_on(costliest.iter().map(|row| row.function.as_str())).map(str::to_owned);
    let notes = std::iter::once(counted).chain(on).chain(series.boundaries.iter().map(words::boundary));
    blocks.extend(notes.map(|text| Block::Aside(text.into())));
    Block::piece(format!("{}, {}", series.series, series.role), blocks)
}

fn all_tables(study: &ReceiptStudy, series: &SeriesReceipt, picked: &[usize]) -> Vec<Table> {
    let shown = |line: &Line| {
        line.shares.is_empty() || picked.iter().any(|place| line.shares.get(*place).is_some_and(|share| *share >= LEAST_PATH))
    };
    let layers: Vec<Line> = tables::layers(series).into_iter().filter(shown).collect();
    vec![
        table("kind of work", &tables::categories(series), series, picked),
        table("layer", &layers, series, picked),
        table("for which way", &tables::directions(series), series, picked),
        table("does it add up?", &tables::sums(study, series), series, picked),
    ]
}

fn table(head: &str, lines: &[Line], series: &SeriesReceipt, picked: &[usize]) -> Table {
    let names = Column { cells: lines.iter().map(|line| label(line).into()).collect(), ..Column::new(head, Kind::Words) };
    let size = |(order, place): (usize, &usize)| {
        let cells: Vec<Option<&Entry>> = lines.iter().map(|line| line.cells.get(*place).and_then(Option::as_ref)).collect();
        let margin = if lines.iter().any(|line| line.is_routine) { MARGIN } else { 0 };
        let bar = if crosses(series, picked, order) { "│ " } else { "" };
        let head = format!("{bar}{} B", number::whole(series.columns[*place].size.get()));
        Column { cells: entries(&cells, margin).into_iter().map(Into::into).collect(), ..Column::new(head, Kind::Figures) }
    };
    Table::of_columns(std::iter::once(names).chain(picked.iter().enumerate().map(size)).collect())
}

fn label(line: &Line) -> String {
    let indent = if line.part { "  " } else { "" };
    let calls = if line.calls_mark.is_empty() { String::new() } else { format!(" c{}", line.calls_mark.trim()) };
    match line.label.char_indices().nth(LONGEST_NAME).filter(|_| line.is_routine) {
        Some((end, _)) => format!("{}…{}{calls}", &line.label[..end], line.mark),
        None => format!("{indent}{}{}{calls}", line.label, line.mark),
    }
}

/// Value, margin, and share or calls, each aligned by itself; the margins take `least` columns or more.
fn entries(cells: &[Option<&Entry>], least: usize) -> Vec<String> {
    let last = |entry: &Entry| if entry.calls.is_empty() { entry.share.clone() } else { tight(&entry.calls) };
    let width = |part: &dyn Fn(&Entry) -> String| cells.iter().flatten().map(|entry| part(entry).chars().count()).max().unwrap_or(0);
    let (value, share) = (width(&|entry| entry.value.clone()), width(&last));
    let margin = width(&|entry| entry.margin.clone()).max(least);
    let write = |cell: &Option<&Entry>| match cell {
        None => format!("{:>value$} {:margin$} {:share$}", "-", "", ""),
        Some(entry) => format!("{:>value$} {:margin$} {:>share$}", entry.value, entry.margin, last(entry)),
    };
    cells.iter().map(write).collect()
}

/// Returns the places of `room` columns of a series, rising: the least and the most
/// size, then the sides of boundaries, then what lies between.
fn sizes(series: &SeriesReceipt, room: usize) -> Vec<usize> {
    let count = series.columns.len();
    let inner = series.boundaries.iter().map(|boundary| boundary.below).filter(|below| (1..count).contains(below));
    let sides = inner.clone().map(|below| below - 1).chain(inner);
    let wanted = [0, count.saturating_sub(1)].into_iter().chain(sides).chain(0..count);
    let mut picked: Vec<usize> = Vec::new();
    for place in wanted.filter(|place| *place < count) {
        if picked.len() < room.max(1) && !picked.contains(&place) {
            picked.push(place);
        }
    }
    picked.order();
    picked
}

/// Returns whether a boundary lies between a column and the one picked before it.
fn crosses(series: &SeriesReceipt, picked: &[usize], place: usize) -> bool {
    let Some(before) = place.checked_sub(1) else { return false };
    series.boundaries.iter().any(|boundary| (picked[before] + 1..=picked[place]).contains(&boundary.below))
}
