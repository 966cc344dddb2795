//! The line of a way: the cost of a message, and of each byte.
//!
//! Sizes at which two ways cost the same.
//!
//! ```text
//! ratio of two ways' costs with its interval, by size -> sizes that distinguish them
//!   -> neighbours among those of which each has another cheaper way -> the size between them
//! ```
//!
//! Costs that are equal cross by chance at any size. A crossing therefore lies between two sizes
//! that tell the ways apart, one for each.

use model::Bytes;

/// A line that is wrong by more than this share at a size is none: where datagrams are cut, or
/// calls are put together, the cost is no line in the size.
const WORST: f64 = 0.25;
/// Fewer sizes than this show no line.
const LEAST: usize = 4;

/// Cost a message and cost a byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostLine {
    /// ns a message.
    pub message: f64,
    /// ns a byte.
    pub byte: f64,
}

/// The line through the costs of a way, by least squares of relative errors: a size counts as much as
/// any other, at any cost. `None` where there are too few sizes; not checked against the costs.
pub fn fit(sizes: &[Bytes], costs: &[f64]) -> Option<CostLine> {
    let points: Vec<(f64, f64)> = points(sizes, costs).collect();
    if points.len() < LEAST {
        return None;
    }
    // Of (a + b s - t) / t over a and b.
    let sums = points.iter().fold([0.0; 5], |sums, (size, time)| {
        let (one, slope) = (1.0 / time, size / time);
        [sums[0] + one * one, sums[1] + one * slope, sums[2] + slope * slope, sums[3] + one, sums[4] + slope]
    });
    let [ones, both, slopes, right_one, right_slope] = sums;
    let determinant = ones * slopes - both * both;
    let line = CostLine {
        message: (right_one * slopes - right_slope * both) / determinant,
        byte: (ones * right_slope - both * right_one) / determinant,
    };
    (line.message > 0.0 && line.byte > 0.0 && line.message.is_finite() && line.byte.is_finite()).then_some(line)
}

/// Returns whether no size lies far from a line.
pub fn holds(line: CostLine, sizes: &[Bytes], costs: &[f64]) -> bool {
    points(sizes, costs).all(|(size, time)| ((line.message + line.byte * size) / time - 1.0).abs() <= WORST)
}

fn points<'a>(sizes: &'a [Bytes], costs: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
    sizes.iter().zip(costs).map(|(size, cost)| (size.get() as f64, *cost)).filter(|(_, cost)| cost.is_finite() && *cost > 0.0)
}

/// Costs of two ways at a size.
#[derive(Debug, Clone, Copy)]
pub struct Gap {
    /// The place of the size.
    pub size: usize,
    /// The logarithm of the first's cost over the second's.
    pub ratio: f64,
    /// Half the width of its interval; `None` where blocks are too few for one.
    pub reach: Option<f64>,
}

impl Gap {
    /// The cheaper one, 0 or 1; `None` where the size does not distinguish them.
    pub fn cheaper(&self) -> Option<usize> {
        self.reach.filter(|reach| self.ratio.abs() > *reach).map(|_| usize::from(self.ratio > 0.0))
    }
}

/// The most by which either of two ways may exceed the cost of the other at the sizes of enough blocks that
/// do not distinguish them, as a share; `None` where there is no such size.
pub fn at_most(gaps: &[Gap]) -> Option<f64> {
    let silent = gaps.iter().filter(|gap| gap.cheaper().is_none());
    let most = silent.filter_map(|gap| Some(gap.ratio.abs() + gap.reach?)).max_by(f64::total_cmp)?;
    Some(most.exp_m1()).filter(|most| most.is_finite())
}

/// The size, in bytes, at which two ways cost the same, which differ in opposite directions at the first
/// and at the last of `sizes`: on the line between two sizes, over the logarithm of the size. Where they
/// change to and fro between, the middle one; `None` where they do not differ so.
pub fn middle(sizes: &[Bytes], first: &[f64], second: &[f64]) -> Option<f64> {
    let gaps = sizes.iter().zip(first.iter().zip(second)).map(|(size, (first, second))| ((size.get() as f64).ln(), (first / second).ln()));
    // Where they cost the same the change lies on the way to a size where they do not.
    let gaps: Vec<(f64, f64)> = gaps.filter(|(_, gap)| gap.is_finite() && *gap != 0.0).collect();
    let change = |pair: &[(f64, f64)]| {
        let [(from, low), (to, high)] = [pair[0], pair[1]];
        (low.signum() != high.signum()).then(|| (from + (to - from) * low / (low - high)).exp())
    };
    let changes: Vec<f64> = gaps.windows(2).filter_map(change).collect();
    (changes.len() % 2 == 1).then(|| changes[changes.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::{fit, holds};
    use model::Bytes;
    use proptest::prelude::{prop_assert, proptest};

    const SIZES: [u64; 5] = [1, 64, 512, 4_096, 16_384];

    proptest! {
        #[test]
        fn a_line_is_found(message in 100.0..1e5_f64, byte in 0.05..2.0_f64) {
            let sizes = SIZES.map(Bytes::new);
            let costs = SIZES.map(|size| message + byte * size as f64);
            let line = fit(&sizes, &costs).unwrap();
            prop_assert!((line.message / message - 1.0).abs() < 1e-6 && (line.byte / byte - 1.0).abs() < 1e-3, "{line:?}");
            prop_assert!(holds(line, &sizes, &costs));
        }
    }

    #[test]
    fn what_is_no_line_is_none() {
        let sizes = SIZES.map(Bytes::new);
        assert_eq!(fit(&sizes[..3], &[1.0, 2.0, 3.0]), None);
        assert_eq!(fit(&sizes, &[100.0; 5]), None, "a byte that costs nothing has no ratio");
        // Cut into fragments from some size on.
        let costs = [1_000.0, 1_010.0, 1_100.0, 9_000.0, 36_000.0];
        let line = fit(&sizes, &costs);
        assert!(line.is_none_or(|line| !holds(line, &sizes, &costs)), "{line:?}");
    }
}
