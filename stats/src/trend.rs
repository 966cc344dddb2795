//! The trend of a series: Mann and Kendall's test (Mann 1945,
//! "Nonparametric tests against trend"; Kendall, "Rank Correlation Methods"), and
//! the median slope of all pairs (Theil 1950; Sen 1968).

use crate::distribution::normal_cdf;
use crate::median;

/// The course of a series over its length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Change from one value to the next.
    pub slope: f64,
    /// The line's value at the first.
    pub start: f64,
    /// Probability of an order as regular as this by chance, by the normal
    /// approximation with Kendall's correction for continuity; good from 10 on.
    pub p: f64,
}

/// Fewer values than this show no trend worth a word, and the approximation of
/// p is not good.
pub const LEAST: usize = 10;

/// The trend of a series; `None` of fewer than [`LEAST`] values or of one that
/// is no number.
pub fn trend(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < LEAST || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let pairs = || (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
    let slopes: Vec<f64> = pairs().map(|(i, j)| (values[j] - values[i]) / (j - i) as f64).collect();
    let sign = |slope: &f64| if *slope == 0.0 { 0.0 } else { slope.signum() };
    let score: f64 = slopes.iter().map(sign).sum();
    let slope = median::median(&slopes)?;
    let offsets: Vec<f64> = values.iter().enumerate().map(|(i, value)| value - slope * i as f64).collect();
    let size = n as f64;
    let deviation = (size * (size - 1.0) * (2.0 * size + 5.0) / 18.0).sqrt();
    let p = (2.0 * normal_cdf(-((score.abs() - 1.0).max(0.0) / deviation))).min(1.0);
    Some(Trend { slope, start: median::median(&offsets)?, p })
}

#[cfg(test)]
mod tests {
    use super::trend;
    use crate::noise::{generator, normal};

    #[test]
    fn a_line_comes_back_with_a_wild_value() {
        let mut line: Vec<f64> = (0..12).map(|i| 5.0 + 0.25 * f64::from(i)).collect();
        line[4] = 1e6;
        let found = trend(&line).unwrap();
        assert!((found.slope - 0.25).abs() < 1e-9 && (found.start - 5.0).abs() < 1e-9 && found.p < 0.001, "{found:?}");
        assert!(trend(&line[..9]).is_none() && trend(&[f64::NAN; 12]).is_none());
        assert!(trend(&[3.0; 12]).unwrap().p >= 1.0 - 1e-6);
    }

    #[test]
    fn trends_by_chance_are_as_rare_as_stated() {
        let mut random = generator(21);
        for n in [10, 30] {
            let series = (0..2_000).map(|_| (0..n).map(|_| normal(&mut random)).collect::<Vec<f64>>());
            let shares = series.filter(|series| trend(series).is_some_and(|trend| trend.p <= 0.05)).count() as f64 / 2_000.0;
            assert!((0.025..0.065).contains(&shares), "{n}: {shares}");
        }
    }
}
