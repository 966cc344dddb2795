//! Changes of cells as forest plots.

use analysis::verdict::{Compared, Judged, MetricComparison, Verdict};

use crate::document::forest::{Change, Forest, Tint};
use crate::document::{Block, Picture};
use crate::number;
use crate::words::capital;

/// Rows of a plot; the tables have the rest.
const MOST_ROWS: usize = 60;

/// A plot for each metric of the gate that was compared in any cell.
pub fn plots(compared: &Compared, names: [&str; 2], labels: &[String], alike: &[usize]) -> Vec<Block> {
    let gate = compared.metrics.iter().filter(|metric| metric.gate);
    let plots = gate.filter_map(|metric| plot(metric, names, labels, alike));
    plots.map(|one| Block::Picture(Picture::Forest(Box::new(one)))).collect()
}

fn plot(metric: &MetricComparison, names: [&str; 2], labels: &[String], alike: &[usize]) -> Option<Forest> {
    let comparison = &metric.comparison;
    let cells = comparison.cells.iter().enumerate().filter(|(place, _)| !alike.contains(place));
    let mut rows: Vec<Change> = cells.filter_map(|(place, judged)| change(labels.get(place)?.clone(), judged, false)).collect();
    let left = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    if rows.len() > 1 {
        rows.extend(change("all cells (geometric mean)".to_owned(), &comparison.overall.mean, true));
    }
    let [baseline, candidate] = names;
    let more = if left > 0 { format!(" {left} more cells are in the table.") } else { String::new() };
    let slug: String = candidate.chars().filter(char::is_ascii_alphanumeric).collect();
    (!rows.is_empty()).then(|| Forest {
        id: format!("change-{slug}-{}", metric.metric as usize),
        title: format!("{}: {candidate} over {baseline}", capital(metric.metric.title())),
        caption: format!(
            "Change in each cell with its {} interval; the band is the threshold of {}: a verdict needs an interval beyond it, equivalence one within.{more}",
            number::percent(comparison.confidence),
            number::percent(comparison.threshold)
        ),
        threshold: comparison.threshold,
        rows,
    })
}

fn change(label: String, judged: &Judged, all: bool) -> Option<Change> {
    let ratio = judged.ratio.filter(|ratio| ratio.value.is_finite())?;
    let (verdict, words) = match judged.verdict {
        Verdict::Better => (Tint::Better, "better"),
        Verdict::Worse => (Tint::Worse, "worse"),
        Verdict::Mixed => (Tint::Worse, "mixed"),
        Verdict::Equivalent => (Tint::Same, "equivalent"),
        Verdict::Inconclusive { .. } => (Tint::Open, "inconclusive"),
        Verdict::NotEnoughBlocks { .. } => (Tint::Open, "too few blocks"),
    };
    let interval = ratio.interval.map(|ends| [ends.low - 1.0, ends.high - 1.0]);
    let ends = interval.map_or("no interval".to_owned(), |[low, high]| format!("{} to {}", number::change(low), number::change(high)));
    let hint = format!("{label}\n{}\n{ends}, {words}", number::change(ratio.value - 1.0));
    Some(Change { label, value: ratio.value - 1.0, interval, verdict, hint, all })
}
