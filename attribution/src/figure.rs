//! A figure of a receipt with how well it is known, and the arithmetic of
//! figures.
//!
//! Ratios are of sums over trials (Cochran, "Sampling Techniques", 3rd edition,
//! 6.3 to 6.4): trials are the clusters, and what each of them says weighs as
//! much as its denominator.

use serde::Serialize;
use stats::distribution::student_critical;

/// The confidence of every interval of a receipt.
pub const CONFIDENCE: f64 = 0.95;

/// Method by which a standard error was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorMethod {
    /// From how trials differ, as of a ratio of sums.
    BetweenTrials,
    /// From the number of samples alone: trials differ less than that, or they
    /// are too few to tell how much they differ.
    Binomial,
    /// It cannot be distinguished from one trial.
    Unknown,
}

/// A figure with its standard error and interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    /// The figure.
    pub value: f64,
    /// Its standard error; `None` where it is unknown.
    pub error: Option<f64>,
    /// Degrees of freedom behind the error; infinite where it is binomial.
    #[serde(skip)]
    pub freedom: f64,
    /// Both ends of the interval at 95 %, by Student's distribution.
    pub interval: Option<[f64; 2]>,
    /// Method by which the error was found.
    pub method: ErrorMethod,
}

impl Figure {
    /// A figure from its variance; `None` where that is unknown.
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

    /// The figure less what is known without error, no less than 0.
    pub fn less(self, by: f64) -> Self {
        let reduced = |value: f64| (value - by).max(0.0);
        Self { value: reduced(self.value), interval: self.interval.map(|ends| ends.map(reduced)), ..self }
    }

    /// The figure as one of what cannot be below 0, such as a cost or a share: nor can its interval.
    pub fn not_negative(self) -> Self {
        Self { interval: self.interval.map(|ends| ends.map(|end| end.max(0.0))), ..self }
    }

    /// The variance; `None` where it is unknown.
    pub fn variance(&self) -> Option<f64> {
        self.error.map(|error| error * error)
    }
}

/// Fewer trials than this do not show how trials differ.
pub const LEAST_TRIALS: usize = 5;

/// A sum over a sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The ratio; 0 when there is nothing below.
    pub value: f64,
    /// Its variance as trials differ; `None` of fewer than two.
    pub variance: Option<f64>,
    /// Number of trials.
    pub trials: usize,
}

/// Σ above / Σ below, with the variance Σ(above − R·below)²·K/(K−1) / (Σ below)².
pub fn ratio(pairs: &[(f64, f64)]) -> Ratio {
    let trials = pairs.len();
    let (above, below) = pairs.iter().fold((0.0, 0.0), |(above, below), pair| (above + pair.0, below + pair.1));
    if below <= 0.0 {
        return Ratio { value: 0.0, variance: None, trials };
    }
    let value = above / below;
    let squares: f64 = pairs.iter().map(|(above, below)| (above - value * below).powi(2)).sum();
    let k = trials as f64;
    let variance = (trials >= 2).then(|| squares * k / (k - 1.0) / (below * below));
    Ratio { value, variance, trials }
}

impl Ratio {
    /// As a figure by itself; what is counted cannot be below 0.
    pub fn figure(self) -> Figure {
        let figure = Figure::new(self.value, self.variance, self.trials as f64 - 1.0, ErrorMethod::BetweenTrials);
        if self.value < 0.0 { figure } else { figure.not_negative() }
    }
}

/// The sampling of a row, from which the variance of its share follows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Samples of the row.
    pub samples: u64,
    /// All samples.
    pub of: u64,
    /// Share of the whole that one sample is: the period over the on-CPU time.
    pub each: f64,
}

impl Sampling {
    /// The variance of the row's share if samples fell independently of each
    /// other: binomial. A row of no sample counts as one of one, so that what
    /// was not seen is not known to be nothing.
    fn variance(self) -> f64 {
        let samples = self.samples.max(1) as f64;
        let all = self.of.max(1) as f64;
        samples * (1.0 - (samples / all).min(1.0)).max(1.0 / all) * self.each * self.each
    }
}

/// A row's share of the on-CPU time: between trials where there are enough of
/// them, but never less uncertain than the samples alone make it.
pub fn share(ratio: Ratio, sampling: Sampling) -> Figure {
    let binomial = sampling.variance();
    let figure = match ratio.variance.filter(|_| ratio.trials >= LEAST_TRIALS) {
        Some(between) if between > binomial => {
            Figure::new(ratio.value, Some(between), ratio.trials as f64 - 1.0, ErrorMethod::BetweenTrials)
        }
        Some(_) => Figure::new(ratio.value, Some(binomial), ratio.trials as f64 - 1.0, ErrorMethod::Binomial),
        None => Figure::new(ratio.value, Some(binomial), f64::INFINITY, ErrorMethod::Binomial),
    };
    figure.not_negative()
}

/// The product of two independent figures, by the delta method: the variance
/// is a²·var(b) + b²·var(a). Where one error is unknown, neither can the
/// product's.
pub fn product(a: Figure, b: Figure) -> Figure {
    let terms = a.variance().zip(b.variance()).map(|(of_a, of_b)| [b.value * b.value * of_a, a.value * a.value * of_b]);
    let freedom = terms.map_or(f64::INFINITY, |terms| satterthwaite(&[(terms[0], a.freedom), (terms[1], b.freedom)]));
    Figure::new(a.value * b.value, terms.map(|terms| terms[0] + terms[1]), freedom, a.method)
}

/// Degrees of freedom of a sum of variances (Satterthwaite 1946; Welch 1947):
/// (Σv)² / Σ(v²/f).
pub fn satterthwaite(terms: &[(f64, f64)]) -> f64 {
    let sum: f64 = terms.iter().map(|(variance, _)| variance).sum();
    let below: f64 = terms.iter().filter(|(variance, _)| *variance > 0.0).map(|(variance, freedom)| variance * variance / freedom).sum();
    if below > 0.0 { sum * sum / below } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::{ErrorMethod, Figure, Sampling, product, ratio, satterthwaite, share};
    use stats::noise::{generator, normal};

    #[test]
    fn equal_ratios_have_no_variance() {
        let equal = ratio(&[(1.0, 10.0), (2.0, 20.0), (4.0, 40.0)]);
        assert!((equal.value - 0.1).abs() < 1e-15 && equal.variance.unwrap() < 1e-30);
        assert_eq!(ratio(&[(1.0, 4.0)]).variance, None);
        assert_eq!(ratio(&[]).value, 0.0);
    }

    #[test]
    fn what_cannot_be_negative_has_no_interval_below_0() {
        let wide = [(0.0, 10.0), (9.0, 10.0), (0.0, 10.0)];
        let sampling = Sampling { samples: 1, of: 30, each: 1.0 / 30.0 };
        for figure in [ratio(&wide).figure(), share(ratio(&wide[..1]), sampling), share(ratio(&[]), sampling)] {
            let [low, high] = figure.interval.unwrap_or_default();
            assert!(low == 0.0 && low <= figure.value && figure.value <= high, "{figure:?}");
        }
        // A difference can be.
        assert!(ratio(&[(-1.0, 4.0), (-2.0, 4.0)]).figure().interval.unwrap()[0] < 0.0);
    }

    #[test]
    fn welch_between_its_bounds() {
        assert!((satterthwaite(&[(1.0, 4.0), (1.0, 4.0)]) - 8.0).abs() < 1e-12);
        assert!((satterthwaite(&[(1.0, 4.0), (0.0, 9.0)]) - 4.0).abs() < 1e-12);
        assert_eq!(satterthwaite(&[]), f64::INFINITY);
    }

    #[test]
    fn an_unknown_error_stays_unknown() {
        let known = Figure::new(2.0, Some(1.0), 4.0, ErrorMethod::BetweenTrials);
        let unknown = Figure::new(3.0, None, 4.0, ErrorMethod::BetweenTrials);
        assert_eq!(product(known, unknown).error, None);
        assert_eq!(product(known, unknown).value, 6.0);
    }

    /// The interval of a ratio holds the truth about as often as it says.
    #[test]
    fn five_trials_cover() {
        let samples = if cfg!(debug_assertions) { 1_000 } else { 10_000 };
        let (mut random, mut held) = (generator(31), 0);
        for _ in 0..samples {
            let pairs: Vec<(f64, f64)> = (0..5)
                .map(|_| {
                    let below = 100.0 * (1.0 + 0.1 * normal(&mut random));
                    (below * 0.2 * (1.0 + 0.05 * normal(&mut random)), below)
                })
                .collect();
            let [low, high] = ratio(&pairs).figure().interval.unwrap();
            held += u32::from(low <= 0.2 && 0.2 <= high);
        }
        let held = f64::from(held) / f64::from(samples);
        eprintln!("ratio over 5 trials at 95 %: holds {held:.3}");
        assert!((0.93..0.975).contains(&held), "{held}");
    }
}
