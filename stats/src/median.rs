//! The median and its exact interval.

use crate::binomial;
use crate::estimate::{Estimate, Interval, Method};

/// The variance of a median over that of a mean, of many normal values.
pub const OVER_MEAN: f64 = std::f64::consts::FRAC_PI_2;

/// The median of values in rising order: the middle one, or the mean of the
/// middle two. `None` of nothing.
pub fn of_sorted(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(sorted[n / 2]),
        // Halves are added, not the sum halved, so that huge values stay finite.
        _ => Some(sorted[n / 2 - 1] / 2.0 + sorted[n / 2] / 2.0),
    }
}

/// The median of values in any order.
pub fn median(values: &[f64]) -> Option<f64> {
    of_sorted(&sorted(values))
}

/// Values that are numbers, in rising order.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Median absolute deviation times 1.4826, which is the standard deviation of
/// normal data (Hampel 1974, "The influence curve and its role in robust
/// estimation"), times the factor that makes it so for few values too. `None` of
/// nothing.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&distances).map(|mad| mad * 1.4826 * small_sample(values.len()))
}

/// Factor for the deviation of `n` values (Croux and Rousseeuw 1992, "Time-efficient
/// algorithms for two highly robust estimators of scale", section 4): without it
/// that of 5 values is 18 % low.
fn small_sample(n: usize) -> f64 {
    const FACTORS: [f64; 8] = [1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107];
    match n {
        0 | 1 => 1.0,
        2..=9 => FACTORS[n - 2],
        _ => n as f64 / (n as f64 - 0.8),
    }
}

/// The median with its exact order-statistic interval.
///
/// The interval reaches from the k-th smallest to the k-th largest value, with
/// the largest k whose coverage, 1 - 2·P(Binomial(n, 1/2) < k), is at least
/// `confidence`. That is exact for every continuous distribution (Thompson
/// 1936, "On confidence ranges for the median"; Conover, "Practical
/// Nonparametric Statistics", 3.2). What is attained stands in
/// `Interval::confidence`; there is no interval when even k = 1 falls short
/// (n < 6 at 95 %). `None` when no value is a number.
pub fn estimate(values: &[f64], confidence: f64) -> Option<Estimate> {
    let sorted = sorted(values);
    let value = of_sorted(&sorted)?;
    let n = sorted.len();
    let interval = binomial::median_rank(n, confidence).map(|(rank, attained)| Interval {
        low: sorted[rank - 1],
        high: sorted[n - rank],
        confidence: attained,
        method: Method::OrderStatistics,
    });
    Some(Estimate { value, interval, n })
}

#[cfg(test)]
mod tests {
    use super::{deviation, estimate, median};
    use crate::noise::{Noise, generator, normal};
    use proptest::prelude::{prop, prop_assert, proptest};

    #[test]
    fn the_middle_or_the_mean_of_the_middle_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::NAN]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(deviation(&[1.0, 2.0, 3.0, 4.0, 100.0]), Some(1.4826 * 1.206));
    }

    #[test]
    fn the_deviation_of_few_values_is_that_of_many() {
        let mut random = generator(3);
        for n in [3, 5, 6, 9, 12, 20] {
            let mean =
                (0..4_000).filter_map(|_| deviation(&(0..n).map(|_| normal(&mut random)).collect::<Vec<f64>>())).sum::<f64>() / 4_000.0;
            assert!((mean - 1.0).abs() < 0.035, "{n}: {mean}");
        }
    }

    #[test]
    fn five_values_are_too_few_for_95_percent_and_six_are_enough() {
        assert!(estimate(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap().interval.is_none());
        let six = estimate(&[6.0, 1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap().interval.unwrap();
        assert_eq!((six.low, six.high, six.confidence), (1.0, 6.0, 0.96875));
    }

    /// Whatever the noise, the interval holds the true median at least as often
    /// as it says, here to within what the simulation can tell.
    #[test]
    fn what_is_attained_is_the_coverage() {
        const SAMPLES: u32 = if cfg!(debug_assertions) { 2_000 } else { 20_000 };
        for noise in Noise::ALL {
            for n in [9, 20] {
                let (mut random, truth) = (generator(2), noise.median(0.1));
                let (mut held, mut stated) = (0, 0.0);
                for _ in 0..SAMPLES {
                    let values: Vec<f64> = (0..n).map(|_| noise.draw(0.1, &mut random)).collect();
                    let interval = estimate(&values, 0.95).unwrap().interval.unwrap();
                    held += u32::from(interval.low <= truth && truth <= interval.high);
                    stated = interval.confidence;
                }
                let held = f64::from(held) / f64::from(SAMPLES);
                eprintln!("median of {n}, {noise:?}: states {stated:.3}, holds {held:.3}");
                assert!((held - stated).abs() < 0.015, "{held} {stated}");
            }
        }
    }

    proptest! {
        #[test]
        fn scaling_and_shifting_carry_over(
            values in prop::collection::vec(-1e6..1e6f64, 1..60), scale in 0.01..100.0f64, shift in -1e6..1e6f64,
        ) {
            let plain = estimate(&values, 0.95).unwrap();
            let moved = estimate(&values.iter().map(|v| v * scale + shift).collect::<Vec<_>>(), 0.95).unwrap();
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * (1.0 + a.abs());
            prop_assert!(near(plain.value * scale + shift, moved.value));
            prop_assert!(plain.interval.is_some() == moved.interval.is_some());
            if let (Some(a), Some(b)) = (plain.interval, moved.interval) {
                prop_assert!(near(a.low * scale + shift, b.low) && near(a.high * scale + shift, b.high));
                prop_assert!(a.low <= plain.value && plain.value <= a.high);
            }
        }
    }
}
