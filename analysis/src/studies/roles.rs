//! Effect of exchanging the hosts' roles.

use std::collections::BTreeMap;

use model::Plan;
use model::schedule::{self, Shape};
use serde::Serialize;

use super::{Context, Study};
use crate::metric::Metric;
use crate::table::CellTrials;
use stats::estimate::Estimate;
use stats::median;
use stats::randomisation::{self, Stratum};

/// The effect of exchanging the hosts' roles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Roles {
    /// It was tested.
    Tested(RoleTest),
    /// There are too few blocks for any verdict.
    TooFewBlocks {
        /// Their number.
        blocks: usize,
        /// Number that this run has to have for one.
        needed: usize,
    },
}

/// A test of exchanged roles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RoleTest {
    /// Time per message with roles exchanged over that without; 1 is no
    /// difference. Of geometric means over blocks and their cells, each cell
    /// relative to its median, compared within groups of blocks and averaged
    /// over those; `n` is the number of blocks.
    pub ratio: Estimate,
    /// Probability of a difference this large by chance (randomisation test).
    pub p: f64,
    /// Blocks with roles exchanged.
    pub swapped: usize,
    /// Blocks without.
    pub straight: usize,
}

/// The study of every run.
#[derive(Debug)]
pub(crate) struct RoleStudy;

impl Study for RoleStudy {
    type Result = Roles;

    fn for_plan(plan: &Plan) -> Option<Self> {
        // A fleet's pairs are measured both ways, whose difference is that of its hosts.
        plan.fleet.is_none().then_some(Self)
    }

    fn finish(self, context: &Context) -> Option<Roles> {
        test(context.table.arm(0), context.plan().blocks.confidence, context.plan().seed)
    }
}

/// Tests whether blocks with exchanged roles took longer.
///
/// Each block gives one number: the mean over its cells of the logarithm of
/// the time per message over the cell's median. Which blocks of a group are
/// exchanged is drawn ([`schedule::group`]), so the labels are dealt again within
/// each group, which is exact whatever disturbs the run over time. `seed` is the
/// run's own. `None` without blocks.
fn test(cells: &[CellTrials], confidence: f64, seed: u64) -> Option<Roles> {
    let blocks = block_means(cells);
    let (last, _) = blocks.last_key_value()?;
    let mut counts = Counts::default();
    let mut groups: BTreeMap<u32, Stratum> = BTreeMap::new();
    for (index, block) in &blocks {
        counts.add(*index, block.swapped);
        let group = groups.entry(schedule::group(*index)).or_default();
        if block.swapped { &mut group.treated } else { &mut group.others }.push(block.mean());
    }
    if !counts.suffice(confidence) {
        return Some(Roles::TooFewBlocks { blocks: blocks.len(), needed: blocks.len() + missing(counts, *last, confidence, seed) });
    }
    let shift = randomisation::stratified(&groups.into_values().collect::<Vec<_>>(), confidence, seed)?;
    let ratio = Estimate { value: shift.value, interval: shift.interval, n: blocks.len() }.map(f64::exp);
    let swapped = blocks.values().filter(|block| block.swapped).count();
    Some(Roles::Tested(RoleTest { ratio, p: shift.p, swapped, straight: blocks.len() - swapped }))
}

/// Blocks that the run has to have after `last`: its seed says which
/// of them will be exchanged.
fn missing(mut counts: Counts, last: u32, confidence: f64, seed: u64) -> usize {
    let further = (last..=u32::MAX).skip(1).take_while(|index| {
        let lacking = !counts.suffice(confidence);
        counts.add(*index, schedule::block(seed, *index, Shape::plain(0, u32::MAX)).swapped);
        lacking
    });
    further.count()
}

/// Blocks of each group, those exchanged and those not.
#[derive(Debug, Default)]
struct Counts(BTreeMap<u32, [usize; 2]>);

impl Counts {
    fn add(&mut self, index: u32, swapped: bool) {
        self.0.entry(schedule::group(index)).or_default()[usize::from(swapped)] += 1;
    }

    fn suffice(&self, confidence: f64) -> bool {
        randomisation::can_reject(self.0.values().copied(), confidence)
    }
}

/// The log ratios of each block's trials to the medians of their cells.
fn block_means(cells: &[CellTrials]) -> BTreeMap<u32, Block> {
    let mut blocks: BTreeMap<u32, Block> = BTreeMap::new();
    for trials in cells.iter().map(|cell| &cell.figures) {
        let times: Vec<f64> = trials.iter().filter_map(|trial| trial.get(Metric::TimePerMessageNs)).collect();
        let Some(centre) = median::median(&times).filter(|centre| *centre > 0.0) else { continue };
        for trial in trials {
            let ratio = trial.get(Metric::TimePerMessageNs).map(|time| (time / centre).ln()).filter(|ratio| ratio.is_finite());
            if let Some(ratio) = ratio {
                let block = blocks.entry(trial.block).or_insert(Block { swapped: trial.swapped, sum: 0.0, cells: 0.0 });
                block.sum += ratio;
                block.cells += 1.0;
            }
        }
    }
    blocks
}

struct Block {
    swapped: bool,
    /// Sum of log ratios.
    sum: f64,
    cells: f64,
}

impl Block {
    fn mean(&self) -> f64 {
        self.sum / self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::{RoleTest, Roles, test};
    use crate::table::CellTrials;
    use crate::testing::{cell, figures, generator, measured, normal, record};
    use model::{Nanos, Test, schedule};

    /// What a block does to all of its times, besides noise.
    #[derive(Debug, Clone, Copy)]
    enum Over {
        Nothing,
        /// 2 % more with every block.
        Drift,
        /// 5 % more and 5 % less by turns.
        PeriodTwo,
    }

    impl Over {
        fn of(self, index: u32) -> f64 {
            match self {
                Self::Nothing => 0.0,
                Self::Drift => 0.02 * f64::from(index),
                Self::PeriodTwo => {
                    if index.is_multiple_of(2) {
                        0.05
                    } else {
                        -0.05
                    }
                }
            }
        }
    }

    /// A study of two cells in which roles cost `effect`, and blocks vary by
    /// `noise` and their trials by 1 %. Its blocks are those of `indices`.
    fn study(indices: impl Iterator<Item = u32>, effect: f64, noise: f64, over: Over, seed: u64) -> Option<Roles> {
        let mut random = generator(seed);
        let mut trials = [1, 2].map(|_| CellTrials::new(cell(Test::UdpStream, 64)));
        for index in indices {
            let swapped = schedule::block(seed, index, schedule::Shape::plain(2, u32::MAX)).swapped;
            let common = over.of(index) + noise * normal(&mut random) + if swapped { effect } else { 0.0 };
            for trials in &mut trials {
                let mut trial = measured(Test::UdpStream, 64);
                let length = 150e6 * (common + 0.01 * normal(&mut random)).exp();
                trial.receiver.window.end = trial.receiver.window.start + Nanos::new(length as u64);
                let mut record = record(Test::UdpStream, 64, index, trial);
                record.swapped = swapped;
                trials.figures.push(figures(&record));
            }
        }
        test(&trials, 0.95, seed)
    }

    fn quiet(indices: impl Iterator<Item = u32>) -> Option<Roles> {
        study(indices, 0.0, 0.01, Over::Nothing, 1)
    }

    fn tested(blocks: u32, effect: f64, noise: f64, over: Over, seed: u64) -> RoleTest {
        match study(0..blocks, effect, noise, over, seed) {
            Some(Roles::Tested(test)) => test,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn few_blocks_show_nothing() {
        assert_eq!(quiet(0..0), None);
        for blocks in [1, 2, 6, 7] {
            assert_eq!(quiet(0..blocks), Some(Roles::TooFewBlocks { blocks: blocks as usize, needed: 8 }));
        }
        for seed in 0..100 {
            assert!(matches!(study(0..8, 0.0, 0.01, Over::Nothing, seed), Some(Roles::Tested(_))), "{seed}");
        }
        let nine = tested(9, 0.0, 0.01, Over::Nothing, 1);
        assert!(nine.ratio.n == 9 && nine.swapped.abs_diff(nine.straight) == 1, "{nine:?}");
        assert!(nine.ratio.interval.is_some());
    }

    /// What counts is how blocks lie in their groups: eleven blocks of four
    /// groups can be fewer than nine of one.
    #[test]
    fn scattered_blocks_need_more() {
        let some = |further: u32| quiet((9..12).chain(18..21 + further));
        let Some(Roles::TooFewBlocks { blocks: 6, needed }) = some(0) else { panic!("{:?}", some(0)) };
        assert!((9..20).contains(&needed), "{needed}");
        let further = needed as u32 - 6;
        assert!(matches!(some(further), Some(Roles::Tested(_))));
        assert_eq!(some(further - 1), Some(Roles::TooFewBlocks { blocks: needed - 1, needed }));
    }

    /// Simulated studies: enough for a figure to print where they are fast.
    const STUDIES: u64 = if cfg!(debug_assertions) { 400 } else { 10_000 };

    /// The largest share of false verdicts at 5 %; of few studies, three
    /// standard deviations more.
    const MOST_FALSE: f64 = if cfg!(debug_assertions) { 0.083 } else { 0.055 };

    /// Without an effect, at most the stated share of verdicts is false, with
    /// disturbances over time and without.
    #[test]
    fn false_verdicts_are_as_rare_as_stated() {
        for blocks in [9, 20] {
            for (over, least) in [(Over::Nothing, LEAST_FOUND), (Over::Drift, [0.0; 2]), (Over::PeriodTwo, [0.0; 2])] {
                let share = |effect: f64, noise: f64, wanted: &dyn Fn(RoleTest) -> bool| {
                    (0..STUDIES).filter(|seed| wanted(tested(blocks, effect, noise, over, *seed))).count() as f64 / STUDIES as f64
                };
                let effect = 1.08f64.ln();
                let false_verdicts = share(0.0, 0.05, &|test| test.p <= 0.05);
                let held = share(effect, 0.05, &|test| test.ratio.interval.is_some_and(|i| i.low <= 1.08 && 1.08 <= i.high));
                let found = [0.05, 0.02].map(|noise| share(effect, noise, &|test| test.p <= 0.05));
                eprintln!("role test, {blocks} blocks, {over:?}: false {false_verdicts:.3}, held {held:.3}, 8 % found {found:.3?}");
                assert!(false_verdicts <= MOST_FALSE && held >= 1.0 - MOST_FALSE, "{false_verdicts} {held}");
                let least = if blocks == 9 { least[0] } else { least[1] };
                assert!(found[0] >= least && found[1] >= found[0], "{found:?}");
            }
        }
    }

    /// The least share of studies of 9 and of 20 blocks in which an effect of
    /// 8 % is found where blocks vary by 5 %.
    const LEAST_FOUND: [f64; 2] = [0.4, 0.83];

    #[test]
    fn a_long_study_costs_no_more() {
        let long = tested(3_000, 0.01, 0.01, Over::Nothing, 1);
        assert_eq!((long.swapped, long.straight), (1_500, 1_500));
        assert!((long.ratio.value - 1.01).abs() < 0.005 && long.p < 0.01);
    }
}
