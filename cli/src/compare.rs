//! `nettoll compare`.

use std::path::Path;

use analysis::receipt::compare_studies;
use analysis::result::Analysis;
use analysis::runs::{Demands, RunComparison, RunsCompared, compare_runs};
use analysis::table::TrialTable;
use lab::host_diff;
use model::Plan;

use crate::args::{CompareArgs, RulesArgs};
use crate::exit::{Exit, Failure};
use crate::rules::{self, Own};
use crate::{output, report, version};

/// A run as far as it is compared.
struct One {
    analysis: Analysis,
    trials: TrialTable,
}

/// Compares runs with the first, and says what follows.
///
/// # Errors
/// A run that cannot be read, or a page that cannot be written.
pub fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    let rules = rules::load(&RulesArgs { rules: args.rules.clone(), show_rules: false })?;
    let runs: Vec<One> = args.runs.iter().map(|path| read(path, rules.as_ref())).collect::<Result<_, _>>()?;
    let Some((baseline, candidates)) = runs.split_first() else { return Err(Failure::misuse("give at least two runs")) };
    let between = RunComparison::from_candidates(candidates.iter().map(|candidate| held(baseline, candidate, args)).collect());
    if let Some(place) = &args.html {
        let page = ::report::verdict::html(&between, version::SHORT);
        output::page(place, &page)?;
    }
    let text = match (args.json, args.markdown) {
        (true, _) => ::report::verdict::json(&between),
        (_, true) => ::report::verdict::markdown(&between),
        _ => ::report::verdict::terminal(&between, output::style()),
    };
    output::styled(&text)?;
    if let Some(place) = args.html.as_ref().filter(|_| !args.json && !args.markdown) {
        output::write(&format!("\nReport: {}", place.display()))?;
    }
    Ok(Exit::of(between.conclusion))
}

fn read(path: &Path, rules: Option<&Own>) -> Result<One, Failure> {
    let (analysis, trials) = report::collect(path, rules)?.finish_with_table();
    Ok(One { analysis, trials })
}

fn held(baseline: &One, candidate: &One, args: &CompareArgs) -> RunsCompared {
    let [a, b] = [&baseline.analysis, &candidate.analysis];
    let host_diff::Differences { grave, slight } = host_diff::compare(&a.hosts, &b.hosts);
    let receipts = a.receipt().zip(b.receipt()).map(|(a, b)| compare_studies(a, b));
    let demands = Demands {
        threshold: args.threshold,
        confidence: a.run.plan.blocks.confidence,
        gate: &args.gate,
        trust_single_runs: args.trust_single_runs,
    };
    RunsCompared {
        baseline: a.run.id.clone(),
        candidate: b.run.id.clone(),
        differences: settings(&a.run.plan, &b.run.plan).into_iter().chain(grave).collect(),
        slight,
        figures: compare_runs(&baseline.trials, &candidate.trials, a.models(), &demands),
        receipts,
    }
}

/// Settings in which two plans differ; their cells are compared one by one.
fn settings(a: &Plan, b: &Plan) -> Vec<String> {
    let words = |plan: &Plan| {
        [
            ("the link", format!("{:?}", plan.link)),
            ("the extent of a trial", format!("{:?} after {}", plan.end, plan.warmup)),
            ("the CPUs asked for", format!("{:?}", plan.cpus)),
            (
                "the distance of samples",
                plan.receipt.map_or("none".to_owned(), |receipt| receipt.period.map_or("chosen".to_owned(), |period| period.to_string())),
            ),
        ]
    };
    let pairs = words(a).into_iter().zip(words(b));
    pairs.filter(|((_, a), (_, b))| a != b).map(|((what, a), (_, b))| format!("{what} was {a}, is {b}")).collect()
}
