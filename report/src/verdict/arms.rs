//! The arms of one run against its baseline.

use analysis::result::Analysis;
use analysis::result::arms::{ArmVerdict, CoefficientsOutcome, SeriesVerdict};
use analysis::verdict::{Change, Coefficient, SelfTest};

use super::part::{Part, Table, Tone};
use super::words;
use crate::words::{cost, plural};
use crate::{interval, number};

/// Everything, arm by arm; empty without arms.
pub fn parts(analysis: &Analysis) -> Vec<Part> {
    let labels: Vec<String> = analysis.cells.iter().map(|cell| cell.label.clone()).collect();
    analysis.verdicts.iter().map(|verdict| one(verdict, &labels)).collect()
}

fn one(verdict: &ArmVerdict, labels: &[String]) -> Part {
    let names = [verdict.baseline.as_str(), verdict.candidate.as_str()];
    let mut part = Part { heading: format!("{} against {}", verdict.candidate, verdict.baseline), ..Part::default() };
    if let Some(first) = verdict.metrics.first() {
        part.conclusion = Some(words::conclusion(&first.comparison, first.metric, names));
        part.warnings.extend(words::design(first.comparison.design).map(str::to_owned));
        part.notes.push(words::method(&first.comparison));
    }
    if verdict.is_self_test {
        part.conclusion = Some(against_itself(verdict));
    }
    for metric in &verdict.metrics {
        part.tables.push(words::table(metric.metric, &metric.comparison, labels, &verdict.alike));
        part.notes.extend(metric.doubts.iter().map(|doubt| words::doubt(doubt, labels, names)));
    }
    part.tables.extend(verdict.means.iter().map(|means| words::means(means, labels)));
    part.tables.extend(coefficients(&verdict.coefficients));
    part.notes.extend(verdict.coefficients.iter().filter_map(not_compared));
    part.notes.extend(verdict.self_test.iter().flat_map(self_test));
    part
}

fn against_itself(verdict: &ArmVerdict) -> (Tone, String) {
    let shown = verdict.metrics.first().is_some_and(|first| first.comparison.overall.verdict.is_shown());
    if shown {
        (
            Tone::Bad,
            "The arms set the same, yet a difference is shown: it is a false one, and this machine's verdicts are not to be trusted."
                .to_owned(),
        )
    } else {
        (Tone::Good, "The arms set the same, and no difference is shown, as it should be.".to_owned())
    }
}

pub(super) fn coefficients(series: &[SeriesVerdict]) -> Option<Table> {
    let rows: Vec<Vec<String>> = series
        .iter()
        .filter_map(|series| match &series.outcome {
            CoefficientsOutcome::Compared(compared) => Some(compared.coefficients.iter().map(move |coefficient| row(series, coefficient))),
            CoefficientsOutcome::NotCompared { .. } => None,
        })
        .flatten()
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: "What a message is made of: coefficients of the cost model, block by block".to_owned(),
        heads: Table::heads(["series", "baseline", "candidate", "change", "interval", "p", "verdict"]),
        rows,
        words: 1,
    })
}

fn row(series: &SeriesVerdict, coefficient: &Coefficient) -> Vec<String> {
    let ns = |value: f64| format!("{} ns", number::significant(value, 3));
    let change = coefficient.ratio.as_ref().map_or_else(|| ns(coefficient.difference_ns.value), |ratio| number::change(ratio.value - 1.0));
    let ends = match (&coefficient.ratio, coefficient.difference_ns.interval) {
        (Some(ratio), _) if ratio.interval.is_some() => interval::range(ratio, |ratio| number::change(ratio - 1.0)),
        (None, Some(_)) => interval::range(&coefficient.difference_ns, |ns| format!("{} ns", number::significant(ns, 3))),
        _ => number::NOTHING.to_owned(),
    };
    let verdict = match coefficient.change {
        Change::Rose => "rose".to_owned(),
        Change::Fell => "fell".to_owned(),
        Change::NotShown { smallest_ns } => format!("none shown (≥{})", ns(smallest_ns.abs())),
        Change::NotEnoughBlocks { missing, .. } => format!("{} missing", plural(missing as u64, "block")),
    };
    let sizes = format!("{} to {} B", number::whole(coefficient.from.get()), number::whole(coefficient.to.get()));
    vec![
        format!("{}, {}, {sizes}, per {}", series.series, cost::name(series.quantity), cost::term(coefficient.term)),
        ns(coefficient.baseline_ns),
        ns(coefficient.candidate_ns),
        change,
        ends,
        words::p(coefficient.p_adjusted),
        verdict,
    ]
}

pub(super) fn not_compared(series: &SeriesVerdict) -> Option<String> {
    match &series.outcome {
        CoefficientsOutcome::NotCompared { reason } => {
            Some(format!("No coefficients of {}, {}: {reason}", series.series, cost::name(series.quantity)))
        }
        CoefficientsOutcome::Compared(_) => None,
    }
}

fn self_test(test: &SelfTest) -> Vec<String> {
    let shown = |share: Option<f64>| share.map_or_else(|| "nothing".to_owned(), number::percent);
    let mut notes = vec![format!(
        "A ratio of one block scatters by {} in the middling cell, {} in the noisiest, {} in the mean of all; a block takes {} s.",
        number::percent(test.noise),
        number::percent(test.worst_noise),
        number::percent(test.mean_noise),
        number::significant(test.seconds_per_block, 2),
    )];
    notes.extend(test.outlooks.iter().map(|outlook| {
        format!(
            "{} ({} min) would find {} in each of all cells, {} in one cell alone, {} in the mean of all, in four runs of five.",
            plural(outlook.blocks as u64, "block"),
            number::significant(outlook.minutes, 2),
            shown(outlook.each_cell),
            shown(outlook.one_cell),
            shown(outlook.mean),
        )
    }));
    let threshold = number::percent(test.comparison.threshold);
    notes.push(test.for_threshold.map_or_else(
        || format!("No reasonable number of blocks shows {threshold} in the noisiest cell."),
        |outlook| {
            format!(
                "{threshold} in every cell takes {} ({} min).",
                plural(outlook.blocks as u64, "block"),
                number::significant(outlook.minutes, 2)
            )
        },
    ));
    notes
}
