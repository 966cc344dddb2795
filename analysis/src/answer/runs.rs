//! The answer of runs that are compared with each other.

use super::next::{Next, quoted, short};
use super::notation::{plural, verb};
use super::pair::Pair;
use super::places::Places;
use super::{Answer, Ending, Grade, Part};
use crate::runs::{RunComparison, RunsCompared};
use crate::verdict::Conclusion;

/// The answer of a comparison of runs; of several candidates the gravest leads.
pub fn between(between: &RunComparison) -> Answer {
    let mut answers = each(between);
    if answers.len() == 1 {
        return answers.remove(0);
    }
    let question = format!("compare {} runs", answers.len() + 1);
    let gravest = between.comparisons.iter().zip(&answers).max_by_key(|(one, _)| one.figures.compared.conclusion).map(|(_, answer)| answer);
    let Some(gravest) = gravest.cloned() else {
        return Answer::new(question, "No runs were compared.", Grade::Open, "no run was compared");
    };
    let (grade, reason) = Grade::of_all(&answers);
    let parts: Vec<Part> = answers.iter().flat_map(|one| one.parts.clone()).collect();
    Answer { question, grade, reason, parts, ..gravest }
}

/// The answer of each candidate.
pub fn each(between: &RunComparison) -> Vec<Answer> {
    between.comparisons.iter().map(one).collect()
}

fn one(runs: &RunsCompared) -> Answer {
    let [baseline, candidate] = [&runs.baseline, &runs.candidate].map(|ids| match ids.as_slice() {
        [one] => short(one).to_owned(),
        [first, rest @ ..] => format!("{} and {} more", short(first), rest.len()),
        [] => String::new(),
    });
    let question = format!("compare {baseline} | {candidate}");
    let figures = &runs.figures;
    if figures.cells.is_empty() {
        let headline = format!("{candidate} and {baseline} have no cell in common: nothing can be compared.");
        let exit = Ending { code: Conclusion::Inconclusive.exit_code(), reason: "no cell in common".to_owned() };
        return Answer { exit: Some(exit), ..Answer::new(question, headline, Grade::Open, "the runs have no cell in common") };
    }
    let places = Places::of_labels(&figures.cells);
    let pair = Pair {
        names: [&baseline, &candidate],
        compared: &figures.compared,
        places: &places,
        alike: &[],
        is_self_test: false,
        times_invalid: false,
    };
    let mut answer = pair.answer(question);
    let missing = figures.unpaired.iter().map(Vec::len).sum::<usize>();
    if missing > 0 && answer.grade == Grade::Settled && figures.compared.conclusion == Conclusion::Inconclusive {
        answer.grade = Grade::Rough;
        answer.reason = format!("{} {} in one of the runs only", plural(missing as u64, "cell"), verb(missing as u64, "is", "are"));
    }
    let sides = [&runs.baseline, &runs.candidate].map(|ids| ids.iter().map(|id| quoted(short(id))).collect::<Vec<_>>().join(","));
    answer.next = (answer.grade != Grade::Settled).then(|| match runs.baseline.len().min(runs.candidate.len()) {
        1 => Next::advice(format!(
            "Measure two more runs on each side, in turns, and compare all: nettoll compare {},A2,A3 {},B2,B3",
            sides[0], sides[1]
        )),
        _ => Next::advice(format!("Measure more runs on each side, in turns: nettoll compare {},A {},B", sides[0], sides[1])),
    });
    answer
}
