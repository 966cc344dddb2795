//! The bootstrap over blocks: whole blocks are drawn again, so that what hit
//! all cells of a block alike stays together (Efron 1979, "Bootstrap methods:
//! another look at the jackknife"; Künsch 1989 for blocks).

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::distribution::{normal_cdf, student_critical};
use crate::estimate::{Interval, Method};

/// Draws of each bootstrap: enough for [`LEAST_BEYOND`] beyond each end of a
/// 98 % interval of 9 blocks, the first that a plan with several looks can end
/// with.
pub const DRAWS: usize = 2_000;

/// An interval has at least so many draws beyond each of its ends: an end at
/// the outermost draw would be chance.
const LEAST_BEYOND: usize = 2;

/// Fewer blocks than this do not show how blocks vary, and give no interval.
pub const LEAST_BLOCKS: usize = 6;

/// Blocks are pooled, neighbours together, into no more batches than this, so
/// that the work does not grow with the square of the blocks. Neighbours,
/// because slow drift then stays within a batch (batch means: Schmeiser 1982,
/// "Batch size effects in the analysis of simulation output").
pub const MOST_BATCHES: usize = 30;

/// The batch that each block belongs to.
#[derive(Debug, Clone, Default)]
pub struct Batches {
    of_block: BTreeMap<u32, usize>,
    count: usize,
}

impl Batches {
    /// Deals blocks, in their order, into at most [`MOST_BATCHES`] batches of
    /// nearly equal size.
    pub fn from_blocks(blocks: impl IntoIterator<Item = u32>) -> Self {
        let mut of_block: BTreeMap<u32, usize> = blocks.into_iter().map(|block| (block, 0)).collect();
        let blocks = of_block.len();
        let count = blocks.min(MOST_BATCHES);
        for (rank, batch) in of_block.values_mut().enumerate() {
            *batch = rank * count / blocks;
        }
        Self { of_block, count }
    }

    /// Number of batches.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// True without any block.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of blocks in all batches.
    pub fn blocks(&self) -> usize {
        self.of_block.len()
    }

    /// The batch of a block; `None` of one that was not dealt.
    pub fn of_block(&self, block: u32) -> Option<usize> {
        self.of_block.get(&block).copied()
    }
}

/// Number of times that each of `batches` was drawn, [`DRAWS`] times over.
///
/// The same seed gives the same draws.
pub fn draws(batches: usize, seed: u64) -> impl Iterator<Item = Vec<u32>> {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    (0..if batches == 0 { 0 } else { DRAWS }).map(move |_| {
        let mut times = vec![0; batches];
        for _ in 0..batches {
            times[generator.random_range(0..batches)] += 1;
        }
        times
    })
}

/// The expanded percentile interval of bootstrapped values from `batches`.
///
/// The plain percentile interval is too narrow for few blocks; this one reaches
/// as much further as Student's quantile and the factor sqrt(n/(n-1)) ask
/// (Hesterberg 2015, "What teachers should know about the bootstrap", 5.3). Its
/// confidence is nominal: what it truly covers depends on what is bootstrapped
/// and stands in `docs/statistics.md`. `None` for fewer than [`LEAST_BLOCKS`]
/// batches, when less than nine in ten draws gave a number, and when the ends
/// lie beyond what [`DRAWS`] can tell.
pub fn interval(values: &[f64], batches: usize, confidence: f64) -> Option<Interval> {
    let sorted = crate::median::sorted(values);
    if batches < LEAST_BLOCKS || sorted.is_empty() || sorted.len() * 10 < values.len() * 9 {
        return None;
    }
    let n = batches as f64;
    let reach = (n / (n - 1.0)).sqrt() * student_critical(confidence, n - 1.0);
    let tail = normal_cdf(-reach);
    let last = sorted.len() - 1;
    let skip = ((tail * sorted.len() as f64).floor() as usize).min(last / 2);
    (skip >= LEAST_BEYOND).then(|| Interval { low: sorted[skip], high: sorted[last - skip], confidence, method: Method::BlockBootstrap })
}

/// Half the width of a t interval around what was bootstrapped from `batches`, with the standard
/// deviation of the draws as the standard error (Hesterberg 2015, "What teachers should know about the
/// bootstrap": the t interval with bootstrap standard error), widened for few batches as [`interval`] is.
/// Unlike that one it is available at any confidence, as several comparisons at once ask for. `None` for
/// fewer than [`LEAST_BLOCKS`] batches, when less than nine in ten draws gave a number, and for draws that
/// are all alike, which do not show how blocks vary.
pub fn reach(values: &[f64], batches: usize, confidence: f64) -> Option<f64> {
    let known: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let alike = known.windows(2).all(|two| two[0] == two[1]);
    if batches < LEAST_BLOCKS || known.len() * 10 < values.len() * 9 || alike {
        return None;
    }
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let spread = (known.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / known.len() as f64).sqrt();
    let n = batches as f64;
    Some((n / (n - 1.0)).sqrt() * student_critical(confidence, n - 1.0) * spread)
}

#[cfg(test)]
mod tests {
    use super::{Batches, DRAWS, MOST_BATCHES, draws, interval, reach};
    use crate::noise::{Noise, generator};
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    #[test]
    fn few_blocks_give_no_interval() {
        let values: Vec<f64> = (0..DRAWS).map(|i| i as f64).collect();
        assert!(interval(&values, 5, 0.95).is_none());
        // Their ends would be the outermost draws.
        assert!(interval(&values, 6, 0.98).is_none() && interval(&values, 9, 0.98).is_some());
        let nine = interval(&values, 9, 0.95).unwrap();
        let thirty = interval(&values, 30, 0.95).unwrap();
        assert!(nine.low < thirty.low && thirty.high < nine.high);
        assert!((thirty.low / DRAWS as f64 - 0.0188).abs() < 0.003, "{thirty:?}");
    }

    #[test]
    fn the_reach_of_a_mean_is_students() {
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        let mean = |times: Vec<u32>| values.iter().zip(times).map(|(v, n)| v * f64::from(n)).sum::<f64>() / 12.0;
        let drawn: Vec<f64> = draws(12, 1).map(mean).collect();
        // The standard error of 0 to 11 is sqrt(13/12), Student's quantile of 11 degrees of freedom 2.201.
        let found = reach(&drawn, 12, 0.95).unwrap();
        assert!((found / (2.201 * (13.0_f64 / 12.0).sqrt()) - 1.0).abs() < 0.05, "{found}");
        assert!(
            reach(&drawn, 5, 0.95).is_none()
                && reach(&[f64::NAN; 20], 12, 0.95).is_none()
                && reach(&[1.1_f64.ln(); 20], 12, 0.95).is_none()
        );
    }

    /// How often the interval of a mean of `blocks` skewed values holds the
    /// true one.
    fn coverage(blocks: usize, samples: u64) -> f64 {
        let mut random = generator(4);
        let mut held = 0;
        for sample in 0..samples {
            let values: Vec<f64> = (0..blocks).map(|_| Noise::Lognormal.draw(0.2, &mut random)).collect();
            let mean = |times: Vec<u32>| values.iter().zip(times).map(|(v, n)| v * f64::from(n)).sum::<f64>() / blocks as f64;
            let drawn: Vec<f64> = draws(blocks, sample).map(mean).collect();
            let interval = interval(&drawn, blocks, 0.95).unwrap();
            // The mean of a lognormal distribution.
            let truth = 100.0 * f64::exp(0.02);
            held += u32::from(interval.low <= truth && truth <= interval.high);
        }
        f64::from(held) / samples as f64
    }

    #[test]
    fn few_blocks_still_cover() {
        let samples = if cfg!(debug_assertions) { 150 } else { 4_000 };
        for blocks in [6, 9, 20] {
            let held = coverage(blocks, samples);
            eprintln!("bootstrap of {blocks} blocks at 95 %: holds {held:.3}");
            assert!(held >= 0.91, "{held}");
        }
    }

    #[test]
    fn draws_that_gave_no_number_are_not_hidden() {
        let values: Vec<f64> = (0..DRAWS).map(|i| if i % 5 == 0 { f64::NAN } else { 1.0 }).collect();
        assert!(interval(&values, 9, 0.95).is_none());
    }

    proptest! {
        #[test]
        fn every_draw_has_as_many_blocks_as_there_are(batches in 1usize..40, seed in 0u64..1000) {
            for times in draws(batches, seed).take(3) {
                prop_assert_eq!(times.iter().sum::<u32>() as usize, batches);
            }
        }

        #[test]
        fn batches_hold_neighbours_and_are_nearly_equal(blocks in prop::collection::btree_set(0u32..5000, 0..300)) {
            let batches = Batches::from_blocks(blocks.iter().copied());
            let dealt: Vec<usize> = blocks.iter().map(|block| batches.of_block(*block).unwrap()).collect();
            prop_assert!(dealt.is_sorted());
            let sizes: Vec<usize> = (0..batches.len()).map(|batch| dealt.iter().filter(|b| **b == batch).count()).collect();
            prop_assert!(batches.len() <= MOST_BATCHES);
            if let (Some(least), Some(most)) = (sizes.iter().min(), sizes.iter().max()) {
                prop_assert!(*least >= 1 && most - least <= 1, "{:?}", sizes);
            }
        }
    }
}
