//! How many messages a trial needs.

mod chart;
mod words;

use analysis::result::RepetitionStudy;
use analysis::result::repetitions::{CountResult, RepetitionSeries};

use crate::document::{Part, Section, Table};
use crate::number::{self, NOTHING, tight};
use crate::{interval, words as shared};

/// Rows that a terminal shows of each series.
const FEW: usize = 6;

/// What a study of counts shows.
pub fn section(study: &RepetitionStudy) -> Section {
    Section::study(
        "repetitions",
        "Repetitions",
        format!(
            "Total time is the receiver's, from the first measured message to the last. The spread of trials is 1.4826 times their median \
             absolute deviation, as a share of the median. The count advised is for the mean of {} runs within {} at 95 %.",
            study.runs,
            number::percent(study.precision)
        ),
        chart::all(study),
        study.series.iter().map(|series| part(study, series).into()),
    )
}

fn part(study: &RepetitionStudy, series: &RepetitionSeries) -> Part {
    let all: Vec<&CountResult> = series.counts.iter().collect();
    let few: Vec<&CountResult> = match all.len() {
        count if count <= FEW => all.clone(),
        count => (0..FEW).filter_map(|place| all.get(place * (count - 1) / (FEW - 1)).copied()).collect(),
    };
    let title = if few.len() < all.len() { format!("{} of {} counts", few.len(), all.len()) } else { format!("{} counts", all.len()) };
    let mut part = Part {
        heading: format!("{}, {} B", series.series, number::whole(series.size.get())),
        conclusion: Some((words::tone(&series.advice), words::advice(study, series))),
        tables: vec![table(title, &few)],
        notes: vec![words::line(&series.line)],
        ..Part::default()
    };
    if few.len() < all.len() {
        part.more.push(table(format!("All {} counts", all.len()), &all));
    }
    part.notes.extend(words::settled(series));
    part.notes.extend(series.law.as_ref().map(words::law));
    let short: usize = series.counts.iter().map(|count| count.short).sum();
    part.warnings
        .extend((short > 0).then(|| format!("{} left out: not all of their messages arrived.", shared::plural(short as u64, "trial"))));
    part
}

fn table(title: String, counts: &[&CountResult]) -> Table {
    let row = |count: &&CountResult| {
        let figure = |estimate: Option<analysis::result::Estimate>, write: fn(f64) -> String| {
            estimate.map_or(NOTHING.to_owned(), |estimate| {
                format!("{} {}", tight(&write(estimate.value)), tight(&interval::plus_minus(&estimate)))
            })
        };
        let each = count.total_ns.map(|total| number::time(total.value / count.count as f64));
        let spread = count.spread.map_or(NOTHING.to_owned(), |spread| match spread.interval {
            Some(ends) => format!("{} ({} to {})", number::percent(spread.value), number::percent(ends.low), number::percent(ends.high)),
            None => number::percent(spread.value),
        });
        vec![
            number::whole(count.count),
            figure(count.total_ns, number::time),
            each.unwrap_or_else(|| NOTHING.to_owned()),
            spread,
            count.total_ns.map_or(0, |total| total.n).to_string(),
        ]
    };
    Table::of_figures(title, vec!["messages", "total", "per message", "spread", "trials"], counts.iter().map(row).collect())
}
