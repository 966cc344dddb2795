//! Levels in words.

use analysis::result::Estimate;
use analysis::result::levels::{BothLoaded, LevelFinding, LevelMetric, LevelUsage, SeriesLevels, Standing, Step};
use model::plan::Factor;

use crate::interval::{self, plus_minus};
use crate::number;
use crate::words::{list, plural};

/// A condition as a heading has it.
pub const fn factor(factor: Factor) -> &'static str {
    match factor {
        Factor::Link => "Link",
        Factor::Load => "Host load",
        Factor::LinkLoad => "Link load",
        Factor::Bulk => "Bulk flows in the background",
        Factor::Priority => "Priority",
        Factor::Placement => "Placement",
        Factor::Senders => "Senders at once",
        Factor::Receivers => "Receivers at once",
        other => other.name(),
    }
}

/// A figure of a stream, or of requests and responses: its name, the head of its column, its writer.
const fn told(compared: LevelMetric, stream: bool) -> (&'static str, &'static str, fn(f64) -> String) {
    match (compared, stream) {
        (LevelMetric::Throughput, true) => ("throughput", "goodput", number::bits),
        (LevelMetric::Throughput, false) => ("transactions a second", "trans./s", number::count),
        (LevelMetric::SenderTime, _) => ("time per message at the sender", "time, sender", number::time),
        (LevelMetric::SenderCpu, true) => ("sender's CPU time per message", "CPU, sender", number::time),
        (LevelMetric::SenderCpu, false) => ("sender's CPU time per transaction", "CPU, sender", number::time),
        (LevelMetric::ReceiverCpu, true) => ("receiver's CPU time per message", "CPU, receiver", number::time),
        (LevelMetric::ReceiverCpu, false) => ("receiver's CPU time per transaction", "CPU, receiver", number::time),
        (LevelMetric::RoundTripP50, _) => ("median round trip", "p50", number::time),
        (LevelMetric::RoundTripP99, _) => ("99th percentile of the round trips", "p99", number::time),
        (LevelMetric::Completion, _) => ("time until all have arrived", "all arrived", number::time),
        (LevelMetric::Fairness, _) => ("fairness of the flows (Jain)", "fairness", times),
        (LevelMetric::Loss, _) => ("share lost", "lost", number::percent),
    }
}

/// A figure in words.
pub const fn compared(compared: LevelMetric, stream: bool) -> &'static str {
    told(compared, stream).0
}

/// The head of its column.
pub const fn head(compared: LevelMetric, stream: bool) -> &'static str {
    told(compared, stream).1
}

/// Writes a figure.
pub const fn writer(compared: LevelMetric, stream: bool) -> fn(f64) -> String {
    told(compared, stream).2
}

/// `2.31`.
pub fn times(ratio: f64) -> String {
    number::significant(ratio, 3)
}

/// `0.52 ±4%`.
pub fn ratio(estimate: Option<&Estimate>) -> String {
    interval::narrow(estimate, times)
}

/// `0.52 (0.50 to 0.54)`.
pub fn between(estimate: &Estimate, write: fn(f64) -> String) -> String {
    interval::spelled(estimate, write, ", not shown")
}

/// Tells if an interval excludes `none`, the mark of no difference.
pub fn is_shown(estimate: &Estimate, none: f64) -> bool {
    estimate.interval.is_some_and(|ends| ends.low > none || ends.high < none)
}

/// A finding in a sentence.
pub fn finding(finding: &LevelFinding) -> String {
    let stream = finding.test.is_stream();
    let ends = finding.ratio.interval.map_or(String::new(), |ends| format!(" ({} to {})", times(ends.low), times(ends.high)));
    let sizes = match (finding.sizes, finding.of) {
        (_, 1) => String::new(),
        (sizes, of) if sizes == of => format!(", and likewise at all {of} sizes"),
        (1, of) => format!(", at this one of {of} sizes"),
        (sizes, of) => format!(", and likewise at {sizes} of {of} sizes"),
    };
    let factor = finding.factor.name().replace('_', " ");
    // A bare number says nothing of what there are so many of.
    let base = if finding.base.starts_with(|letter: char| letter.is_ascii_digit()) {
        format!("{factor} {}", finding.base)
    } else {
        finding.base.clone()
    };
    let sure = if finding.shown { "" } else { ": more than a factor of two by the estimate, not shown by the interval" };
    format!(
        "{} {}: {} times{ends} the {} of {}, {} {} B{sizes}{sure}.",
        factor,
        finding.level,
        times(finding.ratio.value),
        compared(finding.compared, stream),
        base,
        finding.series,
        number::whole(finding.size.get()),
    )
}

/// What there are more and more of on a ladder.
pub const fn unit(factor: Factor) -> &'static str {
    match factor {
        Factor::LinkLoad => "pair",
        Factor::Bulk => "flow",
        Factor::Senders => "sender",
        Factor::Receivers => "receiver",
        _ => "unit",
    }
}

/// Cost of each unit of a ladder.
pub fn steps(factor: Factor, at: &str, steps: &[&Step]) -> String {
    let unit = unit(factor);
    let place = match at {
        "" => String::new(),
        "both" => " at both ends".to_owned(),
        end => format!(" at the {end}"),
    };
    let one = |step: &&Step| {
        let from = plural(u64::from(step.from), unit);
        let what = format!("from {from} to {}", step.to);
        match step.ratio {
            Some(ratio) if is_shown(&ratio, 1.0) && ratio.value < 1.0 => format!("{what} it falls to {}", between(&ratio, number::percent)),
            Some(ratio) if is_shown(&ratio, 1.0) => format!("{what} it rises to {}", between(&ratio, number::percent)),
            Some(ratio) if ratio.interval.is_some() => format!("{what} no change is shown, {}", between(&ratio, number::percent)),
            _ => format!("{what} nothing is shown"),
        }
    };
    format!("Throughput, {unit} by {unit}{place}: {}.", list(&steps.iter().map(one).collect::<Vec<_>>()))
}

/// Both ends against one.
pub fn both(both: &BothLoaded) -> String {
    let units = plural(u64::from(both.units), "unit");
    let what = match &both.ratio {
        Some(ratio) => format!("{units} at both ends: {} times the throughput of as many at the {} alone", between(ratio, times), both.one),
        None => format!("{units} at both ends: nothing is shown against one end alone"),
    };
    let follows = match both.near {
        Standing::Holds => "within 20 % of it, as in 1984",
        Standing::Fails => "not within 20 % of it, as it was in 1984",
        Standing::NotShown => "whether within 20 % of it, as in 1984, is not shown",
    };
    format!("{what}; {follows}.")
}

/// Change of the curve over sizes with the level.
pub fn curves(series: &SeriesLevels) -> Option<String> {
    let of = |wanted: Standing| -> Vec<String> {
        let levels = series.levels.iter().skip(1).filter_map(|level| Some((level, level.curve?)));
        levels
            .filter(|(_, curve)| curve.flatter == wanted)
            .map(|(level, curve)| match curve.against_base {
                Some(Estimate { value, interval: Some(ends), .. }) => {
                    format!("{} ({}; {} to {})", level.name, times(value), times(ends.low), times(ends.high))
                }
                _ => level.name.clone(),
            })
            .collect()
    };
    let (base, small, large) = (series.levels.first()?.curve?, series.sizes.first()?, series.sizes.last()?);
    let mut parts = Vec::new();
    for (wanted, word) in [(Standing::Holds, "flatter"), (Standing::Fails, "steeper"), (Standing::NotShown, "neither shown")] {
        let levels = of(wanted);
        if !levels.is_empty() {
            parts.push(format!("{word} at {}", list(&levels)));
        }
    }
    let rise = format!(
        "{} B carry {} times the goodput of {} B at {}",
        number::whole(large.get()),
        times(base.rise.value),
        number::whole(small.get()),
        series.base()
    );
    (!parts.is_empty()).then(|| format!("The curve over sizes ({rise}), that rise over the base's: {}.", parts.join("; ")))
}

/// On which ladder of units a level stands, and how high: the base on all of them.
/// `None` of one that is no number of units.
pub fn rung(factor: Factor, name: &str) -> Option<(Option<&str>, u32)> {
    match factor {
        Factor::Load if name == "0" => Some((None, 0)),
        Factor::Load => {
            let (end, units) = name.split_once(':')?;
            Some((Some(end), units.parse().ok()?))
        }
        Factor::LinkLoad | Factor::Bulk | Factor::Senders | Factor::Receivers => Some((None, name.parse().ok()?)),
        _ => None,
    }
}

/// CPU time and bandwidth that a level took: heads and figures of a table.
pub fn took(took: &LevelUsage) -> Vec<(&'static str, String)> {
    let cpus = |value: f64| format!("{} CPU", times(value));
    let figure = |estimate: &Option<Estimate>, write: fn(f64) -> String| {
        estimate.as_ref().map(|estimate| format!("{} {}", write(estimate.value), number::tight(&plus_minus(estimate))))
    };
    let all = [
        ("sender's host", figure(&took.sender_cpus, cpus)),
        ("receiver's host", figure(&took.receiver_cpus, cpus)),
        ("pairs' payload", figure(&took.pairs_bit_per_s, number::bits)),
        ("on the wire", figure(&took.pairs_wire_bit_per_s, number::bits)),
        ("of the wire", figure(&took.pairs_wire_share, number::percent)),
        ("bulk payload", figure(&took.bulk_bit_per_s, number::bits)),
    ];
    all.into_iter().filter_map(|(head, text)| Some((head, text?))).collect()
}
