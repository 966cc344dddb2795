//! The answer of a study of counts: how many messages a trial takes for the precision asked for.

use super::notation::{amount, plural, size, whole};
use super::sweep::{LEAST_BLOCKS, caveat, too_few};
use super::{Answer, Grade, Part, next};
use crate::studies::Analysis;
use crate::studies::repetitions::{Advice, RepetitionSeries, RepetitionStudy};

/// Series that a headline names.
const MOST_NAMED: usize = 2;

/// The answer.
pub fn of(analysis: &Analysis, study: &RepetitionStudy) -> Answer {
    let question = format!("messages of a trial, {} % with {}", amount(study.precision), plural(study.runs as u64, "run"));
    let (grade, reason) = grade(analysis.blocks, &study.series);
    let clauses: Vec<String> = study.series.iter().take(MOST_NAMED).map(clause).collect();
    let more = study.series.len().saturating_sub(clauses.len());
    let more = if more > 0 { format!(" {more} more series.") } else { String::new() };
    let headline = format!(
        "For {} % with {}: {}.{more}",
        amount(study.precision),
        plural(study.runs as u64, "run"),
        if clauses.is_empty() { "nothing was measured".to_owned() } else { clauses.join("; ") }
    );
    let brief = study.series.first().map_or_else(|| "nothing".to_owned(), |first| advice(&first.advice));
    let part = |series: &RepetitionSeries| {
        let (value, interval) = match &series.advice {
            Advice::Least { count, .. } => (*count as f64, None),
            Advice::Count { count, .. } => (count.value, count.interval.map(|ends| [ends.low, ends.high])),
            Advice::MoreRuns { .. } | Advice::Unknown => return None,
        };
        Some(Part { interval, ..Part::figure(&series.series, None, Some(series.size), value) })
    };
    let parts = study.series.iter().filter_map(part).collect();
    let next = (grade != Grade::Settled && !study.series.is_empty()).then(|| match analysis.blocks < LEAST_BLOCKS {
        true => next::missing(analysis, LEAST_BLOCKS as usize),
        false => next::halve(analysis, "know the spread better"),
    });
    Answer { parts, brief, next, caveat: caveat(analysis), ..Answer::new(question, headline, grade, reason) }
}

/// `TCP_STREAM (nodelay), 512 B, takes 12,000 messages`.
fn clause(series: &RepetitionSeries) -> String {
    format!("{}, {}, takes {}", series.series, size(series.size), advice(&series.advice))
}

fn advice(advice: &Advice) -> String {
    match advice {
        Advice::Least { count, .. } => format!("{} messages or fewer", whole(*count)),
        Advice::Count { count, .. } => format!("{} messages", whole(count.value.ceil() as u64)),
        Advice::MoreRuns { runs, .. } => format!("{} runs of any count", whole(*runs as u64)),
        Advice::Unknown => "an unknown number".to_owned(),
    }
}

/// Settled is a count whose interval bears it; rough one of estimates, or beyond what was measured.
fn grade(blocks: u32, all: &[RepetitionSeries]) -> (Grade, String) {
    if blocks < LEAST_BLOCKS {
        return too_few(blocks);
    }
    let is_settled = |series: &&RepetitionSeries| match &series.advice {
        Advice::Least { shown, .. } => *shown,
        Advice::Count { count, beyond } => !beyond && count.interval.is_some(),
        Advice::MoreRuns { .. } | Advice::Unknown => false,
    };
    let is_open = |series: &&RepetitionSeries| matches!(series.advice, Advice::MoreRuns { .. } | Advice::Unknown);
    let settled = all.iter().filter(is_settled).count();
    let grade = match settled {
        settled if settled == all.len() => Grade::Settled,
        _ if all.iter().filter(is_open).count() == all.len() => Grade::Open,
        _ => Grade::Rough,
    };
    (grade, format!("a count is shown for {settled} of {}", plural(all.len() as u64, "case")))
}
