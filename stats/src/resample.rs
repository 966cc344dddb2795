//! The residual bootstrap: how sure a coefficient is where each point was
//! measured once and there are no blocks to draw from.
//!
//! The model is fitted, its residuals are drawn again at random, added to what
//! was fitted, and the model is fitted again (Efron and Tibshirani, "An
//! Introduction to the Bootstrap", 9.4). It knows nothing of what would vary
//! from one day to the next, and takes the form of the model for given: it is
//! narrower than an interval over blocks, and named wherever it is printed.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::bootstrap;

/// Draws of each bootstrap, as many as over blocks: enough for a 95 % interval
/// of six points or more.
pub const DRAWS: usize = bootstrap::DRAWS;

/// Nothing is drawn of more points: it would take long, and that many points are
/// rather several measurements of fewer.
const MOST_POINTS: usize = 200;

/// Nominal coverage of the intervals.
pub const CONFIDENCE: f64 = 0.95;

/// The same table always gives the same intervals.
const SEED: u64 = 0x1984_1988_2007;

/// A figure of a model with its interval, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Resampled {
    /// The figure.
    pub value: f64,
    /// The ends of its 95 % residual-bootstrap interval; `None` for too few
    /// points, and for more than 200.
    pub residual_bootstrap: Option<[f64; 2]>,
    /// Points behind it.
    pub n: usize,
}

impl Resampled {
    /// A figure of `n` points from what it became in each draw.
    pub fn from_draws(value: f64, draws: &[f64], n: usize) -> Self {
        let interval = bootstrap::interval(draws, n, CONFIDENCE);
        Self { value, residual_bootstrap: interval.map(|ends| [ends.low.min(value), ends.high.max(value)]), n }
    }
}

/// `draws` sets of residuals, each as many as there are, drawn from `residuals`
/// with replacement. They are centred, and enlarged by √(n/(n - parameters))
/// because a fit makes its own residuals too small.
pub fn residuals(residuals: &[f64], parameters: usize, draws: usize) -> impl Iterator<Item = Vec<f64>> {
    let n = residuals.len();
    let mean = residuals.iter().sum::<f64>() / n.max(1) as f64;
    let larger = if n > parameters { (n as f64 / (n - parameters) as f64).sqrt() } else { 1.0 };
    let pool: Vec<f64> = residuals.iter().map(|residual| (residual - mean) * larger).collect();
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    (0..if n == 0 || n > MOST_POINTS { 0 } else { draws }).map(move |_| (0..n).map(|_| pool[random.random_range(0..n)]).collect())
}

#[cfg(test)]
mod tests {
    use super::{CONFIDENCE, Resampled, residuals};
    use crate::noise::{generator, normal};

    /// How often the interval of a least-squares slope of 15 points holds the
    /// true one.
    #[test]
    fn the_slope_of_a_noisy_line_is_covered() {
        let mut random = generator(3);
        let (mut held, studies) = (0, 300);
        let slope = |y: &[f64]| {
            let (mx, my) = (7.0, y.iter().sum::<f64>() / 15.0);
            let over: f64 = y.iter().enumerate().map(|(x, y)| (x as f64 - mx) * (y - my)).sum();
            (over / 280.0, my)
        };
        for _ in 0..studies {
            let y: Vec<f64> = (0..15).map(|x| 10.0 + 2.0 * f64::from(x) + normal(&mut random)).collect();
            let (b, mean) = slope(&y);
            let fitted: Vec<f64> = (0..15).map(|x| mean + b * (f64::from(x) - 7.0)).collect();
            let left: Vec<f64> = y.iter().zip(&fitted).map(|(y, f)| y - f).collect();
            let drawn: Vec<f64> =
                residuals(&left, 2, 400).map(|e| slope(&fitted.iter().zip(e).map(|(f, e)| f + e).collect::<Vec<_>>()).0).collect();
            let [low, high] = Resampled::from_draws(b, &drawn, 15).residual_bootstrap.unwrap();
            held += u32::from(low <= 2.0 && 2.0 <= high);
        }
        let share = f64::from(held) / f64::from(studies);
        eprintln!("residual bootstrap of 15 points at {CONFIDENCE}: holds {share:.3}");
        assert!(share >= 0.91, "{share}");
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(residuals(&[], 2, 10).count() + residuals(&[0.0; 201], 2, 10).count(), 0);
        assert_eq!(Resampled::from_draws(1.0, &[1.0; 100], 5).residual_bootstrap, None);
    }
}
