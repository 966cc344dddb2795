//! Ways of sending, side by side: what a message costs by each at every size, and where
//! one becomes cheaper than another.
//!
//! ```text
//! trial table -> CPU of both ends a message, by way, size, roles of the hosts and batch of blocks
//!             -> medians by roles, their mean
//!             -> the cheapest of a size, sizes at which two ways cost the same
//! ```
//!
//! A message may cost more from one host to the other than the other way about, as between two CPUs
//! of which one has the interrupts. The median of all trials then lies anywhere between the costs of
//! both, by chance; the mean of two medians does not. A cell that lacks a trial in one of the roles has no
//! cost: its figure would be that of one role, next to means of both.
//!
//! Whole blocks are drawn again for the intervals: what hit all ways of a block alike
//! stays together.
//!
//! Of woven ways each block has a ratio to the base: that of the rounds of an instance, or of two trials next
//! to each other where a way cannot be woven. A cost is the base's times the mean ratio, and intervals of
//! ratios are Student's over blocks.

mod lines;
mod result;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::sorting::{Gather, Order};
use model::woven::Slice;
use model::{Api, Bytes, Cell, Plan};
use stats::bootstrap::{self, Batches, LEAST_BLOCKS};
use stats::instances::Instances;

use self::lines::Gap;
use super::{Context, Study};
use crate::confidence::Confidence;
use crate::figures::Figures;
use crate::grouping::group_by;
use crate::metric::Metric;
use crate::table::TrialTable;
use crate::verdict::woven::{Measure, SURE, WovenSeries};
use stats::estimate::Estimate;
use stats::median;

pub use result::*;

/// The study of a plan whose cells go several ways.
#[derive(Debug)]
pub(crate) struct Ways {
    /// Their slices, where they are woven.
    woven: Option<WovenSeries>,
}

impl Study for Ways {
    type Result = WayStudy;

    fn for_plan(plan: &Plan) -> Option<Self> {
        let woven = || (plan.woven && plan.arms.is_empty()).then(|| WovenSeries::for_plan(plan));
        groups(plan.cells.iter().enumerate()).iter().any(|(_, ways)| ways.len() > 1).then(|| Self { woven: woven() })
    }

    fn push_slices(&mut self, group: usize, instance: u32, slices: &[Slice]) {
        if let Some(woven) = &mut self.woven {
            woven.push(group, instance, slices);
        }
    }

    fn finish(self, context: &Context) -> Option<WayStudy> {
        let series = |(name, ways): (String, Vec<Members>)| {
            let costs =
                Costs::new(&ways, context.table, context.batches, context.confidence).paired(&ways, context.table, self.woven.as_ref());
            costs.series(name, context.confidence, context.plan().seed)
        };
        let several = groups(context.table.cells().iter().enumerate()).into_iter().filter(|(_, ways)| ways.len() > 1);
        let series: Vec<WaySeries> = several.map(series).filter(|series| !series.sizes.is_empty()).collect();
        let mut study = WayStudy { series };
        if self.woven.is_some() {
            study.note_in_turn(context.plan());
        }
        (!study.series.is_empty()).then_some(study)
    }
}

/// The cells of a way, with their places in the table.
type Members<'a> = Vec<(usize, &'a Cell)>;

/// The series that a cell's ways are compared in, in words.
pub(crate) fn series_of(cell: &Cell) -> String {
    cell.without_way().series().to_string()
}

/// Cells that are equal but for their way and their size, by way: plain `send` first.
fn groups<'a>(cells: impl Iterator<Item = (usize, &'a Cell)>) -> Vec<(String, Vec<Members<'a>>)> {
    let all = group_by(cells, |(_, cell)| cell.without_way().series());
    let ways = |members: Members<'a>| {
        let mut ways: Vec<Members<'a>> =
            group_by(members, |(_, cell)| (cell.api, cell.receive, cell.batch)).into_iter().map(|(_, members)| members).collect();
        if let Some(base) = ways.iter().position(|members| (members[0].1.api, members[0].1.receive) == (Api::Send, None)) {
            ways[..=base].rotate_right(1);
        }
        ways
    };
    all.into_iter().map(|(key, members)| (key.to_string(), ways(members))).collect()
}

/// The batch of blocks and the cost of each trial of a cell, cheapest first; those with the hosts' roles
/// exchanged apart.
type Trials = [Vec<(usize, f64)>; 2];

/// CPU time a message of some ways at some sizes.
struct Costs<'a> {
    ways: Vec<&'a Cell>,
    sizes: Vec<Bytes>,
    /// By way and size; none of a cell that lacks a trial in a role that others have.
    trials: Vec<Vec<Trials>>,
    /// Likewise.
    waits: Vec<Vec<Waits>>,
    /// Likewise, of ways that are woven: the logarithm of the cost over the base's, by block.
    shifts: Option<Vec<Vec<BTreeMap<u32, f64>>>>,
    /// Doubts about these.
    doubts: Vec<WayDoubt>,
    batches: &'a Batches,
}

/// What a way has its messages and its receiver wait for, at one size.
#[derive(Debug, Clone, Copy, Default)]
struct Waits {
    wakeups: Option<Estimate>,
    batch_fills_ns: Option<Estimate>,
}

impl Waits {
    fn of(cell: &Cell, trials: &[Figures], confidence: Confidence) -> Self {
        let each = |metric| trials.iter().filter_map(|trial| trial.get(metric)).collect::<Vec<f64>>();
        let others = f64::from(cell.batch.saturating_sub(1));
        let fills: Vec<f64> = each(Metric::TimePerMessageNs).into_iter().map(|time| time * others).collect();
        Self {
            wakeups: confidence.estimate(&each(Metric::ReceiverWakeupsPerMessage)),
            batch_fills_ns: if cell.batch > 1 { confidence.estimate(&fills) } else { None },
        }
    }
}

/// Logarithms of the ratio of two cells' costs, one a block: of the trials of each that ran next to each other.
fn in_turn(table: &TrialTable, [base, way]: [usize; 2]) -> BTreeMap<u32, f64> {
    let figures = |place: usize| table.arm(0).get(place).map_or(&[][..], |cell| &cell.figures).iter().filter(|trial| !trial.woven);
    let shift = |trial: &Figures| {
        let next = figures(base).find(|other| (other.block, other.group) == (trial.block, trial.group))?;
        Some((trial.block, (cost(trial)? / cost(next)?).ln()))
    };
    figures(way).filter_map(shift).into_map()
}

/// CPU time that both ends spent on a delivered message.
fn cost(figures: &Figures) -> Option<f64> {
    figures.get(Metric::CpuPerMessageNs).filter(|cost| cost.is_finite() && *cost > 0.0)
}

impl<'a> Costs<'a> {
    fn new(ways: &[Members<'a>], table: &TrialTable, batches: &'a Batches, confidence: Confidence) -> Self {
        let figures = |place: usize| table.arm(0).get(place).map_or(&[][..], |cell| &cell.figures);
        let of_cell = |place: usize| {
            // A base that is woven has trials next to ways that are not as well.
            let woven = figures(place).iter().any(|trial| trial.woven);
            [false, true].map(|swapped| {
                let trials = figures(place).iter().filter(|trial| (trial.swapped, trial.woven) == (swapped, woven));
                let mut trials: Vec<(usize, f64)> =
                    trials.filter_map(|trial| Some((batches.of_block(trial.block)?, cost(trial)?))).collect();
                trials.order_by(|a, b| a.1.total_cmp(&b.1));
                trials
            })
        };
        let of_members = |members: &Members<'a>| members.iter().map(|(place, cell)| (cell.size, of_cell(*place))).into_map();
        let mut measured: Vec<BTreeMap<Bytes, Trials>> = ways.iter().map(of_members).collect();
        let roles: Vec<usize> =
            (0..2).filter(|role| measured.iter().flat_map(BTreeMap::values).any(|trials| !trials[*role].is_empty())).collect();
        for way in &mut measured {
            way.retain(|_, trials| !roles.is_empty() && roles.iter().all(|role| !trials[*role].is_empty()));
        }
        let sizes: Vec<Bytes> = measured.iter().flat_map(BTreeMap::keys).copied().into_set().into_iter().collect();
        let of_way = |way: &BTreeMap<Bytes, Trials>| sizes.iter().map(|size| way.get(size).cloned().unwrap_or_default()).collect();
        let trials = measured.iter().map(of_way).collect();
        let waits_of = |members: &Members<'a>, size: &Bytes| {
            let found = members.iter().find(|(_, cell)| cell.size == *size);
            found.map_or_else(Waits::default, |(place, cell)| Waits::of(cell, figures(*place), confidence))
        };
        let waits = ways.iter().map(|members| sizes.iter().map(|size| waits_of(members, size)).collect()).collect();
        Self { ways: ways.iter().map(|members| members[0].1).collect(), sizes, trials, waits, shifts: None, doubts: Vec::new(), batches }
    }

    /// The same with the ratios of ways that are woven.
    fn paired(mut self, ways: &[Members<'a>], table: &TrialTable, woven: Option<&WovenSeries>) -> Self {
        let place = |members: &Members<'a>, size: &Bytes| members.iter().find(|(_, cell)| cell.size == *size).map(|(place, _)| *place);
        let shifts = |series: &WovenSeries, members: &Members<'a>, size: &Bytes| {
            let Some([base, way]) = place(&ways[0], size).zip(place(members, size)).map(|(base, way)| [base, way]) else {
                return BTreeMap::new();
            };
            Some(series.shifts(way, Measure::BothEnds)).filter(|shifts| !shifts.is_empty()).unwrap_or_else(|| in_turn(table, [base, way]))
        };
        self.shifts =
            woven.map(|series| ways.iter().map(|members| self.sizes.iter().map(|size| shifts(series, members, size)).collect()).collect());
        self.doubts = woven.map(|series| self.doubts_about(series, |way, size| place(&ways[way], &self.sizes[size]))).unwrap_or_default();
        self
    }

    /// The doubts about shares of woven ways, whose cells have the places that `place` gives.
    fn doubts_about(&self, series: &WovenSeries, place: impl Fn(usize, usize) -> Option<usize>) -> Vec<WayDoubt> {
        let shares = (1..self.ways.len()).flat_map(|way| (0..self.sizes.len()).map(move |size| (way, size)));
        let shares: Vec<(usize, usize)> = shares.collect();
        let of_share = |(way, size): &(usize, usize)| {
            let found = place(*way, *size).map(|cell| series.doubts_of_shift(cell, Measure::BothEnds)).unwrap_or_default();
            let (way, size, of) = (*way, *size, shares.len() as f64);
            found.into_iter().map(move |doubt| WayDoubt { way, size, shape: doubt.shape, p: (doubt.p * of).min(1.0) })
        };
        let mut doubts: Vec<WayDoubt> = shares.iter().flat_map(of_share).filter(|doubt| doubt.p <= SURE).collect();
        doubts.order_by(|a, b| a.p.total_cmp(&b.p));
        doubts
    }

    /// Costs by way and size: the mean of the medians by roles, with each batch counted as often as it
    /// was drawn; not a number where nothing was measured, or drawn, in a role.
    fn by_size(&self, times: Option<&[u32]>) -> Vec<Vec<f64>> {
        let weight = |batch: usize| times.map_or(1, |times| times[batch]);
        let of_role = |trials: &Vec<(usize, f64)>| {
            let drawn: Vec<f64> = trials.iter().flat_map(|(batch, cost)| std::iter::repeat_n(*cost, weight(*batch) as usize)).collect();
            median::of_sorted(&drawn).unwrap_or(f64::NAN)
        };
        let of_cell = |trials: &Trials| {
            let of_roles: Vec<f64> = trials.iter().filter(|trials| !trials.is_empty()).map(of_role).collect();
            of_roles.iter().sum::<f64>() / of_roles.len() as f64
        };
        let mut costs: Vec<Vec<f64>> = self.trials.iter().map(|sizes| sizes.iter().map(of_cell).collect()).collect();
        let (Some(shifts), Some((base, others))) = (&self.shifts, costs.split_first_mut()) else { return costs };
        for (way, shifts) in others.iter_mut().zip(&shifts[1..]) {
            for ((cost, base), shifts) in way.iter_mut().zip(base.iter()).zip(shifts).filter(|((_, base), _)| base.is_finite()) {
                let drawn = shifts.iter().filter_map(|(block, shift)| Some((f64::from(weight(self.batches.of_block(*block)?)), shift)));
                let (sum, times) = drawn.fold((0.0, 0.0), |(sum, all), (times, shift)| (sum + times * shift, all + times));
                *cost = base * (sum / times).exp();
            }
        }
        costs
    }

    /// Logarithms of the ratio of two ways at a size, one a block; `None` where they are not woven.
    fn log_ratios(&self, [first, second]: [usize; 2], size: usize) -> Option<Vec<f64>> {
        let shifts = self.shifts.as_ref().filter(|_| self.trials[0][size].iter().any(|trials| !trials.is_empty()))?;
        let [one, other] = [&shifts[first][size], &shifts[second][size]];
        Some(match (first, second) {
            (0, _) => other.values().map(|shift| -shift).collect(),
            (_, 0) => one.values().copied().collect(),
            _ => one.iter().filter_map(|(block, shift)| Some(shift - other.get(block)?)).collect(),
        })
    }

    /// Batches in which a way was measured at a size.
    fn batches_of(&self, way: usize, size: usize) -> usize {
        self.trials[way][size].iter().flatten().map(|(batch, _)| batch).into_set().len()
    }

    fn series(&self, name: String, confidence: Confidence, seed: u64) -> WaySeries {
        let found = self.by_size(None);
        let draws: Vec<Vec<Vec<f64>>> = bootstrap::draws(self.batches.len(), seed).map(|times| self.by_size(Some(&times))).collect();
        let known = CostDraws { costs: self, found: &found, draws: &draws, confidence };
        let pairs = (0..self.ways.len()).flat_map(|one| (one + 1..self.ways.len()).map(move |other| [one, other]));
        let gaps: BTreeMap<[usize; 2], Vec<Gap>> = pairs.map(|pair| (pair, known.gaps(pair))).into_map();
        let way = |(place, cell): (usize, &&Cell)| {
            let each = |of: &dyn Fn(&[Vec<f64>], usize) -> f64| {
                (0..self.sizes.len()).map(|size| known.estimate(&|costs| of(costs, size))).collect()
            };
            Way {
                api: cell.api,
                receive: cell.receive,
                batch: cell.batch,
                cost_ns: each(&|costs, size| costs[place][size]),
                of_base: (0..self.sizes.len()).map(|size| known.of_base(place, size)).collect(),
                wakeups: self.waits[place].iter().map(|waits| waits.wakeups).collect(),
                batch_fills_ns: self.waits[place].iter().map(|waits| waits.batch_fills_ns).collect(),
                line: known.line(place, &self.sizes),
                in_turn: None,
            }
        };
        WaySeries {
            series: name,
            woven: self.shifts.is_some(),
            ways: self.ways.iter().enumerate().map(way).collect(),
            cheapest: (0..self.sizes.len()).map(|size| known.cheapest(size, &gaps)).collect(),
            crossings: gaps.iter().filter_map(|(pair, gaps)| known.crossing(*pair, gaps)).collect(),
            sizes: self.sizes.clone(),
            doubts: self.doubts.clone(),
        }
    }
}

/// Costs by way and size, and those of each draw.
struct CostDraws<'a> {
    costs: &'a Costs<'a>,
    found: &'a [Vec<f64>],
    draws: &'a [Vec<Vec<f64>>],
    confidence: Confidence,
}

impl CostDraws<'_> {
    /// A function of the costs; `None` where it is not known.
    fn estimate(&self, of: &dyn Fn(&[Vec<f64>]) -> f64) -> Option<Estimate> {
        let value = Some(of(self.found)).filter(|value| value.is_finite())?;
        let drawn: Vec<f64> = self.draws.iter().map(|costs| of(costs)).collect();
        Some(self.confidence.drawn(value, &drawn, self.costs.batches))
    }

    /// The cost of a way at a size over that of the base.
    fn of_base(&self, way: usize, size: usize) -> Option<Estimate> {
        let ratios = self.costs.log_ratios([way, 0], size).filter(|_| way > 0).and_then(|ratios| Instances::new(&ratios));
        let unpaired = || self.estimate(&|costs| costs[way][size] / costs[0][size]);
        ratios.map_or_else(unpaired, |ratios| Some(ratios.estimate(self.confidence.found_at()).map(f64::exp)))
    }

    /// The line of a way next to that of the base; `None` where either is none.
    fn line(&self, way: usize, sizes: &[Bytes]) -> Option<WayLine> {
        for place in [0, way] {
            let costs = &self.found[place];
            lines::fit(sizes, costs).filter(|line| lines::holds(*line, sizes, costs))?;
        }
        let lines = |costs: &[Vec<f64>], of: usize| lines::fit(sizes, &costs[of]);
        let message = |costs: &[Vec<f64>], of: usize| lines(costs, of).map_or(f64::NAN, |line| line.message);
        let byte = |costs: &[Vec<f64>], of: usize| lines(costs, of).map_or(f64::NAN, |line| line.byte);
        Some(WayLine {
            message_ns: self.estimate(&|costs| message(costs, way))?,
            byte_ns: self.estimate(&|costs| byte(costs, way))?,
            message_of_base: self.estimate(&|costs| message(costs, way) / message(costs, 0))?,
            byte_of_base: self.estimate(&|costs| byte(costs, way) / byte(costs, 0))?,
        })
    }

    /// What is known of two ways at the sizes that both were measured at.
    fn gaps(&self, pair: [usize; 2]) -> Vec<Gap> {
        let ratio = |costs: &[Vec<f64>], size: usize| (costs[pair[0]][size] / costs[pair[1]][size]).ln();
        let common: Vec<usize> = (0..self.costs.sizes.len()).filter(|size| ratio(self.found, *size).is_finite()).collect();
        let confidence = self.confidence.of_each(common.len());
        let gap = |size: &usize| {
            if let Some(ratios) = self.costs.log_ratios(pair, *size) {
                let found = Instances::new(&ratios).filter(|found| found.n() >= LEAST_BLOCKS && found.deviation() > 0.0);
                let value = found.map_or_else(|| ratio(self.found, *size), |found| found.value());
                return Gap { size: *size, ratio: value, reach: found.map(|found| found.reach(confidence)) };
            }
            let drawn: Vec<f64> = self.draws.iter().map(|costs| ratio(costs, *size)).collect();
            let [first, second] = pair.map(|way| self.costs.batches_of(way, *size));
            Gap { size: *size, ratio: ratio(self.found, *size), reach: bootstrap::reach(&drawn, first.min(second), confidence) }
        };
        common.iter().map(gap).collect()
    }

    /// The cheapest way of a size, and those that are not shown to cost more.
    fn cheapest(&self, size: usize, gaps: &BTreeMap<[usize; 2], Vec<Gap>>) -> Option<Cheapest> {
        let mut by_cost: Vec<(usize, f64)> =
            self.found.iter().map(|way| way[size]).enumerate().filter(|(_, cost)| cost.is_finite()).collect();
        by_cost.order_by(|a, b| a.1.total_cmp(&b.1));
        let (way, _) = *by_cost.first()?;
        let dearer = |other: usize| {
            let pair = [way.min(other), way.max(other)];
            let gap = gaps.get(&pair).and_then(|gaps| gaps.iter().find(|gap| gap.size == size));
            gap.and_then(Gap::cheaper).is_some_and(|cheaper| pair[cheaper] == way)
        };
        let ties = by_cost.iter().skip(1).map(|(other, _)| *other).filter(|other| !dearer(*other)).collect();
        Some(Cheapest { way, ties })
    }

    /// Where one of a pair becomes cheaper than the other; `None` where they share no two sizes.
    fn crossing(&self, pair: [usize; 2], gaps: &[Gap]) -> Option<Crossing> {
        let sizes = &self.costs.sizes;
        let told: Vec<(usize, usize)> = gaps.iter().filter_map(|gap| Some((gap.size, gap.cheaper()?))).collect();
        let change = |two: &[(usize, usize)]| {
            let [(from, below), (to, above)] = [two[0], two[1]];
            if below == above {
                return None;
            }
            let middle = |costs: &[Vec<f64>]| {
                let [first, second] = pair.map(|way| &costs[way][from..=to]);
                lines::middle(&sizes[from..=to], first, second).unwrap_or(f64::NAN)
            };
            Some(Change { size: self.estimate(&middle)?, between: [sizes[from], sizes[to]], above: pair[above] })
        };
        let known: Vec<&Gap> = gaps.iter().filter(|gap| gap.reach.is_some()).collect();
        (gaps.len() > 1).then(|| Crossing {
            ways: pair,
            sizes: known.iter().map(|gap| sizes[gap.size]).collect(),
            cheaper: known.iter().map(|gap| gap.cheaper().map(|cheaper| pair[cheaper])).collect(),
            at_most: lines::at_most(gaps),
            changes: told.windows(2).filter_map(change).collect(),
        })
    }
}
