//! Separate runs, one held against the other.
//!
//! What changed on the machine between them cannot be told from what differs in
//! them: there is no drift protection, and every verdict is to be read with that.

use std::collections::{BTreeMap, HashMap};

use model::trial::Outcome;
use model::{Cell, Plan, TrialRecord};
use serde::Serialize;

use crate::figures::{Figures, IrqPool};
use crate::latency::RoundTrips;
use crate::points::{self, Side};
use crate::result::arms::{CoefficientsOutcome, SeriesVerdict};
use crate::result::receipt::ReceiptComparison;
use crate::result::{CostModel, FitOutcome, Metric};
use crate::verdict::{
    BlockPoints, Comparison, Conclusion, Design, Doubt, Form, MEANS, Means, Options, Values, coefficients, compare, conclude, direction,
    doubts, means,
};

/// The version of [`RunsCompared`] as JSON.
pub const COMPARISON_FORMAT: u32 = 1;

/// The metric that a conclusion follows from.
const HEADLINE: Metric = Metric::TimePerMessageNs;

/// What is compared, the headline first.
const COMPARED: [Metric; 4] = [HEADLINE, Metric::SenderCpuPerMessageNs, Metric::ReceiverCpuPerMessageNs, Metric::RoundTripP50Ns];

/// A cell in one arm.
type Key = (Cell, Option<String>);

/// The figures of a run, trial by trial.
#[derive(Debug, Clone, Default)]
pub struct RunValues {
    /// Where each key stands in the plan: its cell, then its arm.
    places: HashMap<Key, (usize, usize)>,
    /// The arm that cost models are of.
    first_arm: Option<String>,
    trials: HashMap<Key, Vec<Figures>>,
}

impl RunValues {
    /// Of a plan's trials, none so far.
    pub fn new(plan: &Plan) -> Self {
        let names: Vec<Option<String>> = match plan.arms.is_empty() {
            true => vec![None],
            false => plan.arms.iter().map(|arm| Some(arm.name.clone())).collect(),
        };
        let key = |(place, cell): (usize, &Cell)| {
            let arms = names.iter().cloned().enumerate();
            arms.map(|(arm, name)| ((cell.clone(), name), (place, arm))).collect::<Vec<_>>()
        };
        let places = plan.cells.iter().enumerate().flat_map(key).collect();
        Self { places, first_arm: names.into_iter().next().flatten(), trials: HashMap::new() }
    }

    /// What was measured, in the plan's order.
    fn keys(&self) -> Vec<&Key> {
        let mut keys: Vec<&Key> = self.trials.keys().collect();
        // What no plan has comes last, in an order of its own.
        keys.sort_by_key(|key| (self.places.get(*key).copied().unwrap_or((usize::MAX, usize::MAX)), *key));
        keys
    }

    /// Keeps what is compared of a trial: of those that were measured with
    /// nothing switched on beside them.
    pub fn push(&mut self, record: &TrialRecord) {
        let Outcome::Measured(measured) = &record.outcome else { return };
        if !record.pass.is_clean() {
            return;
        }
        let round_trips = measured.sender.latency.as_ref().and_then(|text| RoundTrips::decode(text).ok());
        let mut figures = Figures::of(record, measured, round_trips.as_ref());
        let mut own = [IrqPool::default(); 2];
        own[0].add(&measured.sender, &record.cell);
        own[1].add(&measured.receiver, &record.cell);
        figures.add_irq(&own);
        let key = (record.cell.clone(), record.arm.clone());
        self.trials.entry(key).or_default().push(figures);
    }

    fn of(&self, key: &Key, metric: Metric) -> impl Iterator<Item = (u32, f64)> + '_ {
        let trials = self.trials.get(key).into_iter().flatten();
        trials.filter_map(move |trial| Some((trial.block, trial.get(metric)?)))
    }
}

/// One metric in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    /// Which.
    pub metric: Metric,
    /// What the comparison says; its cells are in the order of [`FiguresCompared::cells`].
    pub comparison: Comparison,
    /// What averaging would hide.
    pub doubts: Vec<Doubt>,
}

/// The figures of two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FiguresCompared {
    /// Labels of the cells that both have, with their arms, in the order of the first run's plan.
    pub cells: Vec<String>,
    /// Labels of what only one of them has: the first, the second.
    pub unpaired: [Vec<String>; 2],
    /// The headline's first. Each is held to the confidence for itself.
    pub metrics: Vec<MetricComparison>,
    /// Changes of what is neither better nor worse, such as wake-ups; without a verdict.
    pub means: Vec<Means>,
    /// Changes of what a message, a byte and a segment cost, by the form of the
    /// first run's models.
    pub coefficients: Vec<SeriesVerdict>,
    /// What follows for who asked, from the headline.
    pub conclusion: Conclusion,
}

/// One run held against another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunsCompared {
    /// The id of the run compared with.
    pub baseline: String,
    /// The id of the run that is judged.
    pub candidate: String,
    /// How hosts, kernels and settings differ, so that a difference may be theirs.
    pub differences: Vec<String>,
    /// Differences that no trial notices.
    pub slight: Vec<String>,
    /// The figures.
    pub figures: FiguresCompared,
    /// The receipts, where both have any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipts: Option<ReceiptComparison>,
}

/// Several runs held against the first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Between {
    /// [`COMPARISON_FORMAT`].
    pub format: u32,
    /// One a candidate.
    pub comparisons: Vec<RunsCompared>,
    /// The gravest of them.
    pub conclusion: Conclusion,
}

impl Between {
    /// Of these.
    pub fn of(comparisons: Vec<RunsCompared>) -> Self {
        let conclusion = conclude(comparisons.iter().map(|one| one.figures.conclusion));
        Self { format: COMPARISON_FORMAT, comparisons, conclusion }
    }
}

/// Compares the cells that both runs have, in the same arm.
///
/// `models` are the baseline's. A verdict needs an estimate beyond `threshold`, a
/// share. Holm's procedure takes all cells of a metric into account
/// ([`crate::verdict::compare`]).
pub fn compare_runs(baseline: &RunValues, candidate: &RunValues, models: &[CostModel], threshold: f64, confidence: f64) -> FiguresCompared {
    let options = Options { threshold, confidence, design: Design::Separate };
    let both: Vec<&Key> = baseline.keys().into_iter().filter(|key| candidate.trials.contains_key(*key)).collect();
    let values_of = |metric: Metric| -> Vec<Values> {
        both.iter().map(|key| Values::new(baseline.of(key, metric), candidate.of(key, metric))).collect()
    };
    let metric = |metric: &Metric| {
        let better = direction(*metric)?;
        let values = values_of(*metric);
        let none = values.iter().all(|values| values.baseline.is_empty() || values.candidate.is_empty());
        (*metric == HEADLINE || !none).then(|| MetricComparison {
            metric: *metric,
            comparison: compare(&values, better, &options),
            doubts: doubts(&values, better, threshold),
        })
    };
    let metrics: Vec<MetricComparison> = COMPARED.iter().filter_map(metric).collect();
    let lonely =
        |of: &RunValues, other: &RunValues| of.keys().into_iter().filter(|key| !other.trials.contains_key(*key)).map(label).collect();
    FiguresCompared {
        cells: both.iter().map(|key| label(key)).collect(),
        unpaired: [lonely(baseline, candidate), lonely(candidate, baseline)],
        means: MEANS.iter().filter_map(|metric| means(*metric, &values_of(*metric), &options)).collect(),
        coefficients: models.iter().filter_map(|model| series(baseline, candidate, model, &options)).collect(),
        conclusion: metrics.first().map_or(Conclusion::Inconclusive, |first| first.comparison.conclusion),
        metrics,
    }
}

/// What a model of the baseline is made of, in both runs; `None` where the other
/// run has nothing of its series.
fn series(baseline: &RunValues, candidate: &RunValues, model: &CostModel, options: &Options) -> Option<SeriesVerdict> {
    let mut blocks: BTreeMap<u32, BlockPoints> = BTreeMap::new();
    for (run, side) in [(baseline, Side::Baseline), (candidate, Side::Candidate)] {
        for key in run.keys() {
            if key.1 == run.first_arm && key.0.series().to_string() == model.series {
                let trials = run.trials.get(key).map_or(&[][..], Vec::as_slice);
                points::add(&mut blocks, trials, &key.0, model.quantity, side);
            }
        }
    }
    if !blocks.values().any(|block| !block.candidate.is_empty()) {
        return None;
    }
    let outcome = match &model.outcome {
        FitOutcome::NotALine { reason } => CoefficientsOutcome::NotCompared { reason: reason.clone() },
        FitOutcome::Fitted(fit) => match coefficients(&blocks, &Form::of(fit), options) {
            Ok(compared) => CoefficientsOutcome::Compared(compared),
            Err(error) => CoefficientsOutcome::NotCompared { reason: error.to_string() },
        },
    };
    Some(SeriesVerdict { series: model.series.clone(), quantity: model.quantity, outcome })
}

fn label((cell, arm): &Key) -> String {
    arm.as_ref().map_or_else(|| cell.to_string(), |arm| format!("{cell}, {arm}"))
}

#[cfg(test)]
mod tests {
    use super::{Between, RunValues, RunsCompared, compare_runs};
    use crate::testing::{cell, measured};
    use crate::verdict::{Conclusion, Verdict};
    use model::trial::Outcome;
    use model::{Nanos, Pass, Test, TrialRecord};

    /// Trials whose elapsed time is `factor` of the usual, two cells.
    fn run(blocks: u32, factor: f64, pass: Pass) -> RunValues {
        let mut values = RunValues::default();
        for block in 0..blocks {
            for size in [1, 64] {
                let mut measured = measured(Test::UdpStream, size);
                let window = &mut measured.receiver.window;
                let length = window.length().get() as f64 * factor * (1.0 + 0.002 * f64::from(block % 5));
                window.end = window.start + Nanos::new(length as u64);
                values.push(&TrialRecord {
                    block,
                    pass,
                    ..TrialRecord::new(cell(Test::UdpStream, size), Outcome::Measured(Box::new(measured)))
                });
            }
        }
        values
    }

    #[test]
    fn a_slower_run_is_worse_and_an_equal_one_is_not() {
        let (usual, slow) = (run(9, 1.0, Pass::Clean), run(9, 1.1, Pass::Clean));
        let worse = compare_runs(&usual, &slow, &[], 0.02, 0.95);
        assert_eq!((worse.conclusion, worse.cells.len()), (Conclusion::Against, 2));
        assert_eq!(worse.metrics[0].comparison.cells[0].verdict, Verdict::Worse);
        assert_eq!(compare_runs(&slow, &usual, &[], 0.02, 0.95).conclusion, Conclusion::Done);
        assert_eq!(compare_runs(&usual, &usual, &[], 0.02, 0.95).conclusion, Conclusion::Done);
    }

    #[test]
    fn too_few_blocks_and_other_passes_show_nothing() {
        let few = compare_runs(&run(2, 1.0, Pass::Clean), &run(2, 1.5, Pass::Clean), &[], 0.02, 0.95);
        assert_eq!(few.conclusion, Conclusion::Inconclusive);
        let other = compare_runs(&run(9, 1.0, Pass::Clean), &run(9, 1.5, Pass::Time), &[], 0.02, 0.95);
        assert_eq!((other.conclusion, other.cells.len(), other.unpaired[0].len()), (Conclusion::Inconclusive, 0, 2));
    }

    #[test]
    fn the_gravest_counts() {
        let (usual, slow) = (run(9, 1.0, Pass::Clean), run(9, 1.1, Pass::Clean));
        let one = |candidate: &RunValues| RunsCompared {
            baseline: "a".into(),
            candidate: "b".into(),
            differences: vec![],
            slight: vec![],
            figures: compare_runs(&usual, candidate, &[], 0.02, 0.95),
            receipts: None,
        };
        assert_eq!(Between::of(vec![one(&usual), one(&slow)]).conclusion, Conclusion::Against);
        assert_eq!(Between::of(vec![]).conclusion, Conclusion::Inconclusive);
    }
}
