//! The engine of every comparison: two sides with the same cells, be they arms of
//! one run or two runs. The design of the options says how their trials were
//! measured, and is all that tells one from the other.

use std::collections::{BTreeMap, BTreeSet};

use model::Cell;
use model::cell::Series;
use model::sorting::Gather;
use serde::Serialize;

use super::{
    BlockPoints, Coefficients, Comparison, Conclusion, Design, Direction, Doubt, Form, MEANS, Means, Options, Question, SelfTest, Shift,
    Side, Values, coefficients, compare_all, conclude, doubts, means,
};
use crate::cost::fit::in_words;
use crate::cost::{CostModel, FitOutcome, Quantity};
use crate::figures::Figures;
use crate::metric::Metric;
use crate::verdict::woven::{Measure, WovenSide};
use stats::cost::design::Point;
use stats::median;

use super::gate::{COMPARED, GATE};

/// One metric on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    /// The metric.
    pub metric: Metric,
    /// True where the conclusion follows from it.
    pub gate: bool,
    /// The comparison; its cells are in the order of the sides' own.
    pub comparison: Comparison,
    /// Doubts that averaging would hide; not asked of several runs, each of which has
    /// its own.
    pub doubts: Vec<Doubt>,
    /// The scatter of runs, where there are several on a side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scatter: Option<RunScatter>,
    /// The values that were compared, cell by cell; of a paired or woven design.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Vec<Pair>>,
}

/// How runs of one side scatter among themselves, in the median cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RunScatter {
    /// Runs of the baseline and of the candidate.
    pub runs: [usize; 2],
    /// Standard deviation of runs beyond what their blocks explain, as a share; 0 where
    /// blocks explain the whole scatter.
    pub between: f64,
    /// Standard deviation of the blocks of one run, as a share.
    pub within: f64,
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

/// The trials of two sides. Each counts the interrupt time that it read itself, unless
/// whole runs are compared.
#[derive(Debug, Default)]
pub(crate) struct Sides<'a> {
    /// Cell by cell the trials of the baseline and of the candidate, run by run.
    pub cells: Vec<[Vec<&'a [Figures]>; 2]>,
    /// True of each cell that offers a rate: its time per message is the schedule's.
    pub offered: Vec<bool>,
    /// The trials that coefficients are fitted to, each with the place of its run and
    /// the cell that says its series and size.
    pub modelled: Vec<(Side, usize, &'a Cell, &'a [Figures])>,
    /// The slices of woven arms.
    pub woven: Option<WovenSide<'a>>,
}

/// Everything that two sides show.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideComparison {
    /// The comparisons, those of the gate first: they are one family, with
    /// those of all candidates of the study. Any other is held to the confidence for
    /// itself: it says where a difference lies, and of several some may be shown by
    /// chance.
    pub metrics: Vec<MetricComparison>,
    /// Changes of what is neither better nor worse, such as wake-ups; without a verdict.
    pub means: Vec<Means>,
    /// Changes of the cost of a message, a byte and a segment, by the form of the
    /// baseline's models.
    pub coefficients: Vec<SeriesVerdict>,
    /// The self-test of a machine against itself: the differences that it can show in how many
    /// minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_test: Option<SelfTest>,
    /// The conclusion for the user, from the metrics of the gate.
    pub conclusion: Conclusion,
}

impl SideComparison {
    /// The part of a CPU time in a cell that was billed before the ends ran.
    pub fn billed(&self, metric: Metric, cell: usize) -> Option<&Shift> {
        let billed = metric.billed()?;
        self.means.iter().find(|means| means.metric == billed)?.cells.get(cell)?.as_ref()
    }

    /// The conclusion without cells that both sides run alike: what is open there says nothing of the two.
    pub(crate) fn without(&self, alike: &[usize]) -> Conclusion {
        let gate = self.metrics.iter().filter(|metric| metric.gate);
        conclude(gate.map(|metric| metric.comparison.without(alike)))
    }
}

impl Sides<'_> {
    /// One metric of each cell: a value a block, or a median a run.
    pub fn values(&self, metric: Metric, design: Design) -> Vec<Values> {
        let woven = self.woven.as_ref();
        if let Some((woven, measure)) = woven.zip(Measure::of_metric(metric)) {
            return (0..self.cells.len()).map(|cell| woven.values(cell, measure)).collect();
        }
        let is_looked_at = |block: u32| woven.is_none_or(|woven| block < woven.until);
        // A baseline is that of the candidate's group.
        let group = |candidate: &[&[Figures]]| woven.and_then(|_| candidate.iter().find_map(|trials| trials.first()?.group));
        let of = |runs: &[&[Figures]], group: Option<u32>| -> BTreeMap<u32, f64> {
            match design {
                Design::Runs => (0..).zip(runs).filter_map(|(run, trials)| Some((run, middle(trials, metric)?))).collect(),
                Design::Paired | Design::Woven | Design::Separate => {
                    let trials = runs.iter().flat_map(|trials| trials.iter()).filter(|trial| is_looked_at(trial.block));
                    let trials = trials.filter(|trial| group.is_none_or(|group| trial.group == Some(group)));
                    trials.filter_map(|trial| Some((trial.block, trial.own(metric)?))).collect()
                }
            }
        };
        let cells = self.cells.iter().zip(&self.offered);
        let values = cells.map(|([baseline, candidate], offered)| match metric == Metric::TimePerMessageNs && *offered {
            true => Values::default(),
            false => {
                let group = group(candidate);
                let mut values = Values { baseline: of(baseline, group), candidate: of(candidate, group) };
                // Where a percentile is one of the missing answers nothing is shown: the
                // blocks in which it is known would be the best of them.
                if values.baseline.values().chain(values.candidate.values()).any(|value| value.is_infinite()) {
                    values = Values {
                        baseline: values.baseline.into_keys().map(|block| (block, f64::INFINITY)).into_map(),
                        ..Values::default()
                    };
                }
                values
            }
        });
        values.collect()
    }

    /// The metrics that some cell has on both sides, with their values, those of the gate first; the
    /// first of the gate in any case, and one of it that some cell has on either side: a side without it
    /// shows nothing, and must not pass for that.
    fn questions(&self, gate: &[Metric], options: &Options) -> Vec<(Metric, Question)> {
        let both = |values: &Values| match options.design {
            Design::Paired | Design::Woven => values.baseline.keys().any(|block| values.candidate.contains_key(block)),
            Design::Separate | Design::Runs => !values.baseline.is_empty() && !values.candidate.is_empty(),
        };
        let question = |metric: &Metric| {
            let question = Question { cells: self.values(*metric, options.design), direction: metric.better()? };
            let either = |values: &Values| !values.baseline.is_empty() || !values.candidate.is_empty();
            let asked = if gate.contains(metric) { question.cells.iter().any(either) } else { question.cells.iter().any(both) };
            (gate.first() == Some(metric) || asked).then_some((*metric, question))
        };
        let (first, others): (Vec<&Metric>, Vec<&Metric>) =
            COMPARED.iter().map(|one| &one.metric).partition(|metric| gate.contains(metric));
        first.into_iter().chain(others).filter_map(question).collect()
    }

    /// Returns whether some cell has a metric on so many sides.
    fn has(&self, metric: Metric, design: Design, sides: usize) -> bool {
        let known = |values: &Values| usize::from(!values.baseline.is_empty()) + usize::from(!values.candidate.is_empty());
        self.values(metric, design).iter().any(|values| known(values) >= sides)
    }

    /// Doubts about a metric's values, and of woven arms about their slices.
    fn doubts(&self, metric: Metric, cells: &[Values], direction: Direction, options: &Options) -> Vec<Doubt> {
        if options.design == Design::Runs {
            return Vec::new();
        }
        let of_slices = self.woven.as_ref().zip(Measure::of_metric(metric)).map(|(woven, measure)| woven.doubts(measure));
        doubts(cells, direction, options.threshold).into_iter().chain(of_slices.into_iter().flatten()).collect()
    }

    /// The coefficients, and everything but the metrics' comparisons.
    fn without_metrics(&self, models: &[CostModel], options: &Options) -> SideComparison {
        SideComparison {
            metrics: Vec::new(),
            means: MEANS.iter().filter_map(|metric| means(*metric, &self.values(*metric, options.design), options)).collect(),
            coefficients: models.iter().filter_map(|model| self.coefficients(model, options)).collect(),
            self_test: None,
            conclusion: Conclusion::Inconclusive,
        }
    }

    /// A model of the baseline, fitted block by block on both sides. `None` where
    /// another run has nothing of its series.
    fn coefficients(&self, model: &CostModel, options: &Options) -> Option<SeriesVerdict> {
        let blocks = self.points(model, options.design);
        if !options.design.is_paired() && blocks.values().all(|[_, candidate]| candidate.is_empty()) {
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

    /// The trials of a model's series, block by block, or their medians run by run.
    fn points(&self, model: &CostModel, design: Design) -> BTreeMap<u32, BlockPoints> {
        let mut blocks: BTreeMap<u32, BlockPoints> = BTreeMap::new();
        for (side, run, cell, trials) in self.modelled.iter().filter(|(_, _, cell, _)| cell.series() == model.series) {
            let size = cell.size.get() as f64;
            if design == Design::Runs {
                let Some(time) = middle(trials, model.quantity.metric()).filter(|time| *time > 0.0) else { continue };
                let [frames, wakeups] = [Metric::FramesPerMessage, Metric::ReceiverWakeupsPerMessage].map(|of| middle(trials, of));
                blocks.entry(*run as u32).or_default()[*side as usize].insert(cell.size, Point { size, time, frames, wakeups });
                continue;
            }
            for trial in *trials {
                let Some(time) = trial.own(model.quantity.metric()).filter(|time| *time > 0.0) else { continue };
                let frames = trial.own(Metric::FramesPerMessage);
                let wakeups = trial.own(Metric::ReceiverWakeupsPerMessage);
                let point = Point { size, time, frames, wakeups };
                blocks.entry(trial.block).or_default()[*side as usize].insert(cell.size, point);
            }
        }
        blocks
    }
}

/// Compares each pair of sides by every metric, and by the coefficients of the
/// baseline's models. All metrics of the gate, of all pairs, are one family.
pub(crate) fn compare_sides(all: &[Sides], models: &[CostModel], gate: &[Metric], options: &Options) -> Vec<SideComparison> {
    let gate = &gate_of(all, gate, options.design);
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
                doubts: sides.doubts(metric, &cells, direction, options),
                scatter: if options.design == Design::Runs { scatter(&sides.cells, metric) } else { None },
                pairs: if options.design.is_paired() { cells.iter().map(pairs).collect() } else { Vec::new() },
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

/// The metrics of the gate. Where no side has that of the usual one, it is the first that both sides have.
fn gate_of(all: &[Sides], asked: &[Metric], design: Design) -> Vec<Metric> {
    let has = |metric: Metric, least: usize| all.iter().any(|sides| sides.has(metric, design, least));
    if asked != GATE || has(GATE[0], 1) {
        return asked.to_vec();
    }
    let instead = COMPARED.iter().map(|one| one.metric).find(|metric| has(*metric, 2));
    instead.map_or_else(|| asked.to_vec(), |metric| vec![metric])
}

/// The comparisons by the gate's metrics, of all pairs of sides: one family.
pub(crate) fn compare_gate(all: &[Sides], gate: &[Metric], options: &Options) -> Vec<Comparison> {
    let gate = &gate_of(all, gate, options.design);
    let asked = all.iter().flat_map(|sides| sides.questions(gate, options));
    let gated: Vec<Question> = asked.filter(|(metric, _)| gate.contains(metric)).map(|(_, question)| question).collect();
    compare_all(&gated, options)
}

/// The median of a run's trials; infinite where any of them is a missing answer's.
fn middle(trials: &[Figures], metric: Metric) -> Option<f64> {
    if trials.iter().any(|trial| trial.own(metric).is_some_and(f64::is_infinite)) {
        return Some(f64::INFINITY);
    }
    median::median(&trials.iter().filter_map(|trial| trial.get(metric)).collect::<Vec<_>>())
}

/// The blocks that both sides have.
fn pairs(values: &Values) -> Vec<Pair> {
    let common: BTreeSet<u32> = values.baseline.keys().filter(|block| values.candidate.contains_key(block)).copied().into_set();
    common.into_iter().map(|block| Pair { block, baseline: values.baseline[&block], candidate: values.candidate[&block] }).collect()
}

/// The scatter of one metric; `None` where no cell has two runs on a side.
fn scatter(cells: &[[Vec<&[Figures]>; 2]], metric: Metric) -> Option<RunScatter> {
    let (between, within): (Vec<f64>, Vec<f64>) = cells.iter().filter_map(|sides| of_cell(sides, metric)).unzip();
    let runs = [0, 1].map(|side| cells.iter().map(|sides| sides[side].len()).max().unwrap_or_default());
    Some(RunScatter { runs, between: median::median(&between)?.sqrt(), within: median::median(&within)?.sqrt() })
}

/// Variances between the runs of a cell, and between the blocks of its runs.
fn of_cell(sides: &[Vec<&[Figures]>; 2], metric: Metric) -> Option<(f64, f64)> {
    let (mut squares, mut freedom) = (0.0, 0.0);
    let (mut within, mut sampling) = (Vec::new(), Vec::new());
    for side in sides {
        let runs = side.iter().filter_map(|trials| {
            let logs: Vec<f64> = trials.iter().filter_map(|trial| Some(trial.get(metric)?.ln())).filter(|log| log.is_finite()).collect();
            let variance = median::deviation(&logs)?.powi(2);
            Some((median::median(&logs)?, variance, logs.len() as f64))
        });
        let runs: Vec<(f64, f64, f64)> = runs.collect();
        let mean = runs.iter().map(|run| run.0).sum::<f64>() / runs.len() as f64;
        squares += runs.iter().map(|run| (run.0 - mean).powi(2)).sum::<f64>();
        freedom += runs.len().saturating_sub(1) as f64;
        within.extend(runs.iter().map(|run| run.1));
        sampling.extend(runs.iter().map(|run| median::OVER_MEAN * run.1 / run.2));
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    (freedom > 0.0).then(|| ((squares / freedom - mean(&sampling)).max(0.0), mean(&within)))
}
