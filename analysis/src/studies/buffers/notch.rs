//! Cells that are slower than both of their neighbours, by more than chance.
//!
//! A cell has few trials, four in the original study. What chance does to the
//! median of four is therefore learnt from all cells of about the same goodput
//! together: the ratios of trials to their cell's median, widened by √(n/(n-1))
//! for the median being their own, are drawn at random into two made-up cells,
//! and the difference of these cells' medians is noted, again and again. A cell
//! is a notch when it lies below its left neighbour and below its right one; so
//! the larger of the two probabilities counts (Berger 1982, "Multiparameter
//! hypothesis testing and acceptance sampling"), corrected for all cells that
//! were tested (Holm).

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use stats::holm::holm;
use stats::knee::{NOTCH, notch_depth};
use stats::median::{median, of_sorted};

/// The most probability by chance of calling anything a notch.
const ALPHA: f64 = 0.05;

/// Made-up pairs of cells: enough for the correction over 900 cells, 20,000 / 900
/// being more than 1 / 0.05.
const DRAWS: usize = 20_000;

/// Fewer trials of a cell have no scatter.
const LEAST: usize = 3;

/// A cell between two others, as places in the values.
pub(super) type Triple = [usize; 3];

/// A notch that was found: the place of its triple, its depth, its probability.
pub(super) type Found = (usize, f64, f64);

/// The notches among these triples. `values` are trials of each cell, `class` says
/// which cells scatter alike, by neighbouring numbers. Also how many were tested.
pub(super) fn find(values: &[Vec<f64>], class: &[usize], triples: &[Triple], seed: u64) -> (Vec<Found>, usize) {
    let medians: Vec<Option<f64>> = values.iter().map(|trials| median(trials).filter(|value| *value > 0.0)).collect();
    let mut nulls = Nulls::new(values, &medians, class, seed);
    let mut tested: Vec<(usize, f64, f64)> = Vec::new();
    for (place, [left, middle, right]) in triples.iter().copied().enumerate() {
        let (Some(below), Some(middle_value), Some(above)) = (medians[left], medians[middle], medians[right]) else { continue };
        if [left, middle, right].iter().any(|cell| values[*cell].len() < LEAST) {
            continue;
        }
        let chance = |neighbour: f64, nulls: &mut Nulls| nulls.chance(class[middle], values[middle].len(), (middle_value / neighbour).ln());
        let p = chance(below, &mut nulls).max(chance(above, &mut nulls));
        tested.push((place, notch_depth([below, middle_value, above]), p));
    }
    let adjusted = holm(&tested.iter().map(|(_, _, p)| *p).collect::<Vec<f64>>());
    let found = tested.iter().zip(adjusted).filter(|((_, depth, _), p)| *depth >= NOTCH && *p <= ALPHA);
    (found.map(|((place, depth, _), p)| (*place, *depth, p)).collect(), tested.len())
}

/// Differences of two cells' medians by chance, by class.
struct Nulls {
    /// Ratios of trials to their cell's median, as logarithms, by class.
    pools: Vec<Vec<f64>>,
    /// Differences drawn, rising, by class and number of trials.
    drawn: Vec<((usize, usize), Vec<f64>)>,
    random: ChaCha8Rng,
}

impl Nulls {
    fn new(values: &[Vec<f64>], medians: &[Option<f64>], class: &[usize], seed: u64) -> Self {
        let classes = class.iter().max().map_or(0, |most| most + 1);
        let mut pools = vec![Vec::new(); classes];
        for (trials, (centre, class)) in values.iter().zip(medians.iter().zip(class)) {
            let Some(centre) = centre.filter(|_| trials.len() >= LEAST) else { continue };
            let n = trials.len() as f64;
            let wider = (n / (n - 1.0)).sqrt();
            let ratios = trials.iter().filter(|value| **value > 0.0).map(|value| (value / centre).ln() * wider);
            // Neighbouring classes are alike, too: more to learn from.
            for (_, pool) in pools.iter_mut().enumerate().filter(|(other, _)| other.abs_diff(*class) <= 1) {
                pool.extend(ratios.clone());
            }
        }
        Self { pools, drawn: Vec::new(), random: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// The probability of a difference as low as this.
    fn chance(&mut self, class: usize, n: usize, difference: f64) -> f64 {
        let key = (class, n);
        let place = self.drawn.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            let drawn = self.draw(class, n);
            self.drawn.push((key, drawn));
            self.drawn.len() - 1
        });
        let drawn = &self.drawn[place].1;
        // The one at hand counts as one more: no chance is nil.
        (drawn.partition_point(|other| *other <= difference) + 1) as f64 / (drawn.len() + 1) as f64
    }

    fn draw(&mut self, class: usize, n: usize) -> Vec<f64> {
        let pool = &self.pools[class];
        if pool.is_empty() {
            return Vec::new();
        }
        let random = &mut self.random;
        let mut cell = || {
            let mut trials: Vec<f64> = (0..n).map(|_| pool[random.random_range(0..pool.len())]).collect();
            stats::sort(&mut trials);
            of_sorted(&trials).unwrap_or(0.0)
        };
        let mut drawn: Vec<f64> = (0..DRAWS).map(|_| cell() - cell()).collect();
        stats::sort(&mut drawn);
        drawn
    }
}
