//! Rates that were offered.

mod chart;
mod words;

use analysis::result::open_loop::{OpenLoopSeries, RateResult};
use analysis::result::{Analysis, Latency, OpenLoopStudy};

use crate::document::{Part, Section, Table, Tone};
use crate::number::{self, NOTHING, tight};
use crate::series::percentile;
use crate::{interval, words as shared};

/// What a study of rates shows.
pub fn section(study: &OpenLoopStudy, analysis: &Analysis) -> Section {
    Section::study(
        "open-loop",
        "Offered rates",
        "A rate is reached where all but 1 % of its schedule was sent in time. Round trips count from when a request was due, and beside that \
               from when it was sent, which is all that a client sees who waits for each answer (coordinated omission). Trials are merged, never \
               averaged."
            .to_owned(),
        chart::all(study, analysis),
        study.series.iter().map(|series| part(series, analysis).into()),
    )
}

fn part(series: &OpenLoopSeries, analysis: &Analysis) -> Part {
    let tone = if series.saturation.missed_per_s.is_some() { Tone::Open } else { Tone::Good };
    let mut part = Part {
        heading: format!("{}, {} B, by the clock", series.series, number::whole(series.size.get())),
        conclusion: Some((tone, words::saturation(series))),
        tables: vec![sent(series)],
        notes: words::knee(series, analysis).into_iter().collect(),
        ..Part::default()
    };
    part.tables.extend(round_trips(series, analysis));
    part.tables.extend(lateness(series, analysis));
    part
}

fn offered(rate: &RateResult) -> String {
    format!("{}/s", number::significant(rate.offered_per_s, 4))
}

fn sent(series: &OpenLoopSeries) -> Table {
    let row = |rate: &RateResult| {
        let sent = rate
            .sent_per_s
            .map_or(NOTHING.to_owned(), |sent| format!("{} {}", tight(&number::count(sent.value)), tight(&interval::plus_minus(&sent))));
        let behind = rate.behind.map_or(NOTHING.to_owned(), |behind| number::percent(behind.value));
        let reached = match rate.reached {
            Some(true) => "reached",
            Some(false) => "NOT reached",
            None => NOTHING,
        };
        vec![offered(rate), sent, behind, reached.to_owned()]
    };
    let rows = series.rates.iter().map(row).collect();
    Table::of_verdicts("What was offered and what was sent", vec!["offered", "sent/s", "not in time", "rate"], rows)
}

/// Percentiles and the longest of all.
fn times(name: String, from: &str, latency: Option<&Latency>) -> Vec<String> {
    let mut row = vec![name, from.to_owned()];
    for percent in [50.0, 90.0, 99.0, 99.9] {
        row.push(percentile(latency, percent).map_or(NOTHING.to_owned(), |estimate| {
            format!("{} {}", tight(&number::time(estimate.value)), tight(&interval::plus_minus(estimate)))
        }));
    }
    row.push(latency.map_or(NOTHING.to_owned(), |latency| tight(&number::time(latency.max_ns as f64))));
    row
}

/// From when they were due and from when they were sent, rate by rate.
fn round_trips(series: &OpenLoopSeries, analysis: &Analysis) -> Option<Table> {
    let mut rows = Vec::new();
    if let Some(closed) = series.closed.and_then(|place| analysis.cells.get(place)).and_then(|cell| cell.latency.as_ref()) {
        rows.push(times("closed".to_owned(), "sent", Some(closed)));
    }
    for rate in &series.rates {
        let Some(cell) = analysis.cells.get(rate.cell).filter(|cell| cell.latency.is_some()) else { continue };
        rows.push(times(offered(rate), "due", cell.latency.as_ref()));
        rows.push(times(String::new(), "sent", cell.uncorrected.as_ref()));
    }
    let heads = vec!["offered", "from", "p50", "p90", "p99", "p99.9", "max"];
    (!rows.is_empty()).then(|| {
        Table::of_figures("Round trips from when they were due, corrected, and from when they were sent, uncorrected", heads, rows)
    })
}

/// How late sends were.
fn lateness(series: &OpenLoopSeries, analysis: &Analysis) -> Option<Table> {
    let known = series.rates.iter().filter_map(|rate| Some((rate, analysis.cells.get(rate.cell)?.lateness.as_ref()?)));
    let row = |(rate, latency): (&RateResult, &Latency)| {
        let mut row = times(offered(rate), "", Some(latency));
        row.remove(1);
        row
    };
    let rows: Vec<Vec<String>> = known.map(row).collect();
    let title = format!("How late sends began, with a sender that {}", shared::pacing(series.pacing));
    (!rows.is_empty()).then(|| Table::of_figures(title, vec!["offered", "p50", "p90", "p99", "p99.9", "max"], rows))
}
