//! Separate runs, compared with the first, or several of a kind with several others.
//!
//! A change of the machine between them cannot be distinguished from a difference of the
//! runs: there is no drift protection, and every verdict is to be read with that. Where
//! there are several runs on each side, each of them counts as one value, so that what a
//! run has by chance is part of the test.

use std::collections::{HashMap, HashSet};

use model::Cell;
use serde::Serialize;

use crate::cost::CostModel;
use crate::metric::Metric;
use crate::studies::receipt::ReceiptComparison;
use crate::table::{CellTrials, TrialTable};
use crate::verdict::{Conclusion, Design, Options, Side, SideComparison, Sides, compare_sides, conclude};

/// The version of [`RunsCompared`] as JSON.
pub const COMPARISON_FORMAT: u32 = 1;

/// A cell of the plan in one arm.
type Key<'a> = (&'a Cell, Option<&'a str>);

/// The figures of two sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FiguresCompared {
    /// Labels of the cells that all runs have, with their arms, in the order of the first run's plan.
    pub cells: Vec<String>,
    /// Labels of what not all runs have: of the baseline's runs, of the candidate's.
    pub unpaired: [Vec<String>; 2],
    /// Everything that the two show.
    #[serde(flatten)]
    pub compared: SideComparison,
}

/// One run, or several together, compared with others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunsCompared {
    /// The ids of the runs compared with.
    pub baseline: Vec<String>,
    /// The ids of the runs that are judged.
    pub candidate: Vec<String>,
    /// Differences of hosts, kernels and settings, to which a difference may be due.
    pub differences: Vec<String>,
    /// Differences that no trial notices.
    pub slight: Vec<String>,
    /// The figures.
    pub figures: FiguresCompared,
    /// The receipts, where both have any; of one run on each side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipts: Option<ReceiptComparison>,
}

/// Several runs compared with the first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunComparison {
    /// [`COMPARISON_FORMAT`].
    pub format: u32,
    /// One a candidate.
    pub comparisons: Vec<RunsCompared>,
    /// The gravest of them.
    pub conclusion: Conclusion,
}

impl RunComparison {
    /// The comparison of all candidates.
    pub fn from_candidates(comparisons: Vec<RunsCompared>) -> Self {
        let conclusion = conclude(comparisons.iter().map(|one| one.figures.compared.conclusion));
        Self { format: COMPARISON_FORMAT, comparisons, conclusion }
    }
}

/// Demands on a comparison of runs.
#[derive(Debug, Clone, Copy)]
pub struct Demands<'a> {
    /// A verdict needs an estimate beyond this share.
    pub threshold: f64,
    /// The confidence of verdicts and intervals.
    pub confidence: f64,
    /// The metrics that the conclusion follows from.
    pub gate: &'a [Metric],
    /// True where a conclusion may follow from one run on each side.
    pub trust_single_runs: bool,
}

impl Demands<'_> {
    fn options(&self, design: Design) -> Options {
        let Self { threshold, confidence, trust_single_runs, .. } = *self;
        Options { threshold, confidence, design, trust_single_runs, ..Options::default() }
    }
}

/// Compares the cells that all runs have, in the same arm: run with run by their blocks,
/// or where a side has several, runs with runs.
///
/// `models` are the baseline's. Holm's procedure takes all cells of the gate's metrics
/// into account ([`crate::verdict::compare_all`]).
pub fn compare_runs<'a>(runs: [&[&'a TrialTable]; 2], models: &[CostModel], demands: &Demands) -> FiguresCompared {
    let measured = runs.map(|side| side.iter().map(|table| measured(table)).collect::<Vec<_>>());
    let found = measured.each_ref().map(|side| {
        let known = side.iter().map(|cells| cells.iter().copied().collect::<HashMap<Key<'a>, &'a CellTrials>>());
        known.collect::<Vec<_>>()
    });
    let of_all = |key: &Key| found.iter().flatten().all(|cells| cells.contains_key(key));
    let first = measured.iter().flatten().next().map_or(&[][..], Vec::as_slice);
    let both: Vec<Key> = first.iter().map(|(key, _)| *key).filter(of_all).collect();
    let mut sides = Sides::default();
    for key in &both {
        sides.cells.push(found.each_ref().map(|side| side.iter().map(|cells| cells[key].figures.as_slice()).collect()));
        sides.offered.push(key.0.rate.is_some());
    }
    for (side, tables) in [Side::Baseline, Side::Candidate].into_iter().zip(runs) {
        for (run, table) in tables.iter().copied().enumerate() {
            sides.modelled.extend(table.arm(0).iter().map(|cell| (side, run, &cell.cell, cell.figures.as_slice())));
        }
    }
    let design = if runs.iter().all(|side| side.len() < 2) { Design::Separate } else { Design::Runs };
    let mut compared = compare_sides(std::slice::from_ref(&sides), models, demands.gate, &demands.options(design)).swap_remove(0);
    let unpaired = |side: &[Vec<(Key, &CellTrials)>]| {
        let mut known: HashSet<Key> = both.iter().copied().collect();
        side.iter().flatten().filter(|(key, _)| known.insert(*key)).map(|(key, _)| label(*key)).collect::<Vec<_>>()
    };
    let unpaired = measured.each_ref().map(|side| unpaired(side));
    if !unpaired[0].is_empty() {
        // Of a cell that the candidate did not measure nothing is known.
        compared.conclusion = compared.conclusion.max(Conclusion::Inconclusive);
    }
    FiguresCompared { cells: both.iter().map(|key| label(*key)).collect(), unpaired, compared }
}

/// The cells that have trials, in the plan's order, each arm of a cell after the
/// other.
fn measured(table: &TrialTable) -> Vec<(Key<'_>, &CellTrials)> {
    let of_cell = |(place, cell)| {
        let arms = table.arm_names().into_iter().enumerate();
        arms.map(move |(arm, name)| ((cell, name), &table.arm(arm)[place]))
    };
    table.cells().iter().enumerate().flat_map(of_cell).filter(|(_, trials)| !trials.figures.is_empty()).collect()
}

fn label((cell, arm): Key) -> String {
    arm.map_or_else(|| cell.to_string(), |arm| format!("{cell}, {arm}"))
}

#[cfg(test)]
mod tests {
    use super::{Demands, FiguresCompared, RunComparison, RunsCompared, compare_runs};
    use crate::metric::Metric;
    use crate::table::TrialTable;
    use crate::testing::two_cells;
    use crate::verdict::{Conclusion, Design, Verdict};
    use model::Pass;

    const DEMANDS: Demands = Demands { threshold: 0.02, confidence: 0.95, gate: &[Metric::TimePerMessageNs], trust_single_runs: true };

    fn held(a: &TrialTable, b: &TrialTable, demands: &Demands) -> FiguresCompared {
        compare_runs([&[a], &[b]], &[], demands)
    }

    #[test]
    fn one_run_on_each_side_is_no_ground_for_a_conclusion() {
        let (usual, slow) = (run(9, 1.0, Pass::Clean), run(9, 1.1, Pass::Clean));
        let compared = held(&usual, &slow, &Demands { trust_single_runs: false, ..DEMANDS }).compared;
        assert_eq!((compared.conclusion, compared.metrics[0].comparison.cells[0].verdict), (Conclusion::Inconclusive, Verdict::Worse));
    }

    /// Trials whose elapsed time is `factor` of the usual.
    fn run(blocks: u32, factor: f64, pass: Pass) -> TrialTable {
        two_cells(blocks, pass, |_, _| factor).into_table()
    }

    #[test]
    fn a_slower_run_is_worse_and_an_equal_one_is_not() {
        let (usual, slow) = (run(9, 1.0, Pass::Clean), run(9, 1.1, Pass::Clean));
        let worse = held(&usual, &slow, &DEMANDS);
        assert_eq!((worse.compared.conclusion, worse.cells.len()), (Conclusion::Against, 2));
        assert_eq!(worse.compared.metrics[0].comparison.cells[0].verdict, Verdict::Worse);
        assert_eq!(held(&slow, &usual, &DEMANDS).compared.conclusion, Conclusion::Done);
        assert_eq!(held(&usual, &usual, &DEMANDS).compared.conclusion, Conclusion::Done);
    }

    /// Runs scatter by 1 %: two that differ by 1.5 % are nothing, ten times that is.
    #[test]
    fn several_runs_are_compared_with_several() {
        let runs = |factor: f64| [0.99, 1.0, 1.01].map(|chance| run(9, factor * chance, Pass::Clean));
        let compared = |a: &[TrialTable], b: &[TrialTable]| {
            let [a, b] = [a, b].map(|side| side.iter().collect::<Vec<_>>());
            compare_runs([&a, &b], &[], &Demands { trust_single_runs: false, ..DEMANDS })
        };
        let usual = runs(1.0);
        let slow = compared(&usual, &runs(1.15));
        assert_eq!((slow.compared.conclusion, slow.cells.len()), (Conclusion::Against, 2));
        let found = &slow.compared.metrics[0];
        assert_eq!((found.comparison.design, found.comparison.cells[0].ratio.unwrap().n), (Design::Runs, 3));
        let scatter = found.scatter.unwrap();
        assert!(scatter.runs == [3, 3] && (scatter.between - 0.01).abs() < 0.001 && scatter.within < 0.005, "{scatter:?}");
        let near = compared(&usual, &runs(1.015));
        assert_eq!(near.compared.conclusion, Conclusion::Inconclusive);
        // One run on a side does not tell how runs scatter.
        let lone = compared(&usual, &[run(9, 1.15, Pass::Clean)]);
        assert_eq!(lone.compared.conclusion, Conclusion::Inconclusive);
        let verdict = lone.compared.metrics[0].comparison.cells[0].verdict;
        assert_eq!(verdict, Verdict::NotEnoughBlocks { blocks: 1, missing: 1 });
    }

    #[test]
    fn too_few_blocks_and_other_passes_show_nothing() {
        let few = held(&run(2, 1.0, Pass::Clean), &run(2, 1.5, Pass::Clean), &DEMANDS);
        assert_eq!(few.compared.conclusion, Conclusion::Inconclusive);
        let other = held(&run(9, 1.0, Pass::Clean), &run(9, 1.5, Pass::Time), &DEMANDS);
        assert_eq!((other.compared.conclusion, other.cells.len(), other.unpaired[0].len()), (Conclusion::Inconclusive, 0, 2));
    }

    #[test]
    fn the_gravest_counts() {
        let (usual, slow) = (run(9, 1.0, Pass::Clean), run(9, 1.1, Pass::Clean));
        let one = |candidate: &TrialTable| RunsCompared {
            baseline: vec!["a".into()],
            candidate: vec!["b".into()],
            differences: vec![],
            slight: vec![],
            figures: held(&usual, candidate, &DEMANDS),
            receipts: None,
        };
        assert_eq!(RunComparison::from_candidates(vec![one(&usual), one(&slow)]).conclusion, Conclusion::Against);
        assert_eq!(RunComparison::from_candidates(vec![]).conclusion, Conclusion::Inconclusive);
    }
}
