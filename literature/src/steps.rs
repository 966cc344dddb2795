//! Sizes at which a cost jumps, in tables too short for a line on each side.
//!
//! The cost model's breakpoints ask for three or four sizes in every piece. A
//! table of nine sizes that jumps at the seventh and again at the eighth has
//! not got them; but a jump against the slope so far shows all the same.

use serde::Serialize;

use stats::cost::Term;
use stats::cost::design::Point;
use stats::cost::{LEAST_SIZES, robust};

/// A departure of less than this share is no step.
pub const LEAST_STEP: f64 = 0.15;

/// Nor is one of less than so many times the scatter around the line before it.
const LEAST_SPREADS: f64 = 3.5;

/// A jump of the cost between two neighbouring sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Step {
    /// Largest size before it.
    pub after: u64,
    /// Smallest size after it.
    pub before: u64,
    /// Time per message at `before` over what the line so far, carried on from
    /// `after`, would give, less 1: above 0 dearer, below 0 cheaper.
    pub departure: f64,
    /// True where throughput falls from `after` to `before`: no line does that.
    pub throughput_falls: bool,
}

/// Steps by rising size.
///
/// The slope is that of the robust line through the sizes since the last step,
/// once there are [`LEAST_SIZES`] of them, and until then the last one known. A
/// size departs by its time over the time at the size before it plus slope
/// times the bytes between; it is a step when that is beyond [`LEAST_STEP`] and
/// beyond so many times the line's own scatter.
pub fn find(points: &[Point], noise: f64) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut start, mut known): (usize, Option<(f64, f64)>) = (0, None);
    for place in 1..points.len() {
        let so_far = &points[start..place];
        if so_far.len() >= LEAST_SIZES {
            known = line(so_far, noise).or(known);
        }
        let Some((slope, spread)) = known else { continue };
        let (before, here) = (&points[place - 1], &points[place]);
        let expected = before.time + slope.max(0.0) * (here.size - before.size);
        let departure = here.time / expected - 1.0;
        if departure.abs() > LEAST_STEP.max(LEAST_SPREADS * spread) {
            let throughput_falls = here.size / here.time < before.size / before.time;
            steps.push(Step { after: before.size as u64, before: here.size as u64, departure, throughput_falls });
            start = place;
        }
    }
    steps
}

/// ns per byte of the robust line, and the scatter around it.
fn line(points: &[Point], noise: f64) -> Option<(f64, f64)> {
    const LINE: &[Term] = &[Term::Message, Term::Byte];
    let line = robust::line(points, LINE, noise)?;
    let left: Option<Vec<f64>> =
        points.iter().map(|point| Some(point.time / robust::predict(point, LINE, &line.coefficients)? - 1.0)).collect();
    Some((*line.coefficients.get(1)?, robust::spread(&left?, LINE.len()).max(noise)))
}

#[cfg(test)]
mod tests {
    use super::find;
    use stats::cost::design::Point;

    fn points(times: &[(f64, f64)]) -> Vec<Point> {
        times.iter().map(|(size, time)| Point { size: *size, time: *time, frames: None, wakeups: None }).collect()
    }

    #[test]
    fn a_line_has_no_step() {
        let line: Vec<(f64, f64)> = (0..12).map(|power| f64::from(1 << power)).map(|size| (size, 100.0 + 0.5 * size)).collect();
        assert!(find(&points(&line), 0.02).is_empty());
        assert!(find(&points(&line[..3]), 0.02).is_empty() && find(&[], 0.02).is_empty());
    }

    #[test]
    fn jumps_down_and_up_are_found_next_to_each_other() {
        let jumps =
            points(&[(1., 100.), (64., 132.), (128., 164.), (256., 228.), (512., 356.), (1024., 300.), (1460., 900.), (2032., 1186.)]);
        let steps = find(&jumps, 0.02);
        let found: Vec<(u64, u64, bool)> = steps.iter().map(|step| (step.after, step.before, step.departure > 0.0)).collect();
        assert_eq!(found, [(512, 1024, false), (1024, 1460, true)]);
        assert!(!steps[0].throughput_falls && steps[1].throughput_falls);
    }
}
