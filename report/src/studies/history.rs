//! The history of a metric: what changed and when, cell by cell.
//!
//! ```text
//! History, Axis -> Document -> terminal | html
//! ```

use analysis::history::{CellHistory, History, HistoryRun, Level, Turn};
use model::sorting::Order;

use crate::document::figure::{Panel, SizeAxis, Trace};
use crate::document::{Block, Document, Figure, Kind, Masthead, Rows, Section};
use crate::number;
use crate::series::shows_billed;
use crate::studies::AT_TOP;
use crate::studies::receipt::figure::BILLED;
use crate::{clock, json, words};

/// What names a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Axis {
    /// Its start.
    #[default]
    Date,
    /// The kernel of its hosts.
    Kernel,
    /// The commit that nettoll was built from.
    Commit,
}

/// Most cells that a page draws.
const MOST_DRAWN: usize = 24;

/// The history.
pub fn document(history: &History, by: Axis, notes: &[String]) -> Document {
    let title = format!(
        "{}: {} over {}",
        history.study,
        analysis::answer::notation::uncapital(history.title),
        words::plural(history.runs.len() as u64, "run")
    );
    // Cells that changed are what is looked for.
    let mut order: Vec<usize> = (0..history.cells.len()).collect();
    order.order_by_key(|place| history.cells[*place].levels.len() < 2);
    let drawn = |places: &[usize]| Block::figures(places.iter().map(|place| figure(history, &history.cells[*place], *place, by)).collect());
    let (first, others) = order.split_at(order.len().min(AT_TOP));
    let mut blocks: Vec<Block> = drawn(first).into_iter().collect();
    blocks.push(Block::Paragraph(span(history).into()));
    blocks.extend(Block::warnings(notes.iter().cloned().chain(alike(history)).collect()));
    let changed: Vec<&CellHistory> = history.cells.iter().filter(|cell| cell.levels.len() > 1).collect();
    blocks.extend(changed.iter().map(|cell| changes(history, cell, by)));
    let method = format!(
        "A value is the median of a run's trials. Changes are splits of a cell's series by ranks, with limits simulated for its length and Holm's \
         procedure over the cells: of histories without a change {} show one.",
        number::percent(history.level)
    );
    blocks.push(Block::Lead(method.into()));
    let summary = Section::named("summary", "What changed", blocks);
    let pictures = drawn(&others[..others.len().min(MOST_DRAWN)]).map(|figures| {
        let finding = format!("{} run by run", words::plural(others.len() as u64, "other cell"));
        Section::new("series", "Run by run", [figures]).folded(finding)
    });
    let levels = Section::new("levels", "Newest level of each cell", [newest(history, by).into()]);
    let answer = Some(analysis::answer::history(history));
    let masthead = Masthead { answer, ..Masthead::of("", title, [history.machine.clone()]) };
    let sections = [Some(summary), pictures, Some(levels)].into_iter().flatten();
    Document { data: vec![("history", json::compact(history))], ..Document::of(masthead, sections) }
}

/// From when to when.
fn span(history: &History) -> String {
    let day = |run: Option<&HistoryRun>| run.map_or_else(String::new, |run| clock::short(run.started_ms, true));
    format!("From {} to {}, UTC.", day(history.runs.first()), day(history.runs.last()))
}

fn alike(history: &History) -> Option<String> {
    let alike: Vec<String> = history.cells.iter().filter(|cell| cell.alike).map(|cell| cell.name.clone()).collect();
    let first = alike.first()?;
    let others = if alike.len() > 1 { format!(" and {} more", alike.len() - 1) } else { String::new() };
    Some(format!(
        "Neighbouring runs are alike in {first}{others}: the machine has moods that last for several runs. Changes by chance are more \
         frequent there than stated; look at each before you believe it."
    ))
}

/// Every change of a cell.
fn changes(history: &History, cell: &CellHistory, by: Axis) -> Block {
    let write = words::writer(history.metric);
    let sentences = cell.levels.windows(2).filter_map(|pair| {
        let (from, to) = (pair[0], pair[1]);
        let run = history.runs.get(to.first)?;
        let before = to.first.checked_sub(1).and_then(|at| history.runs.get(at))?;
        let turn = match to.turn {
            Turn::Worse => "worse",
            Turn::Better => "better",
            Turn::Other | Turn::None => "changed",
        };
        let moved = to.change.map_or_else(String::new, |change| format!(" ({})", number::change(change)));
        let p = to.p.map_or_else(String::new, |p| format!(", p {}", number::significant(p, 2)));
        let is_shown = [from, to].iter().filter_map(billed).any(shows_billed);
        let part = |level: Level| level.billed.map_or_else(|| number::NOTHING.to_owned(), write);
        let billed = if is_shown { format!("; {BILLED}: {} -> {}", part(from), part(to)) } else { String::new() };
        Some(format!("{turn} from {}: {} -> {}{moved}{p}{billed}", boundary(before, run, by), write(from.value), write(to.value)))
    });
    Block::piece(cell.name.clone(), Block::sentences(sentences))
}

/// The share of a level of CPU time that was billed before the ends ran.
fn billed(level: &Level) -> Option<f64> {
    Some(level.billed? / level.value)
}

/// Where a change lies: the run, and what else changed there.
fn boundary(before: &HistoryRun, run: &HistoryRun, by: Axis) -> String {
    let moved = |what: &str, from: &str, to: &str| (from != to).then(|| format!("{what} {from} -> {to}"));
    let kernel = moved("kernel", &before.kernel, &run.kernel);
    let tool = moved("nettoll", &before.tool, &run.tool);
    let others: Vec<String> = [kernel, tool].into_iter().flatten().collect();
    let others = if others.is_empty() { "same kernel, same nettoll".to_owned() } else { others.join(", ") };
    format!("{} (run {}; {others})", named(run, by), run.id)
}

fn named(run: &HistoryRun, by: Axis) -> String {
    match by {
        Axis::Date => clock::short(run.started_ms, true),
        Axis::Kernel => format!("kernel {}", run.kernel),
        Axis::Commit => commit(&run.tool).to_owned(),
    }
}

/// The commit of `0.1.0 (0123456789ab)`; the version of a build without one.
fn commit(tool: &str) -> &str {
    tool.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or(tool, |(commit, _)| commit)
}

/// The newest level of every cell.
fn newest(history: &History, by: Axis) -> crate::document::Table {
    let write = words::writer(history.metric);
    let last = |cell: &CellHistory| cell.levels.last().copied();
    let since = |cell: &CellHistory| {
        let first = last(cell).filter(|level| level.change.is_some()).and_then(|level| history.runs.get(level.first));
        first.map_or_else(|| "the first run".to_owned(), |run| named(run, by))
    };
    let part = |cell: &CellHistory| last(cell).as_ref().and_then(billed).filter(|share| shows_billed(*share));
    let has_billed = history.cells.iter().any(|cell| part(cell).is_some());
    Rows::of(&history.cells)
        .words(("Cell", 9, ["", "cell"]), |cell| cell.name.as_str())
        .figures(("Runs", 5, ["", "runs"]), |cell| cell.values.len().to_string())
        .figures(("Level", 8, ["", "level"]), |cell| last(cell).map(|level| write(level.value)))
        .column_if(has_billed, ("Billed", 4, ["", "billed"]), Kind::Figures, |cell| part(cell).map(number::percent))
        .figures(("Change", 7, ["", "change"]), |cell| last(cell).and_then(|level: Level| level.change).map(number::change))
        .words(("Since", 6, ["", "since"]), since)
        .table()
}

/// The values of a cell run by run, with its levels.
fn figure(history: &History, cell: &CellHistory, at: usize, by: Axis) -> Figure {
    let write = words::writer(history.metric);
    let panel = panel(history);
    let scale = if matches!(history.metric.unit(), analysis::result::Unit::Nanoseconds) { 1e-9 } else { 1.0 };
    let points = cell.runs.iter().zip(&cell.values).filter_map(|(run, value)| {
        let facts = history.runs.get(*run)?;
        Some((*run as f64 + 1.0, value * scale, format!("{}, kernel {}", named(facts, by), facts.kernel), write(*value)))
    });
    let mut line = Vec::new();
    for (place, level) in cell.levels.iter().enumerate() {
        let end = cell.levels.get(place + 1).map_or(history.runs.len(), |next| next.first);
        line.extend([(level.first as f64 + 1.0, Some(level.value * scale)), (end as f64, Some(level.value * scale)), (end as f64, None)]);
    }
    Figure {
        id: format!("history-{at}").into(),
        title: cell.name.clone().into(),
        caption: "A mark is a run; dotted, the levels.".to_owned(),
        alt: format!("{} of {} run by run. Its levels are in the table.", history.title, cell.name),
        sizes: Some(SizeAxis::of_numbers("run", 1.0, history.runs.len().max(2) as f64, false)),
        panels: vec![panel],
        traces: vec![Trace::points(&cell.name, 0, points), Trace::line(&cell.name, 0, line)],
    }
}

fn panel(history: &History) -> Panel {
    let unit = match history.metric.unit() {
        analysis::result::Unit::Nanoseconds => "s",
        analysis::result::Unit::BitsPerSecond => "bit/s",
        analysis::result::Unit::PerSecond => "/s",
        analysis::result::Unit::Share => "%",
        analysis::result::Unit::Bytes => "B",
        analysis::result::Unit::Count | analysis::result::Unit::PerMessage | analysis::result::Unit::Index => "",
    };
    Panel { zero: false, ..Panel::of(history.title, unit).joined(true) }
}
