//! The engine of every comparison: two sides with the same cells, be they arms of
//! one run or two runs. The design of the options says how their trials were
//! measured, and is all that tells one from the other.

use std::collections::{BTreeMap, BTreeSet};

use model::Cell;
use model::cell::Series;
use serde::Serialize;

use super::{
    Arm, BlockPoints, Coefficients, Comparison, Conclusion, Design, Doubt, Form, MEANS, Means, Options, Question, SelfTest, Values,
    coefficients, compare_all, conclude, doubts, means,
};
use crate::cost::fit::in_words;
use crate::cost::{CostModel, FitOutcome, Quantity};
use crate::figures::Figures;
use crate::metric::Metric;
use stats::cost::design::Point;

/// The metric that a report leads with: what the receiver got. Its inverse,
/// messages per second, and goodput have the same ratios turned round.
pub const HEADLINE: Metric = Metric::TimePerMessageNs;

/// The metrics that a conclusion follows from unless the user says so: a change that
/// saves time and costs CPU, or the tail, is not for everybody.
pub const GATE: [Metric; 4] = [HEADLINE, Metric::SenderCpuPerMessageNs, Metric::ReceiverCpuPerMessageNs, Metric::RoundTripP99Ns];

/// The metrics that are compared, the headline first.
const COMPARED: [Metric; 5] =
    [HEADLINE, Metric::SenderCpuPerMessageNs, Metric::ReceiverCpuPerMessageNs, Metric::RoundTripP50Ns, Metric::RoundTripP99Ns];

/// One metric on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    /// The metric.
    pub metric: Metric,
    /// True where the conclusion follows from it.
    pub gate: bool,
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
    /// True of each cell that offers a rate: its time per message is the schedule's.
    pub offered: Vec<bool>,
    /// The trials that coefficients are fitted to, each with the cell that says
    /// its series and size.
    pub modelled: Vec<(Arm, &'a Cell, &'a [Figures])>,
}

/// Everything that two sides show.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The comparisons, the headline's first. Those of the gate are one family, with
    /// those of all candidates of the study. Any other is held to the confidence for
    /// itself: it says where a difference lies, and of several some may be shown by
    /// chance.
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
    /// The conclusion for who asked, from the metrics of the gate.
    pub conclusion: Conclusion,
}

impl Sides<'_> {
    /// One metric of each cell.
    pub fn values(&self, metric: Metric) -> Vec<Values> {
        let of = |trials: &[Figures]| trials.iter().filter_map(|trial| Some((trial.block, trial.own(metric)?))).collect::<BTreeMap<_, _>>();
        let cells = self.cells.iter().zip(&self.offered);
        let values = cells.map(|([baseline, candidate], offered)| match metric == HEADLINE && *offered {
            true => Values::default(),
            false => {
                let mut values = Values { baseline: of(baseline), candidate: of(candidate) };
                // Where a percentile is one of the missing answers nothing is shown: the
                // blocks in which it is known would be the best of them.
                if values.baseline.values().chain(values.candidate.values()).any(|value| value.is_infinite()) {
                    values =
                        Values { baseline: values.baseline.into_keys().map(|block| (block, f64::INFINITY)).collect(), ..Values::default() };
                }
                values
            }
        });
        values.collect()
    }

    /// The metrics that some cell has on both sides, with their values; the headline
    /// in any case, and one of the gate that some cell has on either side: a side
    /// without it shows nothing, and must not pass for that.
    fn questions(&self, gate: &[Metric], options: &Options) -> Vec<(Metric, Question)> {
        let both = |values: &Values| match options.design {
            Design::Paired => values.baseline.keys().any(|block| values.candidate.contains_key(block)),
            Design::Separate => !values.baseline.is_empty() && !values.candidate.is_empty(),
        };
        let question = |metric: &Metric| {
            let question = Question { cells: self.values(*metric), direction: metric.better()? };
            let either = |values: &Values| !values.baseline.is_empty() || !values.candidate.is_empty();
            let asked = if gate.contains(metric) { question.cells.iter().any(either) } else { question.cells.iter().any(both) };
            (*metric == HEADLINE || asked).then_some((*metric, question))
        };
        COMPARED.iter().filter_map(question).collect()
    }

    /// The coefficients, and everything but the metrics' comparisons.
    fn without_metrics(&self, models: &[CostModel], options: &Options) -> Compared {
        Compared {
            metrics: Vec::new(),
            means: MEANS.iter().filter_map(|metric| means(*metric, &self.values(*metric), options)).collect(),
            coefficients: models.iter().filter_map(|model| self.coefficients(model, options)).collect(),
            self_test: None,
            conclusion: Conclusion::Inconclusive,
        }
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

/// Compares each pair of sides by every metric, and by the coefficients of the
/// baseline's models. All metrics of the gate, of all pairs, are one family.
pub(crate) fn compare_sides(all: &[Sides], models: &[CostModel], gate: &[Metric], options: &Options) -> Vec<Compared> {
    let asked: Vec<Vec<(Metric, Question)>> = all.iter().map(|sides| sides.questions(gate, options)).collect();
    let gated: Vec<Question> =
        asked.iter().flatten().filter(|(metric, _)| gate.contains(metric)).map(|(_, question)| question.clone()).collect();
    let mut family = compare_all(&gated, options).into_iter();
    let mut compared = Vec::new();
    for (sides, asked) in all.iter().zip(asked) {
        let mut one = sides.without_metrics(models, options);
        for (metric, question) in asked {
            let gate = gate.contains(&metric);
            let comparison = if gate { family.next() } else { compare_all(std::slice::from_ref(&question), options).pop() };
            let Some(comparison) = comparison else { continue };
            let Question { cells, direction } = question;
            one.metrics.push(MetricComparison {
                metric,
                gate,
                comparison,
                doubts: doubts(&cells, direction, options.threshold),
                pairs: if options.design == Design::Paired { cells.iter().map(pairs).collect() } else { Vec::new() },
            });
        }
        let measured = |metric: &&MetricComparison| {
            let overall = &metric.comparison.overall;
            metric.gate && overall.better + overall.worse + overall.equivalent + overall.inconclusive + overall.too_few > 0
        };
        one.conclusion = options.limited(conclude(one.metrics.iter().filter(measured).map(|metric| metric.comparison.conclusion)));
        compared.push(one);
    }
    compared
}

/// The blocks that both sides have.
fn pairs(values: &Values) -> Vec<Pair> {
    let common: BTreeSet<u32> = values.baseline.keys().filter(|block| values.candidate.contains_key(block)).copied().collect();
    common.into_iter().map(|block| Pair { block, baseline: values.baseline[&block], candidate: values.candidate[&block] }).collect()
}
