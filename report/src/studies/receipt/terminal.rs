//! Receipts in a terminal: of each series and end a few sizes, as many as fit.

use analysis::result::receipt::{ReceiptStudy, SeriesReceipt};
use attribution::{Figure, FunctionRow, SizeCell};
use model::profile::CountTier;

use super::tables::{Entry, Line, mark};
use super::{blocks, figure, tables, words};
use crate::sinks::terminal::Page;
use crate::sinks::terminal::table::{Column, total};
use crate::words::{capital, plural};
use crate::{number, sinks};

/// Rows of layers below this share of the time are left to the page.
const LEAST_PATH: f64 = 0.01;
/// The costliest routines that are shown.
const MOST_ROUTINES: usize = 12;
/// The most of a routine's name.
const LONGEST_NAME: usize = 24;

/// All of it, behind what else there is.
pub fn receipts(page: &mut Page, study: &ReceiptStudy) {
    page.gap();
    page.heading(super::TITLE);
    sinks::terminal::blocks(page, &blocks::before(study));
    for series in &study.series {
        one(page, study, series);
    }
    sinks::terminal::blocks(page, &blocks::after(study));
}

fn one(page: &mut Page, study: &ReceiptStudy, series: &SeriesReceipt) {
    page.gap();
    page.heading(&format!("{}, {}", series.series, series.role));
    let room = page.width();
    // As many sizes as every table has room for; routines have long names.
    let most = |fits: &dyn Fn(&[usize]) -> bool| {
        let picked = (2..=series.columns.len()).rev().map(|wanted| sizes(series, wanted)).find(|picked| fits(picked));
        picked.unwrap_or_else(|| sizes(series, 1))
    };
    let picked = most(&|picked| all_tables(study, series, picked).iter().all(|columns| total(columns) <= room));
    let few = most(&|picked| total(&routines(series, picked)) <= room);
    if series.columns.len() > picked.len() {
        let all: Vec<String> = series.columns.iter().map(|column| number::whole(column.size.get())).collect();
        page.faint(
            &format!("{} of {} sizes measured ({} B); all are in the HTML report and the JSON.", picked.len(), all.len(), all.join(", ")),
            0,
        );
    }
    for place in picked.iter().filter(|place| series.columns[**place].red) {
        page.warning(&format!("RED at {} B: this receipt does not add up.", number::whole(series.columns[*place].size.get())));
    }
    // The first line of a table's head is empty: it parts the tables.
    all_tables(study, series, &picked).into_iter().for_each(|columns| page.table(columns));
    page.table(routines(series, &few));
    counted(page, series, &few);
    for boundary in &series.boundaries {
        page.faint(&words::boundary(boundary), 0);
    }
}

fn all_tables(study: &ReceiptStudy, series: &SeriesReceipt, picked: &[usize]) -> Vec<Vec<Column>> {
    let layers: Vec<Line> = tables::layers(series).into_iter().filter(|line| shown(line, picked)).collect();
    vec![
        table("kind of work", &tables::categories(series), series, picked),
        table("layer", &layers, series, picked),
        table("for which way", &tables::directions(series), series, picked),
        table("does it add up?", &tables::sums(study, series), series, picked),
    ]
}

fn shown(line: &Line, picked: &[usize]) -> bool {
    line.shares.is_empty() || picked.iter().any(|place| line.shares.get(*place).is_some_and(|share| *share >= LEAST_PATH))
}

fn table(head: &str, lines: &[Line], series: &SeriesReceipt, picked: &[usize]) -> Vec<Column> {
    let label = |line: &Line| format!("{}{}{}", if line.part { "  " } else { "" }, line.label, mark(line.growth.as_ref()));
    let mut columns = vec![Column::words(9, ["", head], lines.iter().map(label).collect())];
    for (order, place) in picked.iter().enumerate() {
        let cells: Vec<Option<&Entry>> = lines.iter().map(|line| line.cells.get(*place).and_then(Option::as_ref)).collect();
        columns.push(Column::figures(9, [String::new(), size(series, picked, order)], entries(&cells)));
    }
    columns
}

fn size(series: &SeriesReceipt, picked: &[usize], order: usize) -> String {
    let bar = if crosses(series, picked, order) { "│ " } else { "" };
    format!("{bar}{} B", number::whole(series.columns[picked[order]].size.get()))
}

/// Value, margin and share, each aligned by itself.
fn entries(cells: &[Option<&Entry>]) -> Vec<String> {
    let width = |of: fn(&Entry) -> &String| cells.iter().flatten().map(|entry| of(entry).chars().count()).max().unwrap_or(0);
    let (value, margin, share) = (width(|entry| &entry.value), width(|entry| &entry.margin), width(|entry| &entry.share));
    let write = |cell: &Option<&Entry>| match cell {
        None => format!("{:>value$} {:margin$} {:share$}", "-", "", ""),
        Some(entry) => format!("{:>value$} {:margin$} {:>share$}", entry.value, entry.margin, entry.share),
    };
    cells.iter().map(write).collect()
}

/// The costliest routines.
fn costliest(series: &SeriesReceipt) -> &[FunctionRow] {
    &series.functions.rows[..series.functions.rows.len().min(MOST_ROUTINES)]
}

fn routines(series: &SeriesReceipt, picked: &[usize]) -> Vec<Column> {
    let rows = costliest(series);
    let name = |name: &str| match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    };
    let label = |row: &FunctionRow| {
        let calls = mark(row.calls.as_ref()).trim();
        let calls = if calls.is_empty() { String::new() } else { format!(" c{calls}") };
        format!("{}{}{calls}", name(&row.function), mark(row.time.as_ref()))
    };
    let mut columns = vec![Column::words(9, ["", "routine: ns and calls"], rows.iter().map(label).collect())];
    for (order, place) in picked.iter().enumerate() {
        let calls = |cell: &SizeCell| {
            cell.calls.map_or("-".to_owned(), |(calls, tier)| format!("{}{}", figure::calls(calls.value), words::tier(tier)))
        };
        let cells: Vec<[String; 2]> = rows.iter().map(|row| &row.cells[*place]).map(|cell| [known(&cell.ns), calls(cell)]).collect();
        let width = |part: usize| cells.iter().map(|cell| cell[part].chars().count()).max().unwrap_or(0);
        let (left, right) = (width(0), width(1));
        let text = cells.iter().map(|[ns, calls]| format!("{ns:>left$} {calls:>right$}")).collect();
        columns.push(Column::figures(9, [String::new(), size(series, picked, order)], text));
    }
    columns
}

/// The legend of the table of routines.
fn counted(page: &mut Page, series: &SeriesReceipt, picked: &[usize]) {
    let cells = costliest(series).iter().flat_map(|row| picked.iter().map(|place| &row.cells[*place]));
    let ways: Vec<Option<CountTier>> = cells.filter_map(|cell| Some(cell.calls?.1)).collect();
    let more = series.functions.rows.len() - costliest(series).len();
    let more = if more > 0 {
        format!("{} in the HTML report and the JSON. ", capital(&plural(more as u64, "more routine")))
    } else {
        String::new()
    };
    page.faint(&format!("{more}Calls per message: {}; - where there is no count; c↑ they rise with the size.", words::tiers(&ways)), 0);
}

fn known(figure: &Figure) -> String {
    format!("{} {:5}", figure::ns(figure.value), if figure.value == 0.0 { String::new() } else { figure::plus_minus(figure) })
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
    picked.sort_unstable();
    picked
}

/// Returns whether a boundary lies between a column and the one picked before it.
fn crosses(series: &SeriesReceipt, picked: &[usize], place: usize) -> bool {
    let Some(before) = place.checked_sub(1) else { return false };
    series.boundaries.iter().any(|boundary| (picked[before] + 1..=picked[place]).contains(&boundary.below))
}
