//! Runs compared with the first.

use analysis::result::receipt::{ReceiptComparison, ReceiptPair};
use analysis::runs::{FiguresCompared, RunComparison, RunsCompared};
use analysis::verdict::Conclusion;
use attribution::{Comparison, Difference, Verdict};

use super::arms::Figures;
use super::{brief, words};
use crate::document::{Block, Part, Table, Tone};
use crate::number;
use crate::words::{capital, plural};

/// Rows of a receipt that are shown although no difference is: the largest.
const MOST_ROWS: usize = 8;
/// Differences of the hosts that are named one by one.
const MOST_NAMED: usize = 8;

/// Everything, candidate by candidate.
pub fn blocks(between: &RunComparison) -> Vec<Block> {
    between.comparisons.iter().flat_map(one).collect()
}

/// Title of a page: the two sides and the conclusion, where there are two.
pub fn heading(between: &RunComparison) -> String {
    let [runs] = between.comparisons.as_slice() else { return "Runs compared with the first".to_owned() };
    let better = || runs.figures.compared.metrics.iter().any(|metric| metric.gate && metric.comparison.overall.better > 0);
    let conclusion = match runs.figures.compared.conclusion {
        Conclusion::Against => "worse",
        Conclusion::Done if better() => "better",
        Conclusion::Done => "equivalent",
        Conclusion::Inconclusive => "inconclusive",
    };
    format!("{} vs {}: {conclusion}", name(&runs.candidate), name(&runs.baseline))
}

fn one(runs: &RunsCompared) -> Vec<Block> {
    let names = [&runs.baseline, &runs.candidate].map(|ids| name(ids));
    let names = [names[0].as_str(), names[1].as_str()];
    let figures = &runs.figures;
    let FiguresCompared { cells: labels, compared, .. } = figures;
    let mut part = Figures { names, compared, labels, alike: &[] }.part();
    if labels.is_empty() && !compared.metrics.is_empty() {
        part.conclusion = Some((Tone::Open, "The runs have no cell in common, so nothing can be compared.".to_owned()));
    }
    part.brief.extend(brief::differences(&runs.differences));
    part.warnings.extend(named(&runs.differences).into_iter().map(|text| format!("Not the same: {text}")));
    part.notes.extend(runs.slight.iter().map(|text| format!("No trial notices it, but {text}")));
    for (name, unpaired) in names.iter().zip(&figures.unpaired) {
        part.notes.extend((!unpaired.is_empty()).then(|| format!("Only in {name}: {}", unpaired.join("; "))));
        part.brief.extend(brief::unpaired(name, unpaired));
    }
    let several = names.iter().zip([&runs.baseline, &runs.candidate]).filter(|(_, ids)| ids.len() > 1);
    part.notes.extend(several.map(|(name, ids)| format!("{}: {}", capital(name), ids.join(", "))));
    let receipts = runs.receipts.iter().flat_map(|receipts| {
        let parts = receipts_of(receipts, names).into_iter().map(Block::from).collect();
        [brief::receipts(receipts), Block::Full(parts)]
    });
    std::iter::once(Block::from(part)).chain(receipts).collect()
}

/// One run by its id, several by the first.
fn name(ids: &[String]) -> String {
    match ids {
        [first, rest @ ..] if !rest.is_empty() => format!("{first} and {}", plural(rest.len() as u64, "more run")),
        ids => ids.concat(),
    }
}

fn named(all: &[String]) -> Vec<String> {
    let mut named: Vec<String> = all.iter().take(MOST_NAMED).cloned().collect();
    if all.len() > MOST_NAMED {
        named.push(format!("{} besides", plural((all.len() - MOST_NAMED) as u64, "more difference")));
    }
    named
}

/// Receipts, row by row.
fn receipts_of(receipts: &ReceiptComparison, names: [&str; 2]) -> Vec<Part> {
    let mut parts: Vec<Part> = receipts.pairs.iter().map(|pair| of_pair(pair, names)).collect();
    let unpaired: Vec<String> = names
        .iter()
        .zip(&receipts.unpaired)
        .filter(|(_, unpaired)| !unpaired.is_empty())
        .map(|(name, unpaired)| format!("Only {name} has a receipt of {}", unpaired.join("; ")))
        .collect();
    if !unpaired.is_empty() {
        parts.push(Part { heading: "Receipts without a counterpart".into(), notes: unpaired, ..Part::default() });
    }
    parts
}

fn of_pair(pair: &ReceiptPair, names: [&str; 2]) -> Part {
    let cpu = &pair.categories.cpu;
    let [first, second] = cpu.ns.map(|ns| number::significant(ns, 3));
    let change = match cpu.verdict {
        Verdict::Costlier => "costs MORE CPU",
        Verdict::Cheaper => "costs less CPU",
        Verdict::NotShown => "no difference of the CPU time is shown",
    };
    let tone = if cpu.verdict == Verdict::Costlier { Tone::Bad } else { Tone::Good };
    let mut part = Part {
        heading: format!("Receipt of {}, {}", pair.label, pair.role),
        conclusion: Some((
            tone,
            format!(
                "{first} ns per message in {}, {second} ns in {}: {change}; shares of layers differ by {:.3} (total variation).",
                names[0], names[1], pair.total_variation
            ),
        )),
        ..Part::default()
    };
    for (name, red) in names.iter().zip(pair.red) {
        part.warnings.extend(red.then(|| format!("RED: the receipt of {name} does not add up: do not use its rows.")));
    }
    if pair.sources[0] != pair.sources[1] {
        part.warnings.push(format!("Sampled differently: by {} and by {}.", pair.sources[0], pair.sources[1]));
    }
    part.tables.push(table("Kind of work", "kind", &pair.categories));
    part.tables.push(table("Layer", "layer", &pair.layers));
    part.tables.push(table("Routine", "routine", &pair.functions));
    part
}

fn table<K: std::fmt::Display>(title: &str, head: &'static str, comparison: &Comparison<K>) -> Table {
    let shown = comparison.rows.iter().enumerate().filter(|(place, row)| *place < MOST_ROWS || row.verdict != Verdict::NotShown);
    let rows: Vec<Vec<String>> = shown.map(|(_, row)| row_of(row)).collect();
    let left = comparison.rows.len() - rows.len();
    let rest = if left > 0 { format!("; {} smaller without a difference shown", plural(left as u64, "row")) } else { String::new() };
    Table::of_verdicts(
        capital(&format!("{title}: ns per message, the largest difference first{rest}")),
        vec![head, "first", "second", "difference", "could show", "p", "verdict"],
        rows,
    )
}

fn row_of<K: std::fmt::Display>(row: &Difference<K>) -> Vec<String> {
    let ns = |value: f64| number::significant(value, if value.abs() < 99.95 { 2 } else { 3 });
    let signed = |value: f64| if value > 0.0 { format!("+{}", ns(value)) } else { ns(value) };
    vec![
        row.key.to_string(),
        ns(row.ns[0]),
        ns(row.ns[1]),
        row.difference.interval.map_or_else(
            || signed(row.difference.value),
            |[low, high]| format!("{} ({} to {})", signed(row.difference.value), signed(low), signed(high)),
        ),
        row.could_show.map_or(number::NOTHING.to_owned(), ns),
        row.p_adjusted.map_or(number::NOTHING.to_owned(), words::p),
        match row.verdict {
            Verdict::Costlier => "costlier".to_owned(),
            Verdict::Cheaper => "cheaper".to_owned(),
            Verdict::NotShown => "not shown".to_owned(),
        },
    ]
}
