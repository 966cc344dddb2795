//! Dependence of a row on the message size.

use serde::Serialize;

use crate::figure::{ErrorMethod, Figure, satterthwaite};
use stats::distribution::{fisher_upper, student_two_sided};
use stats::holm::holm;

/// Values of a row at one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Trials {
    /// Message size in bytes.
    pub size: f64,
    /// One value a trial.
    pub values: Vec<f64>,
    /// The variance that a value has for how it was sampled, at least.
    pub least_variance: f64,
    /// Variance that all values of this size share: that of the clean CPU time
    /// which they were multiplied with.
    pub shared: f64,
}

/// The way in which a row changes with the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// It rises.
    Grows,
    /// It falls.
    Falls,
    /// It depends on the size, but neither rises nor falls as a whole.
    Varies,
    /// No dependence shown.
    NotShown,
}

/// A row over the sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Growth {
    /// Probability of means this different if the size made no difference.
    pub p: f64,
    /// The same with all rows of the table taken into account (Holm); equal to
    /// `p` until [`settle`].
    pub p_adjusted: f64,
    /// ns (or calls) per message and KiB: the least-squares slope.
    pub slope_per_kib: Figure,
    /// Probability of a slope this steep if there were none.
    pub slope_p: f64,
    /// The largest mean less the smallest, over the largest.
    pub range: f64,
    /// The conclusion.
    pub shape: Shape,
}

/// p-values up to this count.
pub const SIGNIFICANT: f64 = 0.05;

/// A smaller change over all sizes is none worth a mark, however sure.
pub const LEAST_RANGE: f64 = 0.05;

/// Degrees of freedom of a variance that is known and not estimated: so many
/// that more would change nothing.
const KNOWN: f64 = 10_000.0;

/// A mean and the variance of that mean.
struct Group {
    size: f64,
    mean: f64,
    variance: f64,
    freedom: f64,
}

impl Group {
    fn new(trials: &Trials) -> Option<Self> {
        let n = trials.values.len() as f64;
        if trials.values.len() < 2 || trials.values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mean = trials.values.iter().sum::<f64>() / n;
        let sample = trials.values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let variance = sample.max(trials.least_variance) / n + trials.shared;
        let freedom = if sample > trials.least_variance { n - 1.0 } else { KNOWN };
        Some(Self { size: trials.size, mean, variance, freedom })
    }
}

/// Tests a row over at least two sizes with at least two trials each; `None` of
/// fewer.
///
/// The means of the sizes are compared with each other by Welch's test for
/// unequal variances (Welch 1951, "On the comparison of several mean values: an
/// alternative approach"), no variance being taken for less than sampling makes
/// it. The slope is that of least squares through the means, each weighing the
/// same: weights that are estimated from five trials call a slope real too often
/// (8.8 % for 5 % in the simulation of the tests). As a contrast of means its
/// error does not rest on the line being straight.
pub fn growth(sizes: &[Trials]) -> Option<Growth> {
    let groups: Vec<Group> = sizes.iter().map(Group::new).collect::<Option<_>>()?;
    if groups.len() < 2 {
        return None;
    }
    let p = welch(&groups);
    let (slope_per_kib, slope_p) = slope(&groups)?;
    let most = groups.iter().map(|group| group.mean).fold(f64::MIN, f64::max);
    let least = groups.iter().map(|group| group.mean).fold(f64::MAX, f64::min);
    let range = if most > 0.0 { (most - least) / most } else { 0.0 };
    let mut growth = Growth { p, p_adjusted: p, slope_per_kib, slope_p, range, shape: Shape::NotShown };
    growth.shape = growth.judged();
    Some(growth)
}

/// Takes into account that many rows were tested at once.
pub fn settle(rows: &mut [&mut Growth]) {
    let adjusted = holm(&rows.iter().map(|row| row.p).collect::<Vec<_>>());
    for (row, p) in rows.iter_mut().zip(adjusted) {
        row.p_adjusted = p;
        row.shape = row.judged();
    }
}

impl Growth {
    /// Both significance and size.
    fn judged(&self) -> Shape {
        if self.p_adjusted > SIGNIFICANT || self.range < LEAST_RANGE {
            Shape::NotShown
        } else if self.slope_p > SIGNIFICANT {
            Shape::Varies
        } else if self.slope_per_kib.value > 0.0 {
            Shape::Grows
        } else {
            Shape::Falls
        }
    }
}

fn welch(groups: &[Group]) -> f64 {
    let k = groups.len() as f64;
    let same = groups.windows(2).all(|pair| pair[0].mean == pair[1].mean);
    if same {
        return 1.0;
    }
    if groups.iter().any(|group| group.variance <= 0.0) {
        // Exact values that differ: nothing but the size explains it.
        return 0.0;
    }
    let weights: Vec<f64> = groups.iter().map(|group| 1.0 / group.variance).collect();
    let all: f64 = weights.iter().sum();
    let centre = groups.iter().zip(&weights).map(|(group, weight)| weight * group.mean).sum::<f64>() / all;
    let between = groups.iter().zip(&weights).map(|(group, weight)| weight * (group.mean - centre).powi(2)).sum::<f64>() / (k - 1.0);
    let lack: f64 = groups.iter().zip(&weights).map(|(group, weight)| (1.0 - weight / all).powi(2) / group.freedom).sum();
    let f = between / (1.0 + 2.0 * (k - 2.0) / (k * k - 1.0) * lack);
    fisher_upper(f, k - 1.0, (k * k - 1.0) / (3.0 * lack))
}

/// The slope per KiB with its error, and its p-value.
fn slope(groups: &[Group]) -> Option<(Figure, f64)> {
    let centre = groups.iter().map(|group| group.size).sum::<f64>() / groups.len() as f64;
    let below: f64 = groups.iter().map(|group| (group.size - centre).powi(2)).sum();
    if below <= 0.0 {
        return None;
    }
    let parts: Vec<f64> = groups.iter().map(|group| (group.size - centre) / below * 1024.0).collect();
    let value: f64 = groups.iter().zip(&parts).map(|(group, part)| part * group.mean).sum();
    let terms: Vec<(f64, f64)> = groups.iter().zip(&parts).map(|(group, part)| (part * part * group.variance, group.freedom)).collect();
    let variance: f64 = terms.iter().map(|(variance, _)| variance).sum();
    let freedom = satterthwaite(&terms);
    // Without any variance the slope is exact.
    let p = if variance > 0.0 { student_two_sided(value / variance.sqrt(), freedom) } else { f64::from(u8::from(value == 0.0)) };
    Some((Figure::new(value, Some(variance), freedom, ErrorMethod::BetweenTrials), p))
}
