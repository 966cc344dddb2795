//! The place where a series changes its level once: the split at which the rank sum of its
//! first part is the least likely by chance, against every split of a shuffled
//! series (Pettitt 1979, "A non-parametric approach to the change-point problem";
//! the least p over all splits: Lausen and Schumacher 1992, "Maximally selected
//! rank statistics"). That p is exact at each split, so that a short part at
//! either end counts for what it is.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::randomisation::p_by_chance;
use crate::{median, ranks};

/// Each part has at least so many values: one alone is no level.
pub const LEAST_IN_PART: usize = 2;

/// Fewer values than this show no change worth a word.
pub const LEAST: usize = 8;

/// Shuffled series that the real one is held against.
const SHUFFLES: usize = 4_999;

/// One change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Number of values before it.
    pub before: usize,
    /// The median level before it and after it.
    pub levels: [f64; 2],
    /// Probability of one so clear, anywhere in the series, by chance.
    pub p: f64,
}

/// The distribution by chance for series of one length.
#[derive(Debug)]
pub struct Chance {
    n: usize,
    /// For each length of the first part from [`LEAST_IN_PART`] on, the
    /// probability of its rank sum, less the least there can be, to be at most k.
    tables: Vec<Vec<f64>>,
    /// The clearest split of each shuffled series, in rising order.
    clearest: Vec<f64>,
}

impl Chance {
    /// For series of `n` values; the same for every call. The work grows with
    /// the fifth power of `n`.
    pub fn of(n: usize) -> Self {
        let firsts = LEAST_IN_PART..(n + 1).saturating_sub(LEAST_IN_PART);
        let tables = if n < LEAST { Vec::new() } else { firsts.map(|first| ranks::labels(first, n - first)).collect() };
        let mut chance = Self { n, tables, clearest: Vec::new() };
        let mut random = ChaCha8Rng::seed_from_u64(n as u64);
        let mut series: Vec<f64> = (1..=n).map(|rank| rank as f64).collect();
        let one = |_| {
            series.shuffle(&mut random);
            chance.clearest_split(&series).1
        };
        let clearest: Vec<f64> = (0..if n < LEAST { 0 } else { SHUFFLES }).map(one).collect();
        chance.clearest = median::sorted(&clearest);
        chance
    }

    /// The clearest change of a series; `None` of fewer than [`LEAST`] values, of
    /// one that is no number, or of another length.
    pub fn change(&self, values: &[f64]) -> Option<Change> {
        if values.len() < LEAST || values.len() != self.n || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let (before, clearness) = self.clearest_split(&mid_ranks(values));
        let (head, tail) = values.split_at(before);
        Some(Change { before, levels: [median::median(head)?, median::median(tail)?], p: p_by_chance(clearness, &self.clearest) })
    }

    /// The split whose rank sum is the least likely, and minus the logarithm of
    /// its p.
    fn clearest_split(&self, ranks: &[f64]) -> (usize, f64) {
        let mut best = (LEAST_IN_PART, f64::NEG_INFINITY);
        let mut sum: f64 = ranks.iter().take(LEAST_IN_PART - 1).sum();
        for (table, place) in self.tables.iter().zip(LEAST_IN_PART - 1..) {
            sum += ranks[place];
            let first = place + 1;
            let beyond = sum - (first * (first + 1)) as f64 / 2.0;
            let most = (table.len() - 1) as f64;
            // A sum between two, of shared ranks, counts as the nearer to the middle.
            let tail = beyond.min(most - beyond).ceil().max(0.0) as usize;
            let clearness = -table[tail].ln();
            if clearness > best.1 {
                best = (first, clearness);
            }
        }
        best
    }
}

/// Ranks from 1, equal values sharing the mean of theirs.
fn mid_ranks(values: &[f64]) -> Vec<f64> {
    let sorted = median::sorted(values);
    let rank = |value: &f64| {
        let (below, up_to) = (sorted.partition_point(|v| v < value), sorted.partition_point(|v| v <= value));
        (below + up_to + 1) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::Chance;
    use crate::noise::{generator, normal};

    #[test]
    fn a_step_is_found_at_its_place() {
        let wave = |i: u32| 0.01 * f64::from(i * 7 % 5);
        let step = |at: u32| (0..20).map(|i| if i < at { 12.0 } else { 10.0 } + wave(i)).collect::<Vec<f64>>();
        let chance = Chance::of(20);
        for at in [4, 10, 16] {
            let found = chance.change(&step(at)).unwrap();
            assert!(found.before == at as usize && found.p < 0.01, "{found:?}");
            assert!((found.levels[0] - 12.0).abs() < 0.05 && (found.levels[1] - 10.0).abs() < 0.05);
        }
        assert!(chance.change(&step(4)[..7]).is_none() && chance.change(&[f64::NAN; 20]).is_none());
        assert!(Chance::of(9).change(&[1.0; 9]).unwrap().p >= 0.5);
        assert!(Chance::of(3).change(&[1.0; 3]).is_none());
    }

    #[test]
    fn changes_by_chance_are_as_rare_as_stated() {
        let (mut random, chance) = (generator(22), Chance::of(15));
        let series = (0..2_000).map(|_| (0..15).map(|_| normal(&mut random)).collect::<Vec<f64>>());
        let share = series.filter(|series| chance.change(series).unwrap().p <= 0.05).count() as f64 / 2_000.0;
        assert!((0.03..0.065).contains(&share), "{share}");
    }
}
