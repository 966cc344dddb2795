//! The places where a series changes its level, if anywhere: the split at which the ranks
//! of the values before and after it differ most (a maximally selected rank sum: Pettitt
//! 1979, "A non-parametric approach to the change-point problem"; the standardised form of
//! Lombard 1987, "Rank tests for changepoint problems").
//!
//! Ranks make the limit the same for every distribution, and one wild value worth no more
//! than the largest. The limit allows for the choice of the best split: it is the
//! distribution of the largest standardised rank sum over random orders of as many
//! values, simulated once for each length. A series that changes is split there and each
//! part is looked at again (Vostrikova 1981, binary segmentation); in the end every
//! change has to hold between its neighbours, for a split of the whole may have been
//! misplaced by a change that is known by now.
//!
//! All of that supposes values that do not depend on each other. Whether neighbours are
//! alike is told by von Neumann's ratio of ranks (Bartels 1982, "The rank version of von
//! Neumann's ratio test for randomness").

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::distribution::normal_cdf;
use crate::median;

/// Each part has at least so many values: fewer are no level.
pub const LEAST_IN_PART: usize = 5;

/// Fewer values than this have no split.
pub const LEAST: usize = 2 * LEAST_IN_PART;

/// Least number of values whose neighbours are compared.
const LEAST_NEIGHBOURS: usize = 10;

/// One change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelChange {
    /// Number of values of the series before it.
    pub before: usize,
    /// The median of the values from the change before it to it, and from it to the next.
    pub levels: [f64; 2],
    /// Probability of one as clear between these neighbours by chance.
    pub p: f64,
}

/// The levels of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// Its changes in their order.
    pub changes: Vec<LevelChange>,
    /// Probability of a change as clear as its clearest, of a series without any.
    pub p: f64,
    /// Probability of neighbours as alike as its own, within its levels, of values that do not
    /// depend on each other; `None` of too few.
    pub p_neighbours: Option<f64>,
}

/// Distributions of the largest standardised rank sum, by the number of values.
#[derive(Debug)]
pub struct Limits {
    orders: usize,
    known: BTreeMap<usize, Arc<[f64]>>,
}

impl Limits {
    /// From so many random orders of each length: no p is smaller than 1 in that number.
    pub fn new(orders: usize) -> Self {
        Self { orders, known: BTreeMap::new() }
    }

    /// Probability of a largest rank sum of at least `z` among `n` values in random order.
    fn p(&mut self, n: usize, z: f64) -> f64 {
        let orders = self.orders;
        let largest = self.known.entry(n).or_insert_with(|| simulated(n, orders));
        // Rounding must not break ties that are exact.
        let below = largest.partition_point(|other| *other < z * (1.0 - 1e-9));
        (largest.len() - below + 1) as f64 / (largest.len() + 1) as f64
    }
}

/// The largest standardised rank sums of random orders, in rising order.
fn simulated(n: usize, orders: usize) -> Arc<[f64]> {
    let mut random = ChaCha8Rng::seed_from_u64(n as u64);
    let mut ranks: Vec<f64> = (1..=n).map(|rank| rank as f64).collect();
    let mut largest: Vec<f64> = (0..orders)
        .map(|_| {
            ranks.shuffle(&mut random);
            clearest(&ranks).map_or(0.0, |(_, z)| z)
        })
        .collect();
    largest.sort_unstable_by(f64::total_cmp);
    largest.into()
}

/// The levels of a series, each change of which is as rare by chance as `level` says;
/// `None` of fewer than [`LEAST`] values, of one that is no number, and of equal values.
pub fn levels(values: &[f64], level: f64, limits: &mut Limits) -> Option<Levels> {
    if values.len() < LEAST || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let (_, z) = clearest(&ranks(values))?;
    let p = limits.p(values.len(), z);
    let mut splits = Vec::new();
    split(values, 0, level, limits, &mut splits);
    splits.sort_unstable();
    let splits = hold(values, splits, level, limits);
    let ends: Vec<usize> = [0].into_iter().chain(splits.iter().copied()).chain([values.len()]).collect();
    let part = |at: usize| &values[ends[at]..ends[at + 1]];
    let change = |(at, before): (usize, &usize)| {
        let both = &values[ends[at]..ends[at + 2]];
        let p = clearest(&ranks(both)).map_or(1.0, |(_, z)| limits.p(both.len(), z));
        let levels = [part(at), part(at + 1)].map(|part| median::median(part).unwrap_or_default());
        LevelChange { before: *before, levels, p }
    };
    let changes: Vec<LevelChange> = splits.iter().enumerate().map(change).collect();
    let within: Vec<f64> = (0..ends.len() - 1)
        .flat_map(|at| {
            let middle = median::median(part(at)).unwrap_or_default();
            part(at).iter().map(move |value| value - middle)
        })
        .collect();
    Some(Levels { changes, p, p_neighbours: p_neighbours(&within) })
}

/// Splits a part, which begins at `first`, and its parts.
fn split(values: &[f64], first: usize, level: f64, limits: &mut Limits, found: &mut Vec<usize>) {
    if values.len() < LEAST {
        return;
    }
    let Some((before, z)) = clearest(&ranks(values)) else { return };
    if limits.p(values.len(), z) > level {
        return;
    }
    found.push(first + before);
    let (head, tail) = values.split_at(before);
    split(head, first, level, limits, found);
    split(tail, first + before, level, limits, found);
}

/// Moves each split to where it is clearest between its neighbours, and drops those that do
/// not hold there, the least clear first.
fn hold(values: &[f64], mut splits: Vec<usize>, level: f64, limits: &mut Limits) -> Vec<usize> {
    loop {
        let mut worst: Option<(usize, f64)> = None;
        for at in 0..splits.len() {
            let first = if at == 0 { 0 } else { splits[at - 1] };
            let end = splits.get(at + 1).copied().unwrap_or(values.len());
            let found = clearest(&ranks(&values[first..end]));
            let p = found.map_or(1.0, |(_, z)| limits.p(end - first, z));
            if let Some((before, _)) = found.filter(|_| p <= level) {
                splits[at] = first + before;
            } else if worst.is_none_or(|(_, other)| p > other) {
                worst = Some((at, p));
            }
        }
        match worst {
            Some((at, _)) => _ = splits.remove(at),
            None => return splits,
        }
    }
}

/// The split with the largest standardised rank sum, and that; `None` of equal values.
fn clearest(ranks: &[f64]) -> Option<(usize, f64)> {
    let n = ranks.len() as f64;
    let middle = (n + 1.0) / 2.0;
    // Of values without ties n(n²-1)/12.
    let squares: f64 = ranks.iter().map(|rank| (rank - middle) * (rank - middle)).sum();
    if squares <= 0.0 {
        return None;
    }
    let mut sum: f64 = ranks.iter().take(LEAST_IN_PART - 1).map(|rank| rank - middle).sum();
    let mut best: Option<(usize, f64)> = None;
    for before in LEAST_IN_PART..=ranks.len().saturating_sub(LEAST_IN_PART) {
        sum += ranks[before - 1] - middle;
        let (a, b) = (before as f64, n - before as f64);
        let z = sum.abs() / (a * b * squares / (n * (n - 1.0))).sqrt();
        if best.is_none_or(|(_, other)| z > other) {
            best = Some((before, z));
        }
    }
    best
}

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut at = 0;
    while at < order.len() {
        let same = order[at..].iter().take_while(|place| values[**place] == values[order[at]]).count();
        let shared = (2 * at + same + 1) as f64 / 2.0;
        order[at..at + same].iter().for_each(|place| ranks[*place] = shared);
        at += same;
    }
    ranks
}

/// Probability of neighbours as alike in values that do not depend on each other, by the normal
/// approximation of Bartels' ratio.
fn p_neighbours(values: &[f64]) -> Option<f64> {
    if values.len() < LEAST_NEIGHBOURS {
        return None;
    }
    let (ranks, n) = (ranks(values), values.len() as f64);
    let middle = (n + 1.0) / 2.0;
    let squares: f64 = ranks.iter().map(|rank| (rank - middle) * (rank - middle)).sum();
    if squares <= 0.0 {
        return None;
    }
    let steps: f64 = ranks.windows(2).map(|pair| (pair[1] - pair[0]) * (pair[1] - pair[0])).sum();
    let variance = 4.0 * (n - 2.0) * (5.0 * n * n - 2.0 * n - 9.0) / (5.0 * n * (n + 1.0) * (n - 1.0) * (n - 1.0));
    Some(normal_cdf((steps / squares - 2.0) / variance.sqrt()))
}

#[cfg(test)]
mod tests;
