//! The answer of a study of ways: which one is the cheapest, and what share of the plain one it costs.

use model::Bytes;

use super::notation::{amount, list, plural, size, time, way};
use super::sweep::{LEAST_BLOCKS, caveat, ends, untouched};
use super::{Answer, Direction, Grade, Part, next};
use crate::metric::Metric;
use crate::studies::Analysis;
use crate::studies::ways::{Way, WaySeries};

impl Way {
    /// Its name.
    pub fn name(&self) -> String {
        way(self.api, self.receive, self.batch)
    }
}

/// Sizes next to each other with the same cheapest way.
struct Stretch {
    way: usize,
    first: usize,
    last: usize,
    apart: bool,
}

/// The answer.
pub fn of(analysis: &Analysis) -> Answer {
    let all = analysis.ways().map_or(&[][..], |study| &study.series);
    let judged: Vec<bool> = all.iter().flat_map(|series| &series.cheapest).flatten().map(|one| one.ties.is_empty()).collect();
    let apart = judged.iter().filter(|apart| **apart).count();
    let sizes = plural(judged.len() as u64, "size");
    let (grade, mut reason) = match (apart, judged.len()) {
        (0, _) => (Grade::Open, "the cheapest way is apart from the next at no size".to_owned()),
        (all, of) if all == of => (Grade::Settled, format!("the cheapest way is apart from the next at {apart} of {sizes}")),
        _ => (Grade::Rough, format!("the cheapest way is apart from the next at {apart} of {sizes}")),
    };
    if grade == Grade::Settled {
        reason = untouched(analysis, &reason);
    }
    let sentences: Vec<String> = all.iter().map(|series| sentence(series, all.len() > 1)).collect();
    let headline = if judged.is_empty() { "Nothing was measured.".to_owned() } else { sentences.join(" ") };
    let parts = all.iter().flat_map(parts).collect();
    let brief =
        all.first().and_then(|series| stretches(series).into_iter().max_by_key(|one| one.last - one.first).map(|one| (series, one)));
    let brief = brief.map_or_else(
        || "nothing".to_owned(),
        |(series, one)| {
            let share = share(series, &one).map_or_else(String::new, |share| format!(": {share}"));
            format!("{}{share}", series.ways[one.way].name())
        },
    );
    let next = (grade != Grade::Settled && !judged.is_empty()).then(|| match analysis.blocks < LEAST_BLOCKS {
        true => next::missing(analysis, LEAST_BLOCKS as usize),
        false => next::halve(analysis, "halve the intervals"),
    });
    let spans: Vec<String> = all.iter().map(|series| format!("{} {}", test(series), span(&series.sizes))).collect();
    let question = format!("ways, {}", list(&spans));
    Answer { parts, brief, next, caveat: caveat(analysis), ..Answer::new(question, headline, grade, reason) }
}

/// `UDP` of `UDP_STREAM`.
fn test(series: &WaySeries) -> String {
    series.series.replace("_STREAM", "").replace('_', " ")
}

/// `64 to 1,472 B`.
fn span(sizes: &[Bytes]) -> String {
    match (sizes.first(), sizes.last()) {
        (Some(first), Some(last)) if first != last => {
            let (first, last) = (size(*first), size(*last));
            // One unit is said once.
            let bare = first.strip_suffix(" B").filter(|_| last.ends_with(" B"));
            format!("{} to {last}", bare.unwrap_or(&first))
        }
        (Some(one), _) => size(*one),
        _ => String::new(),
    }
}

fn stretches(series: &WaySeries) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    for (place, cheapest) in series.cheapest.iter().enumerate() {
        let Some(cheapest) = cheapest else { continue };
        let apart = cheapest.ties.is_empty();
        match found.last_mut() {
            Some(last) if last.way == cheapest.way && last.apart == apart => last.last = place,
            _ => found.push(Stretch { way: cheapest.way, first: place, last: place, apart }),
        }
    }
    found
}

/// Both ends of some values, or the one: `20 to 23`.
fn range(values: impl Iterator<Item = f64> + Clone, write: impl Fn(f64) -> String) -> Option<String> {
    let (least, most) = (values.clone().reduce(f64::min)?, values.reduce(f64::max)?);
    let [least, most] = [least, most].map(write);
    Some(if least == most { most } else { format!("{least} to {most}") })
}

/// What a stretch saves of the base's cost: `77 to 80 % less than send`, at one size with its interval; `None` of the base.
fn share(series: &WaySeries, stretch: &Stretch) -> Option<String> {
    let (way, base) = (&series.ways[stretch.way], series.ways[0].name());
    let shares = || (stretch.first..=stretch.last).filter_map(|place| way.of_base.get(place)?.as_ref());
    let saved = range(shares().map(|found| 1.0 - found.value), amount).filter(|_| stretch.way > 0)?;
    Some(match (shares().count(), shares().find_map(ends)) {
        (1, Some([low, high])) if low <= 1.0 && high >= 1.0 => format!("not shown to differ from {base}"),
        (1, Some([low, high])) => format!("{saved} % less than {base} ({}–{})", amount(1.0 - high), amount(1.0 - low)),
        _ => format!("{saved} % less than {base}"),
    })
}

fn sentence(series: &WaySeries, is_one_of_several: bool) -> String {
    let stretches = stretches(series);
    let whole = stretches.len() == 1;
    let clause = |stretch: &Stretch| {
        let way = &series.ways[stretch.way];
        let at = match whole {
            true if series.sizes.len() > 1 => ", at every size".to_owned(),
            true => String::new(),
            false => format!(" at {}", span(&series.sizes[stretch.first..=stretch.last])),
        };
        let costs = (stretch.first..=stretch.last).filter_map(|place| way.cost_ns.get(place)?.as_ref()).map(|found| found.value);
        let cost = range(costs, time).map_or_else(String::new, |cost| format!(", {cost} of CPU (both ends)"));
        let share = share(series, stretch).map_or_else(String::new, |share| format!(", {share}"));
        let ties = series.cheapest[stretch.first].as_ref().map_or(0, |cheapest| cheapest.ties.len());
        let apart = if stretch.apart { String::new() } else { format!(", not apart from {}", others(series, stretch, ties)) };
        format!("{}{at}{}{share}{apart}", way.name(), if whole { cost } else { String::new() })
    };
    let subject = if is_one_of_several { test(series) } else { format!("{}, {}", test(series), span(&series.sizes)) };
    format!("Cheapest way to send {subject}: {}.", stretches.iter().map(clause).collect::<Vec<_>>().join("; "))
}

/// Ways that are not shown to cost more.
fn others(series: &WaySeries, stretch: &Stretch, ties: usize) -> String {
    let named = series.cheapest[stretch.first].iter().flat_map(|cheapest| &cheapest.ties).take(2);
    let named: Vec<String> = named.filter_map(|way| series.ways.get(*way)).map(Way::name).collect();
    if ties > named.len() { plural(ties as u64, "other") } else { list(&named) }
}

fn parts(series: &WaySeries) -> Vec<Part> {
    let part = |(place, cheapest): (usize, &Option<crate::studies::ways::Cheapest>)| {
        let cheapest = cheapest.as_ref()?;
        let way = &series.ways[cheapest.way];
        let found = way.cost_ns.get(place)?.as_ref()?;
        Some(Part {
            against: Some(series.ways[0].name()),
            interval: ends(found),
            direction: if cheapest.ties.is_empty() { Direction::Better } else { Direction::Open },
            ..Part::figure(way.name(), Some(Metric::CpuPerMessageNs), series.sizes.get(place).copied(), found.value)
        })
    };
    series.cheapest.iter().enumerate().filter_map(part).collect()
}
