//! One size of a series as a row of the model, and which terms it can carry.

use super::linear;
use crate::cost::Term;

/// Measurements at one size: medians over trials.
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
    /// Number of a term's units in a message of this size; `None` where it
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

/// A term whose counts are a line in those of the others up to this multiple
/// correlation or more is not fitted next to them.
pub const MOST_CORRELATION: f64 = 0.95;

/// The terms that every model has.
pub const LINE: &[Term] = &[Term::Message, Term::Byte];

/// The sets of terms that are tried when each of `optional` may be, fewest first.
pub fn choices(optional: &[Term]) -> Vec<Vec<Term>> {
    let with = |more: &[Term]| [LINE, more].concat();
    match optional {
        [a, b] => vec![with(&[]), with(&[*a]), with(&[*b]), with(&[*a, *b])],
        few => std::iter::once(with(&[])).chain(few.iter().map(|term| with(&[*term]))).collect(),
    }
}

/// Least variation of a count over the sizes that can carry a term.
const LEAST_RANGE: f64 = 0.05;

/// The counts of a term over all points; `None` when any lacks it.
fn counts(points: &[Point], term: Term) -> Option<Vec<f64>> {
    points.iter().map(|point| point.count(term)).collect()
}

/// The least and the most of a term's counts; `None` when any is not known.
pub fn range(points: &[Point], term: Term) -> Option<[f64; 2]> {
    let counts = counts(points, term)?;
    let low = counts.iter().copied().fold(f64::INFINITY, f64::min);
    Some([low, counts.iter().copied().fold(f64::NEG_INFINITY, f64::max)])
}

/// True where a term's count varies over these points; not when it is not known.
pub fn varies(points: &[Point], term: Term) -> bool {
    range(points, term).is_some_and(|[least, most]| most - least > LEAST_RANGE)
}

/// The multiple correlation of one term's counts with those of `others`, which
/// hold [`Term::Message`], each point counting by its weight; `None` when a
/// count is not known, does not vary, or there are too few points to tell.
pub fn correlation(points: &[Point], term: Term, others: &[Term], weights: &[f64]) -> Option<f64> {
    if points.len() <= others.len() {
        return None;
    }
    let counts = counts(points, term)?;
    let rows: Vec<Vec<f64>> = points.iter().map(|point| others.iter().map(|other| point.count(*other)).collect()).collect::<Option<_>>()?;
    let line = linear::solve(&rows, &counts, weights)?;
    let sum = |left: &dyn Fn(usize) -> f64| weights.iter().enumerate().map(|(i, weight)| weight * left(i)).sum::<f64>();
    let mean = sum(&|i| counts[i]) / sum(&|_| 1.0);
    let unexplained = sum(&|i| (counts[i] - rows[i].iter().zip(&line).map(|(row, cost)| row * cost).sum::<f64>()).powi(2));
    let r_squared = 1.0 - unexplained / sum(&|i| (counts[i] - mean).powi(2));
    r_squared.is_finite().then(|| r_squared.clamp(0.0, 1.0).sqrt())
}

/// The correlation of bytes and frames over these points when it forbids to
/// fit both; points weigh by their relative error.
pub fn collinearity(points: &[Point]) -> Option<f64> {
    if !varies(points, Term::Frame) {
        return None;
    }
    let weights: Vec<f64> = points.iter().map(|point| point.time.powi(-2)).collect();
    correlation(points, Term::Frame, LINE, &weights).filter(|r| *r >= MOST_CORRELATION)
}

/// True where these points can carry the terms at all: there are more of them than
/// terms, and the count of each optional one varies.
pub fn enough(points: &[Point], terms: &[Term]) -> bool {
    points.len() > terms.len() && terms.iter().skip(LINE.len()).all(|term| varies(points, *term))
}

/// True where these points can separate the terms: no optional one is nearly a
/// line in all the others.
pub fn identifiable(points: &[Point], terms: &[Term], weights: &[f64]) -> bool {
    let apart = |term: &Term| {
        let others: Vec<Term> = terms.iter().copied().filter(|other| other != term).collect();
        correlation(points, *term, &others, weights).is_some_and(|r| r < MOST_CORRELATION)
    };
    terms.iter().skip(LINE.len()).all(apart)
}

#[cfg(test)]
mod tests {
    use super::{LINE, Point, choices, collinearity, correlation, enough, identifiable};
    use crate::cost::Term;

    const FRAMES: &[Term] = &[Term::Message, Term::Byte, Term::Frame];

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
        assert!(enough(&usual, FRAMES) && !identifiable(&usual, FRAMES, &[1.0; 10]));
    }

    #[test]
    fn sizes_around_the_mtu_tell_them_apart() {
        let chosen = points(&[1., 500., 1000., 1472., 1473., 2000., 2900., 2953.], fragments);
        assert_eq!(collinearity(&chosen), None);
        assert!(identifiable(&chosen, FRAMES, &[1.0; 8]));
    }

    /// Neither bytes nor frames alone give the wake-ups away; together they do.
    #[test]
    fn a_term_that_is_the_sum_of_two_others_is_not_fitted() {
        let mut chosen = points(&[1., 500., 1000., 1472., 1473., 2000., 2900., 2953.], fragments);
        chosen.iter_mut().for_each(|point| point.wakeups = Some(0.4 * fragments(point.size) - point.size / 3_700.0));
        let alone = |of: Term| correlation(&chosen, Term::Wakeup, &[Term::Message, of], &[1.0; 8]).unwrap();
        assert!(alone(Term::Byte) < 0.95 && alone(Term::Frame) < 0.95, "{} {}", alone(Term::Byte), alone(Term::Frame));
        let all = [FRAMES, &[Term::Wakeup]].concat();
        assert!(enough(&chosen, &all) && !identifiable(&chosen, &all, &[1.0; 8]));
    }

    #[test]
    fn what_does_not_vary_or_is_not_known_carries_no_term() {
        let single = points(&[1., 64., 112., 512.], |_| 1.0);
        assert_eq!(correlation(&single, Term::Frame, LINE, &[1.0; 4]), None);
        assert_eq!(collinearity(&single), None);
        assert!(!enough(&single, FRAMES));
        assert!(!enough(&single, &[Term::Message, Term::Byte, Term::Wakeup]));
        assert!(enough(&single, LINE) && identifiable(&single, LINE, &[1.0; 4]));
    }

    #[test]
    fn what_may_be_tried_is_tried_with_and_without() {
        assert_eq!(choices(&[]), [LINE]);
        assert_eq!(choices(&[Term::Frame, Term::Wakeup]).len(), 4);
    }
}
