//! The answer of a study of conditions: how far a level moves what goes through, or a round trip, from its base.

use model::plan::Factor;
use model::sorting::Order;
use stats::estimate::Estimate;

use super::notation::{amount, change, list, message, plural, with_span};
use super::sweep::{LEAST_BLOCKS, caveat, ends, too_few};
use super::{Answer, Direction, Grade, Part, next};
use crate::metric::Metric;
use crate::studies::Analysis;
use crate::studies::levels::{LevelMetric, SeriesLevels};

/// A change that is none to name, as a share.
const SMALL: f64 = 0.1;

/// The level of a series that is farthest from its base.
struct Farthest<'a> {
    factor: Factor,
    series: &'a SeriesLevels,
    level: &'a str,
    metric: Metric,
    ratio: Estimate,
}

/// What levels of a series are compared by: streams by what goes through, the others by the median round trip.
const fn compared(series: &SeriesLevels) -> (LevelMetric, Metric) {
    match series.test.is_stream() {
        true => (LevelMetric::Throughput, Metric::GoodputBitPerS),
        false => (LevelMetric::RoundTripP50, Metric::RoundTripP50Ns),
    }
}

/// The answer.
pub fn of(analysis: &Analysis) -> Answer {
    let factors = analysis.levels().map_or(&[][..], |study| &study.factors);
    let all = || factors.iter().flat_map(|factor| factor.series.iter().map(move |series| (factor.factor, series)));
    let names: Vec<String> = factors.iter().map(|factor| factor.factor.name().replace('_', " ")).collect();
    let question = format!("levels of {}", list(&names));
    let ratios = |series: &SeriesLevels| -> Vec<Option<Estimate>> {
        series.levels.iter().skip(1).map(|level| level.figures.get(&compared(series).0)?.mean).collect()
    };
    let ratios: Vec<Option<Estimate>> = all().flat_map(|(_, series)| ratios(series)).collect();
    let (grade, reason) = grade(analysis.blocks, &ratios);
    let mut farthest: Vec<Farthest> = all().filter_map(|(factor, series)| farthest(factor, series)).collect();
    // What is shown comes first.
    let is_open = |one: &Farthest| ends(&one.ratio).is_none_or(|[low, high]| low <= 1.0 && high >= 1.0);
    farthest.order_by(|a, b| is_open(a).cmp(&is_open(b)).then(distance(&b.ratio).total_cmp(&distance(&a.ratio))));
    let more = farthest.len().saturating_sub(1);
    let more = if more > 0 { format!(" {more} more.") } else { String::new() };
    let text = farthest.first().map_or_else(String::new, clause);
    let mut letters = text.chars();
    let headline = match letters.next() {
        Some(first) => format!("{}{}.{more}", first.to_uppercase(), letters.as_str()),
        None => "No level was measured.".to_owned(),
    };
    let brief = farthest.first().map_or_else(|| "nothing".to_owned(), |one| format!("{}: {}", level(one), change(one.ratio.value - 1.0)));
    let parts = farthest.iter().map(part).collect();
    let next = (grade != Grade::Settled && !farthest.is_empty()).then(|| match analysis.blocks < LEAST_BLOCKS {
        true => next::missing(analysis, LEAST_BLOCKS as usize),
        false => next::halve(analysis, "halve the intervals"),
    });
    Answer { parts, brief, next, caveat: caveat(analysis), ..Answer::new(question, headline, grade, reason) }
}

/// How far a ratio is from 1, by its logarithm.
fn distance(ratio: &Estimate) -> f64 {
    ratio.value.ln().abs()
}

fn farthest(factor: Factor, series: &SeriesLevels) -> Option<Farthest<'_>> {
    let (compared, metric) = compared(series);
    let levels = series.levels.iter().skip(1);
    let known = levels.filter_map(|level| Some((level.name.as_str(), level.figures.get(&compared)?.mean?)));
    let (level, ratio) = known.filter(|(_, ratio)| ratio.value > 0.0).max_by(|a, b| distance(&a.1).total_cmp(&distance(&b.1)))?;
    Some(Farthest { factor, series, level, metric, ratio })
}

/// `load sender:1`, `8 senders`.
fn level(one: &Farthest) -> String {
    match one.factor.is_of_hosts() {
        true => format!("{} {}", one.level, one.factor),
        false => format!("{} {}", one.factor.name().replace('_', " "), one.level),
    }
}

/// `load both:1 changes the goodput of UDP messages by −86 % (−97 to −49)`.
fn clause(one: &Farthest) -> String {
    let message = message(one.series.test);
    let what = if one.series.test.is_stream() { format!("goodput of {message}s") } else { format!("median {message}") };
    let settings = one.series.series.split_once(" (").map_or_else(String::new, |(_, settings)| format!(" ({settings}"));
    let ends = ends(&one.ratio).map(|ends| ends.map(|end| end - 1.0));
    let shown = ends.is_some_and(|[low, high]| low > 0.0 || high < 0.0);
    let verb = match (shown, one.factor.is_of_hosts()) {
        (true, true) => "change",
        (false, true) => "are not shown to change",
        (true, false) => "changes",
        (false, false) => "is not shown to change",
    };
    let by = if shown { " by" } else { ":" };
    format!("{} {verb} the {what}{settings}{by} {}", level(one), with_span(one.ratio.value - 1.0, ends))
}

fn part(one: &Farthest) -> Part {
    let better = (one.ratio.value > 1.0) == one.series.test.is_stream();
    let shown = ends(&one.ratio).is_some_and(|[low, high]| low > 1.0 || high < 1.0);
    Part {
        against: Some(one.series.base().to_owned()),
        interval: ends(&one.ratio).map(|ends| ends.map(|end| end - 1.0)),
        direction: match (shown, better) {
            (false, _) => Direction::Open,
            (true, true) => Direction::Better,
            (true, false) => Direction::Worse,
        },
        ..Part::figure(one.level, Some(one.metric), None, one.ratio.value - 1.0)
    }
}

/// Settled is a level that is shown to change something, or to change it by little.
fn grade(blocks: u32, ratios: &[Option<Estimate>]) -> (Grade, String) {
    let known: Vec<[f64; 2]> = ratios.iter().flatten().filter_map(ends).collect();
    if blocks < LEAST_BLOCKS && known.len() < ratios.len() {
        return too_few(blocks);
    }
    let little = (1.0 / (1.0 + SMALL), 1.0 + SMALL);
    let settled = known.iter().filter(|[low, high]| *low > 1.0 || *high < 1.0 || *low > little.0 && *high < little.1).count();
    let grade = match settled {
        0 => Grade::Open,
        all if all == ratios.len() => Grade::Settled,
        _ => Grade::Rough,
    };
    let levels = plural(ratios.len() as u64, "level");
    (grade, format!("at {settled} of {levels} the interval excludes 0 or lies within ±{} %", amount(SMALL)))
}
