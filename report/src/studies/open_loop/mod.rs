//! Rates that were offered.

mod chart;

pub use chart::all as charts;

use analysis::answer::notation::digits;
use analysis::result::open_loop::{Claim, OpenLoopSeries, RateResult};
use analysis::result::{Analysis, Latency, OpenLoopStudy, Percentile};

use crate::document::{Block, Kind, Part, Rows, Section, Table, Tone};
use crate::number::{self, NOTHING, tight};
use crate::series::percentile;
use crate::studies::AT_TOP;
use crate::studies::glance::{MOST_ROWS, NAME, figure, places, unit};
use crate::{interval, words as shared};

/// A rate with what was measured at it, or the closed loop next to which it stands.
#[derive(Clone, Copy)]
struct Row<'a> {
    /// The series, where it is its first row.
    series: &'a str,
    rate: Option<&'a RateResult>,
    latency: Option<&'a Latency>,
    uncorrected: Option<&'a Latency>,
}

/// Round trips by rate: medians and 99th percentiles. `None` of a run that offers no rate to round trips.
pub fn round_trips_at_a_glance(analysis: &Analysis) -> Option<Vec<Block>> {
    let study = analysis.open_loop()?;
    let trips: Vec<&OpenLoopSeries> = study.series.iter().filter(|series| !series.test.is_stream()).collect();
    let mut rows: Vec<Row> = Vec::new();
    for series in &trips {
        let closed = series.closed.and_then(|place| analysis.cells.get(place));
        rows.extend(closed.map(|cell| Row {
            series: &series.series,
            rate: None,
            latency: cell.latency.as_ref(),
            uncorrected: cell.latency.as_ref(),
        }));
        rows.extend(series.rates.iter().filter_map(|rate| {
            let cell = analysis.cells.get(rate.cell)?;
            Some(Row { series: &series.series, rate: Some(rate), latency: cell.latency.as_ref(), uncorrected: cell.uncorrected.as_ref() })
        }));
    }
    if rows.is_empty() {
        return None;
    }
    let mut shown: Vec<Row> = places(rows.len(), MOST_ROWS).into_iter().map(|place| rows[place]).collect();
    let left = rows.len() - shown.len();
    // A series is named in its first row.
    for place in (1..shown.len()).rev() {
        if shown[place].series == shown[place - 1].series {
            shown[place].series = "";
        }
    }
    let medians = shown.iter().filter_map(|row| percentile(row.latency, 50.0)).map(|found| found.estimate.value);
    let (factor, unit) = unit(&medians.collect::<Vec<_>>());
    let time = |latency: Option<&Latency>, percent: f64| match percentile(latency, percent) {
        Some(found) if found.at_least => interval::at_least(&digits(found.estimate.value / factor)),
        found => figure(found.map(|found| &found.estimate), factor),
    };
    let sent = |row: &Row| row.rate.and_then(|rate| rate.sent_per_s).map(|sent| digits(sent.value));
    let kept = |row: &Row| match row.rate.and_then(|rate| rate.reached) {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "",
    };
    let [p50, p99] = [50, 99].map(|percent| format!("p{percent}, {unit}"));
    let mut table = Rows::of(&shown)
        .column_if(trips.len() > 1, "", Kind::Words, |row| row.series)
        .figures(("offered/s", 12, ["", "offered/s"]), |row| row.rate.map_or("closed".to_owned(), |rate| digits(rate.offered_per_s)))
        .figures(("sent/s", 8, ["", "sent/s"]), sent)
        .words(("kept", 11, ["", "kept"]), kept)
        .figures((p50.as_str(), 9, ["", p50.as_str()]), |row| time(row.latency, 50.0))
        .figures((p99.as_str(), 10, ["", p99.as_str()]), |row| time(row.latency, 99.0))
        .figures(("p99, when sent", 7, ["", "p99, when sent"]), |row| time(row.uncorrected, 99.0))
        .table()
        .labelled("Round trips by rate", "");
    if trips.len() > 1 {
        table.columns[0].cut = Some(NAME);
    }
    let more = if left > 0 { format!(" {}.", shared::plural(left as u64, "more row")) } else { String::new() };
    let legend = format!("From when a request was due; closed: of a client that waits for each answer. ≥: no upper end.{more}");
    Some(vec![table.into(), Block::Aside(legend.into())])
}

/// Series of streams that the answer names.
const MOST_STREAMS: usize = 3;

/// Which rates streams kept; none without streams by the clock.
pub fn streams_at_a_glance(study: &OpenLoopStudy) -> Option<Block> {
    let streams = study.series.iter().filter(|series| series.test.is_stream()).take(MOST_STREAMS);
    let kept = |series: &OpenLoopSeries| format!("{}, {} B: {}", series.series, number::whole(series.size.get()), saturation(series));
    Block::sentences(streams.map(kept))
}

/// Makes the section of a study of rates.
pub fn section(study: &OpenLoopStudy, analysis: &Analysis) -> Section {
    Section::study(
        "open-loop",
        "Offered rates",
        "A rate is reached where all but 1 % of its schedule was sent in time. Round trips count from when a request was due, and next to that \
               from when it was sent, which is all that a client sees who waits for each answer (coordinated omission). Trials are merged, never \
               averaged."
            .to_owned(),
        charts(study, analysis).into_iter().skip(AT_TOP).collect(),
        study.series.iter().map(|series| part(series, analysis).into()),
    )
    .folded("Every rate: percentiles, when sent, and how late sends were")
}

fn part(series: &OpenLoopSeries, analysis: &Analysis) -> Part {
    let tone = if series.saturation.missed_per_s.is_some() { Tone::Open } else { Tone::Good };
    let mut part = Part {
        heading: format!("{}, {} B, by the clock", series.series, number::whole(series.size.get())),
        conclusion: Some((tone, saturation(series))),
        tables: vec![sent(series)],
        notes: knee(series, analysis).into_iter().collect(),
        ..Part::default()
    };
    part.notes.extend(missing(series, analysis));
    part.tables.extend(round_trips(series, analysis));
    part.tables.extend(lateness(series, analysis));
    part
}

fn offered(rate: &RateResult) -> String {
    per_second(rate.offered_per_s)
}

fn sent(series: &OpenLoopSeries) -> Table {
    let row = |rate: &RateResult| {
        let sent = interval::narrow(rate.sent_per_s.as_ref(), number::count);
        let behind = rate.behind.map_or(NOTHING.to_owned(), |behind| number::percent(behind.value));
        let reached = match rate.reached {
            Some(true) => "reached",
            Some(false) => "NOT reached",
            None => NOTHING,
        };
        vec![offered(rate), sent, behind, reached.to_owned()]
    };
    let rows = series.rates.iter().map(row).collect();
    Table::of_verdicts("What was offered and what was sent", vec!["offered", "sent/s", "sent late", "rate"], rows)
}

/// Percentiles and the longest of all.
fn times(name: String, from: &str, latency: Option<&Latency>) -> Vec<String> {
    let mut row = vec![name, from.to_owned()];
    for percent in [50.0, 90.0, 99.0, 99.9] {
        row.push(interval::narrow_time(percentile(latency, percent)));
    }
    row.push(latency.map_or(NOTHING.to_owned(), |latency| {
        let longest = number::time(latency.max_ns as f64);
        tight(&if latency.missing > 0 { interval::at_least(&longest) } else { longest })
    }));
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

/// Table of how late sends were.
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

/// Requests that have no round trip, rate by rate.
fn missing(series: &OpenLoopSeries, analysis: &Analysis) -> Option<String> {
    let of = |rate: &RateResult| {
        let latency = analysis.cells.get(rate.cell)?.latency.as_ref().filter(|latency| latency.missing > 0)?;
        let all = latency.missing.saturating_add(latency.transactions);
        Some(format!("{} of {} at {}", number::whole(latency.missing), number::whole(all), offered(rate)))
    };
    let rates: Vec<String> = series.rates.iter().filter_map(of).collect();
    (!rates.is_empty()).then(|| {
        format!(
            "Some requests that were due were never sent or never answered: {}. They count as longer than any round trip of their \
             trial; ≥ marks a percentile that lies among them.",
            rates.join(", ")
        )
    })
}

/// Messages or transactions a second.
fn per_second(rate: f64) -> String {
    format!("{}/s", number::significant(rate, 4))
}

/// Up to which rate the series kept to its schedule.
fn saturation(series: &OpenLoopSeries) -> String {
    let found = &series.saturation;
    let most = found.most_sent_per_s.map_or(String::new(), |most| {
        format!("; the most that was sent is {} {}", per_second(most.value), tight(&interval::plus_minus(&most)))
    });
    match found.claim(&series.rates.iter().map(|rate| rate.reached).collect::<Vec<_>>()) {
        Claim::Between { reached, missed } => format!("Kept up to {} and saturated at {}{most}.", per_second(reached), per_second(missed)),
        Claim::All { largest } => format!("Every rate was reached, up to {}: at which it saturates was not measured.", per_second(largest)),
        Claim::One { rate } => format!("The one rate offered, {}, was reached.", per_second(rate)),
        Claim::Up { reached } => format!("Kept up to {}; of a rate beyond it nothing was measured.", per_second(reached)),
        Claim::NoneReached { smallest } => format!("Not even the smallest rate, {}, was reached{most}.", per_second(smallest)),
        Claim::Missed { rate } => format!("{} was not reached{most}; of a smaller rate nothing was measured.", per_second(rate)),
        Claim::Nothing => "Nothing was measured.".to_owned(),
    }
}

/// Rate at which corrected times leave uncorrected ones.
fn knee(series: &OpenLoopSeries, analysis: &Analysis) -> Option<String> {
    let p99 = |place: usize| -> Option<[Percentile; 2]> {
        let cell = analysis.cells.get(place)?;
        Some([*percentile(cell.latency.as_ref(), 99.0)?, *percentile(cell.uncorrected.as_ref(), 99.0)?])
    };
    let at = series.rates.iter().find(|rate| Some(rate.offered_per_s) == series.knee_per_s);
    match at {
        Some(rate) => {
            let [due, sent] = p99(rate.cell)?;
            let time = |found: &Percentile| {
                let time = number::time(found.estimate.value);
                if found.at_least { format!("at least {time}") } else { time }
            };
            Some(format!(
                "From {} on the 99th percentile from when requests were due leaves the one from when they were sent: {} against {}. Beyond that \
                 rate requests queue, and a closed loop does not see it.",
                per_second(rate.offered_per_s),
                time(&due),
                time(&sent)
            ))
        }
        None => series.rates.iter().any(|rate| p99(rate.cell).is_some()).then(|| {
            "At no rate, or not up to the largest, is the 99th percentile from when requests were due shown to be beyond twice the one from when \
             they were sent."
                .to_owned()
        }),
    }
}
