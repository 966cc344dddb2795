//! The arms of a run: their own results, and each held against the baseline.
//!
//! Pairs are of trials of one cell in one block, which ran beside each other.
//! Each trial counts the interrupt time that it read itself: what is pooled over
//! the trials of a cell would shift all pairs alike, and pass for a difference.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use model::trial::Measured;
use model::{Cell, Plan, TrialRecord};

use crate::collector::{Gathering, cell_result};
use crate::cost::{self, Context, Trials};
use crate::figures::{Figures, IrqPool};
use crate::points::{self, Side};
use crate::result::arms::{ArmResult, ArmVerdict, CoefficientsOutcome, MetricVerdict, Pair, SeriesVerdict};
use crate::result::{CostModel, FitOutcome, Metric, Quantity};
use crate::verdict::{
    self, BlockPoints, Conclusion, Design, Form, MEANS, Options, THRESHOLD, Values, coefficients, compare, direction, doubts,
};
use stats::median;

/// The metric that a conclusion follows from: what the receiver got. Its inverse,
/// messages per second, and goodput have the same ratios turned round.
const HEADLINE: Metric = Metric::TimePerMessageNs;

/// What is compared.
const COMPARED: [Metric; 4] = [HEADLINE, Metric::SenderCpuPerMessageNs, Metric::ReceiverCpuPerMessageNs, Metric::RoundTripP50Ns];

/// What is kept of the arms.
#[derive(Debug)]
pub(crate) struct Arms {
    plan: Plan,
    threshold: f64,
    /// Of every arm but the first, by arm and place of the cell.
    others: BTreeMap<(usize, usize), Gathering>,
    /// Of every arm, with the interrupt time of each trial, by arm and place.
    trials: BTreeMap<(usize, usize), Vec<Figures>>,
    /// When each block began, in ms.
    begun: BTreeMap<u32, u64>,
}

impl Arms {
    /// Of a plan; one without arms keeps nothing.
    pub fn new(plan: &Plan) -> Self {
        Self { plan: plan.clone(), threshold: THRESHOLD, others: BTreeMap::new(), trials: BTreeMap::new(), begun: BTreeMap::new() }
    }

    /// Verdicts need an estimate beyond this share.
    pub const fn set_threshold(&mut self, threshold: f64) {
        self.threshold = threshold;
    }

    /// The place of a record's arm; the first of one without; `None` of an arm
    /// that the plan does not have.
    pub fn place(&self, record: &TrialRecord) -> Option<usize> {
        let Some(name) = &record.arm else { return Some(0) };
        self.plan.arms.iter().position(|arm| arm.name == *name)
    }

    /// A trial as it was run: the arm's settings over its cell.
    pub fn as_run<'a>(&self, record: &'a TrialRecord) -> Cow<'a, TrialRecord> {
        match self.place(record).and_then(|arm| self.plan.cell_in(&record.cell, arm).ok()) {
            Some(cell) if cell != record.cell => Cow::Owned(TrialRecord { cell, ..record.clone() }),
            _ => Cow::Borrowed(record),
        }
    }

    /// Where the trials of an arm, not the first, and of a cell are gathered.
    pub fn gathering(&mut self, arm: usize, place: usize, cell: &Cell) -> &mut Gathering {
        self.others.entry((arm, place)).or_insert_with(|| Gathering::new(cell))
    }

    /// Keeps a trial for the verdicts.
    pub fn keep(&mut self, arm: usize, place: usize, record: &TrialRecord, measured: &Measured, mut figures: Figures) {
        if self.plan.arms.is_empty() {
            return;
        }
        let mut own = [IrqPool::default(); 2];
        own[0].add(&measured.sender, &record.cell);
        own[1].add(&measured.receiver, &record.cell);
        figures.add_irq(&own);
        self.trials.entry((arm, place)).or_default().push(figures);
        let begun = self.begun.entry(record.block).or_insert(record.started_ms);
        *begun = (*begun).min(record.started_ms);
    }

    /// Trials of every arm but the first.
    pub fn trials(&self) -> u64 {
        self.others.values().map(|cell| cell.figures.len() as u64).sum()
    }

    /// The results of every arm but the first, and the verdicts on them. The
    /// cells and the models are the baseline's.
    pub fn finish(mut self, cells: &[Cell], models: &[CostModel], context: &Context) -> (Vec<ArmResult>, Vec<ArmVerdict>) {
        let results = (1..self.plan.arms.len()).map(|arm| self.result(arm, cells, context)).collect();
        let verdicts = (1..self.plan.arms.len()).map(|arm| self.verdict(arm, cells, models)).collect();
        (results, verdicts)
    }

    fn result(&mut self, arm: usize, cells: &[Cell], context: &Context) -> ArmResult {
        for (place, cell) in cells.iter().enumerate() {
            let run = self.plan.cell_in(cell, arm).unwrap_or_else(|_| cell.clone());
            let gathering = self.gathering(arm, place, &run);
            let irq = gathering.irq;
            gathering.figures.iter_mut().for_each(|trial| trial.add_irq(&irq));
        }
        let own: Vec<&Gathering> = self.others.range((arm, 0)..(arm + 1, 0)).map(|(_, gathering)| gathering).collect();
        let trials: Vec<Trials> =
            own.iter().map(|cell| Trials { cell: &cell.cell, figures: &cell.figures, segment: cell.segment }).collect();
        ArmResult {
            name: self.plan.arms[arm].name.clone(),
            cells: own.iter().map(|cell| cell_result(cell, context.claim, context.seed)).collect(),
            models: cost::models(&trials, context),
        }
    }

    fn verdict(&self, arm: usize, cells: &[Cell], models: &[CostModel]) -> ArmVerdict {
        let options = Options { threshold: self.threshold, confidence: self.plan.blocks.confidence, design: Design::Paired };
        let [baseline, candidate] = [0, arm].map(|arm| &self.plan.arms[arm]);
        let is_self_test = baseline.settings == candidate.settings;
        let same_host_settings = baseline.host_settings() == candidate.host_settings();
        let run = |place: usize, arm| self.plan.cell_in(&cells[place], arm).ok();
        let alike = |place: &usize| !is_self_test && same_host_settings && run(*place, 0) == run(*place, arm);
        let metrics: Vec<MetricVerdict> = COMPARED.iter().filter_map(|metric| self.compared(arm, cells.len(), *metric, &options)).collect();
        let headline = metrics.iter().find(|verdict| verdict.metric == HEADLINE);
        let all = |metric| (0..cells.len()).map(|place| self.values(arm, place, metric)).collect::<Vec<_>>();
        let seconds = self.seconds_per_block().filter(|_| is_self_test);
        ArmVerdict {
            baseline: baseline.name.clone(),
            candidate: candidate.name.clone(),
            is_self_test,
            alike: (0..cells.len()).filter(alike).collect(),
            headline: HEADLINE,
            conclusion: headline.map_or(Conclusion::Inconclusive, |verdict| verdict.comparison.conclusion),
            self_test: seconds
                .zip(direction(HEADLINE))
                .and_then(|(seconds, better)| verdict::self_test(&all(HEADLINE), better, seconds, &options)),
            means: MEANS.iter().filter_map(|metric| verdict::means(*metric, &all(*metric), &options)).collect(),
            metrics,
            coefficients: self.coefficients(arm, cells, models, &options),
        }
    }

    /// `None` of a metric that no cell has in both arms.
    fn compared(&self, arm: usize, cells: usize, metric: Metric, options: &Options) -> Option<MetricVerdict> {
        let better = direction(metric)?;
        let values: Vec<Values> = (0..cells).map(|place| self.values(arm, place, metric)).collect();
        let pairs: Vec<Vec<Pair>> = values.iter().map(pairs).collect();
        if pairs.iter().all(Vec::is_empty) && metric != HEADLINE {
            return None;
        }
        let doubts = doubts(&values, better, options.threshold);
        Some(MetricVerdict { metric, comparison: compare(&values, better, options), doubts, pairs })
    }

    fn values(&self, arm: usize, place: usize, metric: Metric) -> Values {
        let of = |arm: usize| {
            let trials = self.trials.get(&(arm, place)).into_iter().flatten();
            trials.filter_map(move |trial| Some((trial.block, trial.get(metric)?)))
        };
        Values::new(of(0), of(arm))
    }

    /// What each block takes, from its first trial to the next block's.
    fn seconds_per_block(&self) -> Option<f64> {
        let begun: Vec<(u32, u64)> = self.begun.iter().map(|(block, begun)| (*block, *begun)).collect();
        let neighbours = begun.windows(2).filter(|pair| pair[0].0 + 1 == pair[1].0);
        let lengths: Vec<f64> = neighbours.map(|pair| pair[1].1.saturating_sub(pair[0].1) as f64 / 1e3).collect();
        median::median(&lengths)
    }

    /// Each model of the baseline, fitted block by block in both arms.
    fn coefficients(&self, arm: usize, cells: &[Cell], models: &[CostModel], options: &Options) -> Vec<SeriesVerdict> {
        let verdict = |model: &CostModel| {
            let outcome = match &model.outcome {
                FitOutcome::NotALine { reason } => CoefficientsOutcome::NotCompared { reason: reason.clone() },
                FitOutcome::Fitted(fit) => {
                    let members = cells.iter().enumerate().filter(|(_, cell)| cell.series().to_string() == model.series);
                    let blocks = self.points(arm, members, model.quantity);
                    match coefficients(&blocks, &Form::of(fit), options) {
                        Ok(compared) => CoefficientsOutcome::Compared(compared),
                        Err(error) => CoefficientsOutcome::NotCompared { reason: error.to_string() },
                    }
                }
            };
            SeriesVerdict { series: model.series.clone(), quantity: model.quantity, outcome }
        };
        models.iter().map(verdict).collect()
    }

    /// The trials of a series' cells in both arms, block by block.
    fn points<'a>(&self, arm: usize, members: impl Iterator<Item = (usize, &'a Cell)>, quantity: Quantity) -> BTreeMap<u32, BlockPoints> {
        let mut blocks: BTreeMap<u32, BlockPoints> = BTreeMap::new();
        for (place, cell) in members {
            for (of, side) in [(0, Side::Baseline), (arm, Side::Candidate)] {
                let trials = self.trials.get(&(of, place)).map_or(&[][..], Vec::as_slice);
                points::add(&mut blocks, trials, cell, quantity, side);
            }
        }
        blocks
    }
}

/// The blocks that both arms have.
fn pairs(values: &Values) -> Vec<Pair> {
    let common: BTreeSet<u32> = values.baseline.keys().filter(|block| values.candidate.contains_key(block)).copied().collect();
    common.into_iter().map(|block| Pair { block, baseline: values.baseline[&block], candidate: values.candidate[&block] }).collect()
}
