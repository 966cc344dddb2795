//! Known costs and how receipts found them.

use analysis::proof::{FoundCost, KnownCost};
use serde_json::json;

use crate::document::{Block, Cell, Column, Document, Entry, Head, Kind, Rows, Table};
use crate::number::time;
use crate::sinks::json::pretty;
use crate::words::plural;

/// Costs that were looked for next to one neighbour.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The neighbour, in a word.
    pub neighbour: &'a str,
    /// The costs, in the same order in each part.
    pub costs: &'a [KnownCost],
}

/// How far the costs of a part were found, in a sentence.
pub fn sentence(part: Part) -> String {
    let found: Vec<&FoundCost> = part.costs.iter().filter_map(|cost| cost.found.as_ref().ok()).collect();
    let missing = part.costs.len() - found.len();
    let absent = if missing > 0 { format!("; {} could not be looked for", plural(missing as u64, "cost")) } else { String::new() };
    if found.is_empty() {
        return format!("{}: no known cost was found{absent}", part.neighbour);
    }
    let (low, high) =
        found.iter().map(|cost| cost.ratio.value).fold((f64::MAX, f64::MIN), |(low, high), one| (low.min(one), high.max(one)));
    let judged: Vec<bool> = found.iter().filter_map(|cost| cost.holds()).collect();
    let held = judged.iter().filter(|held| **held).count();
    let red = found.iter().filter(|cost| cost.red).count();
    let red = if red > 0 { format!("; {} (marked !) did not add up", plural(red as u64, "receipt")) } else { String::new() };
    format!(
        "{}: known costs were found at {low:.2} to {high:.2} of their size; {held} of {} hold 1{red}{absent}",
        part.neighbour,
        plural(judged.len() as u64, "interval")
    )
}

/// A table for each cause, and a sentence for each part.
pub fn document(parts: &[Part]) -> Document {
    let first = parts.first().map_or(&[][..], |part| part.costs);
    let mut blocks = Vec::new();
    let mut start = 0;
    for costs in first.chunk_by(|one, next| one.cause == next.cause) {
        blocks.push(table(costs, parts, start).titled(&costs[0].cause).into());
        start += costs.len();
    }
    for part in parts {
        blocks.push(Block::Paragraph(format!("{}.", sentence(*part)).into()));
        blocks.extend(Block::sentences(left_out(part.costs).into_iter().map(|(cause, reason)| format!("{cause}: {reason}"))));
    }
    Document::plain("Known costs at a sender, and what its receipt shows of them", blocks)
}

/// The costs of one cause, which begin at the place `start` of each part.
fn table(costs: &[KnownCost], parts: &[Part], start: usize) -> Table {
    let cost = |cost: &KnownCost| if cost.injected_ns > 0.0 { time(cost.injected_ns) } else { "-".to_owned() };
    let mut rows = Rows::of(costs).words("Traffic", |cost| cost.traffic.as_str()).figures(("Cost", 2, ["Cost of", "a message"]), cost);
    for part in parts {
        let head =
            Head { rank: Some(2), short: ["Found,".to_owned(), part.neighbour.to_owned()], line: format!("Found, {}", part.neighbour) };
        let cells = (start..start + costs.len()).map(|place| part.costs.get(place).map_or(Cell::Nothing, found)).collect();
        rows = rows.made(Column { cells, ..Column::new(head, Kind::Figures) });
    }
    rows.table()
}

/// The causes that could not be looked for, each reason once.
fn left_out(costs: &[KnownCost]) -> Vec<(&str, &str)> {
    let mut all = Vec::new();
    for cost in costs {
        if let Err(reason) = &cost.found
            && !all.contains(&(cost.cause.as_str(), reason.as_str()))
        {
            all.push((&*cost.cause, &**reason));
        }
    }
    all
}

fn found(cost: &KnownCost) -> Cell {
    let Ok(FoundCost { ratio, red, .. }) = &cost.found else { return Cell::Nothing };
    let reach = ratio.interval.map_or_else(String::new, |[low, high]| format!("±{:.2}", (high - low) / 2.0));
    let margin = if *red { format!("{reach} !") } else { reach };
    Cell::Entry(Entry { value: format!("{:.2}", ratio.value), margin, ..Entry::default() })
}

/// The same as JSON: an object with an array of costs for each neighbour.
pub fn json(parts: &[Part]) -> String {
    let object: serde_json::Map<_, _> = parts.iter().map(|part| (part.neighbour.to_owned(), json!(part.costs))).collect();
    pretty(&object)
}
