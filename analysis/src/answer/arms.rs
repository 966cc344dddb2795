//! The answer of a run with arms: each candidate against the baseline; of several, which is the cheapest.

use super::notation::{change, list, plural, span, with_span};
use super::pair::{CellChange, Pair};
use super::places::Places;
use super::sweep::{caveat, untouched};
use super::{Answer, Direction, Ending, Grade, invalid};
use crate::metric::Metric;
use crate::studies::Analysis;
use crate::studies::verdicts::ArmVerdict;
use crate::verdict::MetricComparison;

/// CPU times, which are of processes alone.
const CPU_TIMES: [Metric; 3] = [Metric::CpuPerMessageNs, Metric::SenderCpuPerMessageNs, Metric::ReceiverCpuPerMessageNs];

/// The answer of a run with arms.
pub fn of(analysis: &Analysis) -> Answer {
    let mut answers = each(analysis);
    match answers.len() {
        1 => answers.remove(0),
        _ => several(analysis, &answers),
    }
}

/// The cells of a run in words.
fn places(analysis: &Analysis) -> Places {
    Places::new(&analysis.cells.iter().map(|cell| &cell.cell).collect::<Vec<_>>())
}

/// The answer of each candidate of a run with arms, in the order of the plan.
pub fn each(analysis: &Analysis) -> Vec<Answer> {
    let (places, verdicts) = (places(analysis), analysis.verdicts());
    let baseline = verdicts.first().map(|first| first.baseline.as_str());
    let names: Vec<&str> = baseline.into_iter().chain(verdicts.iter().map(|one| one.candidate.as_str())).collect();
    let question = format!("{}{}", names.join(" | "), places.tail());
    let answer = |verdict: &ArmVerdict| -> Answer {
        let pair = Pair {
            names: [&verdict.baseline, &verdict.candidate],
            compared: &verdict.compared,
            places: &places,
            alike: &verdict.alike,
            is_self_test: verdict.is_self_test,
            times_invalid: invalid::of_times(analysis),
        };
        let mut answer = Answer { next: pair.next(analysis), caveat: caveat(analysis), ..pair.answer(question.clone()) };
        let is_cpu = |metric: &MetricComparison| CPU_TIMES.contains(&metric.metric);
        if answer.grade == Grade::Settled && verdict.compared.metrics.iter().filter(|metric| metric.gate).all(is_cpu) {
            answer.reason = untouched(analysis, &answer.reason);
        }
        let looks = analysis.run.pooled.as_ref().map_or(0, |pooled| pooled.runs.len()) + 1;
        let shown = answer.parts.iter().any(|part| matches!(part.direction, Direction::Better | Direction::Worse));
        let first = (looks > 1 && shown).then(|| format!("Look {looks}: a first estimate that is significant is usually too large."));
        Answer { caveat: first.or(answer.caveat), ..answer }
    };
    verdicts.iter().map(answer).collect()
}

/// The answer of several arms against the first: which is the cheapest.
fn several(analysis: &Analysis, answers: &[Answer]) -> Answer {
    let (places, verdicts) = (places(analysis), analysis.verdicts());
    let question = answers.first().map_or_else(String::new, |first| first.question.clone());
    let judged = |verdict: &ArmVerdict| {
        let lead = verdict.compared.metrics.first()?;
        let of = match lead.comparison.cells.as_slice() {
            [one] => *one,
            _ => lead.comparison.overall.mean,
        };
        Some((verdict.candidate.clone(), CellChange::new(0, &of, lead.comparison.threshold), lead.metric))
    };
    let mut seen: Vec<(String, CellChange, Metric)> = verdicts.iter().filter_map(judged).collect();
    let (count, baseline) = (verdicts.len() + 1, verdicts.first().map_or("", |first| first.baseline.as_str()));
    let metric = seen.first().map_or(Metric::CpuPerMessageNs, |(.., metric)| *metric);
    let at = match places.cells.as_slice() {
        [_] => format!(" at {}", places.name(0)),
        cells => format!(", mean of {}", plural(cells.len() as u64, places.word)),
    };
    let best = seen.iter().filter(|(_, one, _)| one.direction == Direction::Better).map(|(_, one, _)| one.change).reduce(f64::min);
    let place = best.and_then(|best| seen.iter().position(|(_, one, _)| one.direction == Direction::Better && one.change <= best));
    let first = place.map(|place| seen.remove(place));
    let of = |direction: Direction| -> Vec<String> {
        let wanted = seen.iter().filter(|(_, one, _)| one.direction == direction);
        wanted
            .map(|(name, one, _)| match direction {
                Direction::Open => format!("{name}{}", one.interval.map_or_else(String::new, |ends| format!(" ({})", span(ends)))),
                _ => format!("{name} {}", change(one.change)),
            })
            .collect()
    };
    let mut rest = String::new();
    for (direction, word) in [(Direction::Better, ""), (Direction::Worse, ""), (Direction::Same, " the same"), (Direction::Open, " open")] {
        let all = of(direction);
        rest += &if all.is_empty() { String::new() } else { format!("; {}{word}", list(&all)) };
    }
    let cheapest = if metric == Metric::CpuPerMessageNs { "Cheapest" } else { "Best" };
    let headline = match &first {
        Some((name, one, _)) => format!("{cheapest} of {count}{at}: {name}, {} against {baseline}{rest}.", with_percent(one)),
        None => format!("No arm of {count} is shown to be better than {baseline}{at}{rest}."),
    };
    let brief = first.as_ref().map_or_else(|| "none better".to_owned(), |(name, one, _)| format!("{name}: {}", change(one.change)));
    let (grade, reason) = Grade::of_all(answers);
    let gravest = answers.iter().filter_map(|one| one.exit.clone()).max_by_key(|one| match one.code {
        3 => 2,
        4 => 1,
        _ => 0,
    });
    let named = |(answer, verdict): (&Answer, &ArmVerdict)| {
        answer.exit.clone().filter(|exit| Some(exit) == gravest.as_ref()).map(|_| verdict.candidate.clone())
    };
    let who: Vec<String> = answers.iter().zip(verdicts).filter_map(named).collect();
    let exit = gravest.as_ref().map(|exit| Ending {
        reason: if exit.code == 0 { exit.reason.clone() } else { format!("{} {}", list(&who), exit.reason) },
        ..exit.clone()
    });
    let next = answers.iter().filter(|one| one.grade != Grade::Settled).find_map(|one| one.next.clone());
    let parts = answers.iter().flat_map(|one| one.parts.clone()).collect();
    Answer { parts, brief, exit, next, ..Answer::new(question, headline, grade, reason) }
}

/// `−77 % (−80 to −75)`.
fn with_percent(one: &CellChange) -> String {
    with_span(one.change, one.interval)
}
