//! The answer of a study that offers rates: the round trips at the largest rate that was kept, and
//! the rate that can be carried.

use super::notation::{message, plural, size, time, time_in, whole};
use super::sweep::{caveat, ends, width};
use super::{Answer, Grade, Part, next};
use crate::latency::{Latency, Percentile};
use crate::metric::Metric;
use crate::studies::Analysis;
use crate::studies::open_loop::{OpenLoopSeries, RateResult};

/// Times beyond a percentile that a settled one takes.
const LEAST_BEYOND: f64 = 100.0;

/// The percentile that is asked for unless it has none: of 99 in a hundred.
const ASKED: f64 = 99.0;

/// Returns whether a run is asked for round trips at rates.
pub fn is_asked(analysis: &Analysis) -> bool {
    analysis.open_loop().is_some_and(|study| study.series.iter().any(|series| !series.test.is_stream()))
}

/// The answer.
pub fn of(analysis: &Analysis) -> Answer {
    let all = analysis.open_loop().map_or(&[][..], |study| &study.series);
    let Some(series) = all.iter().find(|series| !series.test.is_stream()) else {
        return Answer::new("latency", "Nothing was measured.", Grade::Open, "no trial was measured");
    };
    let question = format!("latency, {} of {}", message(series.test), size(series.size));
    let kept = series.rates.iter().rev().find(|rate| rate.reached == Some(true)).or(series.rates.first());
    let latency = kept.and_then(|rate| analysis.cells.get(rate.cell)?.latency.as_ref());
    let (Some(rate), Some(latency)) = (kept, latency) else {
        return Answer::new(question, "No round trip was measured.", Grade::Open, "no trial was measured");
    };
    let percentile = |percent: f64| latency.percentiles.iter().find(|one| (one.percent - percent).abs() < 1e-6);
    let Some(asked) = percentile(ASKED) else {
        return Answer::new(question, "No round trip was measured.", Grade::Open, "no percentile is known");
    };
    let (grade, reason) = grade(latency, asked);
    let median = percentile(50.0).map_or_else(String::new, |median| format!(", median {}", figure(median)));
    let headline = format!(
        "At {}/s a {} of {} has a p99 of {}{median}.{}",
        whole(rate.offered_per_s.round() as u64),
        message(series.test),
        size(series.size),
        figure(asked),
        carried(series, rate)
    );
    let subject = format!("{}/s", whole(rate.offered_per_s.round() as u64));
    let part = |one: &Percentile, metric| Part {
        interval: ends(&one.estimate),
        ..Part::figure(subject.as_str(), Some(metric), Some(series.size), one.estimate.value)
    };
    let parts = percentile(50.0).map(|one| part(one, Metric::RoundTripP50Ns)).into_iter().chain([part(asked, Metric::RoundTripP99Ns)]);
    let next = (grade != Grade::Settled).then(|| match asked.at_least {
        true => {
            next::Next::advice("Offer lower rates: requests that were not answered in time are the slowest, and how slow is not known.")
        }
        false => next::halve(analysis, "halve the interval"),
    });
    let brief = format!("p99 {} at {}/s", figure(asked), whole(rate.offered_per_s.round() as u64));
    Answer { parts: parts.collect(), brief, next, caveat: caveat(analysis), ..Answer::new(question, headline, grade, reason) }
}

fn figure(found: &Percentile) -> String {
    match found.at_least {
        true => format!("at least {}", time(found.estimate.value)),
        false => time_in(found.estimate.value, ends(&found.estimate)),
    }
}

fn grade(latency: &Latency, asked: &Percentile) -> (Grade, String) {
    let beyond = (latency.transactions + latency.missing) as f64 * (1.0 - asked.percent / 100.0);
    if asked.at_least {
        return (Grade::Open, "requests without an answer decide the p99".to_owned());
    }
    let Some(width) = width(&asked.estimate) else {
        return (Grade::Open, format!("no interval of the p99; {} beyond it", plural(beyond as u64, "round trip")));
    };
    let known = format!("the ends of the p99's interval are a factor of {width:.2} apart");
    match width {
        width if width <= 1.25 && beyond > LEAST_BEYOND => (Grade::Settled, known),
        width if width <= 1.25 => {
            let beyond = plural(beyond as u64, "round trip");
            (Grade::Rough, format!("{known}; {beyond} beyond it, settled needs more than {LEAST_BEYOND}"))
        }
        width if width <= 2.0 => (Grade::Rough, format!("{known}; settled needs 1.25")),
        _ => (Grade::Open, format!("{known}; rough needs 2")),
    }
}

/// What the series can carry, where a rate was missed.
fn carried(series: &OpenLoopSeries, shown: &RateResult) -> String {
    let rate = |per_s: f64| whole(per_s.round() as u64);
    match (series.saturation.reached_per_s, series.saturation.missed_per_s) {
        (Some(reached), Some(missed)) => format!(" It carries {}/s and not {}/s.", rate(reached), rate(missed)),
        (None, Some(missed)) => format!(" It does not carry {}/s.", rate(missed)),
        (Some(_), None) if series.rates.len() > 1 => format!(" It carries every rate offered, up to {}/s.", rate(shown.offered_per_s)),
        _ => String::new(),
    }
}
