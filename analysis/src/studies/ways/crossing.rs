//! Sizes at which two ways cost the same.
//!
//! ```text
//! ratio of two ways' costs with its interval, by size -> sizes that tell them apart
//!   -> neighbours among those of which each has another cheaper way -> the size between them
//! ```
//!
//! Costs that are equal cross by chance at any size. A crossing therefore lies between two sizes
//! that tell the ways apart, one for each.

use model::Bytes;

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
    /// The cheaper one, 0 or 1; `None` where the size does not tell them apart.
    pub fn cheaper(&self) -> Option<usize> {
        self.reach.filter(|reach| self.ratio.abs() > *reach).map(|_| usize::from(self.ratio > 0.0))
    }
}

/// The most by which either of two ways may exceed the cost of the other at the sizes of enough blocks that
/// do not tell them apart, as a share; `None` where there is no such size.
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
