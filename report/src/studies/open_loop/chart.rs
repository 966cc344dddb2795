//! Rates as pictures: latency against the rate, and the percentiles of a few rates.

use analysis::result::open_loop::{OpenLoopSeries, RateResult};
use analysis::result::{Analysis, CellResult, Latency, OpenLoopStudy};

use super::{knee, per_second, saturation};
use crate::document::Figure;
use crate::document::figure::{Panel, SizeAxis, Trace};
use crate::number;
use crate::series::percentile;
use crate::studies::charts::bounded;

/// Two pictures for each series of round trips at several rates.
pub fn all(study: &OpenLoopStudy, analysis: &Analysis) -> Vec<Figure> {
    let drawn = study.series.iter().filter(|series| series.rates.len() > 1 && series.rates.iter().any(|rate| !rate.corrected.is_empty()));
    drawn.enumerate().flat_map(|(place, series)| [against_rate(place, series, analysis), curves(place, series)]).collect()
}

/// Name of a curve, its times, and the percentile.
type Curve = (&'static str, fn(&CellResult) -> Option<&Latency>, f64);

const CURVES: [Curve; 4] = [
    ("p50 from due", |cell| cell.latency.as_ref(), 50.0),
    ("p50 from sent", |cell| cell.uncorrected.as_ref(), 50.0),
    ("p99 from due", |cell| cell.latency.as_ref(), 99.0),
    ("p99 from sent", |cell| cell.uncorrected.as_ref(), 99.0),
];

fn against_rate(place: usize, series: &OpenLoopSeries, analysis: &Analysis) -> Figure {
    let trace = |(at, (name, of, percent)): (usize, &Curve)| {
        let points = series.rates.iter().filter_map(|rate| {
            let found = percentile(of(analysis.cells.get(rate.cell)?), *percent)?;
            Some((rate.offered_per_s, bounded(per_second(rate.offered_per_s), found), found.estimate))
        });
        Trace::measured(name, at, points, 1e-9, number::time)
    };
    let traces: Vec<Trace> = CURVES.iter().enumerate().map(trace).collect();
    let ends = [series.rates.first(), series.rates.last()].map(|rate| rate.map_or(1.0, |rate| rate.offered_per_s));
    Figure {
        id: format!("rates-{place}").into(),
        title: format!("Latency against offered rate, {}, {} B", series.series, number::whole(series.size.get())).into(),
        caption: "From when requests were due, and from when they were sent. Where the two part, requests wait for those before them."
            .into(),
        alt: format!("Latency against offered rate. {}", knee(series, analysis).unwrap_or_else(|| saturation(series))),
        sizes: Some(SizeAxis::of_numbers("offered, a second", ends[0], ends[1], true)),
        panels: vec![Panel::of("round trip", "s").joined(true)],
        traces,
    }
}

/// The smallest rate, the largest that was reached, and the smallest that was not.
fn telling(series: &OpenLoopSeries) -> Vec<&RateResult> {
    let is = |wanted: Option<f64>| series.rates.iter().find(|rate| wanted == Some(rate.offered_per_s));
    let mut rates: Vec<&RateResult> =
        [series.rates.first(), is(series.saturation.reached_per_s), is(series.saturation.missed_per_s)].into_iter().flatten().collect();
    rates.dedup_by_key(|rate| rate.cell);
    rates
}

fn curves(place: usize, series: &OpenLoopSeries) -> Figure {
    let rates = telling(series);
    let due = rates.iter().map(|rate| (*rate, "due", &rate.corrected));
    // Where a rate is not reached, the two ways of counting part.
    let sent = rates.last().map(|rate| (*rate, "sent", &rate.uncorrected));
    let trace = |(place, (rate, from, curve)): (usize, (&RateResult, &str, &Vec<[f64; 2]>))| {
        let name = format!("{} from {from}", per_second(rate.offered_per_s));
        let percent = |percent: f64| if percent < 100.0 { format!("p{percent}") } else { "max".to_owned() };
        let points = curve.iter().map(|[at, ns]| (percent(*at), ns * 1e-9, percent(*at), number::time(*ns)));
        Trace::points(&name, place, points)
    };
    let traces = due.chain(sent).enumerate().map(trace).collect();
    Figure {
        id: format!("curves-{place}").into(),
        title: format!("Percentiles of a few rates, {}, {} B", series.series, number::whole(series.size.get())).into(),
        caption:
            "The smallest rate, the largest that was reached and the smallest that was not, from when requests were due; of the last also from when they were sent."
                .into(),
        alt: format!(
            "Percentiles of round trips at {}.",
            telling(series).iter().map(|rate| per_second(rate.offered_per_s)).collect::<Vec<_>>().join(", ")
        ),
        sizes: None,
        panels: vec![Panel::of("round trip", "s").joined(true)],
        traces,
    }
}
