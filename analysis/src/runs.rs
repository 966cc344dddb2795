//! Separate runs, compared with the first.
//!
//! A change of the machine between them cannot be told from a difference of the
//! runs: there is no drift protection, and every verdict is to be read with that.

use std::collections::HashMap;

use model::Cell;
use serde::Serialize;

use crate::cost::CostModel;
use crate::studies::receipt::ReceiptComparison;
use crate::table::{CellTrials, TrialTable};
use crate::verdict::{Arm, Compared, Conclusion, Design, Options, Sides, conclude};

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

/// Compares the cells that both runs have, in the same arm.
///
/// `models` are the baseline's. A verdict needs an estimate beyond `threshold`, a
/// share. Holm's procedure takes all cells of a metric into account
/// ([`crate::verdict::compare`]).
pub fn compare_runs(
    baseline: &TrialTable,
    candidate: &TrialTable,
    models: &[CostModel],
    threshold: f64,
    confidence: f64,
) -> FiguresCompared {
    let [ours, theirs] = [baseline, candidate].map(measured);
    let [known, others] = [&ours, &theirs].map(|cells| cells.iter().copied().collect::<HashMap<Key, &CellTrials>>());
    let both: Vec<_> = ours.iter().filter_map(|(key, trials)| Some((*key, [*trials, *others.get(key)?]))).collect();
    let modelled = |side: Arm, table| TrialTable::arm(table, 0).iter().map(move |cell| (side, &cell.cell, cell.figures.as_slice()));
    let sides = Sides {
        cells: both.iter().map(|(_, cells)| cells.map(|cell| cell.figures.as_slice())).collect(),
        modelled: modelled(Arm::Baseline, baseline).chain(modelled(Arm::Candidate, candidate)).collect(),
    };
    let compared = sides.compare(models, &Options { threshold, confidence, design: Design::Separate });
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
    use super::{RunComparison, RunsCompared, compare_runs};
    use crate::Collector;
    use crate::table::TrialTable;
    use crate::testing::{self, cell, measured};
    use crate::verdict::{Conclusion, Verdict};
    use model::trial::Outcome;
    use model::{Nanos, Pass, Test, TrialRecord};

    /// Trials whose elapsed time is `factor` of the usual, two cells.
    fn run(blocks: u32, factor: f64, pass: Pass) -> TrialTable {
        let cells = vec![cell(Test::UdpStream, 1), cell(Test::UdpStream, 64)];
        let mut collector = Collector::new(testing::run(cells, blocks), Vec::new());
        for block in 0..blocks {
            for size in [1, 64] {
                let mut measured = measured(Test::UdpStream, size);
                let window = &mut measured.receiver.window;
                let length = window.length().get() as f64 * factor * (1.0 + 0.002 * f64::from(block % 5));
                window.end = window.start + Nanos::new(length as u64);
                collector.push(&TrialRecord {
                    block,
                    pass,
                    ..TrialRecord::new(cell(Test::UdpStream, size), Outcome::Measured(Box::new(measured)))
                });
            }
        }
        collector.into_table()
    }

    #[test]
    fn a_slower_run_is_worse_and_an_equal_one_is_not() {
        let (usual, slow) = (run(9, 1.0, Pass::Clean), run(9, 1.1, Pass::Clean));
        let worse = compare_runs(&usual, &slow, &[], 0.02, 0.95);
        assert_eq!((worse.compared.conclusion, worse.cells.len()), (Conclusion::Against, 2));
        assert_eq!(worse.compared.metrics[0].comparison.cells[0].verdict, Verdict::Worse);
        assert_eq!(compare_runs(&slow, &usual, &[], 0.02, 0.95).compared.conclusion, Conclusion::Done);
        assert_eq!(compare_runs(&usual, &usual, &[], 0.02, 0.95).compared.conclusion, Conclusion::Done);
    }

    #[test]
    fn too_few_blocks_and_other_passes_show_nothing() {
        let few = compare_runs(&run(2, 1.0, Pass::Clean), &run(2, 1.5, Pass::Clean), &[], 0.02, 0.95);
        assert_eq!(few.compared.conclusion, Conclusion::Inconclusive);
        let other = compare_runs(&run(9, 1.0, Pass::Clean), &run(9, 1.5, Pass::Time), &[], 0.02, 0.95);
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
            figures: compare_runs(&usual, candidate, &[], 0.02, 0.95),
            receipts: None,
        };
        assert_eq!(RunComparison::from_candidates(vec![one(&usual), one(&slow)]).conclusion, Conclusion::Against);
        assert_eq!(RunComparison::from_candidates(vec![]).conclusion, Conclusion::Inconclusive);
    }
}
