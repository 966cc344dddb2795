//! The engine of every comparison: two sides with the same cells, be they arms of
//! one run or two runs. The design of the options says how their trials were
//! measured, and is all that tells one from the other.

use std::collections::{BTreeMap, BTreeSet};

use model::Cell;
use model::cell::Series;
use serde::Serialize;

use super::{
    Arm, BlockPoints, Coefficients, Comparison, Conclusion, Design, Doubt, Form, MEANS, Means, Options, SelfTest, Values, coefficients,
    compare, doubts, means,
};
use crate::cost::fit::in_words;
use crate::cost::{CostModel, FitOutcome, Quantity};
use crate::figures::Figures;
use crate::metric::Metric;
use stats::cost::design::Point;

/// The metric that a conclusion follows from: what the receiver got. Its inverse,
/// messages per second, and goodput have the same ratios turned round.
pub const HEADLINE: Metric = Metric::TimePerMessageNs;

/// The metrics that are compared, the headline first.
const COMPARED: [Metric; 4] = [HEADLINE, Metric::SenderCpuPerMessageNs, Metric::ReceiverCpuPerMessageNs, Metric::RoundTripP50Ns];

/// One metric on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    /// The metric.
    pub metric: Metric,
    /// The comparison; its cells are in the order of the sides' own.
    pub comparison: Comparison,
    /// Doubts that averaging would hide.
    pub doubts: Vec<Doubt>,
    /// The values that were compared, cell by cell; of a paired design.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Vec<Pair>>,
}

/// One block of a cell in both arms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pair {
    /// The block.
    pub block: u32,
    /// In the baseline.
    pub baseline: f64,
    /// In the candidate.
    pub candidate: f64,
}

/// The coefficients of one series on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesVerdict {
    /// The baseline's series; as JSON in words.
    #[serde(serialize_with = "in_words")]
    pub series: Series,
    /// The quantity that the model explains.
    pub quantity: Quantity,
    /// The coefficients, or why they cannot be compared.
    pub outcome: CoefficientsOutcome,
}

/// Coefficients compared, or why they are not.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CoefficientsOutcome {
    /// They are.
    Compared(Coefficients),
    /// They cannot be.
    NotCompared {
        /// In a sentence.
        reason: String,
    },
}

/// The trials of two sides. Each counts the interrupt time that it read itself.
#[derive(Debug, Default)]
pub(crate) struct Sides<'a> {
    /// Cell by cell the trials of the baseline and of the candidate.
    pub cells: Vec<[&'a [Figures]; 2]>,
    /// The trials that coefficients are fitted to, each with the cell that says
    /// its series and size.
    pub modelled: Vec<(Arm, &'a Cell, &'a [Figures])>,
}

/// Everything that two sides show.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The comparisons, the headline's first. Each is held to the confidence for
    /// itself: one that is not the headline says where a difference lies, and of
    /// several some may be shown by chance.
    pub metrics: Vec<MetricComparison>,
    /// Changes of what is neither better nor worse, such as wake-ups; without a verdict.
    pub means: Vec<Means>,
    /// Changes of the cost of a message, a byte and a segment, by the form of the
    /// baseline's models.
    pub coefficients: Vec<SeriesVerdict>,
    /// Of a machine against itself: the differences that it can show in how many
    /// minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_test: Option<SelfTest>,
    /// The conclusion for who asked, from the headline.
    pub conclusion: Conclusion,
}

impl Sides<'_> {
    /// One metric of each cell.
    pub fn values(&self, metric: Metric) -> Vec<Values> {
        let of = |trials: &[Figures]| trials.iter().filter_map(|trial| Some((trial.block, trial.own(metric)?))).collect::<BTreeMap<_, _>>();
        self.cells.iter().map(|[baseline, candidate]| Values { baseline: of(baseline), candidate: of(candidate) }).collect()
    }

    /// Compares them by every metric, and by the coefficients of the baseline's
    /// models.
    pub fn compare(&self, models: &[CostModel], options: &Options) -> Compared {
        let metrics: Vec<MetricComparison> = COMPARED.iter().filter_map(|metric| self.metric(*metric, options)).collect();
        Compared {
            means: MEANS.iter().filter_map(|metric| means(*metric, &self.values(*metric), options)).collect(),
            coefficients: models.iter().filter_map(|model| self.coefficients(model, options)).collect(),
            self_test: None,
            conclusion: metrics.first().map_or(Conclusion::Inconclusive, |headline| headline.comparison.conclusion),
            metrics,
        }
    }

    /// `None` of a metric that no cell has on both sides.
    fn metric(&self, metric: Metric, options: &Options) -> Option<MetricComparison> {
        let better = metric.better()?;
        let values = self.values(metric);
        let both = |values: &Values| match options.design {
            Design::Paired => values.baseline.keys().any(|block| values.candidate.contains_key(block)),
            Design::Separate => !values.baseline.is_empty() && !values.candidate.is_empty(),
        };
        (metric == HEADLINE || values.iter().any(both)).then(|| MetricComparison {
            metric,
            comparison: compare(&values, better, options),
            doubts: doubts(&values, better, options.threshold),
            pairs: if options.design == Design::Paired { values.iter().map(pairs).collect() } else { Vec::new() },
        })
    }

    /// A model of the baseline, fitted block by block on both sides. `None` where
    /// another run has nothing of its series.
    fn coefficients(&self, model: &CostModel, options: &Options) -> Option<SeriesVerdict> {
        let blocks = self.points(model);
        if options.design == Design::Separate && blocks.values().all(|[_, candidate]| candidate.is_empty()) {
            return None;
        }
        let not_compared = |reason: String| CoefficientsOutcome::NotCompared { reason };
        let outcome = match &model.outcome {
            FitOutcome::NotALine { reason } => not_compared(reason.clone()),
            FitOutcome::Fitted(fit) => match coefficients(&blocks, &Form::from_fit(fit), options) {
                Ok(compared) => CoefficientsOutcome::Compared(compared),
                Err(error) => not_compared(error.to_string()),
            },
        };
        Some(SeriesVerdict { series: model.series.clone(), quantity: model.quantity, outcome })
    }

    /// The trials of a model's series, block by block.
    fn points(&self, model: &CostModel) -> BTreeMap<u32, BlockPoints> {
        let mut blocks: BTreeMap<u32, BlockPoints> = BTreeMap::new();
        for (side, cell, trials) in self.modelled.iter().filter(|(_, cell, _)| cell.series() == model.series) {
            for trial in *trials {
                let Some(time) = trial.own(model.quantity.metric()).filter(|time| *time > 0.0) else { continue };
                let frames = trial.own(Metric::FramesPerMessage);
                let wakeups = trial.own(Metric::ReceiverWakeupsPerMessage);
                let point = Point { size: cell.size.get() as f64, time, frames, wakeups };
                blocks.entry(trial.block).or_default()[*side as usize].insert(cell.size, point);
            }
        }
        blocks
    }
}

/// The blocks that both sides have.
fn pairs(values: &Values) -> Vec<Pair> {
    let common: BTreeSet<u32> = values.baseline.keys().filter(|block| values.candidate.contains_key(block)).copied().collect();
    common.into_iter().map(|block| Pair { block, baseline: values.baseline[&block], candidate: values.candidate[&block] }).collect()
}
