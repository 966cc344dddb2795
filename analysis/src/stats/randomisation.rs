//! Randomisation tests: what the random order alone could have done.
//!
//! Fisher, "The Design of Experiments" (1935), 21; Edgington and Onghena,
//! "Randomization Tests". Every way in which the order could have fallen is
//! tried when there are few; otherwise a seeded sample of them, of which the
//! real one is a member, so that the test stays exact (Dwass 1957; Phipson and
//! Smyth 2010). Intervals hold every shift that the test does not reject.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::result::{Interval, Method};

/// Signs of up to so many differences are flipped in every way.
const MOST_EXACT: usize = 14;

/// Arrangements sampled when there are more, the real one not counted.
const SAMPLED: usize = 9_999;

/// What a randomisation test says of a shift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The estimated shift: a mean.
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
    let crossings: Vec<f64> = if n <= MOST_EXACT {
        (0u32..1 << n).filter_map(|mask| subset_mean(&mut |i| mask >> i & 1 == 1)).collect()
    } else {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        (0..SAMPLED).filter_map(|_| subset_mean(&mut |_| generator.random::<bool>())).collect()
    };
    Some(judge(value, crossings, confidence))
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
    use super::sign_flip;
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
        let five = sign_flip(&[1., 2., 3., 4., 5.], 0.95, 1).unwrap();
        assert!((five.p - 2.0 / 32.0).abs() < 1e-12);
        assert!(five.interval.is_none());
        let six = sign_flip(&[1., 2., 3., 4., 5., 6.], 0.95, 1).unwrap();
        assert!((six.p - 2.0 / 64.0).abs() < 1e-12);
        assert!(six.interval.unwrap().low > 0.0);
    }

    #[test]
    fn equal_values_show_nothing() {
        assert!((sign_flip(&[0.0; 6], 0.95, 1).unwrap().p - 1.0).abs() < 1e-12);
        assert!(sign_flip(&[], 0.95, 1).is_none());
        assert!(sign_flip(&[f64::NAN], 0.95, 1).is_none());
    }

    proptest! {
        #[test]
        fn a_shift_moves_the_interval_along(a in prop::collection::vec(-100.0..100.0f64, 6..12), by in -50.0..50.0f64) {
            let plain = sign_flip(&a, 0.9, 1).unwrap();
            let moved = sign_flip(&a.iter().map(|x| x + by).collect::<Vec<_>>(), 0.9, 1).unwrap();
            prop_assert!((plain.value + by - moved.value).abs() < 1e-9);
            let (Some(p), Some(m)) = (plain.interval, moved.interval) else { return Ok(()) };
            prop_assert!((p.low + by - m.low).abs() < 1e-9 && (p.high + by - m.high).abs() < 1e-9);
            prop_assert!(p.low <= plain.value && plain.value <= p.high);
            // The test and the interval say the same.
            prop_assert!((p.low > 1e-9 || p.high < -1e-9) == (plain.p <= 1.0 - p.confidence + 1e-9));
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
