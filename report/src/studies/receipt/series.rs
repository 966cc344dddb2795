//! The receipts of one end of a series: a table for each question, with a column a size.

use analysis::result::receipt::{Boundary, ReceiptStudy, SeriesReceipt};

use super::flame::Flames;
use super::tables::{self, Line};
use super::words;
use crate::document::{Block, Cell, Column, Cut, Head, Keeps, Kind, RowKind, Table};
use crate::number;
use crate::words::{capital, plural};

/// Parts of layers, and routines, that take less of the time at every size are among every figure.
const LEAST_SHARE: f64 = 0.01;
/// Routines that are shown at all: the rest is in the JSON.
const MOST_ROUTINES: usize = 120;
/// What stays of a routine's name.
const NAME: Cut = Cut { least: 24, keeps: Keeps::Start };

/// One end of a series, the one at this place.
pub fn piece(study: &ReceiptStudy, series: &SeriesReceipt, place: usize, flames: &Flames) -> Block {
    let table = |head: &str, lines: &[Line]| Block::from(table(head, lines, series));
    let layers = tables::layers(series);
    let large: Vec<Line> = layers.iter().filter(|line| line.is_at_least(LEAST_SHARE)).cloned().collect();
    let mut blocks = vec![table("kind of work", &tables::categories(series)), table("layer", &large)];
    blocks.extend(Block::everything("Every layer, by direction and context", [table("layer, direction, context", &layers)]));
    blocks.extend([table("for which way", &tables::directions(series)), table("does it add up?", &tables::sums(study, series))]);
    blocks.extend(Block::sentences(inner(series).map(words::boundary)));
    blocks.extend(flames.graph(format!("flame-{place}"), study, series).map(Block::flame));
    blocks.extend(routines(series));
    Block::piece(format!("{}, {}", series.series, series.role), blocks)
}

fn table(head: &str, lines: &[Line], series: &SeriesReceipt) -> Table {
    let routines = lines.iter().any(|line| line.is_routine);
    let words = |head: &str, word: &dyn Fn(&Line) -> String| Column {
        cells: lines.iter().map(|line| word(line).into()).collect(),
        ..Column::new(Head::ranked(head, 20), Kind::Words)
    };
    let mut columns = vec![Column { cut: routines.then_some(NAME), ..words(head, &|line| line.label.clone()) }];
    columns.extend(lines.iter().any(|line| !line.mark.is_empty()).then(|| words("", &|line| line.mark.to_owned())));
    columns.extend(lines.iter().any(|line| !line.calls_mark.is_empty()).then(|| words("calls", &|line| line.calls_mark.to_owned())));
    let ranks = ranks(series);
    columns.extend(series.columns.iter().enumerate().map(|(place, column)| Column {
        edge: inner(series).any(|boundary| boundary.below == place),
        bad: if column.red { "does not add up" } else { "" },
        cells: lines.iter().map(|line| line.cells[place].clone().map_or(Cell::Nothing, Cell::Entry)).collect(),
        ..Column::new(Head::ranked(format!("{} B", number::whole(column.size.get())), ranks[place]), Kind::Figures)
    }));
    let kind = |line: &Line| match (line.part, line.sum) {
        (true, _) => RowKind::Part,
        (false, true) => RowKind::Sum,
        (false, false) => RowKind::Plain,
    };
    Table { row_kinds: lines.iter().map(kind).collect(), ..Table::of_columns(columns) }.styled(if routines {
        "rows routines"
    } else {
        "rows"
    })
}

/// The boundaries between two sizes.
fn inner(series: &SeriesReceipt) -> impl Iterator<Item = &Boundary> {
    series.boundaries.iter().filter(|boundary| (1..series.columns.len()).contains(&boundary.below))
}

/// Ranks of the sizes: the least and the most stay longest, then the sides of boundaries.
fn ranks(series: &SeriesReceipt) -> Vec<u8> {
    let count = series.columns.len();
    let inner = || inner(series).map(|boundary| boundary.below);
    let sides = inner().map(|below| below - 1).chain(inner());
    let mut ranks = vec![0; count];
    for (taken, place) in [0, count.saturating_sub(1)].into_iter().chain(sides).chain(0..count).enumerate() {
        ranks[place] = ranks[place].max(19_u8.saturating_sub(taken as u8));
    }
    ranks
}

fn routines(series: &SeriesReceipt) -> Vec<Block> {
    let (large, rest): (Vec<Line>, Vec<Line>) =
        tables::routines(&series.functions.rows).into_iter().partition(|line| line.is_at_least(LEAST_SHARE));
    let shown = &rest[..rest.len().min(MOST_ROUTINES)];
    let table = |lines: &[Line]| Block::from(table("routine: ns and calls", lines, series));
    let mut blocks = Vec::new();
    blocks.extend((!large.is_empty()).then(|| table(&large)));
    if !series.functions.rows.is_empty() {
        let is_counted = series.functions.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.calls.is_some());
        let counted = match is_counted {
            true => "Calls per message are exact; - where there is no count. Marks under “calls” are theirs.",
            false => "No calls of these functions were counted (-).",
        };
        let on = words::interrupts_on(series.functions.rows.iter().map(|row| row.function.as_str())).map(str::to_owned);
        blocks.extend(std::iter::once(counted.to_owned()).chain(on).map(|text| Block::Aside(text.into())));
    }
    let left = rest.len() - shown.len();
    let left = (left > 0).then(|| Block::Aside(format!("{} in the JSON of the run.", plural(left as u64, "smaller routine")).into()));
    let folded = (!shown.is_empty()).then(|| table(shown)).into_iter().chain(left);
    blocks.extend(Block::everything(format!("{} below 1 % at every size", capital(&plural(shown.len() as u64, "routine"))), folded));
    blocks
}
