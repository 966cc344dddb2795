//! Verdicts in words.

use analysis::result::Metric;
use analysis::verdict::{Arm, Comparison, Conclusion, Design, Doubt, Judged, Means, Moved, Shape, Verdict};

use crate::document::{Table, Tone};
use crate::words::{capital, plural, writer};
use crate::{interval, number};

/// A verdict in few words.
pub fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Better => "better".to_owned(),
        Verdict::Worse => "WORSE".to_owned(),
        Verdict::Mixed => "mixed".to_owned(),
        Verdict::NoDifferenceShown { smallest } => format!("none shown (≥{})", number::percent(smallest.abs())),
        Verdict::NotEnoughBlocks { missing, .. } => format!("{} missing", plural(*missing as u64, "block")),
    }
}

/// Conclusion in a sentence, with its tone.
pub fn conclusion(comparison: &Comparison, metric: Metric, names: [&str; 2]) -> (Tone, String) {
    let [baseline, candidate] = names;
    let overall = &comparison.overall;
    let of = format!("{} in {}", metric.title().to_lowercase(), plural(comparison.cells.len() as u64, "cell"));
    let counts = format!(
        "{} better, {} worse, {} without a difference shown, {} with too few blocks",
        overall.better, overall.worse, overall.not_shown, overall.too_few
    );
    let threshold = number::percent(comparison.threshold);
    match comparison.conclusion {
        Conclusion::Against => (Tone::Bad, format!("{candidate} is WORSE than {baseline}: {of}: {counts}.")),
        Conclusion::Done if overall.verdict == Verdict::Better => {
            (Tone::Good, format!("{candidate} is better than {baseline}: {of}: {counts}."))
        }
        Conclusion::Done => {
            (Tone::Good, format!("No difference of {threshold} or more between {candidate} and {baseline}: {of}: {counts}."))
        }
        Conclusion::Inconclusive => (
            Tone::Open,
            format!(
                "Inconclusive: no difference between {candidate} and {baseline} is shown, but one of {threshold} could hide: {of}: {counts}."
            ),
        ),
    }
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
        let verdict = if same { format!("{} (both arms run it alike)", verdict(&judged.verdict)) } else { verdict(&judged.verdict) };
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
    }
}

/// A doubt in a sentence.
pub fn doubt(doubt: &Doubt, labels: &[String], names: [&str; 2]) -> String {
    let cell = doubt.cell.map_or("the machine as a whole", |place| labels.get(place).map_or("a cell", String::as_str));
    let arm = match doubt.arm {
        Some(Arm::Baseline) => format!(" in {}", names[0]),
        Some(Arm::Candidate) => format!(" in {}", names[1]),
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
    format!("{}{arm} {shape}; p = {}", capital(cell), p(doubt.p))
}

/// A method and what stands behind it.
pub fn method(comparison: &Comparison) -> String {
    let design = match comparison.design {
        Design::Paired => "pairs of one block, sign-flip test on log ratios",
        Design::Separate => "labels dealt anew over both runs' blocks, on logarithms",
    };
    let needed = plural(comparison.needed as u64, "block");
    let method = comparison.cells.iter().find_map(|judged| judged.ratio?.interval).map_or("", |ends| interval::method(ends.method));
    let by = if method.is_empty() { String::new() } else { format!("; intervals by {method}") };
    format!(
        "A verdict needs a difference that is sure and beyond {}: {design}; {needed} at least{by}. 'none shown (≥...)': no difference \
         is shown, and one from that size on would have been.",
        number::percent(comparison.threshold)
    )
}
