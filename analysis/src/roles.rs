//! Whether exchanging the hosts' roles made a difference.

use std::collections::BTreeMap;

use crate::figures::Figures;
use crate::result::{Estimate, Interval, Metric, RoleTest, Roles};
use crate::stats::{median, randomisation};

/// Pairs are pooled into no more means than this: the test then
/// costs the same however long the study.
const MOST_MEANS: usize = 100;

/// Pairs of blocks that it takes: with fewer, not even the most extreme of all
/// orders would be unlikely at 95 %.
pub const LEAST_PAIRS: usize = 6;

/// Tests whether blocks with exchanged roles took longer.
///
/// Each block gives one number: the mean over its cells of the logarithm of
/// the time per message over the cell's median. Which block of a pair is
/// exchanged is drawn ([`model::schedule::block`]), so the pairs' differences
/// are tested by flipping signs, which is exact whatever drifts. `None` without
/// blocks of both kinds.
pub fn test<'a>(cells: impl Iterator<Item = &'a [Figures]>, confidence: f64, seed: u64) -> Option<Roles> {
    let blocks = block_means(cells);
    let swapped = blocks.values().filter(|block| block.swapped).count();
    let straight = blocks.len() - swapped;
    if swapped == 0 || straight == 0 {
        return None;
    }
    let differences = pair_differences(&blocks);
    let pairs = differences.len();
    if pairs < LEAST_PAIRS {
        return Some(Roles::TooFewPairs { pairs, needed: LEAST_PAIRS });
    }
    let shift = randomisation::sign_flip(&pooled(&differences), confidence, seed)?;
    let interval = shift.interval.map(|interval| Interval { low: interval.low.exp(), high: interval.high.exp(), ..interval });
    let ratio = Estimate { value: shift.value.exp(), interval, n: pairs };
    Some(Roles::Tested(RoleTest { ratio, p: shift.p, swapped, straight }))
}

/// The log ratios of each block's trials to the medians of their cells.
fn block_means<'a>(cells: impl Iterator<Item = &'a [Figures]>) -> BTreeMap<u32, Block> {
    let mut blocks: BTreeMap<u32, Block> = BTreeMap::new();
    for trials in cells {
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

/// Exchanged less straight, of each pair of which both blocks are there.
fn pair_differences(blocks: &BTreeMap<u32, Block>) -> Vec<f64> {
    let difference = |(index, first): (&u32, &Block)| {
        let second = blocks.get(&index.checked_add(1)?).filter(|second| index % 2 == 0 && second.swapped != first.swapped)?;
        let (swapped, straight) = if first.swapped { (first, second) } else { (second, first) };
        Some(swapped.mean() - straight.mean())
    };
    blocks.iter().filter_map(difference).collect()
}

struct Block {
    swapped: bool,
    /// Of log ratios.
    sum: f64,
    cells: f64,
}

impl Block {
    fn mean(&self) -> f64 {
        self.sum / self.cells
    }
}

/// Means of neighbours, at most [`MOST_MEANS`].
fn pooled(values: &[f64]) -> Vec<f64> {
    let together = values.len().div_ceil(MOST_MEANS).max(1);
    values.chunks(together).map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::test;
    use crate::figures::Figures;
    use crate::result::{RoleTest, Roles};
    use crate::testing::{generator, measured, normal, record};
    use model::{Nanos, Test, schedule};

    /// A study of two cells in which roles cost `effect` and time drifts by
    /// `drift` from block to block.
    fn study(blocks: u32, effect: f64, drift: f64, seed: u64) -> Option<Roles> {
        let mut random = generator(seed);
        let mut trials = [Vec::new(), Vec::new()];
        for index in 0..blocks {
            let swapped = schedule::block(seed, index, 2).swapped;
            let common = drift * f64::from(index) + 0.01 * normal(&mut random) + if swapped { effect } else { 0.0 };
            for trials in &mut trials {
                let mut trial = measured(Test::UdpStream, 64);
                let length = 150e6 * (common + 0.03 * normal(&mut random)).exp();
                trial.receiver.window.end = trial.receiver.window.start + Nanos::new(length as u64);
                let mut record = record(Test::UdpStream, 64, index, trial);
                record.swapped = swapped;
                trials.push(Figures::of(&record, record.measured().unwrap(), None));
            }
        }
        test(trials.iter().map(Vec::as_slice), 0.95, seed)
    }

    fn tested(blocks: u32, effect: f64, drift: f64, seed: u64) -> RoleTest {
        match study(blocks, effect, drift, seed) {
            Some(Roles::Tested(test)) => test,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn few_pairs_show_nothing() {
        assert_eq!(study(0, 0.0, 0.0, 1), None);
        assert_eq!(study(1, 0.0, 0.0, 1), None);
        assert_eq!(study(9, 0.0, 0.0, 1), Some(Roles::TooFewPairs { pairs: 4, needed: 6 }));
        let twelve = tested(12, 0.0, 0.0, 1);
        assert_eq!((twelve.ratio.n, twelve.swapped, twelve.straight), (6, 6, 6));
        assert!(twelve.ratio.interval.is_some());
    }

    /// Simulated studies: enough for a figure to print where they are fast.
    const STUDIES: u64 = if cfg!(debug_assertions) { 400 } else { 4000 };

    /// Without an effect, at most the stated share of verdicts is false, with
    /// and without drift; an effect of 8 % is found in most studies.
    #[test]
    fn false_verdicts_are_as_rare_as_stated() {
        for (blocks, drift) in [(12, 0.0), (12, 0.02), (20, 0.0), (20, 0.02)] {
            let share = |effect: f64, wanted: &dyn Fn(RoleTest) -> bool| {
                (0..STUDIES).filter(|seed| wanted(tested(blocks, effect, drift, *seed))).count() as f64 / STUDIES as f64
            };
            let false_verdicts = share(0.0, &|test| test.p <= 0.05);
            let found = share(1.08f64.ln(), &|test| test.p <= 0.05);
            let held = share(1.08f64.ln(), &|test| test.ratio.interval.is_some_and(|i| i.low <= 1.08 && 1.08 <= i.high));
            eprintln!("role test, {blocks} blocks, drift {drift}: false {false_verdicts:.3}, 8 % found {found:.3}, held {held:.3}");
            assert!(false_verdicts <= 0.08 && held >= 0.92, "{false_verdicts} {held}");
            assert!(found >= if blocks == 12 { 0.83 } else { 0.9 }, "{found}");
        }
    }

    #[test]
    fn a_long_study_costs_no_more() {
        let long = tested(3_000, 0.01, 0.0, 1);
        assert_eq!((long.swapped, long.straight), (1_500, 1_500));
        assert!((long.ratio.value - 1.01).abs() < 0.005 && long.p < 0.01);
    }
}
