//! Number of messages that a trial needs.

mod chart;

pub use chart::all as charts;

use analysis::result::repetitions::{Advice, CountLine, CountResult, RepetitionSeries, SpreadLaw, Trend};
use analysis::result::{Estimate, RepetitionStudy};

use crate::document::{Block, Part, Rows, Section, Table, Tone};
use crate::interval;
use crate::number::{self, NOTHING};
use crate::studies::AT_TOP;
use crate::studies::glance::{MOST_ROWS, NAME};
use crate::words::plural;

/// Rows that a terminal shows of each series.
const FEW: usize = 6;

/// What each series takes for the precision asked for, and how its trials spread.
pub fn at_a_glance(study: &RepetitionStudy) -> Vec<Block> {
    let spread = |count: Option<&CountResult>| {
        let found = count.and_then(|count| Some((count.count, count.spread?)));
        found.map(|(count, spread)| format!("{} at {}", number::percent(spread.value), number::whole(count)))
    };
    let each = |series: &RepetitionSeries| {
        let CountLine::Fitted { per_message_ns, .. } = &series.line else { return None };
        Some(number::time(per_message_ns.value))
    };
    let mut table = Rows::of(study.series.iter().take(MOST_ROWS))
        .words("", |series| series.series.as_str())
        .figures(("size, B", 9, ["", "size, B"]), |series| number::whole(series.size.get()))
        .words(("messages to use", 20, ["", "messages to use"]), |series| to_use(&series.advice))
        .figures(("spread, fewest", 8, ["", "spread, fewest"]), |series| spread(series.counts.first()))
        .figures(("spread, most", 7, ["", "spread, most"]), |series| spread(series.counts.last()))
        .figures(("a message", 6, ["", "a message"]), each)
        .table()
        .labelled("Messages to use by series", "");
    table.columns[0].cut = Some(NAME);
    let more = study.series.len().saturating_sub(MOST_ROWS);
    let more = if more > 0 { format!(" {}.", plural(more as u64, "more row")) } else { String::new() };
    let legend = format!(
        "To use: for the mean of {} runs within {} at 95 %. Spread: of trials, as a share of their median, at the messages of the row.{more}",
        study.runs,
        number::percent(study.precision)
    );
    vec![table.into(), Block::Aside(legend.into())]
}

/// An advice in few words.
fn to_use(advice: &Advice) -> String {
    match advice {
        Advice::Least { count, .. } => format!("{} (the fewest)", number::whole(*count)),
        Advice::Count { count, .. } => number::whole(count.value.ceil() as u64),
        Advice::MoreRuns { runs, .. } => format!("none; {} runs", number::whole(*runs as u64)),
        Advice::Unknown => "open".to_owned(),
    }
}

/// Makes the section of a study of counts.
pub fn section(study: &RepetitionStudy) -> Section {
    let mut parts = study.series.iter().map(|series| Block::from(part(study, series)));
    let first = parts.next();
    Section::study(
        "repetitions",
        "Repetitions",
        format!(
            "Total time is the receiver's, from the first measured message to the last. The spread of trials is 1.4826 times their median \
             absolute deviation, as a share of the median. The count advised is for the mean of {} runs within {} at 95 %.",
            study.runs,
            number::percent(study.precision)
        ),
        charts(study).into_iter().skip(AT_TOP).collect(),
        first.into_iter().chain(Block::folded("The other series and sizes", parts)),
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
        conclusion: Some((tone(&series.advice), advice(study, series))),
        tables: vec![table(title, &few)],
        notes: vec![line(&series.line)],
        ..Part::default()
    };
    if few.len() < all.len() {
        part.more.push(table(format!("All {} counts", all.len()), &all));
    }
    part.notes.extend(settled(series));
    part.notes.extend(series.law.as_ref().map(law));
    let short: usize = series.counts.iter().map(|count| count.short).sum();
    part.warnings.extend((short > 0).then(|| format!("{} left out: not all of their messages arrived.", plural(short as u64, "trial"))));
    part
}

fn table(title: String, counts: &[&CountResult]) -> Table {
    let row = |count: &&CountResult| {
        let each = count.total_ns.map(|total| number::time(total.value / count.count as f64));
        let spread = count.spread.map_or(NOTHING.to_owned(), |spread| interval::spelled(&spread, number::percent, ""));
        vec![
            number::whole(count.count),
            interval::narrow(count.total_ns.as_ref(), number::time),
            each.unwrap_or_else(|| NOTHING.to_owned()),
            spread,
            count.total_ns.map_or(0, |total| total.n).to_string(),
        ]
    };
    Table::of_figures(title, vec!["messages", "total", "per message", "spread", "trials"], counts.iter().map(row).collect())
}

fn between(estimate: &Estimate, write: impl Fn(f64) -> String) -> String {
    interval::spelled(estimate, write, " (no interval)")
}

/// Messages, to the next whole one.
fn messages(count: f64) -> String {
    number::significant(count.ceil(), 3)
}

/// Tone of an advice.
const fn tone(advice: &Advice) -> Tone {
    match advice {
        Advice::Least { .. } | Advice::Count { .. } => Tone::Good,
        Advice::MoreRuns { .. } | Advice::Unknown => Tone::Open,
    }
}

/// The count to use.
fn advice(study: &RepetitionStudy, series: &RepetitionSeries) -> String {
    let aim = format!("for {} with {} runs", number::percent(study.precision), study.runs);
    match &series.advice {
        Advice::Least { count, shown } => {
            let why = if *shown {
                "the smallest count measured is enough"
            } else {
                "the smallest count measured is enough by the estimates, not by its interval"
            };
            format!("Use {} messages or more {aim}: {why}.", number::whole(*count))
        }
        Advice::Count { count, beyond } => {
            let far =
                if *beyond { ", which is beyond what was measured: the law of the spread drawn on" } else { ", by the law of the spread" };
            format!("Use {} messages {aim}{far}.", between(count, messages))
        }
        Advice::MoreRuns { spread, trend, runs } => {
            let (spread, of) = (number::percent(*spread), format!("{} with {} runs", number::percent(study.precision), study.runs));
            let what = match trend {
                Trend::Stays => format!("No count gives {of}: the spread stays at {spread} however many messages a run has."),
                Trend::Falls => {
                    format!("No count near those measured gives {of}: the spread falls with the count, but slowly, to {spread}.")
                }
                Trend::Open => {
                    format!("No count measured gives {of}: the spread is {spread}, and whether it falls with the count is not shown.")
                }
            };
            format!("{what} At that spread it takes some {} runs.", number::whole(*runs as u64))
        }
        Advice::Unknown => "Too few trials were measured to advise a count.".to_owned(),
    }
}

/// The line of total time.
fn line(line: &CountLine) -> String {
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
fn settled(series: &RepetitionSeries) -> Option<String> {
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
fn law(law: &SpreadLaw) -> String {
    let exponent = |value: f64| number::significant(value, 2);
    format!(
        "The spread goes as count^-k with k = {}, from {} at 1,000 messages; k = 0.5 where messages scatter each by itself, 0 where the count \
         does not matter.",
        between(&law.exponent, exponent),
        between(&law.at_thousand, number::percent)
    )
}
