//! A robust line: Huber's M-estimate on relative residuals.

use super::linear;
use crate::cost::Term;
use crate::cost::design::{LINE, Point};
use crate::median;

/// Huber's constant: residuals up to 1.345 standard deviations count in full,
/// which keeps 95 % efficiency for normal noise (Huber 1964, "Robust estimation
/// of a location parameter"; Holland and Welsch 1977).
const HUBER: f64 = 1.345;

/// A line through points.
#[derive(Debug, Clone)]
pub struct Line {
    /// In ns, one for each term.
    pub coefficients: Vec<f64>,
    /// Weight of each point in the last step.
    pub weights: Vec<f64>,
}

/// The coefficients of [`line`].
pub fn fit(points: &[Point], terms: &[Term], noise: f64) -> Option<Vec<f64>> {
    line(points, terms, noise).map(|line| line.coefficients)
}

/// The line of `terms` through `points`.
///
/// Residuals are taken relative to the fitted time, because noise on a busy
/// machine is a share of the time and times span an order of magnitude: one
/// size then counts as much as another. Their scale is 1.4826 times the median
/// absolute residual, and at least `noise`. By iteratively reweighted least
/// squares (Holland and Welsch 1977). `None` when the points cannot tell the
/// terms apart.
///
/// One wild time among ten sizes moves the line little, but for that of a size
/// that alone decides a term (high leverage, against which Huber's estimate does
/// not guard): the smallest where a message costs less than some 70 bytes, and
/// the largest.
pub fn line(points: &[Point], terms: &[Term], noise: f64) -> Option<Line> {
    const MOST_STEPS: usize = 40;
    // Most models have no other term, and their bootstrap is most of an analysis.
    let straight = terms == LINE;
    let rows: Vec<Vec<f64>> = points.iter().map(|point| row(point, terms)).collect::<Option<_>>()?;
    let times: Vec<f64> = points.iter().map(|point| point.time).collect();
    let mut weights: Vec<f64> = times.iter().map(|time| 1.0 / (time * time)).collect();
    let mut fitted = vec![f64::NAN; times.len()];
    let (mut residuals, mut sizes) = (vec![0.0; times.len()], vec![0.0; times.len()]);
    let mut found: Option<Line> = None;
    for _ in 0..MOST_STEPS {
        let next = if straight {
            linear::straight(points.iter().map(|point| (point.size, point.time)), &weights)?.to_vec()
        } else {
            linear::solve(&rows, &times, &weights)?
        };
        let mut settled = found.is_some();
        for ((fitted, row), (residual, time)) in fitted.iter_mut().zip(&rows).zip(residuals.iter_mut().zip(&times)) {
            let before = std::mem::replace(fitted, value(row, &next));
            settled &= (before - *fitted).abs() <= 1e-9 * fitted.abs();
            *residual = (time - *fitted) / scale(*fitted, *time);
        }
        let spread = spread_in(&residuals, terms.len(), &mut sizes).max(noise);
        let used = weights.clone();
        for ((weight, residual), (fitted, time)) in weights.iter_mut().zip(&residuals).zip(fitted.iter().zip(&times)) {
            *weight = (HUBER * spread / residual.abs()).min(1.0) / scale(*fitted, *time).powi(2);
        }
        found = Some(Line { coefficients: next, weights: used });
        if settled {
            break;
        }
    }
    found
}

/// What a residual is relative to: a fitted time near 0 would make its own boundless.
fn scale(fitted: f64, time: f64) -> f64 {
    fitted.max(time / 4.0)
}

/// The time by the model; `None` when a count of the point is not known.
pub fn predict(point: &Point, terms: &[Term], coefficients: &[f64]) -> Option<f64> {
    Some(value(&row(point, terms)?, coefficients))
}

fn row(point: &Point, terms: &[Term]) -> Option<Vec<f64>> {
    terms.iter().map(|term| point.count(*term)).collect()
}

fn value(row: &[f64], coefficients: &[f64]) -> f64 {
    row.iter().zip(coefficients).map(|(count, cost)| count * cost).sum()
}

/// The scale of residuals. As many of them can be made to vanish as there are
/// terms, so the smallest ones do not count (Maronna, Martin and Yohai, "Robust
/// Statistics", 4.4.2).
pub fn spread(residuals: &[f64], terms: usize) -> f64 {
    spread_in(residuals, terms, &mut vec![0.0; residuals.len()])
}

/// The same with room for as many values.
fn spread_in(residuals: &[f64], terms: usize, sizes: &mut [f64]) -> f64 {
    sizes.iter_mut().zip(residuals).for_each(|(size, residual)| *size = residual.abs());
    sizes.sort_unstable_by(f64::total_cmp);
    let counted = sizes.get(terms.saturating_sub(1)..).unwrap_or_default();
    median::of_sorted(counted).unwrap_or_default() * 1.4826
}

#[cfg(test)]
mod tests {
    use super::fit;
    use crate::cost::Term;
    use crate::cost::design::Point;
    use proptest::prelude::{prop_assert, prop_assume, proptest};

    const LINE: &[Term] = &[Term::Message, Term::Byte];

    fn line(a: f64, b: f64) -> Vec<Point> {
        let sizes = [1., 64., 112., 512., 1024., 1472., 2032., 4096., 8192., 16384.];
        sizes.iter().map(|size| Point { size: *size, time: a + b * size, frames: None, wakeups: None }).collect()
    }

    proptest! {
        #[test]
        fn one_wild_size_does_not_move_the_line(a in 100.0..5000.0f64, b in 0.05..2.0f64, place in 0usize..9) {
            // The smallest size alone decides what a message costs where the next, of 64 B, is mostly bytes.
            prop_assume!(place > 0 || a > 80.0 * b);
            let mut points = line(a, b);
            points[place].time *= 3.0;
            let found = fit(&points, LINE, 0.005).unwrap();
            // Where the line starts; a message alone may be a small part of that.
            prop_assert!((found[0] - a).abs() < 0.03 * (a + b * 112.0), "{found:?}");
            prop_assert!((found[1] * 4000.0 - b * 4000.0).abs() < 0.03 * (a + b * 4000.0), "{found:?}");
        }

        #[test]
        fn times_and_sizes_may_be_in_any_unit(a in 100.0..5000.0f64, b in 0.05..2.0f64, unit in 0.001..1000.0f64) {
            let mut points = line(a, b);
            points[3].time *= 1.1;
            points[7].time *= 0.93;
            let plain = fit(&points, LINE, 0.01).unwrap();
            let turned: Vec<Point> = points.iter().map(|p| Point { time: p.time * unit, ..*p }).collect();
            let turned = fit(&turned, LINE, 0.01).unwrap();
            prop_assert!((plain[0] * unit / turned[0] - 1.0).abs() < 1e-6 && (plain[1] * unit / turned[1] - 1.0).abs() < 1e-6);
        }
    }
}
