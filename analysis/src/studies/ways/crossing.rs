//! Sizes at which two ways cost the same.

use model::Bytes;

/// A size at which the cheaper of two ways changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// In bytes: on the line between two sizes that were measured, over the logarithm of
    /// the size.
    pub at: f64,
    /// Above it the first of the two is the cheaper one.
    pub first_above: bool,
}

/// The changes over the sizes that both ways have; `None` where those are fewer than two.
pub fn crossings(sizes: &[Bytes], first: &[f64], second: &[f64]) -> Option<Vec<Change>> {
    let gaps = sizes.iter().zip(first.iter().zip(second)).map(|(size, (first, second))| ((size.get() as f64).ln(), (first / second).ln()));
    // Where they cost the same the change lies on the way to a size where they do not.
    let gaps: Vec<(f64, f64)> = gaps.filter(|(_, gap)| gap.is_finite() && *gap != 0.0).collect();
    let change = |pair: &[(f64, f64)]| {
        let [(from, low), (to, high)] = [pair[0], pair[1]];
        (low.signum() != high.signum()).then(|| Change { at: (from + (to - from) * low / (low - high)).exp(), first_above: high < 0.0 })
    };
    (gaps.len() > 1).then(|| gaps.windows(2).filter_map(change).collect())
}

/// Returns whether the first way is the cheaper one at the first size that both have.
pub fn cheaper(first: &[f64], second: &[f64]) -> bool {
    first
        .iter()
        .zip(second)
        .map(|(first, second)| first / second)
        .find(|ratio| ratio.is_finite() && *ratio != 1.0)
        .is_some_and(|ratio| ratio < 1.0)
}
