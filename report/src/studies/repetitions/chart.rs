//! Counts as pictures: total time and its line, and the spread.

use analysis::group_by;
use analysis::result::RepetitionStudy;
use analysis::result::repetitions::{CountLine, RepetitionSeries};

use crate::document::Figure;
use crate::document::figure::{Panel, SizeAxis, Trace};
use crate::number;

/// For each series, all sizes in one: total time against count, and the spread
/// against it.
pub fn all(study: &RepetitionStudy) -> Vec<Figure> {
    let series = group_by(&study.series, |series| series.series.as_str());
    series.into_iter().enumerate().flat_map(|(place, (name, members))| of_series(place, name, &members)).collect()
}

fn of_series(place: usize, name: &str, members: &[&RepetitionSeries]) -> [Figure; 2] {
    let counts = || members.iter().flat_map(|series| &series.counts).map(|count| count.count as f64);
    let (least, most) = (counts().fold(f64::INFINITY, f64::min), counts().fold(0.0, f64::max));
    let size = |series: &RepetitionSeries| format!("{} B", number::whole(series.size.get()));
    let mut totals = Vec::new();
    let mut spreads = Vec::new();
    for (at, series) in members.iter().enumerate() {
        totals.push(measured(series, at, |count| count.total_ns, 1e-9, number::time));
        totals.extend(line(series, at, most));
        spreads.push(measured(series, at, |count| count.spread, 1.0, number::percent));
    }
    let slopes: Vec<String> = members
        .iter()
        .filter_map(|series| match &series.line {
            CountLine::Fitted { per_message_ns, .. } => Some(format!("{}: {} a message", size(series), number::time(per_message_ns.value))),
            CountLine::None { .. } => None,
        })
        .collect();
    let chart = |id: String, title: String, caption: &str, alt: String, panel, traces| Figure {
        id: id.into(),
        title: title.into(),
        caption: caption.to_owned(),
        alt,
        sizes: Some(SizeAxis::of_numbers("messages of a trial", least, most, false)),
        panels: vec![panel],
        traces,
    };
    [
        chart(
            format!("totals-{place}"),
            format!("Total time against count, {name}"),
            "Marks are medians over trials, dotted the robust line through them: its slope is the time of a message.",
            format!("Total time against count for {name}. {}.", slopes.join(", ")),
            Panel::of("total time", "s"),
            totals,
        ),
        chart(
            format!("spreads-{place}"),
            format!("Spread against count, {name}"),
            "How far trials of one count lie apart, as a share of their median. Where it no longer falls, longer trials are of no avail.",
            format!("Spread of the trials against count for {name}."),
            Panel::of("spread", "%").joined(true),
            spreads,
        ),
    ]
}

fn measured(
    series: &RepetitionSeries,
    place: usize,
    of: fn(&analysis::result::repetitions::CountResult) -> Option<analysis::result::Estimate>,
    scale: f64,
    write: fn(f64) -> String,
) -> Trace {
    let name = format!("{} B", number::whole(series.size.get()));
    let points =
        series.counts.iter().filter_map(|count| Some((count.count as f64, format!("{} messages", number::whole(count.count)), of(count)?)));
    Trace::measured(&name, place, points, scale, write)
}

/// Steps of the line: enough to be smooth on a logarithmic axis.
const STEPS: i32 = 24;

fn line(series: &RepetitionSeries, place: usize, most: f64) -> Option<Trace> {
    let CountLine::Fitted { per_message_ns, fixed_ns, .. } = &series.line else { return None };
    let least = series.counts.iter().map(|count| count.count as f64).fold(most, f64::min);
    let steps = (0..=STEPS).map(|step| least * (most / least).powf(f64::from(step) / f64::from(STEPS)));
    let point = |count: f64| (count, Some((fixed_ns.value + per_message_ns.value * count) * 1e-9));
    Some(Trace::line("", place, std::iter::once(0.0).chain(steps).map(point)))
}
