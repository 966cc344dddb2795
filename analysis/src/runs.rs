//! Separate runs, compared with the first.
//!
//! A change of the machine between them cannot be told from a difference of the
//! runs: there is no drift protection, and every verdict is to be read with that.

use std::collections::HashMap;

use model::Cell;
use serde::Serialize;

use crate::cost::CostModel;
use crate::metric::Metric;
use crate::studies::receipt::ReceiptComparison;
use crate::table::{CellTrials, TrialTable};
use crate::verdict::{Arm, Compared, Conclusion, Design, Options, Sides, compare_sides, conclude};

/// The version of [`RunsCompared`] as JSON.
pub const COMPARISON_FORMAT: u32 = 1;

/// A cell of the plan in one arm.
type Key<'a> = (&'a Cell, Option<&'a str>);

/// The figures of two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FiguresCompared {
    /// Labels of the cells that both have, with their arms, in the order of the first run's plan.
    pub cells: Vec<String>,
    /// Labels of what only one of them has: the first, the second.
    pub unpaired: [Vec<String>; 2],
    /// Everything that the two show.
    #[serde(flatten)]
    pub compared: Compared,
}

/// One run compared with another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunsCompared {
    /// The id of the run compared with.
    pub baseline: String,
    /// The id of the run that is judged.
    pub candidate: String,
    /// Differences of hosts, kernels and settings, to which a difference may be due.
    pub differences: Vec<String>,
    /// Differences that no trial notices.
    pub slight: Vec<String>,
    /// The figures.
    pub figures: FiguresCompared,
    /// The receipts, where both have any.
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
    const fn options(&self) -> Options {
        let Self { threshold, confidence, trust_single_runs, .. } = *self;
        Options { threshold, confidence, design: Design::Separate, trust_single_runs }
    }
}

/// Compares the cells that both runs have, in the same arm.
///
/// `models` are the baseline's. Holm's procedure takes all cells of the gate's metrics
/// into account ([`crate::verdict::compare_all`]).
pub fn compare_runs(baseline: &TrialTable, candidate: &TrialTable, models: &[CostModel], demands: &Demands) -> FiguresCompared {
    let [ours, theirs] = [baseline, candidate].map(measured);
    let [known, others] = [&ours, &theirs].map(|cells| cells.iter().copied().collect::<HashMap<Key, &CellTrials>>());
    let both: Vec<_> = ours.iter().filter_map(|(key, trials)| Some((*key, [*trials, *others.get(key)?]))).collect();
    let modelled = |side: Arm, table| TrialTable::arm(table, 0).iter().map(move |cell| (side, &cell.cell, cell.figures.as_slice()));
    let sides = Sides {
        cells: both.iter().map(|(_, cells)| cells.map(|cell| cell.figures.as_slice())).collect(),
        offered: both.iter().map(|((cell, _), _)| cell.rate.is_some()).collect(),
        modelled: modelled(Arm::Baseline, baseline).chain(modelled(Arm::Candidate, candidate)).collect(),
    };
    let mut compared = compare_sides(std::slice::from_ref(&sides), models, demands.gate, &demands.options()).swap_remove(0);
    if ours.iter().any(|(key, _)| !others.contains_key(key)) {
        // Of a cell that the candidate did not measure nothing is known.
        compared.conclusion = compared.conclusion.max(Conclusion::Inconclusive);
    }
    let lonely = |cells: &[(Key, &CellTrials)], other: &HashMap<Key, &CellTrials>| {
        cells.iter().filter(|(key, _)| !other.contains_key(key)).map(|(key, _)| label(*key)).collect()
    };
    FiguresCompared {
        cells: both.iter().map(|(key, _)| label(*key)).collect(),
        unpaired: [lonely(&ours, &others), lonely(&theirs, &known)],
        compared,
    }
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
    use super::{Demands, RunComparison, RunsCompared, compare_runs};
    use crate::metric::Metric;
    use crate::table::TrialTable;
    use crate::testing::two_cells;
    use crate::verdict::{Conclusion, Verdict};
    use model::Pass;

    const DEMANDS: Demands = Demands { threshold: 0.02, confidence: 0.95, gate: &[Metric::TimePerMessageNs], trust_single_runs: true };

    #[test]
    fn one_run_on_each_side_is_no_ground_for_a_conclusion() {
        let (usual, slow) = (run(9, 1.0, Pass::Clean), run(9, 1.1, Pass::Clean));
        let compared = compare_runs(&usual, &slow, &[], &Demands { trust_single_runs: false, ..DEMANDS }).compared;
        assert_eq!((compared.conclusion, compared.metrics[0].comparison.cells[0].verdict), (Conclusion::Inconclusive, Verdict::Worse));
    }

    /// Trials whose elapsed time is `factor` of the usual.
    fn run(blocks: u32, factor: f64, pass: Pass) -> TrialTable {
        two_cells(blocks, pass, |_, _| factor).into_table()
    }

    #[test]
    fn a_slower_run_is_worse_and_an_equal_one_is_not() {
        let (usual, slow) = (run(9, 1.0, Pass::Clean), run(9, 1.1, Pass::Clean));
        let worse = compare_runs(&usual, &slow, &[], &DEMANDS);
        assert_eq!((worse.compared.conclusion, worse.cells.len()), (Conclusion::Against, 2));
        assert_eq!(worse.compared.metrics[0].comparison.cells[0].verdict, Verdict::Worse);
        assert_eq!(compare_runs(&slow, &usual, &[], &DEMANDS).compared.conclusion, Conclusion::Done);
        assert_eq!(compare_runs(&usual, &usual, &[], &DEMANDS).compared.conclusion, Conclusion::Done);
    }

    #[test]
    fn too_few_blocks_and_other_passes_show_nothing() {
        let few = compare_runs(&run(2, 1.0, Pass::Clean), &run(2, 1.5, Pass::Clean), &[], &DEMANDS);
        assert_eq!(few.compared.conclusion, Conclusion::Inconclusive);
        let other = compare_runs(&run(9, 1.0, Pass::Clean), &run(9, 1.5, Pass::Time), &[], &DEMANDS);
        assert_eq!((other.compared.conclusion, other.cells.len(), other.unpaired[0].len()), (Conclusion::Inconclusive, 0, 2));
    }

    #[test]
    fn the_gravest_counts() {
        let (usual, slow) = (run(9, 1.0, Pass::Clean), run(9, 1.1, Pass::Clean));
        let one = |candidate: &TrialTable| RunsCompared {
            baseline: "a".into(),
            candidate: "b".into(),
            differences: vec![],
            slight: vec![],
            figures: compare_runs(&usual, candidate, &[], &DEMANDS),
            receipts: None,
        };
        assert_eq!(RunComparison::from_candidates(vec![one(&usual), one(&slow)]).conclusion, Conclusion::Against);
        assert_eq!(RunComparison::from_candidates(vec![]).conclusion, Conclusion::Inconclusive);
    }
}
