//! Verdicts for a terminal that is asked for the answer alone, after benchstat: the
//! geometric mean of each metric and the cells that changed.

use analysis::result::Metric;
use analysis::result::receipt::{ReceiptComparison, ReceiptPair};
use analysis::verdict::{COMPARED, Compared, Design, Judged, MetricComparison, Verdict};
use model::order::Order;

use super::words;
use crate::document::{Block, Head, Table};
use crate::number;
use crate::words::{capital, plural, writer};

/// Cells that are listed, those that changed most first.
const MOST_CELLS: usize = 12;

/// Differences of the hosts that are named.
const MOST_DIFFERENCES: usize = 2;

/// One table of all metrics of the gate, then what stands against them.
pub fn blocks(compared: &Compared, labels: &[String]) -> Vec<Block> {
    let gate: Vec<&MetricComparison> = compared.metrics.iter().filter(|metric| metric.gate).collect();
    let Some(first) = gate.first() else { return Vec::new() };
    let design = first.comparison.design;
    let mut changed: Vec<(usize, usize)> = Vec::new();
    for (metric, one) in gate.iter().enumerate() {
        changed.extend(one.comparison.cells.iter().enumerate().filter(|(_, judged)| is_changed(judged)).map(|(cell, _)| (metric, cell)));
    }
    changed.order_by(|a, b| size(&gate[b.0].comparison.cells[b.1]).total_cmp(&size(&gate[a.0].comparison.cells[a.1])));
    let left = changed.len().saturating_sub(MOST_CELLS);
    changed.truncate(MOST_CELLS);
    changed.order();
    let mut rows = Vec::new();
    for (place, metric) in gate.iter().enumerate() {
        let comparison = &metric.comparison;
        let row = |label: String, judged: &Judged| row(label, judged, writer(metric.metric), design);
        match comparison.cells.as_slice() {
            [only] => rows.push(row(capital(title(metric.metric)), only)),
            cells => rows.push(row(format!("{}, mean of {}", capital(title(metric.metric)), cells.len()), &comparison.overall.mean)),
        }
        if comparison.cells.len() > 1 {
            let own = changed.iter().filter(|(metric, _)| *metric == place);
            let label = |cell: usize| format!("  {}", labels.get(cell).map_or("", String::as_str));
            rows.extend(own.map(|(_, cell)| row(label(*cell), &comparison.cells[*cell])));
        }
    }
    let heads = vec![
        Head::from(""),
        figure(4, "baseline"),
        figure(5, "candidate"),
        figure(8, "change"),
        figure(7, "interval"),
        figure(9, "verdict"),
    ];
    let mut blocks = vec![Block::Table(Table::of_verdicts("", heads, rows))];
    let doubts: usize = compared.metrics.iter().map(|metric| metric.doubts.len()).sum();
    let mut notes = Vec::new();
    notes.extend((left > 0).then(|| format!("{} that changed less", plural(left as u64, "more cell"))));
    notes.extend((doubts > 0).then(|| format!("{} about series of trials", plural(doubts as u64, "doubt"))));
    notes.push("every cell, method and coefficients".to_owned());
    // They are not the ratios of the two columns before them.
    let paired = if design == Design::Paired { "Changes are of pairs in a block; " } else { "" };
    blocks.push(Block::Aside(format!("{paired}-v shows {}.", crate::words::list(&notes)).into()));
    let order = match design {
        Design::Paired => None,
        Design::Separate => Some("Separate runs have no drift protection: arms of one study do (--arm)."),
        Design::Runs => Some("Separate runs: take those of the two sides in turns, against drift."),
    };
    blocks.extend(order.map(|text| Block::Aside(text.into())));
    blocks
}

/// What is not the same about the hosts and settings, in a line or two.
pub fn differences(all: &[String]) -> Option<Block> {
    let mut named: Vec<String> = all.iter().take(MOST_DIFFERENCES).cloned().collect();
    if all.len() > MOST_DIFFERENCES {
        named.push(format!("{} (-v)", plural((all.len() - MOST_DIFFERENCES) as u64, "more difference")));
    }
    Block::warnings(if named.is_empty() { named } else { vec![format!("Not the same: {}", named.join("; "))] })
}

/// Cells that only one side has.
pub fn unpaired(name: &str, cells: &[String]) -> Option<Block> {
    let mut named: Vec<String> = cells.iter().take(MOST_DIFFERENCES).cloned().collect();
    if cells.len() > MOST_DIFFERENCES {
        named.push(format!("{} (-v)", plural((cells.len() - MOST_DIFFERENCES) as u64, "more cell")));
    }
    (!named.is_empty()).then(|| Block::Aside(format!("Only in {name}: {}", named.join("; ")).into()))
}

/// Receipts: the CPU time of those that changed, then of the others while there is room.
pub fn receipts(receipts: &ReceiptComparison) -> Block {
    let shown = |pair: &&ReceiptPair| pair.categories.cpu.verdict == attribution::Verdict::NotShown;
    let mut pairs: Vec<&ReceiptPair> = receipts.pairs.iter().collect();
    pairs.order_by_key(shown);
    let left = pairs.len().saturating_sub(MOST_CELLS);
    pairs.truncate(MOST_CELLS);
    let rows = pairs.iter().map(|pair| receipt(pair)).collect();
    let heads = vec![Head::from("ns of CPU"), figure(4, "baseline"), figure(5, "candidate"), figure(8, "change"), figure(9, "verdict")];
    let mut blocks = vec![Block::Table(Table::of_verdicts("", heads, rows))];
    blocks.extend(
        (left > 0).then(|| Block::Aside(format!("{} without a difference shown: -v.", plural(left as u64, "more receipt")).into())),
    );
    Block::Brief(blocks)
}

fn receipt(pair: &ReceiptPair) -> Vec<String> {
    let cpu = &pair.categories.cpu;
    let ns = |value: f64| number::significant(value, 3);
    let verdict = match cpu.verdict {
        attribution::Verdict::Costlier => "WORSE",
        attribution::Verdict::Cheaper => "better",
        attribution::Verdict::NotShown => "~",
    };
    let changed = pair.layers.rows.iter().find(|row| row.verdict != attribution::Verdict::NotShown);
    let sign = |value: f64| if value > 0.0 { "+" } else { "" };
    let signed = |value: f64| format!("{}{}", sign(value), ns(value));
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

/// Head of a column that goes the earlier the lower its rank.
fn figure(rank: u8, head: &str) -> Head {
    Head { rank: Some(rank), ..Head::from(head) }
}

fn is_changed(judged: &Judged) -> bool {
    matches!(judged.verdict, Verdict::Better | Verdict::Worse)
}

/// Size of a change, whichever way.
fn size(judged: &Judged) -> f64 {
    judged.ratio.map_or(0.0, |ratio| ratio.value.ln().abs())
}

fn row(label: String, judged: &Judged, write: fn(f64) -> String, design: Design) -> Vec<String> {
    let median = |place: usize| judged.medians.map_or(String::new(), |medians| number::tight(&write(medians[place])));
    let change = |ratio: f64| number::tight(&number::change(ratio - 1.0));
    let ratio = judged.ratio.as_ref();
    let ends =
        ratio.and_then(|ratio| ratio.interval).map_or(String::new(), |ends| format!("{} to {}", change(ends.low), change(ends.high)));
    let verdict = match &judged.verdict {
        // As benchstat marks what is not shown.
        Verdict::Inconclusive { smallest } => format!("~ (≥{})", number::tight(&number::percent(smallest.abs()))),
        verdict => words::verdict(verdict, design),
    };
    vec![label, median(0), median(1), ratio.map_or(number::NOTHING.to_owned(), |ratio| change(ratio.value)), ends, verdict]
}

/// Name of a compared metric in a narrow table.
fn title(metric: Metric) -> &'static str {
    COMPARED.iter().find(|one| one.metric == metric).map_or("", |one| one.title)
}
