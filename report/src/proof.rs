//! Known costs and how receipts found them.

use analysis::proof::{FoundCost, KnownCost};
use serde_json::json;

use crate::number::time;
use crate::sinks::json::pretty;
use crate::sinks::terminal::table::{Column, Measured};
use crate::sinks::terminal::{Page, Style};
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

/// A table of every cost, and a sentence for each part. Ends with a newline.
pub fn render(parts: &[Part], style: Style) -> String {
    let mut page = Page::new(style);
    page.heading("Known costs at a sender, and what its receipt shows of them");
    page.gap();
    let first = parts.first().map_or(&[][..], |part| part.costs);
    let cost = |cost: &KnownCost| if cost.injected_ns > 0.0 { time(cost.injected_ns) } else { "-".to_owned() };
    let mut columns = vec![
        Column::words(2, ["Cause", ""], first.iter().map(|cost| cost.cause.clone()).collect()),
        Column::words(2, ["Traffic", ""], first.iter().map(|cost| cost.traffic.clone()).collect()),
        Column::figures(2, ["Cost of", "a message"], first.iter().map(cost).collect()),
    ];
    for part in parts {
        columns.push(Column::measured(2, ["Found,", part.neighbour], &part.costs.iter().map(measured).collect::<Vec<_>>(), Vec::new()));
    }
    page.table(columns);
    page.gap();
    for part in parts {
        page.text(&format!("{}.", sentence(*part)));
        for (cause, reason) in left_out(part.costs) {
            page.item(&format!("{cause}: {reason}"));
        }
    }
    page.finish()
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

fn measured(cost: &KnownCost) -> Measured {
    match &cost.found {
        Ok(FoundCost { ratio, red, .. }) => {
            let reach = ratio.interval.map_or_else(String::new, |[low, high]| format!("±{:.2}", (high - low) / 2.0));
            let reach = if *red { format!("{reach} !") } else { reach };
            Measured::Margin(format!("{:.2}", ratio.value), reach)
        }
        Err(_) => Measured::Range("-".to_owned()),
    }
}

/// The same as JSON: an object with an array of costs for each neighbour.
pub fn json(parts: &[Part]) -> String {
    let object: serde_json::Map<_, _> = parts.iter().map(|part| (part.neighbour.to_owned(), json!(part.costs))).collect();
    pretty(&object)
}
