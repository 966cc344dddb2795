//! Counts in words.

use analysis::result::repetitions::{Advice, CountLine, RepetitionSeries, SpreadLaw};
use analysis::result::{Estimate, RepetitionStudy};

use crate::document::Tone;
use crate::number;

fn between(estimate: &Estimate, write: impl Fn(f64) -> String) -> String {
    match estimate.interval {
        Some(ends) => format!("{} ({} to {})", write(estimate.value), write(ends.low), write(ends.high)),
        None => format!("{} (no interval)", write(estimate.value)),
    }
}

/// Messages, to the next whole one.
fn messages(count: f64) -> String {
    number::significant(count.ceil(), 3)
}

/// How an advice is to be taken.
pub const fn tone(advice: &Advice) -> Tone {
    match advice {
        Advice::Least { .. } | Advice::Count { .. } => Tone::Good,
        Advice::MoreRuns { .. } | Advice::Unknown => Tone::Open,
    }
}

/// The count to use.
pub fn advice(study: &RepetitionStudy, series: &RepetitionSeries) -> String {
    let aim = format!("for {} with {} runs", number::percent(study.precision), study.runs);
    match &series.advice {
        Advice::Least { count } => format!("Use {} messages or more {aim}: the smallest count measured is enough.", number::whole(*count)),
        Advice::Count { count, beyond } => {
            let far =
                if *beyond { ", which is beyond what was measured: the law of the spread drawn on" } else { ", by the law of the spread" };
            format!("Use {} messages {aim}{far}.", between(count, messages))
        }
        Advice::MoreRuns { spread, runs } => format!(
            "No count gives {} with {} runs: the spread stays at {} however many messages a run has. It takes some {} runs.",
            number::percent(study.precision),
            study.runs,
            number::percent(*spread),
            number::whole(*runs as u64)
        ),
        Advice::Unknown => "Too few trials were measured to advise a count.".to_owned(),
    }
}

/// The line of total time.
pub fn line(line: &CountLine) -> String {
    match line {
        CountLine::Fitted { per_message_ns, fixed_ns, worst_residual } => format!(
            "Total time is {} and {} for each message; no count is farther than {} from that line.",
            between(fixed_ns, number::time),
            between(per_message_ns, |ns| format!("{} ns", number::significant(ns, 4))),
            number::percent(*worst_residual)
        ),
        CountLine::None { reason } => format!("No line is put through the totals: {reason}."),
    }
}

/// From which count on the spread stays.
pub fn settled(series: &RepetitionSeries) -> Option<String> {
    let most = series.counts.last()?.count;
    let settled = series.settled?;
    Some(match settled == most {
        true => format!(
            "Up to the largest count, {}, the spread is shown to be larger before it: it may not have settled.",
            number::whole(most)
        ),
        false => {
            format!("From {} messages on no spread is shown to be larger than that of {}.", number::whole(settled), number::whole(most))
        }
    })
}

/// The law of the spread.
pub fn law(law: &SpreadLaw) -> String {
    let exponent = |value: f64| number::significant(value, 2);
    format!(
        "The spread goes as count^-k with k = {}, from {} at 1,000 messages; k = 0.5 where messages scatter each by itself, 0 where the count \
         does not matter.",
        between(&law.exponent, exponent),
        between(&law.at_thousand, number::percent)
    )
}
