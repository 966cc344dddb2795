//! The answer of a history: whether the newest run is past a change, and of which way.

use super::next::Next;
use super::notation::{change, plural, uncapital};
use super::{Answer, Direction, Grade, Part};
use crate::history::{CellHistory, History, Turn};

/// Cells that are named.
const MOST_NAMED: usize = 2;

/// The answer of a history.
pub fn history(history: &History) -> Answer {
    let question = format!("history of {}", history.study);
    let title = uncapital(history.title);
    let known = history.cells.iter().filter(|cell| cell.p.is_some()).count();
    let runs = plural(history.runs.len() as u64, "run");
    if known == 0 {
        // A run whose trials of a cell failed has no value there.
        let usable = history.cells.iter().map(|cell| cell.runs.len()).max().unwrap_or_default();
        let missing = History::LEAST_RUNS.saturating_sub(usable).max(1) as u64;
        let headline = format!("Too early: {usable} of {} runs of {title}.", History::LEAST_RUNS);
        let next = Next::command(
            format!("have {}", plural(missing, "more run")),
            format!("nettoll study {}", super::next::quoted(&history.study)),
            None,
        );
        return Answer { next: Some(next), ..Answer::new(question, headline, Grade::Open, plural(missing, "more run")) };
    }
    let changed: Vec<&CellHistory> = history.cells.iter().filter(|cell| cell.newest != Turn::None).collect();
    let words = |cell: &&CellHistory| {
        let level = cell.levels.last()?;
        let run = history.runs.get(level.first)?;
        let way = match cell.newest {
            Turn::Worse => "worse",
            Turn::Better => "better",
            Turn::Other | Turn::None => "changed",
        };
        let by = level.change.map_or_else(String::new, |by| format!(", {}", change(by)));
        Some(format!("{} is {way} since run {}{by}", cell.name, super::next::short(&run.id)))
    };
    let named: Vec<String> = changed.iter().take(MOST_NAMED).filter_map(words).collect();
    let more = changed.len().saturating_sub(named.len());
    let more = if more > 0 { format!("; {} changed too", plural(more as u64, "cell")) } else { String::new() };
    let headline = match named.is_empty() {
        true => format!("No change of {title} in {} over {runs}.", plural(known as u64, "cell")),
        false => format!("{} over {runs}: {}{more}.", history.title, named.join("; ")),
    };
    let part = |cell: &&CellHistory| {
        let level = cell.levels.last()?;
        Some(Part {
            direction: match cell.newest {
                Turn::Worse => Direction::Worse,
                Turn::Better => Direction::Better,
                Turn::Other | Turn::None => Direction::Figure,
            },
            ..Part::figure(&cell.name, Some(history.metric), Some(cell.cell.size), level.change?)
        })
    };
    let parts = changed.iter().filter_map(part).collect();
    let brief = if changed.is_empty() { "no change".to_owned() } else { format!("{} changed", plural(changed.len() as u64, "cell")) };
    Answer { parts, brief, ..Answer::new(question, headline, Grade::Settled, runs) }
}
