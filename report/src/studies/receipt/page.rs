//! The receipts of a series in a page: a table with every size for each question.

use analysis::result::receipt::{ReceiptStudy, SeriesReceipt};
use maud::html;
use model::profile::CountTier;

use super::flame::Flames;
use super::tables::{self, Entry, Line};
use super::words;
use crate::document::{Block, Cell, Column, Kind, Piece, Span, Table, Text};
use crate::number;
use crate::words::{capital, plural};

/// Parts of layers, and routines, that take less of the time at every size are shown on demand.
const LEAST_SHARE: f64 = 0.01;
/// Routines on demand: the rest is in the JSON.
const MOST_ROUTINES: usize = 120;

/// One end of a series, the one at this place.
pub fn series(study: &ReceiptStudy, series: &SeriesReceipt, place: usize, flames: &Flames) -> Block {
    let (name, id) = (format!("{}, {}", series.series, series.role), format!("flame-{place}"));
    let table = |head: &str, lines: &[Line]| {
        let caption = format!("{name}: {head} by message size");
        Block::from(table(head, lines, series).labelled(format!("{name}: {head}"), caption).styled("rows"))
    };
    let layers = tables::layers(series);
    let every = vec![table("Layer, direction, context", &layers)];
    let mut blocks = vec![
        table("Kind of work", &tables::categories(series)),
        table("Layer", &layers.into_iter().filter(|line| line.is_at_least(LEAST_SHARE)).collect::<Vec<_>>()),
        Block::Details("Every layer, by direction and context".to_owned(), every),
        table("For which way", &tables::directions(series)),
        table("Does it add up?", &tables::sums(study, series)),
    ];
    blocks.extend(boundaries(series));
    blocks.extend(flames.graph(id, study, series).map(|graph| Block::Flame(Box::new(graph))));
    blocks.extend(routines(&name, series));
    Block::Piece(Piece { style: "receipt", heading: name.into(), blocks, ..Piece::default() })
}

fn table(head: &str, lines: &[Line], series: &SeriesReceipt) -> Table {
    let label = |line: &Line| {
        let text = Text::from(format!("{}{}", line.label, line.mark));
        if line.calls_mark.is_empty() { text } else { text.and(Span::Small(format!("calls{}", line.calls_mark))) }
    };
    let names = Column { cells: lines.iter().map(|line| label(line).into()).collect(), ..Column::new(head, Kind::Words) };
    let size = |(place, column): (usize, &analysis::result::receipt::Column)| Column {
        style: Some(match (series.boundaries.iter().any(|boundary| boundary.below == place && place > 0), column.red) {
            (true, true) => ["edge bad", "edge"],
            (true, false) => ["edge", "edge"],
            (false, true) => [" bad", ""],
            (false, false) => ["", ""],
        }),
        note: if column.red { "does not add up" } else { "" },
        cells: lines.iter().map(|line| cell(line.cells[place].as_ref())).collect(),
        ..Column::new(format!("{} B", number::whole(column.size.get())), Kind::Figures)
    };
    let row_style = |line: &Line| match (line.part, line.sum) {
        (true, _) => "part",
        (false, true) => " sum",
        (false, false) => "",
    };
    let row_styles = lines.iter().filter(|line| !line.is_routine).map(row_style).collect();
    Table { row_styles, ..Table::of_columns(std::iter::once(names).chain(series.columns.iter().enumerate().map(size)).collect()) }
}

fn cell(entry: Option<&Entry>) -> Cell {
    let Some(entry) = entry else { return Text::default().and(Span::Faint("-".to_owned())).into() };
    let mut text = Text::from(entry.value.as_str());
    if !entry.margin.is_empty() {
        text = text.and(Span::Plain(" ".to_owned())).and(Span::Margin(entry.margin.clone()));
    }
    if !entry.share.is_empty() {
        text = text.and(Span::Share(entry.share.clone()));
    }
    if !entry.calls.is_empty() {
        text = text.and(Span::Small(entry.calls.clone()));
    }
    if entry.title.is_empty() { text.into() } else { Cell::Hinted(text, entry.title.clone()) }
}

fn routines(name: &str, series: &SeriesReceipt) -> Vec<Block> {
    let (large, rest): (Vec<Line>, Vec<Line>) =
        tables::routines(&series.functions.rows).into_iter().partition(|line| line.is_at_least(LEAST_SHARE));
    let shown = &rest[..rest.len().min(MOST_ROUTINES)];
    let table = |what: &str, lines: &[Line]| {
        let caption = format!("{name}: routine by message size");
        Block::from(table("Routine", lines, series).labelled(format!("{name}: {what}"), caption).styled("rows routines"))
    };
    let mut blocks = Vec::new();
    if !large.is_empty() {
        blocks.push(table("routines", &large));
    }
    if !series.functions.rows.is_empty() {
        let cells = series.functions.rows.iter().flat_map(|row| &row.cells);
        let ways: Vec<Option<CountTier>> = cells.filter_map(|cell| Some(cell.calls?.1)).collect();
        let counted = format!(
            "Below each time: calls per message, exact, and how they were counted: {}; - where there is no count. A mark behind “calls” is \
             theirs.",
            words::tiers(&ways)
        );
        blocks.push(Block::Aside(counted.into()));
        let on = words::interrupts_on(series.functions.rows.iter().map(|row| row.function.as_str()));
        blocks.extend(on.map(|means| Block::Aside(means.into())));
    }
    if !shown.is_empty() {
        let left = rest.len() - shown.len();
        let left = (left > 0).then(|| format!("{} in the JSON of the run.", plural(left as u64, "smaller routine")));
        let folded = std::iter::once(table("more routines", shown)).chain(left.map(|text| Block::Aside(text.into())));
        blocks.extend(Block::details(format!("{} below 1 % at every size", capital(&plural(shown.len() as u64, "routine"))), folded));
    }
    blocks
}

fn boundaries(series: &SeriesReceipt) -> Option<Block> {
    let list = html! { ul .boundaries { @for boundary in &series.boundaries { li { (words::boundary(boundary)) } } } };
    (!series.boundaries.is_empty()).then(|| Block::Markup(list.into_string()))
}
