//! The shift between two sets of few values, by their means: Welch's t (Welch 1947,
//! "The generalization of 'Student's' problem when several different population
//! variances are involved"). It takes values for normal, which the medians of many
//! blocks nearly are, and asks for no more than two of either kind; a test by ranks
//! could show nothing of three and three.
//!
//! Correlated neighbours of a series say less than as many independent values: the mean of n has the error of the mean of
//! n (1 - r) / (1 + r), r being their correlation (Bayley and Hammersley 1946, "The 'effective' number of independent
//! observations in an autocorrelated time series").

use crate::distribution::{student_critical, student_two_sided};
use crate::estimate::{Estimate, Interval, Method};

/// The largest correlation that is taken.
const MOST: f64 = 0.9;

/// A shift of means with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    value: f64,
    error: f64,
    freedom: f64,
}

impl Welch {
    /// The shift from `first` to `second`; `None` of fewer than two values of either
    /// kind, and when one is no number.
    pub fn new(first: &[f64], second: &[f64]) -> Option<Self> {
        Self::of([mean_and_variance(first, 1.0)?, mean_and_variance(second, 1.0)?])
    }

    /// The same of two series, each in order of time.
    pub fn of_series(first: &[f64], second: &[f64]) -> Option<Self> {
        let correlation = neighbour_correlation(&[first, second]);
        let weight = (1.0 + correlation) / (1.0 - correlation);
        Self::of([mean_and_variance(first, weight)?, mean_and_variance(second, weight)?])
    }

    fn of([first, second]: [(f64, f64, f64); 2]) -> Option<Self> {
        let sum = first.1 + second.1;
        let below = first.1 * first.1 / first.2 + second.1 * second.1 / second.2;
        let freedom = if below > 0.0 { sum * sum / below } else { first.2 + second.2 };
        Some(Self { value: second.0 - first.0, error: sum.sqrt(), freedom })
    }

    /// The estimated shift.
    pub const fn value(&self) -> f64 {
        self.value
    }

    /// Degrees of freedom of its error (Satterthwaite 1946).
    pub const fn freedom(&self) -> f64 {
        self.freedom
    }

    /// The estimated shift with its interval; `n` is the number of values behind it.
    pub fn estimate(&self, confidence: f64, n: usize) -> Estimate {
        let reach = self.reach(confidence);
        let interval = Interval { low: self.value - reach, high: self.value + reach, confidence, method: Method::Welch };
        Estimate { value: self.value, interval: Some(interval), n }
    }

    /// Probability of a shift at least this far from `at` if that is the true one.
    pub fn p(&self, at: f64) -> f64 {
        match (self.value - at).abs() {
            // Values that are all alike differ by nothing or for sure.
            far if self.error > 0.0 => student_two_sided(far / self.error, self.freedom),
            far if far > 0.0 => 0.0,
            _ => 1.0,
        }
    }

    /// Reach of the interval from the estimate to either end.
    pub fn reach(&self, confidence: f64) -> f64 {
        student_critical(confidence, self.freedom) * self.error
    }
}

/// Mean, variance of the mean, and degrees of freedom, where `weight` values count for an independent one.
fn mean_and_variance(values: &[f64], weight: f64) -> Option<(f64, f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let effective = (n / weight).max(2.0);
    let weight = n / effective;
    (values.len() >= 2 && mean.is_finite()).then(|| (mean, squares / (n - weight) / effective, effective - 1.0))
}

/// The correlation of neighbours in some series, each around its mean; 0 where they are not positively correlated.
fn neighbour_correlation(series: &[&[f64]]) -> f64 {
    let (mut products, mut squares, mut n) = (0.0, 0.0, 0);
    for values in series {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        squares += values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        products += values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        n += values.len();
    }
    // Around its own mean a series of n independent values has a correlation of -1 / n.
    let correlation = products / squares + series.len() as f64 / n as f64;
    if correlation > 0.0 { correlation.min(MOST) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::Welch;
    use crate::noise::{generator, normal};

    /// Series of which a share of each value is its neighbour's.
    fn wandering(n: usize, share: f64, random: &mut rand_chacha::ChaCha8Rng) -> Vec<f64> {
        let mut last = normal(random);
        let step = (1.0 - share * share).sqrt();
        (0..n)
            .map(|_| {
                last = share * last + step * normal(random);
                last
            })
            .collect()
    }

    /// Of equal series with correlated neighbours, 2 to 5 % differ at 1 %, rather than 11 to 40 %; and a large shift is found.
    #[test]
    fn correlated_neighbours_count_for_fewer() {
        let mut random = generator(23);
        for (n, share) in [(8, 0.0), (24, 0.0), (8, 0.5), (24, 0.5), (24, 0.8)] {
            let mut counts = [0; 3];
            for _ in 0..4_000 {
                let [first, second] = [(); 2].map(|()| wandering(n, share, &mut random));
                let shifted: Vec<f64> = second.iter().map(|value| value + 8.0).collect();
                let p = [Welch::new(&first, &second), Welch::of_series(&first, &second), Welch::of_series(&first, &shifted)];
                counts.iter_mut().zip(p).for_each(|(count, found)| *count += usize::from(found.unwrap().p(0.0) <= 0.01));
            }
            let [independent, series, shown] = counts.map(|count| count as f64 / 4_000.0);
            assert!(series <= if share > 0.0 { 0.06 } else { 0.012 }, "{n} {share}: {series}");
            assert!(share == 0.0 || series < independent / 2.0, "{n} {share}: {series} {independent}");
            assert!(shown >= 0.8, "{n} {share}: {shown}");
        }
        let alike = Welch::of_series(&[1.0, 1.0], &[2.0, 2.0]).unwrap();
        assert_eq!((alike.p(0.0), alike.p(1.0)), (0.0, 1.0));
        assert!(Welch::of_series(&[1.0], &[1.0, 2.0]).is_none());
    }

    /// Means 3 and 7, variances 2.5 and 16/3.
    #[test]
    fn the_same_as_by_hand() {
        let found = Welch::new(&[1.0, 2.0, 3.0, 4.0, 5.0], &[5.0, 5.0, 9.0, 9.0]).unwrap();
        let second: f64 = 16.0 / 3.0 / 4.0;
        let freedom = (0.5 + second).powi(2) / (0.25 / 4.0 + second * second / 3.0);
        assert!((found.value - 4.0).abs() < 1e-12 && (found.error - (0.5 + second).sqrt()).abs() < 1e-12, "{found:?}");
        assert!((found.freedom - freedom).abs() < 1e-9, "{found:?} {freedom}");
        assert!(Welch::new(&[1.0], &[1.0, 2.0]).is_none() && Welch::new(&[1.0, f64::NAN], &[1.0, 2.0]).is_none());
        let alike = Welch::new(&[1.0, 1.0], &[2.0, 2.0]).unwrap();
        assert_eq!((alike.p(0.0), alike.p(1.0)), (0.0, 1.0));
    }

    /// It rejects equal sets no more often than it states, even sets of two values.
    #[test]
    fn few_values_are_seldom_told_apart_by_chance() {
        let mut random = generator(17);
        for n in [2, 3, 5] {
            let mut draw = |spread: f64| (0..n).map(|_| spread * normal(&mut random)).collect::<Vec<f64>>();
            let mut rejected = |spread| (0..4_000).filter(|_| Welch::new(&draw(1.0), &draw(spread)).unwrap().p(0.0) <= 0.05).count();
            let shares = [1.0, 3.0].map(|spread| rejected(spread) as f64 / 4_000.0);
            assert!(shares.iter().all(|share| *share <= 0.066), "{n}: {shares:?}");
        }
    }
}
