//! The test for more than one mode: the dip, the largest distance of
//! their distribution from the nearest one with a single mode (Hartigan and
//! Hartigan 1985, "The dip test of unimodality"), compared with that of uniform
//! values, the single-moded distribution whose dip is largest in the limit.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::median;

/// Uniform samples that the real one is compared with.
const SAMPLES: usize = 4_999;

/// Fewer values than this show no modes.
pub const LEAST: usize = 8;

/// The dip of values in any order, from 1/(2n) to 1/4; `None` of fewer than
/// [`LEAST`].
pub fn dip(values: &[f64]) -> Option<f64> {
    let sorted = median::sorted(values);
    (sorted.len() >= LEAST && sorted.len() == values.len()).then(|| of_sorted(&sorted))
}

/// Dips of uniform samples of `n`, in rising order: the same for every call, and worked
/// out once.
pub fn null(n: usize) -> Arc<[f64]> {
    static KNOWN: Mutex<BTreeMap<usize, Arc<[f64]>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(known.entry(n).or_insert_with(|| work_out(n)))
}

fn work_out(n: usize) -> Arc<[f64]> {
    let mut random = ChaCha8Rng::seed_from_u64(n as u64);
    let mut sample = vec![0.0; n];
    let one = |_| {
        sample.fill_with(|| random.random::<f64>());
        sample.sort_unstable_by(f64::total_cmp);
        of_sorted(&sample)
    };
    median::sorted(&(0..SAMPLES).map(one).collect::<Vec<_>>()).into()
}

/// The modal interval is narrowed until no place in it is farther from one mode
/// than what lies outside of it (theorem 6 of the paper). Distances are counted
/// in values.
fn of_sorted(x: &[f64]) -> f64 {
    let n = x.len();
    let (mut low, mut high, mut farthest) = (0, n - 1, 1.0_f64);
    while x[high] > x[low] {
        let (minorant, majorant) = (hull(x, low, high, Side::Below), hull(x, low, high, Side::Above));
        let (distance, from, to) = widest(x, &minorant, &majorant);
        if distance <= farthest {
            break;
        }
        let left = minorant.windows(2).filter(|ends| ends[1] <= from).map(|ends| gap(x, ends[0], ends[1], Side::Below));
        let right = majorant.windows(2).filter(|ends| ends[0] >= to).map(|ends| gap(x, ends[0], ends[1], Side::Above));
        farthest = left.chain(right).fold(farthest, f64::max);
        if (from, to) == (low, high) {
            break;
        }
        (low, high) = (from, to);
    }
    farthest / (2.0 * n as f64)
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    /// Under the distribution, at the lower corners of its steps: convex.
    Below,
    /// Over it, at the upper ones: concave.
    Above,
}

/// The corners of the greatest convex minorant, or of the least concave
/// majorant, of the steps from `low` to `high`.
fn hull(x: &[f64], low: usize, high: usize, side: Side) -> Vec<usize> {
    let mut corners: Vec<usize> = Vec::with_capacity(high - low + 1);
    for place in low..=high {
        while let [.., before, last] = corners[..] {
            let turn = (x[place] - x[last]) * (last - before) as f64 - (x[last] - x[before]) * (place - last) as f64;
            let kept = if side == Side::Below { turn < 0.0 } else { turn > 0.0 };
            if kept {
                break;
            }
            corners.pop();
        }
        corners.push(place);
    }
    corners
}

/// A line's height between two corners, as a place; the earlier where they are
/// one value.
fn height(x: &[f64], from: usize, to: usize, at: usize) -> f64 {
    let width = x[to] - x[from];
    from as f64 + if width > 0.0 { (x[at] - x[from]) / width * (to - from) as f64 } else { 0.0 }
}

/// The place where the majorant is farthest above the minorant, at a corner of either, and
/// between which corners of both that is.
fn widest(x: &[f64], minorant: &[usize], majorant: &[usize]) -> (f64, usize, usize) {
    let mut best = (0.0, minorant[0], majorant[majorant.len() - 1]);
    for corner in majorant {
        let after = minorant.partition_point(|other| other < corner).max(1);
        let (from, to) = (minorant[after - 1], minorant[after]);
        let distance = *corner as f64 + 1.0 - height(x, from, to, *corner);
        // A shared corner is its own.
        let from = if to == *corner { to } else { from };
        if distance > best.0 {
            best = (distance, from, *corner);
        }
    }
    for corner in minorant {
        let after = majorant.partition_point(|other| other < corner).max(1);
        let (from, to) = (majorant[after - 1], majorant[after]);
        let distance = height(x, from, to, *corner) + 1.0 - *corner as f64;
        if distance > best.0 {
            best = (distance, *corner, if from == *corner { from } else { to });
        }
    }
    best
}

/// Distance that the steps between two corners reach from the line through them.
fn gap(x: &[f64], from: usize, to: usize, side: Side) -> f64 {
    let distance = |at: usize| {
        let above = at as f64 - height(x, from, to, at);
        1.0 + if side == Side::Below { above } else { -above }
    };
    if x[to] > x[from] { (from..=to).map(distance).fold(1.0, f64::max) } else { 1.0 }
}

/// The split of sorted values into two groups that lie closest together: the
/// number in the lower one (Fisher 1958, "On grouping for maximum homogeneity").
pub fn split(sorted: &[f64]) -> usize {
    let all: f64 = sorted.iter().sum();
    let n = sorted.len() as f64;
    let mut below = 0.0;
    let mut best = (f64::NEG_INFINITY, 1);
    for (place, value) in sorted.iter().enumerate().take(sorted.len().saturating_sub(1)) {
        below += value;
        let k = (place + 1) as f64;
        let between = k * (n - k) * (below / k - (all - below) / (n - k)).powi(2);
        if between > best.0 {
            best = (between, place + 1);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::{dip, null, split};
    use crate::noise::generator;
    use rand::RngExt;

    /// Made-up values of one and of two modes, with the dips that an independent
    /// implementation (diptest 0.12 for Python) gives them. The dip has no unit.
    #[test]
    fn dips_agree_with_another_implementation() {
        let samples: [(&[f64], f64); 6] = [
            (&[6.25, 8.97, 7.76, 2.25, 3.0, 8.74, 0.05, 8.21], 0.101_562_5),
            (&[-0.49, -0.62, 0.49, 0.36, 0.11, -0.93, -0.03, 0.7, -1.34, -0.46], 0.092_672_41),
            (&[2.39, 2.81, -0.39, -0.32, 3.42, -0.32, -0.01, 3.35, 2.77, 2.96, 3.04, 3.03], 0.143_884_89),
            (
                &[
                    3.05, 2.53, 2.77, -0.08, 3.36, 3.46, 2.47, -0.32, 3.26, -0.8, -0.19, -0.04, 0.5, 3.28, -0.13, 2.85, 2.9, 3.61, 2.83,
                    2.88,
                ],
                0.109_946_24,
            ),
            (
                &[
                    1.18, 9.44, 0.44, 0.54, 1.23, 1.64, 0.84, 0.81, 2.02, 1.68, 0.36, 0.92, 1.04, 0.35, 1.3, 0.42, 2.64, 1.21, 1.09, 0.55,
                    0.89, 0.14, 0.32, 1.44, 0.12,
                ],
                0.069_333_33,
            ),
            (
                &[
                    249., 188., 567., 39., 590., 166., 678., 21., 311., 938., 538., 812., 658., 611., 191., 574., 40., 802., 960., 854.,
                    51., 339., 318., 113., 627., 797., 314., 863., 797., 129.,
                ],
                0.088_613_23,
            ),
        ];
        for (values, wanted) in samples {
            let found = dip(values).unwrap();
            assert!((found - wanted).abs() < 1e-8, "{found} {wanted}");
        }
        let ties = dip(&[1., 1., 1., 2., 2., 3., 5., 5., 5., 5., 6.]).unwrap();
        assert!((ties - 0.159_090_91).abs() < 1e-8, "{ties}");
    }

    /// The quantiles that 20,000 samples of that implementation have: 0.1052 and
    /// 0.1203.
    #[test]
    fn the_null_has_its_quantiles() {
        let null = null(20);
        let quantile = |share: f64| null[(null.len() as f64 * share) as usize];
        assert!(
            (quantile(0.95) - 0.1052).abs() < 0.003 && (quantile(0.99) - 0.1203).abs() < 0.005,
            "{} {}",
            quantile(0.95),
            quantile(0.99)
        );
    }

    #[test]
    fn odd_values_do_not_break_it() {
        assert!(dip(&[1.0; 7]).is_none() && dip(&[f64::NAN; 9]).is_none());
        assert!((dip(&[1.0; 9]).unwrap() - 1.0 / 18.0).abs() < 1e-12);
        let halves: Vec<f64> = (0..20).map(|i| f64::from(i % 2) * 5.0).collect();
        assert!((dip(&halves).unwrap() - 0.25).abs() < 1e-12);
        let mut random = generator(23);
        for _ in 0..2_000 {
            let values: Vec<f64> = (0..random.random_range(8..40)).map(|_| f64::from(random.random_range(0..12_u8))).collect();
            let dip = dip(&values).unwrap();
            assert!(dip >= 0.5 / values.len() as f64 - 1e-12 && dip <= 0.25 + 1e-12, "{dip} {values:?}");
        }
    }

    #[test]
    fn groups_are_split_where_they_part() {
        assert_eq!(split(&[1.0, 1.1, 1.2, 5.0, 5.1]), 3);
        assert_eq!(split(&[1.0]), 1);
    }
}
