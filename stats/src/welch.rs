//! The shift between two sets of few values, by their means: Welch's t (Welch 1947,
//! "The generalization of 'Student's' problem when several different population
//! variances are involved"). It takes values for normal, which the medians of many
//! blocks nearly are, and asks for no more than two of either kind; a test by ranks
//! could show nothing of three and three.

use crate::distribution::{student_critical, student_two_sided};
use crate::estimate::{Estimate, Interval, Method};

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
        let [first, second] = [mean_and_variance(first)?, mean_and_variance(second)?];
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

/// Mean, variance of the mean, and degrees of freedom.
fn mean_and_variance(values: &[f64]) -> Option<(f64, f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() >= 2 && mean.is_finite()).then(|| (mean, squares / (n - 1.0) / n, n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::Welch;
    use crate::noise::{generator, normal};

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

    /// Of equal sets it rejects no more than it says, however few they are.
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
