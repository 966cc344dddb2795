//! Costs of a message and a byte in a table: the cost model's own search and
//! robust fit, on one figure a size.

use serde::Serialize;

use super::power::least_squares;
use stats::cost::LEAST_NOISE;
use stats::cost::design::{Point, choices};
use stats::cost::search::{self, Form, Search};
use stats::cost::{LEAST_SIZES, robust};
use stats::resample::{self, Resampled};

/// A size is off the line when it lies this many robust standard deviations
/// from it (Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993).
pub const OFF_LINE: f64 = 3.5;

/// A line that is wrong by more than this somewhere is none.
const WORST_RESIDUAL: f64 = 0.5;

/// t = a + b·bytes in one or more pieces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// By rising size.
    pub pieces: Vec<CostPiece>,
    /// Share of the variance of the times that the model explains.
    pub r_squared: f64,
    /// The scatter that the search was told, as a share.
    pub noise: f64,
    /// The line of least squares through all sizes, unweighted, as gnuplot or a
    /// spreadsheet draws it: what a paper that shows a line is likely to mean.
    pub least_squares: LeastSquares,
    /// ns by the model at each size.
    #[serde(skip)]
    pub fitted: Vec<f64>,
}

/// One straight piece.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CostPiece {
    /// Its smallest size in bytes.
    pub from: u64,
    /// Its largest.
    pub to: u64,
    /// ns per message.
    pub message_ns: Resampled,
    /// ns per byte.
    pub byte_ns: Resampled,
}

/// An ordinary line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LeastSquares {
    /// ns per message.
    pub message_ns: f64,
    /// ns per byte.
    pub byte_ns: f64,
}

/// A size off its line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OffLine {
    /// The size in bytes.
    pub message_bytes: u64,
    /// (time - fitted) / fitted.
    pub residual: f64,
    /// The same in robust standard deviations of all sizes.
    pub deviations: f64,
}

impl Cost {
    /// The sizes further than [`OFF_LINE`] from the model.
    pub fn off_line(&self, points: &[Point]) -> Vec<OffLine> {
        let left: Vec<f64> = points.iter().zip(&self.fitted).map(|(point, fitted)| point.time / fitted - 1.0).collect();
        let spread = robust::spread(&left, 2 * self.pieces.len()).max(LEAST_NOISE);
        let off = |(point, residual): (&Point, &f64)| {
            let deviations = residual / spread;
            (deviations.abs() > OFF_LINE).then_some(OffLine { message_bytes: point.size as u64, residual: *residual, deviations })
        };
        points.iter().zip(&left).filter_map(off).collect()
    }
}

/// The model of one figure a size, by rising size; `known` as for a run's.
/// Intervals come from `draws` sets of residuals.
///
/// # Errors
/// The reason why there is none, and what to do.
pub fn fit(points: &[Point], known: &[bool], draws: usize) -> Result<Cost, String> {
    if points.len() < LEAST_SIZES {
        let were = if points.len() == 1 { "size was" } else { "sizes were" };
        return Err(format!("{} {were} measured and a line needs {LEAST_SIZES}: add sizes", points.len()));
    }
    let plain = choices(&[]);
    let noise = search::noise_of_single(points, LEAST_NOISE, known);
    let found = search::best(&Search { points, noise, choices: &plain, known });
    let fitted = found.and_then(|form| Some((form.fit(points, noise)?, form)));
    let Some((coefficients, form)) = fitted else { return Err("no line gives times above 0 at every size".to_owned()) };
    let fitted = times(points, &form, &coefficients);
    let worst = points.iter().zip(&fitted).map(|(point, fitted)| (point.time / fitted - 1.0).abs()).fold(0.0, f64::max);
    if worst.is_nan() || worst > WORST_RESIDUAL {
        return Err(format!("even the best line is {:.0} % off at some size; read the sizes themselves", worst * 100.0));
    }
    let plain: Vec<(f64, f64)> = points.iter().map(|point| (point.size, point.time)).collect();
    let Some((byte_ns, message_ns)) = least_squares(&plain) else { return Err("all sizes are one: add sizes".to_owned()) };
    let pieces = pieces(points, &form, &coefficients, noise, draws);
    not_negative(&pieces)?;
    Ok(Cost { pieces, r_squared: r_squared(points, &fitted), noise, least_squares: LeastSquares { message_ns, byte_ns }, fitted })
}

/// A line with a cost below 0 is not one of costs.
fn not_negative(pieces: &[CostPiece]) -> Result<(), String> {
    let below = |piece: &CostPiece| match (piece.message_ns.value < 0.0, piece.byte_ns.value < 0.0) {
        (true, _) => Some("message"),
        (_, true) => Some("byte"),
        _ => None,
    };
    match pieces.iter().find_map(|piece| Some((piece, below(piece)?))) {
        Some((piece, per)) => {
            let (from, to) = (piece.from, piece.to);
            Err(format!("the best line from {from} to {to} B would have a cost per {per} below 0; read the sizes themselves"))
        }
        None => Ok(()),
    }
}

fn times(points: &[Point], form: &Form, coefficients: &[Vec<f64>]) -> Vec<f64> {
    let of = |(piece, line): (std::ops::Range<usize>, &Vec<f64>)| {
        let terms = form.terms.clone();
        let line = line.clone();
        points[piece].iter().map(move |point| robust::predict(point, &terms, &line).unwrap_or(f64::NAN)).collect::<Vec<_>>()
    };
    form.pieces(points.len()).zip(coefficients).flat_map(of).collect()
}

fn pieces(points: &[Point], form: &Form, coefficients: &[Vec<f64>], noise: f64, draws: usize) -> Vec<CostPiece> {
    let fitted = times(points, form, coefficients);
    let left: Vec<f64> = points.iter().zip(&fitted).map(|(point, fitted)| point.time / fitted - 1.0).collect();
    let again = |residuals: Vec<f64>| {
        let drawn = points.iter().zip(&fitted).zip(residuals);
        let drawn: Vec<Point> = drawn.map(|((point, fitted), residual)| Point { time: fitted * (1.0 + residual), ..*point }).collect();
        // A draw with a time of 0 or less is no measurement.
        if drawn.iter().all(|point| point.time > 0.0) { form.fit(&drawn, noise) } else { None }
    };
    let drawn: Vec<Option<Vec<Vec<f64>>>> = resample::residuals(&left, form.terms.len() * form.starts.len(), draws).map(again).collect();
    let resampled = |piece: usize, term: usize| {
        let of_draws: Vec<f64> = drawn.iter().map(|fit| fit.as_ref().map_or(f64::NAN, |fit| fit[piece][term])).collect();
        Resampled::from_draws(coefficients[piece][term], &of_draws, points.len())
    };
    let piece = |(place, range): (usize, std::ops::Range<usize>)| CostPiece {
        from: points[range.start].size as u64,
        to: points[range.end - 1].size as u64,
        message_ns: resampled(place, 0),
        byte_ns: resampled(place, 1),
    };
    form.pieces(points.len()).enumerate().map(piece).collect()
}

fn r_squared(points: &[Point], fitted: &[f64]) -> f64 {
    let mean = points.iter().map(|point| point.time).sum::<f64>() / points.len() as f64;
    let all: f64 = points.iter().map(|point| (point.time - mean).powi(2)).sum();
    let left: f64 = points.iter().zip(fitted).map(|(point, fitted)| (point.time - fitted).powi(2)).sum();
    if all > 0.0 { 1.0 - left / all } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::{CostPiece, fit, not_negative};
    use stats::cost::design::Point;
    use stats::resample::Resampled;

    #[test]
    fn no_cost_is_below_0() {
        let resampled = |value: f64| Resampled::from_draws(value, &[], 9);
        let piece = |message: f64, byte: f64| CostPiece { from: 1, to: 64, message_ns: resampled(message), byte_ns: resampled(byte) };
        assert_eq!(not_negative(&[piece(0.0, 0.0), piece(10.0, 1.0)]), Ok(()));
        let told = not_negative(&[piece(10.0, 1.0), piece(-1_020.0, 1.0)]).unwrap_err();
        assert!(told.contains("cost per message below 0"), "{told}");
        assert!(not_negative(&[piece(10.0, -0.001)]).unwrap_err().contains("per byte"));
    }

    #[test]
    fn a_line_that_starts_below_0_is_no_cost() {
        let points = |start: f64| -> Vec<Point> {
            (4..12)
                .map(|power| f64::from(1 << power))
                .map(|size| Point { size, time: start + 100.0 * size, frames: None, wakeups: None })
                .collect()
        };
        assert!(fit(&points(50.0), &[false; 8], 0).is_ok());
        assert!(fit(&points(-500.0), &[false; 8], 0).unwrap_err().contains("below 0"));
    }
}
