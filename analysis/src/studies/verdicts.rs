//! Each arm of a run compared with the first.
//!
//! Pairs are of trials of one cell in one block, which ran next to each other.

use std::collections::BTreeMap;

use model::Plan;
use model::woven::Slice;
use serde::Serialize;
use stats::median;

use super::{Context, Study};
use crate::metric::Metric;
use crate::table::{Trial, TrialTable};
use crate::verdict::woven::{WovenSeries, WovenSide};
use crate::verdict::{Gate, Options, Side, SideComparison, Sides, compare_sides, hypotheses, self_test};

/// A candidate compared with the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmVerdict {
    /// The first arm of the plan.
    pub baseline: String,
    /// The other.
    pub candidate: String,
    /// True where both set the same: then a difference shown is a false one.
    pub is_self_test: bool,
    /// Places of the cells that the two arms run in the same way because what
    /// sets them apart means nothing there, such as a congestion control to UDP.
    pub alike: Vec<usize>,
    /// The metric that a report leads with.
    pub headline: Metric,
    /// Everything that the two show.
    #[serde(flatten)]
    pub compared: SideComparison,
}

/// The study of a plan with several arms.
#[derive(Debug)]
pub(crate) struct Verdicts {
    /// When each block began, in ms.
    begun: BTreeMap<u32, u64>,
    gate: Gate,
    /// The slices of woven arms.
    woven: Option<WovenSeries>,
}

impl Study for Verdicts {
    type Result = Vec<ArmVerdict>;

    fn for_plan(plan: &Plan) -> Option<Self> {
        (plan.arms.len() > 1).then(|| Self {
            begun: BTreeMap::new(),
            gate: Gate::default(),
            woven: plan.woven.then(|| WovenSeries::for_plan(plan)),
        })
    }

    fn push(&mut self, trial: &Trial) {
        let begun = self.begun.entry(trial.record.block).or_insert(trial.record.started_ms);
        *begun = (*begun).min(trial.record.started_ms);
    }

    fn push_slices(&mut self, group: usize, instance: u32, slices: &[Slice]) {
        if let Some(woven) = &mut self.woven {
            woven.push(group, instance, slices);
        }
    }

    fn finish(self, context: &Context) -> Option<Vec<ArmVerdict>> {
        let pooled = context.analysis.run.pooled.as_ref();
        let candidates = context.plan().arms.len().saturating_sub(1);
        let options = Options {
            // A study whose question stays open goes on (`study --again`), so that its first look leaves some of the error.
            look: 1 + pooled.map_or(0, |pooled| pooled.runs.len() as u32),
            chosen_among: pooled.map_or(0, |pooled| hypotheses(pooled.cells) * candidates * self.gate.metrics.len()),
            threshold: self.gate.threshold,
            ..Options::of_arms(context.plan())
        };
        // Of a run that goes on with others all is seen: it is a look of its own.
        let seen = if pooled.is_some() { WovenSide::so_far } else { WovenSide::of };
        let woven = |arm| self.woven.as_ref().map(|series| seen(series, arm));
        let all: Vec<Sides> = (1..context.plan().arms.len()).map(|arm| sides(arm, context.table, woven(arm))).collect();
        let compared = compare_sides(&all, context.analysis.models(), &self.gate.metrics, &options);
        let verdict = |((arm, sides), compared)| self.verdict(arm, context, sides, compared, &options);
        Some((1..).zip(&all).zip(compared).map(verdict).collect())
    }
}

impl Verdicts {
    /// Draws the conclusion from this gate.
    pub fn set_gate(&mut self, gate: &Gate) {
        self.gate = gate.clone();
    }

    fn verdict(&self, arm: usize, context: &Context, sides: &Sides, mut compared: SideComparison, options: &Options) -> ArmVerdict {
        let (plan, table) = (context.plan(), context.table);
        let [baseline, candidate] = [0, arm].map(|arm| &plan.arms[arm]);
        let is_self_test = baseline.settings == candidate.settings;
        let same_hosts = baseline.host_settings() == candidate.host_settings();
        let as_run = |arm: usize, place: usize| &table.arm(arm)[place].as_run;
        let alike = |place: &usize| !is_self_test && same_hosts && as_run(0, *place) == as_run(arm, *place);
        let headline = compared.metrics.first().map_or(Metric::CpuPerMessageNs, |first| first.metric);
        let seconds = self.seconds_per_block().filter(|_| is_self_test).zip(headline.better());
        let family = compared.metrics.first().map_or(1, |first| first.comparison.tested);
        compared.self_test =
            seconds.and_then(|(seconds, better)| self_test(&sides.values(headline, options.design), better, seconds, family, options));
        let alike: Vec<usize> = (0..table.cells().len()).filter(alike).collect();
        if !alike.is_empty() && alike.len() < table.cells().len() {
            compared.conclusion = compared.without(&alike);
        }
        ArmVerdict { baseline: baseline.name.clone(), candidate: candidate.name.clone(), is_self_test, alike, headline, compared }
    }

    /// The length of a block, from its first trial to the next block's.
    fn seconds_per_block(&self) -> Option<f64> {
        let begun: Vec<(u32, u64)> = self.begun.iter().map(|(block, begun)| (*block, *begun)).collect();
        let neighbours = begun.windows(2).filter(|pair| pair[0].0 + 1 == pair[1].0);
        let lengths: Vec<f64> = neighbours.map(|pair| pair[1].1.saturating_sub(pair[0].1) as f64 / 1e3).collect();
        median::median(&lengths)
    }
}

/// The first arm and another, cell by cell. The baseline's cells name the series
/// of both.
pub(crate) fn sides<'a>(arm: usize, table: &'a TrialTable, woven: Option<WovenSide<'a>>) -> Sides<'a> {
    let pairs = table.arm(0).iter().zip(table.arm(arm));
    let mut sides = Sides { woven, ..Sides::default() };
    for (baseline, candidate) in pairs {
        sides.cells.push([vec![&baseline.figures], vec![&candidate.figures]]);
        sides.offered.push(baseline.cell.rate.is_some() || candidate.cell.rate.is_some());
        sides.modelled.push((Side::Baseline, 0, &baseline.cell, &baseline.figures));
        sides.modelled.push((Side::Candidate, 0, &baseline.cell, &candidate.figures));
    }
    sides
}
