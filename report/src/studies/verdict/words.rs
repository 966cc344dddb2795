//! Verdicts in words.

use analysis::result::Metric;
use analysis::verdict::{
    Compared, Comparison, Conclusion, Design, Doubt, Judged, Means, MetricComparison, Moved, RunScatter, Shape, Side, Verdict, conclude,
};

use crate::document::{Table, Tone};
use crate::words::{capital, plural, writer};
use crate::{interval, number};

/// What is counted in a design.
pub const fn unit(design: Design) -> &'static str {
    match design {
        Design::Paired | Design::Separate => "block",
        Design::Runs => "run",
    }
}

/// A verdict in few words.
pub fn verdict(verdict: &Verdict, design: Design) -> String {
    match verdict {
        Verdict::Better => "better".to_owned(),
        Verdict::Worse => "WORSE".to_owned(),
        Verdict::Mixed => "mixed".to_owned(),
        Verdict::Equivalent => "equivalent".to_owned(),
        Verdict::Inconclusive { smallest } => format!("inconclusive (≥{})", number::percent(smallest.abs())),
        Verdict::NotEnoughBlocks { missing, .. } => format!("{} missing", plural(*missing as u64, unit(design))),
    }
}

/// Conclusion in a sentence, with its tone, from the metrics of the gate.
pub fn conclusion(compared: &Compared, names: [&str; 2]) -> (Tone, String) {
    let [baseline, candidate] = names;
    let gate: Vec<&MetricComparison> = compared.metrics.iter().filter(|metric| metric.gate).collect();
    let Some(first) = gate.first().map(|metric| &metric.comparison) else {
        return (Tone::Open, format!("Inconclusive: {candidate} and {baseline} have no metric of the gate in common."));
    };
    let counts = gate.iter().map(|metric| counts(metric)).collect::<Vec<_>>().join("; ");
    let threshold = number::percent(first.threshold);
    let single =
        first.design == Design::Separate && conclude(gate.iter().map(|metric| metric.comparison.conclusion)) != compared.conclusion;
    match compared.conclusion {
        Conclusion::Against => (Tone::Bad, format!("{candidate} is WORSE than {baseline}. {counts}.")),
        Conclusion::Done if gate.iter().any(|metric| metric.comparison.overall.better > 0) => {
            (Tone::Good, format!("{candidate} is better than {baseline}, and worse nowhere. {counts}."))
        }
        Conclusion::Done => (Tone::Good, format!("{candidate} and {baseline} are equivalent within {threshold}. {counts}.")),
        Conclusion::Inconclusive if gate.iter().all(|metric| is_uncompared(metric)) => {
            (Tone::Open, format!("Inconclusive: {candidate} and {baseline} could not be compared. {counts}."))
        }
        Conclusion::Inconclusive if single => (
            Tone::Open,
            format!(
                "Inconclusive: one run on each side tells nothing of other runs (--trust-single-runs lets it). Of these two: {counts}."
            ),
        ),
        Conclusion::Inconclusive => (
            Tone::Open,
            format!(
                "Inconclusive: {candidate} is shown to be worse than {baseline} nowhere, but a difference of {threshold} could hide. {counts}."
            ),
        ),
    }
}

/// Returns whether no cell has enough blocks for a verdict.
const fn is_uncompared(metric: &MetricComparison) -> bool {
    let overall = &metric.comparison.overall;
    overall.worse + overall.better + overall.equivalent + overall.inconclusive == 0
}

/// Numbers of cells by their verdicts; those that are 0 are left out.
fn counts(metric: &MetricComparison) -> String {
    let overall = &metric.comparison.overall;
    let too_few = match metric.comparison.design {
        Design::Paired | Design::Separate => "with too few blocks",
        Design::Runs => "with too few runs",
    };
    let all = [
        (overall.worse, "worse"),
        (overall.better, "better"),
        (overall.equivalent, "equivalent"),
        (overall.inconclusive, "inconclusive"),
        (overall.too_few, too_few),
    ];
    let counts: Vec<String> = all.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let counts = if counts.is_empty() { "not compared".to_owned() } else { counts.join(", ") };
    format!("{}: {counts}", capital(metric.metric.title()))
}

/// The table of one metric. `labels` are the cells'; `alike` says which need no verdict.
pub fn table(metric: Metric, comparison: &Comparison, labels: &[String], alike: &[usize]) -> Table {
    let row = |label: String, judged: &Judged, same: bool| {
        let write = writer(metric);
        let median = |place: usize| judged.medians.map_or(number::NOTHING.to_owned(), |medians| write(medians[place]));
        let change = judged.ratio.as_ref().map_or(number::NOTHING.to_owned(), |ratio| number::change(ratio.value - 1.0));
        let ends = judged.ratio.as_ref().and_then(|ratio| ratio.interval);
        let ends = ends.map_or(number::NOTHING.to_owned(), |ends| {
            format!("{} to {}", number::change(ends.low - 1.0), number::change(ends.high - 1.0))
        });
        let p = judged.p_adjusted.map_or(number::NOTHING.to_owned(), p);
        let mut verdict = verdict(&judged.verdict, comparison.design);
        if same {
            verdict += " (both arms run it alike)";
        }
        vec![label, change, ends, median(0), median(1), p, verdict]
    };
    let mut rows: Vec<Vec<String>> = comparison
        .cells
        .iter()
        .enumerate()
        .map(|(place, judged)| row(labels.get(place).cloned().unwrap_or_default(), judged, alike.contains(&place)))
        .collect();
    if comparison.cells.len() > 1 {
        rows.push(row("all cells (geometric mean)".to_owned(), &comparison.overall.mean, false));
    }
    let confidence = number::percent(comparison.confidence);
    Table::of_verdicts(
        format!("{}: change, its {confidence} interval, and p with all cells taken into account (Holm)", capital(metric.title())),
        vec!["cell", "change", "interval", "baseline", "candidate", "p", "verdict"],
        rows,
    )
}

/// The table of what is neither better nor worse.
pub fn means(means: &Means, labels: &[String]) -> Table {
    let write = writer(means.metric);
    let row = |(place, moved): (usize, &Option<Moved>)| {
        let moved = moved.as_ref()?;
        let ends = interval::range(&moved.difference, signed);
        let label = labels.get(place).cloned().unwrap_or_default();
        Some(vec![label, signed(moved.difference.value), ends, write(moved.medians[0]), write(moved.medians[1])])
    };
    Table::of_figures(
        format!("{}: a means and no end, so without a verdict", capital(means.metric.title())),
        vec!["cell", "change", "interval", "baseline", "candidate"],
        means.cells.iter().enumerate().filter_map(row).collect(),
    )
}

/// With its sign.
fn signed(value: f64) -> String {
    format!("{}{}", if value > 0.0 { "+" } else { "" }, number::significant(value, 3))
}

/// A probability.
pub fn p(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { number::significant(p, 2) }
}

/// Warning about a design that does not protect against drift.
pub const fn design(design: Design) -> Option<&'static str> {
    match design {
        Design::Paired => None,
        Design::Separate => Some(
            "These are separate runs: whatever changed on the machine between them looks like a difference between them. There is no drift protection; run both as arms of one study for that.",
        ),
        Design::Runs => Some(
            "These are separate runs: take those of the two sides in turns, or what changed on the machine meanwhile looks like a difference between them.",
        ),
    }
}

/// How runs of one side scatter, in a sentence.
pub fn scatter(metric: Metric, scatter: &RunScatter) -> String {
    let [baseline, candidate] = scatter.runs;
    format!(
        "{}: runs of one side scatter by {} of themselves (standard deviation, {baseline} and {candidate} runs), the blocks of a run by {}.",
        capital(metric.title()),
        number::percent(scatter.between),
        number::percent(scatter.within),
    )
}

/// A doubt in a sentence.
pub fn doubt(doubt: &Doubt, labels: &[String], names: [&str; 2]) -> String {
    let cell = doubt.cell.map_or("the machine as a whole", |place| labels.get(place).map_or("a cell", String::as_str));
    let side = match doubt.side {
        Some(Side::Baseline) => format!(" in {}", names[0]),
        Some(Side::Candidate) => format!(" in {}", names[1]),
        None => String::new(),
    };
    let shape = match doubt.shape {
        Shape::WarmingUp { blocks, by } => format!("warmed up over {} ({})", plural(blocks as u64, "block"), number::change(by)),
        Shape::Stepped { at, by } => format!("changed its level at block {at} ({})", number::change(by)),
        Shape::Drifting { by } => format!("drifted from the first block to the last ({})", number::change(by)),
        Shape::Bimodal { modes: [low, high], upper } => {
            format!(
                "has two modes, {} and {}, the upper in {} of blocks: the median lies between",
                number::significant(low, 3),
                number::significant(high, 3),
                number::percent(upper)
            )
        }
    };
    format!("{}{side} {shape}; p = {}", capital(cell), p(doubt.p))
}

/// A method and what stands behind it.
pub fn method(comparison: &Comparison) -> String {
    let design = match comparison.design {
        Design::Paired => "pairs of one block, sign-flip test on log ratios",
        Design::Separate => "labels dealt again over both runs' blocks, on logarithms",
        Design::Runs => "Welch's t on the logarithms of each run's median",
    };
    let needed = match comparison.design {
        Design::Paired | Design::Separate => plural(comparison.needed as u64, "block"),
        Design::Runs => format!("{} on each side", plural(comparison.needed as u64, "run")),
    };
    let method = comparison.cells.iter().find_map(|judged| judged.ratio?.interval).map_or("", |ends| interval::method(ends.method));
    let by = if method.is_empty() { String::new() } else { format!("; intervals by {method}") };
    format!(
        "Better and worse need a difference that is sure and beyond {}: {design}; {needed} at least{by}. 'equivalent': the interval at {} \
         lies within that on both sides. 'inconclusive (≥...)': neither; a true difference of that size is shown in four runs of five.",
        number::percent(comparison.threshold),
        number::percent(1.0 - 2.0 * (1.0 - comparison.confidence)),
    )
}
