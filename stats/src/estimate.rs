//! A figure with its interval, as every method here gives it.

use serde::Serialize;

use crate::distribution::normal_quantile;

/// A figure and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The figure: the median over trials unless its method says otherwise.
    pub value: f64,
    /// `None` when there are too few trials for the confidence asked for.
    pub interval: Option<Interval>,
    /// Number of trials (or other units) behind it.
    pub n: usize,
}

impl Estimate {
    /// Reach of the interval: from the value to the farther end, as a
    /// share of the value. `None` without an interval, or of a value of 0.
    ///
    /// The one measure of how narrow an interval is: of the stopping rule, and
    /// of every ±.
    pub fn half_width(&self) -> Option<f64> {
        let interval = self.interval?;
        let far = (self.value - interval.low).max(interval.high - self.value).max(0.0);
        let share = far / self.value.abs();
        share.is_finite().then_some(share)
    }

    /// The estimate of a rising function of the figure.
    #[must_use]
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        let interval = self.interval.map(|ends| Interval { low: of(ends.low), high: of(ends.high), ..ends });
        Self { value: of(self.value), interval, ..self }
    }
}

/// The range of the true figure, at a stated confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The coverage that the method attains, at least what was asked for; of
    /// the bootstrap the nominal one, which few blocks may miss.
    pub confidence: f64,
    /// The method.
    pub method: Method,
}

impl Interval {
    /// The interval of `value` when an independent normal error with this standard error
    /// comes on top: each reach and the error's, squared and added.
    #[must_use]
    pub fn widened(self, value: f64, error: f64) -> Self {
        let more = normal_quantile(f64::midpoint(1.0, self.confidence)) * error;
        Self { low: value - (value - self.low).hypot(more), high: value + (self.high - value).hypot(more), ..self }
    }
}

/// Method by which an interval was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Exact order-statistic interval of a median.
    OrderStatistics,
    /// Percentile bootstrap over blocks.
    BlockBootstrap,
    /// Inversion of a randomisation test.
    Randomisation,
    /// Welch's t over runs.
    Welch,
    /// Student's t over the instances of a woven trial.
    Instances,
}

#[cfg(test)]
mod tests {
    use super::{Interval, Method};

    #[test]
    fn an_error_on_top_widens_both_ends() {
        let plain = Interval { low: 9.0, high: 12.0, confidence: 0.95, method: Method::OrderStatistics };
        let wide = plain.widened(10.0, 1.0);
        // 1.96 standard errors, at right angles to the reach.
        assert!(
            (wide.low - (10.0 - 1.96_f64.hypot(1.0))).abs() < 0.01 && (wide.high - (10.0 + 1.96_f64.hypot(2.0))).abs() < 0.01,
            "{wide:?}"
        );
        assert_eq!((plain.widened(10.0, 0.0).low, plain.widened(10.0, 0.0).high), (9.0, 12.0));
    }
}
