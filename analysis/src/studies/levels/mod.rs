//! Levels of a condition, compared with its base: load, other traffic, links,
//! priorities, placement.
//!
//! ```text
//! trial table -> a value of each figure a block; trials -> usage of the condition
//!        -> axis: which cells are equal but for one condition -> LevelSeries -> SeriesLevels
//!        -> findings: what is beyond a factor of two
//! ```
//!
//! Pairs are of trials of one block. Each trial counts the interrupt time that
//! it read itself, as those of arms do: what is pooled over the trials of a cell
//! would shift all of its pairs alike, and pass for a difference.

mod axis;
mod findings;
mod result;
mod series;
mod usage;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::condition::Conditions;
use model::plan::{Factor, LinkKind};
use model::sorting::Order;
use model::{Bytes, Cell, Plan};

use super::{Context, Study};
use crate::confidence::Confidence;
use crate::figures::Figures;
use crate::grouping::{but_for, group_by};
use crate::metric::Metric;
use crate::table::{CellTrials, Trial, TrialTable};
use series::{AtLevel, CellAtLevel, LevelSeries};

pub use result::*;

/// Usage of the conditions of one cell, beyond its rows in the trial table.
#[derive(Debug, Default)]
struct CellUsage {
    trials: Vec<usage::TrialUsage>,
    notes: usage::Notes,
}

/// The study of a plan that varies conditions.
#[derive(Debug)]
pub(crate) struct Levels {
    link: LinkKind,
    /// By the place of the cell in the first arm.
    usage: BTreeMap<usize, CellUsage>,
}

impl Study for Levels {
    type Result = LevelStudy;

    fn for_plan(plan: &Plan) -> Option<Self> {
        let link = plan.link.kind;
        let mut conditions = plan.cells.iter().map(|cell| axis::plain(&cell.conditions, &link));
        let first = conditions.next();
        conditions.any(|other| Some(other) != first).then_some(Self { link, usage: BTreeMap::new() })
    }

    fn push(&mut self, trial: &Trial) {
        if trial.arm > 0 {
            return;
        }
        let usage = self.usage.entry(trial.place).or_default();
        usage.trials.extend(usage::TrialUsage::new(trial.measured, trial.link));
        if let Some(conditions) = &trial.measured.conditions {
            usage.notes.add(conditions);
        }
    }

    fn finish(self, context: &Context) -> Option<LevelStudy> {
        self.study(context.table, context.confidence)
    }
}

impl Levels {
    /// The comparisons; `None` where nothing stands next to a base.
    fn study(&self, table: &TrialTable, confidence: Confidence) -> Option<LevelStudy> {
        let factor = |factor: &Factor| {
            let series: Vec<_> = self.series(*factor, table).iter().map(|series| series.result(&self.link, confidence)).collect();
            (!series.is_empty()).then_some(FactorLevels { factor: *factor, series })
        };
        let factors: Vec<FactorLevels> = axis::AXES.iter().filter_map(factor).collect();
        let mut found: Vec<_> =
            factors.iter().flat_map(|of| of.series.iter().flat_map(|series| findings::findings(of.factor, series))).collect();
        findings::sort(&mut found);
        (!factors.is_empty()).then_some(LevelStudy { factors, findings: found })
    }

    /// Cells that are equal but for one condition and their size; those alone
    /// that have several levels of it.
    fn series<'a>(&'a self, factor: Factor, table: &'a TrialTable) -> Vec<LevelSeries<'a>> {
        let plain = |cell: &Cell| axis::plain(&cell.conditions, &self.link);
        let key = |cell: &Cell| but_for(&Cell { conditions: plain(cell), ..cell.clone() }, &[factor]).series();
        let all = group_by(table.cells().iter().enumerate(), |(_, cell)| key(cell));
        let levels = all.into_iter().map(|(key, members)| (key, group_by(members, |(_, cell)| plain(cell))));
        let several = levels.filter(|(_, levels)| levels.len() > 1);
        several.map(|(key, levels)| self.one(factor, key.to_string(), levels, table.arm(0))).collect()
    }

    /// A series with its base first: the usual level, else the first of the plan.
    fn one<'a>(
        &'a self,
        factor: Factor,
        name: String,
        levels: Vec<(Conditions, Vec<(usize, &'a Cell)>)>,
        trials: &'a [CellTrials],
    ) -> LevelSeries<'a> {
        let mut levels: Vec<(Cell, Vec<(usize, &Cell)>)> =
            levels.into_iter().map(|(conditions, members)| (Cell { conditions, ..members[0].1.clone() }, members)).collect();
        let base = levels.iter().position(|(cell, _)| but_for(cell, &[factor]) == *cell).unwrap_or(0);
        levels[..=base].rotate_right(1);
        let mut sizes: Vec<Bytes> = levels[0].1.iter().map(|(_, cell)| cell.size).collect();
        sizes.order();
        sizes.dedup();
        let test = levels[0].0.test;
        let at = |(cell, members): (Cell, Vec<(usize, &Cell)>)| {
            let of_size = |size: &Bytes| {
                let place = members.iter().find(|(_, cell)| cell.size == *size)?.0;
                let trials = trials.get(place).filter(|cell| !cell.figures.is_empty())?;
                Some(CellAtLevel { place, trials, usage: self.usage.get(&place) })
            };
            AtLevel { cells: sizes.iter().map(of_size).collect(), cell }
        };
        let levels = levels.into_iter().map(at).collect();
        LevelSeries { factor, name, test, sizes, levels }
    }
}

/// A figure of one trial.
fn figure(compared: LevelMetric, figures: &Figures, cell: &Cell) -> Option<f64> {
    let stream = cell.test.is_stream();
    let value = match compared {
        LevelMetric::Throughput => figures.own(if stream { Metric::GoodputBitPerS } else { Metric::MessagesPerS }),
        LevelMetric::SenderTime => figures.own(Metric::SentMessagesPerS).filter(|rate| stream && *rate > 0.0).map(|rate| 1e9 / rate),
        LevelMetric::SenderCpu => figures.own(Metric::SenderCpuPerMessageNs),
        LevelMetric::ReceiverCpu => figures.own(Metric::ReceiverCpuPerMessageNs),
        LevelMetric::RoundTripP50 => figures.own(Metric::RoundTripP50Ns),
        LevelMetric::RoundTripP99 => figures.own(Metric::RoundTripP99Ns),
        LevelMetric::Completion => figures.own(Metric::CompletionNs),
        LevelMetric::Fairness => figures.own(Metric::FairnessIndex),
        LevelMetric::Loss => figures.own(Metric::LossShare),
    };
    value.filter(|value| value.is_finite())
}
