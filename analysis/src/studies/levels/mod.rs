//! Levels of a condition, laid side by side: load, other traffic, links,
//! priorities, placement.
//!
//! ```text
//! trial table -> a value of each figure a block; trials -> what the condition took
//!        -> axis: which cells are equal but for one condition -> Series -> SeriesLevels
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
mod taken;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::condition::Conditions;
use model::plan::{Factor, LinkKind};
use model::{Bytes, Cell, Plan};

use super::{Context, Study};
use crate::claim::Claim;
use crate::figures::Figures;
use crate::grouping::group_by;
use crate::metric::Metric;
use crate::table::{CellTrials, Trial, TrialTable};
use series::{AtLevel, CellAtLevel, Series};

pub use result::*;

/// What the conditions of one cell took, beyond its rows in the trial table.
#[derive(Debug, Default)]
struct Taken {
    uses: Vec<taken::Use>,
    notes: taken::Notes,
}

/// The study of a plan that varies conditions.
#[derive(Debug)]
pub(crate) struct Levels {
    link: LinkKind,
    /// By the place of the cell in the first arm.
    taken: BTreeMap<usize, Taken>,
}

impl Study for Levels {
    type Result = LevelStudy;

    fn for_plan(plan: &Plan) -> Option<Self> {
        let link = plan.link.kind;
        let mut conditions = plan.cells.iter().map(|cell| axis::plain(&cell.conditions, &link));
        let first = conditions.next();
        conditions.any(|other| Some(other) != first).then_some(Self { link, taken: BTreeMap::new() })
    }

    fn push(&mut self, trial: &Trial) {
        if trial.arm > 0 {
            return;
        }
        let taken = self.taken.entry(trial.place).or_default();
        taken.uses.extend(taken::Use::of(trial.measured, trial.link));
        if let Some(conditions) = &trial.measured.conditions {
            taken.notes.add(conditions);
        }
    }

    fn finish(self, context: &Context) -> Option<LevelStudy> {
        self.study(context.table, context.claim)
    }
}

impl Levels {
    /// What the cells show; `None` where nothing stands next to a base.
    fn study(&self, table: &TrialTable, claim: Claim) -> Option<LevelStudy> {
        let factor = |factor: &Factor| {
            let series: Vec<_> = self.series(*factor, table).iter().map(|series| series.result(&self.link, claim)).collect();
            (!series.is_empty()).then_some(FactorLevels { factor: *factor, series })
        };
        let factors: Vec<FactorLevels> = axis::AXES.iter().filter_map(factor).collect();
        let mut found: Vec<_> = factors.iter().flat_map(|of| of.series.iter().flat_map(|series| findings::of(of.factor, series))).collect();
        findings::sort(&mut found);
        (!factors.is_empty()).then_some(LevelStudy { factors, findings: found })
    }

    /// Cells that are equal but for one condition and their size; those alone
    /// that have several levels of it.
    fn series<'a>(&'a self, factor: Factor, table: &'a TrialTable) -> Vec<Series<'a>> {
        let plain = |cell: &Cell| axis::plain(&cell.conditions, &self.link);
        let cells = table.cells().iter().enumerate();
        let all = group_by(cells, |(_, cell)| cell.series().under(axis::without(factor, &plain(cell))));
        let levels = all.into_iter().map(|(key, members)| (key, group_by(members, |(_, cell)| plain(cell))));
        let several = levels.filter(|(_, levels)| levels.len() > 1);
        several.map(|(key, levels)| self.one(factor, key.to_string(), levels, table.arm(0))).collect()
    }

    /// A series with its base first: the usual level, else the first of the plan.
    fn one<'a>(
        &'a self,
        factor: Factor,
        name: String,
        mut levels: Vec<(Conditions, Vec<(usize, &'a Cell)>)>,
        trials: &'a [CellTrials],
    ) -> Series<'a> {
        let base = levels.iter().position(|(conditions, _)| axis::without(factor, conditions) == *conditions).unwrap_or(0);
        levels[..=base].rotate_right(1);
        let mut sizes: Vec<Bytes> = levels[0].1.iter().map(|(_, cell)| cell.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let cell = levels[0].1[0].1;
        let at = |(conditions, members): (Conditions, Vec<(usize, &Cell)>)| {
            let of_size = |size: &Bytes| {
                let place = members.iter().find(|(_, cell)| cell.size == *size)?.0;
                let trials = trials.get(place).filter(|cell| !cell.figures.is_empty())?;
                Some(CellAtLevel { place, trials, taken: self.taken.get(&place) })
            };
            AtLevel { conditions, cells: sizes.iter().map(of_size).collect() }
        };
        let levels = levels.into_iter().map(at).collect();
        Series { factor, name, cell, sizes, levels }
    }
}

/// A figure of one trial.
fn figure(compared: Compared, figures: &Figures, cell: &Cell) -> Option<f64> {
    let stream = cell.test.is_stream();
    let value = match compared {
        Compared::Throughput => figures.own(if stream { Metric::GoodputBitPerS } else { Metric::MessagesPerS }),
        Compared::SenderTime => figures.own(Metric::SentMessagesPerS).filter(|rate| stream && *rate > 0.0).map(|rate| 1e9 / rate),
        Compared::SenderCpu => figures.own(Metric::SenderCpuPerMessageNs),
        Compared::ReceiverCpu => figures.own(Metric::ReceiverCpuPerMessageNs),
        Compared::RoundTripP50 => figures.own(Metric::RoundTripP50Ns),
        Compared::RoundTripP99 => figures.round_trip_p99,
        Compared::Loss => figures.own(Metric::LossShare),
    };
    value.filter(|value| value.is_finite())
}
