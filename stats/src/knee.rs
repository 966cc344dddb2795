//! The knee of a curve that rises and then flattens, told in two ways: two
//! straight lines that meet, by least squares over every place at which they
//! could ([`lines_that_meet`]), which says where a published curve bends; and the
//! first place that reaches the plateau ([`plateau`]), which says what to use.

use serde::Serialize;

use crate::cost::linear::solve;
use crate::estimate::Estimate;
use crate::median::median;
use crate::resample::{self, Resampled};

/// The share of the plateau that is as good as all of it.
pub const ENOUGH: f64 = 0.95;

/// The plateau is that of the last points: one in this many.
const PLATEAU: usize = 4;

/// Fewer points show no plateau.
const LEAST_OF_PLATEAU: usize = 3;

/// The end of a curve, and the places of the first points that reach 95 % of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plateau {
    /// Median of the last points.
    pub level: f64,
    /// Number of these.
    pub points: usize,
    /// The first whose interval reaches it.
    pub at: usize,
    /// The first whose value does.
    pub reached: usize,
    /// The first from which on the whole interval of every point does, if any.
    pub surely: Option<usize>,
}

/// The plateau of values by rising place; `None` of too few. An interval that is
/// missing, for want of trials, is the value itself.
pub fn plateau(values: &[Estimate]) -> Option<Plateau> {
    if values.len() < LEAST_OF_PLATEAU {
        return None;
    }
    let points = (values.len() / PLATEAU).max(1);
    let largest: Vec<f64> = values[values.len() - points..].iter().map(|value| value.value).collect();
    let level = median(&largest)?;
    let wanted = ENOUGH * level;
    let first = |reaches: &dyn Fn(&Estimate) -> bool| values.iter().position(reaches);
    let at = first(&|value| value.interval.map_or(value.value, |interval| interval.high) >= wanted)?;
    let reached = first(&|value| value.value >= wanted)?;
    // A point beyond that may fall short again takes it back.
    let short = values.iter().rposition(|value| value.interval.is_none_or(|interval| interval.low < wanted));
    let surely = Some(short.map_or(0, |short| short + 1)).filter(|surely| *surely < values.len());
    Some(Plateau { level, points, at, reached, surely })
}

/// A notch less deep than this is none, in a table as in a run.
pub const NOTCH: f64 = 0.02;

/// The depth of a value below the lower one of its neighbours, as a share of that.
pub fn notch_depth([before, here, after]: [f64; 3]) -> f64 {
    1.0 - here / before.min(after)
}

/// Fewer points do not show two lines.
const LEAST_POINTS: usize = 6;

/// The step in which the meeting place is looked for, as a share of the mean
/// distance of the points.
const STEP: f64 = 0.05;

/// More places are not tried.
const MOST_PLACES: usize = 400;

/// Two lines that meet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Knee {
    /// The place where they meet.
    pub at: Resampled,
    /// The height there.
    pub height: f64,
    /// The slope before it.
    pub before: f64,
    /// The slope after it.
    pub after: f64,
    /// The height at each point.
    #[serde(skip)]
    pub fitted: Vec<f64>,
}

/// The knee of points by rising place. `None` when there are too few of them
/// or the curve does not flatten.
pub fn lines_that_meet(points: &[(f64, f64)], draws: usize) -> Option<Knee> {
    let found = best(points)?;
    let fitted: Vec<f64> = points.iter().map(|(x, _)| found.height(*x)).collect();
    if found.after >= found.before {
        return None;
    }
    let left: Vec<f64> = points.iter().zip(&fitted).map(|((_, y), fitted)| y - fitted).collect();
    // Level, two slopes and the place itself.
    let again = |residuals: Vec<f64>| {
        let drawn: Vec<(f64, f64)> =
            points.iter().zip(&fitted).zip(residuals).map(|(((x, _), fitted), residual)| (*x, fitted + residual)).collect();
        best(&drawn).map_or(f64::NAN, |knee| knee.place)
    };
    let places: Vec<f64> = resample::residuals(&left, 4, draws).map(again).collect();
    let at = Resampled::from_draws(found.place, &places, points.len());
    Some(Knee { at, height: found.height(found.place), before: found.before, after: found.after, fitted })
}

/// Two lines that meet at `place`.
#[derive(Debug, Clone, Copy)]
struct Lines {
    place: f64,
    level: f64,
    before: f64,
    after: f64,
    squares: f64,
}

impl Lines {
    fn height(&self, x: f64) -> f64 {
        self.level + self.before * x.min(self.place) + self.after * (x - self.place).max(0.0)
    }
}

/// The pair of lines with the least squares; at least two points lie on each side.
fn best(points: &[(f64, f64)]) -> Option<Lines> {
    let (Some(first), Some(last)) = (points.get(1), points.len().checked_sub(2).and_then(|place| points.get(place))) else { return None };
    if points.len() < LEAST_POINTS || !points.is_sorted_by(|a, b| a.0 < b.0) {
        return None;
    }
    let apart = (last.0 - first.0) / (points.len() as f64 - 3.0);
    let places = (((last.0 - first.0) / (apart * STEP)).round() as usize).min(MOST_PLACES);
    let place = |step: usize| first.0 + (last.0 - first.0) * step as f64 / places as f64;
    (0..=places).filter_map(|step| lines(points, place(step))).min_by(|a, b| a.squares.total_cmp(&b.squares))
}

/// Least squares of level and both slopes, the lines meeting at `place`.
fn lines(points: &[(f64, f64)], place: f64) -> Option<Lines> {
    let rows: Vec<Vec<f64>> = points.iter().map(|(x, _)| vec![1.0, x.min(place), (x - place).max(0.0)]).collect();
    let heights: Vec<f64> = points.iter().map(|(_, y)| *y).collect();
    let found = solve(&rows, &heights, &vec![1.0; points.len()])?;
    let [level, before, after] = found[..] else { return None };
    let mut lines = Lines { place, level, before, after, squares: 0.0 };
    lines.squares = points.iter().map(|(x, y)| (y - lines.height(*x)).powi(2)).sum();
    lines.squares.is_finite().then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::{lines_that_meet, plateau};
    use crate::estimate::{Estimate, Interval, Method};
    use crate::noise::{generator, normal};
    use proptest::prelude::{prop_assert, proptest};

    proptest! {
        #[test]
        fn a_true_knee_is_found(place in 3.0..9.0f64, rise in 10.0..200.0f64, flat in 0.0..0.4f64) {
            let height = |x: f64| 5.0 + rise * x.min(place) + rise * flat * (x - place).max(0.0);
            let points: Vec<(f64, f64)> = (1..=12).map(f64::from).map(|x| (x, height(x))).collect();
            let knee = lines_that_meet(&points, 0).unwrap();
            prop_assert!((knee.at.value - place).abs() < 0.06, "{knee:?}");
            prop_assert!(knee.at.residual_bootstrap.is_none());
        }
    }

    /// The fifth reaches the plateau for sure and the sixth falls short again.
    #[test]
    fn what_is_reached_for_sure_stays_reached() {
        let estimate = |(value, low): (f64, f64)| {
            let interval = Interval { low, high: value + 1.0, confidence: 0.95, method: Method::OrderStatistics };
            Estimate { value, interval: Some(interval), n: 9 }
        };
        let curve =
            |sixth: f64| [(20., 19.), (40., 39.), (60., 59.), (80., 79.), (99., 98.), (99., sixth), (99., 97.), (100., 99.)].map(estimate);
        let found = plateau(&curve(98.0)).unwrap();
        assert_eq!((found.reached, found.surely), (4, Some(4)));
        assert_eq!(plateau(&curve(80.0)).unwrap().surely, Some(6));
        let mut wide = curve(98.0);
        wide[7] = estimate((100.0, 80.0));
        assert_eq!(plateau(&wide).unwrap().surely, None);
    }

    #[test]
    fn its_interval_covers_it() {
        let mut random = generator(9);
        let (mut held, curves) = (0, 60);
        for _ in 0..curves {
            let height = |x: f64| 100.0 * x.min(5.0) + 10.0 * (x - 5.0).max(0.0);
            let points: Vec<(f64, f64)> = (1..=12).map(f64::from).map(|x| (x, height(x) + 10.0 * normal(&mut random))).collect();
            let [low, high] = lines_that_meet(&points, 200).unwrap().at.residual_bootstrap.unwrap();
            held += u32::from(low <= 5.0 && 5.0 <= high);
        }
        eprintln!("knee of 12 points at 95 %: held {held} of {curves}");
        assert!(held >= 51, "{held}");
    }

    #[test]
    fn what_has_no_knee_has_none() {
        let steeper: Vec<(f64, f64)> = (1..=12).map(f64::from).map(|x| (x, x * x)).collect();
        assert!(lines_that_meet(&steeper, 0).is_none());
        assert!(lines_that_meet(&steeper[..5], 0).is_none() && lines_that_meet(&[], 0).is_none());
        assert!(lines_that_meet(&[(1.0, 1.0); 8], 0).is_none());
    }
}
