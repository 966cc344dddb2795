//! A figure of a receipt, and how well it is known.

use serde::Serialize;

use stats::distribution::student_critical;

/// The confidence of every interval of a receipt.
pub const CONFIDENCE: f64 = 0.95;

/// How a standard error was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorMethod {
    /// From how trials differ, as of a ratio of sums.
    BetweenTrials,
    /// From the number of samples alone: trials differ less than that, or they
    /// are too few to tell how much they differ.
    Binomial,
    /// It cannot be told from one trial.
    Unknown,
}

/// A figure with its standard error and interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    /// The figure.
    pub value: f64,
    /// Its standard error; `None` where it cannot be told.
    pub error: Option<f64>,
    /// Degrees of freedom behind the error; infinite where it is binomial.
    #[serde(skip)]
    pub freedom: f64,
    /// Both ends of the interval at 95 %, by Student's distribution.
    pub interval: Option<[f64; 2]>,
    /// How the error was found.
    pub method: ErrorMethod,
}

impl Figure {
    /// A figure from its variance; `None` where that cannot be told.
    pub fn new(value: f64, variance: Option<f64>, freedom: f64, method: ErrorMethod) -> Self {
        let error = variance.filter(|variance| variance.is_finite() && *variance >= 0.0).map(f64::sqrt);
        let interval = error.map(|error| {
            let reach = student_critical(CONFIDENCE, freedom) * error;
            [value - reach, value + reach]
        });
        let method = if error.is_none() { ErrorMethod::Unknown } else { method };
        Self { value, error, freedom, interval, method }
    }

    /// The same figure in another unit.
    pub fn scaled(self, by: f64) -> Self {
        let ends = |[low, high]: [f64; 2]| if by < 0.0 { [high * by, low * by] } else { [low * by, high * by] };
        Self { value: self.value * by, error: self.error.map(|error| error * by.abs()), interval: self.interval.map(ends), ..self }
    }

    /// The variance; `None` where it cannot be told.
    pub fn variance(&self) -> Option<f64> {
        self.error.map(|error| error * error)
    }
}
