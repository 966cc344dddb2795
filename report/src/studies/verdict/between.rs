//! Runs compared with the first.

use analysis::answer::Answer;
use analysis::result::receipt::{ReceiptComparison, ReceiptPair};
use analysis::runs::{FiguresCompared, RunComparison, RunsCompared};
use attribution::{Comparison, Difference, Verdict};
use model::sorting::Order;

use super::arms::Figures;
use super::{charts, words};
use crate::document::{Block, Chart, Head, Level, Part, Table, Tone};
use crate::number;
use crate::words::{capital, plural};

/// Rows of a receipt that are shown although no difference is: the largest.
const MOST_ROWS: usize = 8;
/// Differences of the hosts, and cells of one side alone, that are part of the answer.
const MOST_NAMED: usize = 2;
/// Receipts that are part of the answer.
const MOST_RECEIPTS: usize = 12;

/// Everything, candidate by candidate.
pub fn blocks(between: &RunComparison) -> Vec<Block> {
    // Of one candidate the head of the report has the answer.
    let answers = analysis::answer::each_run(between);
    let several = answers.len() > 1;
    between.comparisons.iter().zip(&answers).flat_map(|(runs, answer)| one(runs, Some(answer).filter(|_| several))).collect()
}

/// Title of a page: the two sides, where there are two.
pub fn heading(between: &RunComparison) -> String {
    let [runs] = between.comparisons.as_slice() else { return "Runs compared with the first".to_owned() };
    format!("{} against {}", name(&runs.candidate), name(&runs.baseline))
}

fn one(runs: &RunsCompared, answer: Option<&Answer>) -> Vec<Block> {
    let names = [&runs.baseline, &runs.candidate].map(|ids| name(ids));
    let names = [names[0].as_str(), names[1].as_str()];
    let FiguresCompared { cells: labels, compared, unpaired } = &runs.figures;
    let figures = Figures { names, compared, labels, alike: &[], shown: &[] };
    let mut blocks: Vec<Block> = Block::charts(charts::changes(compared, names, labels, &[]).map(Chart::Forest)).into_iter().collect();
    blocks.extend(figures.blocks(answer));
    let cells = compared.metrics.iter().flat_map(|metric| (0..labels.len()).map(move |cell| (metric, cell)));
    let mut billed = cells.filter_map(|(metric, cell)| words::billed_change(compared, metric, cell));
    blocks.extend(billed.next().map(|_| Block::Aside(words::BILLED_CHANGE.into())));
    let differences = &runs.differences;
    blocks.extend(
        (!differences.is_empty()).then(|| Block::Warnings(vec![format!("Not the same: {}", named(differences, "more difference"))])),
    );
    let mut notes: Vec<String> = differences.iter().skip(MOST_NAMED).map(|text| format!("Not the same: {text}")).collect();
    for (name, cells) in names.iter().zip(unpaired).filter(|(_, cells)| !cells.is_empty()) {
        blocks.push(Block::Aside(format!("Only in {name}: {}", named(cells, "more cell")).into()));
        notes.extend((cells.len() > MOST_NAMED).then(|| format!("Only in {name}: {}", cells.join("; "))));
    }
    notes.extend(runs.slight.iter().map(|text| format!("No trial notices it, but {text}")));
    let several = names.iter().zip([&runs.baseline, &runs.candidate]).filter(|(_, ids)| ids.len() > 1);
    notes.extend(several.map(|(name, ids)| format!("{}: {}", capital(name), ids.join(", "))));
    blocks.extend(Block::sentences(notes).and_then(|notes| Block::behind("How the runs differ", [notes])));
    let receipts = runs.receipts.iter().flat_map(|all| {
        let rows = Block::behind("Every row of the receipts", receipts_of(all, names).into_iter().map(Block::from));
        std::iter::once(receipts(all)).chain(rows)
    });
    std::iter::once(Block::piece(figures.heading(), blocks)).chain(receipts).collect()
}

/// The first of some texts, and how many there are `more`.
fn named(all: &[String], more: &str) -> String {
    let (first, rest) = all.split_at(all.len().min(MOST_NAMED));
    let rest = (!rest.is_empty()).then(|| format!("and {}", plural(rest.len() as u64, more)));
    first.iter().cloned().chain(rest).collect::<Vec<_>>().join("; ")
}

/// The CPU time of every receipt, those that changed first.
fn receipts(receipts: &ReceiptComparison) -> Block {
    let mut pairs: Vec<&ReceiptPair> = receipts.pairs.iter().collect();
    pairs.order_by_key(|pair| pair.categories.cpu.verdict == Verdict::NotShown);
    let heads = [("ns of CPU", 20), ("baseline", 4), ("candidate", 5), ("change", 8), ("verdict", 9)];
    let heads = heads.map(|(head, rank)| Head::ranked(head, rank)).into();
    let row_levels = (0..pairs.len()).map(|place| if place < MOST_RECEIPTS { Level::Answer } else { Level::Usual }).collect();
    let table = Table::of_verdicts("", heads, pairs.into_iter().map(receipt).collect());
    Block::Table(Table { row_levels, ..table }.labelled("Receipts", "CPU time of each receipt"))
}

fn receipt(pair: &ReceiptPair) -> Vec<String> {
    let cpu = &pair.categories.cpu;
    let ns = |value: f64| number::significant(value, 3);
    let verdict = match cpu.verdict {
        Verdict::Costlier => "worse",
        Verdict::Cheaper => "better",
        Verdict::NotShown => "open",
    };
    let changed = pair.layers.rows.iter().find(|row| row.verdict != Verdict::NotShown);
    let signed = |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, ns(value));
    let layer = changed.map_or(String::new(), |row| format!(" ({} {})", row.key, signed(row.difference.value)));
    let red = if pair.red.iter().any(|red| *red) { " RED: does not add up" } else { "" };
    vec![
        format!("{}, {}", pair.label, pair.role),
        ns(cpu.ns[0]),
        ns(cpu.ns[1]),
        signed(cpu.difference.value),
        format!("{verdict}{layer}{red}"),
    ]
}

/// One run by its id, several by the first.
fn name(ids: &[String]) -> String {
    match ids {
        [first, rest @ ..] if !rest.is_empty() => format!("{first} and {}", plural(rest.len() as u64, "more run")),
        ids => ids.concat(),
    }
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
