//! Randomisation tests: what the random order alone could have done.
//!
//! Fisher, "The Design of Experiments" (1935), 21; Edgington and Onghena,
//! "Randomization Tests". Every way in which the order could have fallen is
//! tried when there are few; otherwise a seeded sample of them, of which the
//! real one is a member, so that the test stays exact (Dwass 1957; Phipson and
//! Smyth 2010). Intervals hold every shift that the test does not reject.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::result::{Interval, Method};
use crate::stats::binomial::choose;

/// Up to this many arrangements are all tried.
const MOST_EXACT: u64 = 20_000;

/// Arrangements sampled when there are more, the real one not counted.
const SAMPLED: usize = 9_999;

/// What a randomisation test says of a shift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The estimated shift: a mean, or a difference of means.
    pub value: f64,
    /// Probability of a shift at least as far from 0 by chance: twice the
    /// smaller tail, at most 1.
    pub p: f64,
    /// The shifts that the test does not reject; `None` when there are too few
    /// arrangements to reject any.
    pub interval: Option<Interval>,
}

/// The mean of paired differences, tested by flipping their signs.
///
/// Exact when the sign of each difference is as likely as its opposite, which
/// a random order within the pair makes so. The interval is of Hartigan's
/// typical values, the means of the flipped subsets (Hartigan 1969, "Using
/// subsample values as typical values"). `None` of nothing.
pub fn sign_flip(differences: &[f64], confidence: f64, seed: u64) -> Option<Shift> {
    let n = differences.len();
    if n == 0 || differences.iter().any(|d| !d.is_finite()) {
        return None;
    }
    let value = differences.iter().sum::<f64>() / n as f64;
    let subset_mean = |chosen: &mut dyn FnMut(usize) -> bool| {
        let (mut sum, mut count) = (0.0, 0);
        for (i, difference) in differences.iter().enumerate() {
            if chosen(i) {
                sum += difference;
                count += 1;
            }
        }
        // Nothing flipped is the arrangement that was; it is counted apart.
        (count > 0).then(|| sum / f64::from(count))
    };
    let crossings: Vec<f64> = if n < 15 {
        (0u32..1 << n).filter_map(|mask| subset_mean(&mut |i| mask >> i & 1 == 1)).collect()
    } else {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        (0..SAMPLED).filter_map(|_| subset_mean(&mut |_| generator.random::<bool>())).collect()
    };
    Some(judge(value, crossings, confidence))
}

/// How much larger the mean of `a` is than that of `b`, tested by dealing all
/// values anew.
///
/// Exact when the values are exchangeable without the shift. The interval is by
/// inversion (Garthwaite 1996, "Confidence intervals from randomization
/// tests"). `None` when either is empty or holds something that is no number.
pub fn two_sample(a: &[f64], b: &[f64], confidence: f64, seed: u64) -> Option<Shift> {
    if a.is_empty() || b.is_empty() || a.iter().chain(b).any(|value| !value.is_finite()) {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let value = mean(a) - mean(b);
    let pooled: Vec<f64> = a.iter().chain(b).copied().collect();
    let deal = Deal { pooled: &pooled, first: a.len(), value };
    let crossings = match choose(pooled.len(), a.len()) {
        Some(ways) if ways <= MOST_EXACT => deal.every(),
        _ => deal.sample(seed),
    };
    Some(judge(value, crossings, confidence))
}

/// Two samples put together, the first `first` values being of the first.
struct Deal<'a> {
    pooled: &'a [f64],
    first: usize,
    value: f64,
}

impl Deal<'_> {
    /// The shift at which the real arrangement and the one that puts `chosen`
    /// into the first sample are equally extreme; `None` of the real one.
    fn crossing(&self, chosen: &[usize]) -> Option<f64> {
        let (m, n) = (self.first as f64, (self.pooled.len() - self.first) as f64);
        let moved = chosen.iter().filter(|i| **i >= self.first).count();
        if moved == 0 {
            return None;
        }
        let total: f64 = self.pooled.iter().sum();
        let inside: f64 = chosen.iter().map(|i| self.pooled[*i]).sum();
        let dealt = inside / m - (total - inside) / n;
        Some((self.value - dealt) / (moved as f64 * (1.0 / m + 1.0 / n)))
    }

    /// Every arrangement but the real one.
    fn every(&self) -> Vec<f64> {
        let (size, all) = (self.first, self.pooled.len());
        let mut chosen: Vec<usize> = (0..size).collect();
        let mut crossings = Vec::new();
        loop {
            crossings.extend(self.crossing(&chosen));
            // The next combination in lexicographic order.
            let Some(last) = (0..size).rev().find(|i| chosen[*i] < all - size + i) else { return crossings };
            chosen[last] += 1;
            for i in last + 1..size {
                chosen[i] = chosen[i - 1] + 1;
            }
        }
    }

    /// A sample of arrangements.
    fn sample(&self, seed: u64) -> Vec<f64> {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        let mut order: Vec<usize> = (0..self.pooled.len()).collect();
        let mut draw = || {
            let (chosen, _) = order.partial_shuffle(&mut generator, self.first);
            self.crossing(chosen)
        };
        (0..SAMPLED).filter_map(|_| draw()).collect()
    }
}

/// A verdict from the shifts at which other arrangements become as extreme as
/// the real one.
///
/// Where the true shift is d, the real arrangement is beaten or met from above
/// by those whose crossing is at most d, and from below by those whose crossing
/// is at least d; it always meets itself.
fn judge(value: f64, mut crossings: Vec<f64>, confidence: f64) -> Shift {
    crossings.sort_unstable_by(f64::total_cmp);
    // Rounding must not break ties that are exact in the data.
    let slack = crossings.iter().fold(value.abs(), |most, c| most.max(c.abs())) * 1e-12;
    let all = crossings.len() + 1;
    let above = 1 + crossings.partition_point(|c| *c <= slack);
    let below = all - crossings.partition_point(|c| *c < -slack);
    let p = (2.0 * above.min(below) as f64 / all as f64).min(1.0);
    let rejected = (all as f64 * (1.0 - confidence) / 2.0 + 1e-9).floor() as usize;
    let interval = (rejected > 0 && rejected * 2 <= crossings.len()).then(|| Interval {
        low: crossings[rejected - 1],
        high: crossings[crossings.len() - rejected],
        confidence: 1.0 - 2.0 * rejected as f64 / all as f64,
        method: Method::Randomisation,
    });
    Shift { value, p, interval }
}

#[cfg(test)]
mod tests {
    use super::{sign_flip, two_sample};
    use proptest::prelude::{prop, prop_assert, proptest};

    /// Darwin's maize, in eighths of an inch, as Fisher tests it: 863 of the
    /// 32,768 arrangements in each tail, p = 0.0527 ("The Design of
    /// Experiments", 21). The sampled test has to come near.
    #[test]
    fn darwins_maize() {
        let pairs = [49., -67., 8., 16., 6., 23., 28., 41., 14., 29., 56., 24., 75., 60., -48.];
        let shift = sign_flip(&pairs, 0.95, 1).unwrap();
        assert!((shift.p - 0.0527).abs() < 0.007, "{}", shift.p);
        let interval = shift.interval.unwrap();
        assert!(interval.low < 0.5 && interval.low > -5.0 && interval.high > 38.0, "{interval:?}");
    }

    #[test]
    fn few_values_are_tried_in_every_way() {
        // All 126 arrangements of 4 and 5; complete separation is the most extreme.
        let shift = two_sample(&[11., 12., 13., 14.], &[1., 2., 3., 4., 5.], 0.95, 1).unwrap();
        assert!((shift.p - 2.0 / 126.0).abs() < 1e-12);
        assert!(shift.interval.unwrap().low > 0.0);
        let three = two_sample(&[1., 2., 3.], &[4., 5., 6.], 0.95, 1).unwrap();
        assert!((three.p - 0.1).abs() < 1e-12);
        assert!(three.interval.is_none());
        let signs = sign_flip(&[1., 2., 3., 4., 5.], 0.9, 1).unwrap();
        assert!((signs.p - 2.0 / 32.0).abs() < 1e-12);
    }

    #[test]
    fn equal_values_show_nothing() {
        assert!((two_sample(&[1.0; 5], &[1.0; 6], 0.95, 1).unwrap().p - 1.0).abs() < 1e-12);
        assert!(two_sample(&[], &[1.0], 0.95, 1).is_none());
        assert!(sign_flip(&[f64::NAN], 0.95, 1).is_none());
    }

    proptest! {
        #[test]
        fn a_shift_of_one_sample_moves_the_interval_along(
            a in prop::collection::vec(-100.0..100.0f64, 4..7), b in prop::collection::vec(-100.0..100.0f64, 4..7), by in -50.0..50.0f64,
        ) {
            let plain = two_sample(&a, &b, 0.9, 1).unwrap();
            let moved = two_sample(&a.iter().map(|x| x + by).collect::<Vec<_>>(), &b, 0.9, 1).unwrap();
            prop_assert!((plain.value + by - moved.value).abs() < 1e-9);
            if let (Some(p), Some(m)) = (plain.interval, moved.interval) {
                prop_assert!((p.low + by - m.low).abs() < 1e-9 && (p.high + by - m.high).abs() < 1e-9);
                prop_assert!(p.low <= plain.value && plain.value <= p.high);
                // The test and the interval say the same.
                prop_assert!((p.low > 1e-9 || p.high < -1e-9) == (plain.p <= 1.0 - p.confidence + 1e-9));
            }
        }

        #[test]
        fn scaling_and_flipping_carry_over(a in prop::collection::vec(-100.0..100.0f64, 6..12), scale in 0.1..10.0f64) {
            let plain = sign_flip(&a, 0.95, 1).unwrap();
            let turned = sign_flip(&a.iter().map(|x| -x * scale).collect::<Vec<_>>(), 0.95, 1).unwrap();
            prop_assert!((plain.p - turned.p).abs() < 1e-12);
            if let (Some(p), Some(t)) = (plain.interval, turned.interval) {
                prop_assert!((p.low * -scale - t.high).abs() < 1e-6);
            }
        }
    }
}
