//! One size of a series as a row of the model, and which terms it can carry.

use crate::result::Term;

/// What was measured at one size: medians over trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Bytes of payload.
    pub size: f64,
    /// ns per message; above 0.
    pub time: f64,
    /// Frames per message, if they were counted.
    pub frames: Option<f64>,
    /// Wake-ups of the receiver per message, if they were counted.
    pub wakeups: Option<f64>,
}

impl Point {
    /// How many of a term's unit a message of this size has; `None` where it
    /// was not counted, or the term is derived and not fitted.
    pub const fn count(&self, term: Term) -> Option<f64> {
        match term {
            Term::Message => Some(1.0),
            Term::Byte => Some(self.size),
            Term::Frame => self.frames,
            Term::Wakeup => self.wakeups,
            Term::FullSegment => None,
        }
    }
}

/// Two regressors correlated this much or more are not fitted together.
pub const MOST_CORRELATION: f64 = 0.95;

/// The sets of terms that are tried, fewest first.
pub const CHOICES: [&[Term]; 4] = [
    &[Term::Message, Term::Byte],
    &[Term::Message, Term::Byte, Term::Frame],
    &[Term::Message, Term::Byte, Term::Wakeup],
    &[Term::Message, Term::Byte, Term::Frame, Term::Wakeup],
];

/// How much a count must vary over the sizes to carry a term.
const LEAST_RANGE: f64 = 0.05;

/// The counts of a term over all points; `None` when any lacks it.
fn counts(points: &[Point], term: Term) -> Option<Vec<f64>> {
    points.iter().map(|point| point.count(term)).collect()
}

/// Whether a term's count varies over these points; not when it is not known.
pub fn varies(points: &[Point], term: Term) -> bool {
    let range = |values: Vec<f64>| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max) - low
    };
    counts(points, term).is_some_and(|values| range(values) > LEAST_RANGE)
}

/// Pearson's correlation of two terms' counts over the sizes, each size once;
/// `None` when either is not known or does not vary.
pub fn correlation(points: &[Point], a: Term, b: Term) -> Option<f64> {
    let (a, b) = (counts(points, a)?, counts(points, b)?);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(&a), mean(&b));
    let product = |x: &[f64], mx: f64, y: &[f64], my: f64| x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum::<f64>();
    let r = product(&a, mean_a, &b, mean_b) / (product(&a, mean_a, &a, mean_a) * product(&b, mean_b, &b, mean_b)).sqrt();
    r.is_finite().then(|| r.clamp(-1.0, 1.0))
}

/// The correlation of bytes and frames when it forbids to fit both.
pub fn collinearity(points: &[Point]) -> Option<f64> {
    let r = correlation(points, Term::Byte, Term::Frame).filter(|_| varies(points, Term::Frame))?;
    (r.abs() >= MOST_CORRELATION).then_some(r)
}

/// Whether these points can tell the terms apart: each optional one varies and
/// is not nearly a line in one of the others.
pub fn identifiable(points: &[Point], terms: &[Term]) -> bool {
    let apart = |a: Term, b: Term| correlation(points, a, b).is_some_and(|r| r.abs() < MOST_CORRELATION);
    let optional = terms.iter().enumerate().filter(|(_, term)| matches!(term, Term::Frame | Term::Wakeup));
    points.len() > terms.len()
        && optional.into_iter().all(|(place, term)| varies(points, *term) && terms[1..place].iter().all(|other| apart(*other, *term)))
}

#[cfg(test)]
mod tests {
    use super::{Point, collinearity, correlation, identifiable};
    use crate::result::Term;

    fn points(sizes: &[f64], frames: impl Fn(f64) -> f64) -> Vec<Point> {
        sizes.iter().map(|size| Point { size: *size, time: 1.0, frames: Some(frames(*size)), wakeups: None }).collect()
    }

    fn fragments(size: f64) -> f64 {
        ((size + 8.0) / 1480.0).ceil()
    }

    #[test]
    fn bytes_and_frames_are_one_over_usual_sizes() {
        let usual = points(&[1., 64., 112., 512., 1024., 1472., 1473., 2032., 8192., 16384.], fragments);
        let r = collinearity(&usual).unwrap();
        assert!(r > 0.99, "{r}");
        assert!(!identifiable(&usual, &[Term::Message, Term::Byte, Term::Frame]));
    }

    #[test]
    fn sizes_around_the_mtu_tell_them_apart() {
        let chosen = points(&[1., 500., 1000., 1472., 1473., 2000., 2900., 2953.], fragments);
        assert_eq!(collinearity(&chosen), None);
        assert!(identifiable(&chosen, &[Term::Message, Term::Byte, Term::Frame]));
    }

    #[test]
    fn what_does_not_vary_or_is_not_known_carries_no_term() {
        let single = points(&[1., 64., 112., 512.], |_| 1.0);
        assert_eq!(correlation(&single, Term::Byte, Term::Frame), None);
        assert_eq!(collinearity(&single), None);
        assert!(!identifiable(&single, &[Term::Message, Term::Byte, Term::Frame]));
        assert!(!identifiable(&single, &[Term::Message, Term::Byte, Term::Wakeup]));
        assert!(identifiable(&single, &[Term::Message, Term::Byte]));
    }
}
