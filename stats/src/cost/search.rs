//! The search for a model's terms, and for the places where it changes its line.

use crate::cost::Term;
use crate::cost::design::{LINE, Point, enough, identifiable};
use crate::cost::robust;

/// A piece next to a breakpoint at a known threshold has at least so many sizes.
pub const LEAST_IN_PIECE: usize = 3;

/// A piece next to any other breakpoint has so many: where to cut was searched
/// for, and three sizes by chance on a line of their own are common.
const LEAST_BESIDE_UNKNOWN: usize = 4;

/// Gaps between sizes at which a breakpoint is looked for first, at most; around
/// the best of them every gap is tried.
const MOST_GAPS: usize = 32;

/// The form of a model, before its coefficients.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The terms, the same in each piece.
    pub terms: Vec<Term>,
    /// Index of the first size of each piece; the first is 0.
    pub starts: Vec<usize>,
}

impl Form {
    /// The pieces as ranges of indices into `sizes` sizes.
    pub fn pieces(&self, sizes: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
        let ends = self.starts.iter().skip(1).copied().chain([sizes]);
        self.starts.iter().copied().zip(ends).map(|(start, end)| start..end)
    }

    /// The coefficients of each piece; `None` when a piece cannot carry them.
    pub fn fit(&self, points: &[Point], noise: f64) -> Option<Vec<Vec<f64>>> {
        self.pieces(points.len()).map(|piece| robust::fit(points.get(piece)?, &self.terms, noise)).collect()
    }
}

/// The models that are tried.
#[derive(Debug, Clone)]
pub struct Search<'a> {
    /// The medians, by rising size.
    pub points: &'a [Point],
    /// Their scatter, as a share: see [`noise`].
    pub noise: f64,
    /// The sets of terms to choose from, fewest first.
    pub choices: &'a [Vec<Term>],
    /// For each size, whether a known threshold lies between it and the one before.
    pub known: &'a [bool],
}

/// Scatter of the medians around a line, as a share: the scatter of
/// trials says `pure`, which is too little where sizes differ in more than
/// their bytes (the place of a buffer in memory, say). So the robust scale of
/// the residuals of the simplest line counts if it is larger: the one piece, or
/// the pieces between known thresholds, whichever has the least. Without the
/// latter a plain step at the MTU would itself pass for noise and hide.
pub fn noise(points: &[Point], pure: f64, known: &[bool]) -> f64 {
    let gaps: Vec<usize> = (1..points.len()).filter(|gap| known.get(*gap) == Some(&true)).collect();
    let ways = candidates_at(points.len(), &gaps).into_iter().filter_map(|starts| {
        let form = Form { terms: LINE.to_vec(), starts };
        let mut residuals = Vec::new();
        for piece in form.pieces(points.len()) {
            let line = robust::line(&points[piece.clone()], LINE, pure)?;
            residuals.extend(points[piece].iter().map(|point| residual(point, LINE, &line.coefficients)).collect::<Option<Vec<f64>>>()?);
        }
        Some(robust::spread(&residuals, LINE.len() * form.starts.len()))
    });
    ways.min_by(f64::total_cmp).unwrap_or(pure).max(pure)
}

/// The logarithm of measured over fitted; `None` where the fit is not above 0.
fn residual(point: &Point, terms: &[Term], coefficients: &[f64]) -> Option<f64> {
    let fitted = robust::predict(point, terms, coefficients).filter(|fitted| *fitted > 0.0)?;
    Some((point.time / fitted).ln())
}

/// The form with the least information criterion; `None` when not even one
/// straight line with times above 0 can be had.
///
/// The criterion is Schwarz's (BIC) with the variance known: the sum of squared
/// log ratios of measured to fitted times, over `noise` squared, plus ln(sizes)
/// for each coefficient. The variance is known because every size was measured
/// many times (pure error: Draper and Smith, "Applied Regression Analysis", 2.1)
/// and lack of fit is compared with the simplest line ([`noise`]). What was
/// searched for pays for the search: a breakpoint counts as three coefficients
/// on top of its piece's own (Zhang and Siegmund 2007; Hall, Osborn and Sakkas
/// 2013), an optional term as three in all.
///
/// An optional term must cost something: one with a coefficient below 0 only
/// mends what another term got wrong, and is not taken. Nor is one that leaves
/// a message as such a cost of 0 or less: it has taken over what is not its own.
pub fn best(search: &Search) -> Option<Form> {
    let mut best: Option<(f64, Form)> = None;
    for terms in search.choices {
        let pieces = Pieces { search, terms, known: Default::default() };
        let costs = candidates(search.points.len()).into_iter().filter_map(|starts| pieces.judged(Form { terms: terms.clone(), starts }));
        let least = costs.min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some(least) = least.map(|coarse| pieces.refined(coarse))
            && best.as_ref().is_none_or(|(cost, _)| least.0 < *cost)
        {
            best = Some(least);
        }
    }
    best.map(|(_, form)| form)
}

/// From one gap that is tried first to the next.
fn stride(sizes: usize) -> usize {
    sizes.div_ceil(MOST_GAPS).max(1)
}

/// Every way to cut `sizes` sizes into one, two or three pieces, fewest first;
/// of many sizes, only at every so many gaps.
fn candidates(sizes: usize) -> Vec<Vec<usize>> {
    let gaps: Vec<usize> = (LEAST_IN_PIECE..(sizes + 1).saturating_sub(LEAST_IN_PIECE)).collect();
    let gaps: Vec<usize> = gaps.into_iter().step_by(stride(sizes)).collect();
    candidates_at(sizes, &gaps)
}

/// Every such way that cuts at these gaps alone.
fn candidates_at(sizes: usize, gaps: &[usize]) -> Vec<Vec<usize>> {
    let gaps: Vec<usize> = gaps.iter().copied().filter(|gap| *gap >= LEAST_IN_PIECE && gap + LEAST_IN_PIECE <= sizes).collect();
    let mut all = vec![vec![0]];
    all.extend(gaps.iter().map(|gap| vec![0, *gap]));
    for first in &gaps {
        all.extend(gaps.iter().filter(|second| **second >= first + LEAST_IN_PIECE).map(|second| vec![0, *first, *second]));
    }
    all
}

/// Misfit of a line through each piece of the sizes, each worked out once.
struct Pieces<'a> {
    search: &'a Search<'a>,
    terms: &'a [Term],
    known: std::cell::RefCell<std::collections::HashMap<(usize, usize), Option<f64>>>,
}

impl Pieces<'_> {
    /// A form with its criterion; `None` when it cannot be had.
    fn judged(&self, form: Form) -> Option<(f64, Form)> {
        Some((self.criterion(&form)?, form))
    }

    /// The best form whose breakpoints, one after the other, are moved by less
    /// than a stride.
    fn refined(&self, mut best: (f64, Form)) -> (f64, Form) {
        let reach = stride(self.search.points.len()) - 1;
        for place in 1..best.1.starts.len() {
            let start = best.1.starts[place];
            for moved in start.saturating_sub(reach)..=start + reach {
                let mut form = best.1.clone();
                form.starts[place] = moved;
                if let Some(other) = self.judged(form).filter(|other| other.0 < best.0) {
                    best = other;
                }
            }
        }
        best
    }

    fn criterion(&self, form: &Form) -> Option<f64> {
        let sizes = self.search.points.len();
        if !form.pieces(sizes).all(|piece| self.is_long_enough(&piece, sizes)) {
            return None;
        }
        let misfit: f64 = form.pieces(sizes).map(|piece| self.misfit(piece)).sum::<Option<f64>>()?;
        let (terms, pieces) = (form.terms.len(), form.starts.len());
        let coefficients = terms * pieces + 3 * (pieces - 1) + 2 * (terms - LINE.len());
        Some(misfit + coefficients as f64 * (sizes as f64).ln())
    }

    fn is_long_enough(&self, piece: &std::ops::Range<usize>, sizes: usize) -> bool {
        let known = |gap: usize| gap == 0 || gap == sizes || self.search.known.get(gap) == Some(&true);
        let least = match (piece.start == 0 && piece.end == sizes, known(piece.start) && known(piece.end)) {
            (true, _) => 1,
            (false, true) => LEAST_IN_PIECE,
            (false, false) => LEAST_BESIDE_UNKNOWN,
        };
        piece.end <= sizes && piece.len() >= least
    }

    fn misfit(&self, piece: std::ops::Range<usize>) -> Option<f64> {
        let key = (piece.start, piece.end);
        if let Some(known) = self.known.borrow().get(&key) {
            return *known;
        }
        let found = self.work_out(&self.search.points[piece]);
        self.known.borrow_mut().insert(key, found);
        found
    }

    fn work_out(&self, points: &[Point]) -> Option<f64> {
        if !enough(points, self.terms) {
            return None;
        }
        let line = robust::line(points, self.terms, self.search.noise)?;
        let mut optional = line.coefficients.iter().skip(LINE.len()).copied().peekable();
        let message = line.coefficients.first().copied().unwrap_or_default();
        if optional.peek().is_some() && message <= 0.0 {
            return None;
        }
        if optional.any(|cost| cost < 0.0) || !identifiable(points, self.terms, &line.weights) {
            return None;
        }
        let misfit = |point: &Point| Some((residual(point, self.terms, &line.coefficients)? / self.search.noise).powi(2));
        points.iter().map(misfit).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{Form, Search, candidates, noise};
    use crate::cost::Term;
    use crate::cost::design::{Point, choices};
    use crate::noise::{generator, normal};

    const SIZES: [f64; 10] = [1., 64., 112., 512., 1024., 1472., 1473., 2032., 8192., 16384.];

    /// The best form where the gap before size 1473 is known.
    fn best(points: &[Point], noise: f64) -> Option<Form> {
        let known: Vec<bool> = points.iter().map(|point| point.size == 1473.0).collect();
        let choices = choices(&[Term::Frame, Term::Wakeup]);
        super::best(&Search { points, noise, choices: &choices, known: &known })
    }

    fn points(time: impl Fn(f64) -> f64) -> Vec<Point> {
        SIZES.iter().map(|size| Point { size: *size, time: time(*size), frames: None, wakeups: None }).collect()
    }

    #[test]
    fn pieces_have_three_sizes_and_there_are_at_most_three() {
        assert_eq!(candidates(5), [vec![0]]);
        assert_eq!(candidates(6), [vec![0], vec![0, 3]]);
        assert_eq!(candidates(9).last().unwrap(), &[0, 3, 6]);
        assert!(candidates(1000).len() < 600);
    }

    #[test]
    fn a_line_has_no_breakpoint_and_a_step_has_one() {
        assert_eq!(best(&points(|size| 1500.0 + 0.3 * size), 0.02), Some(Form { terms: vec![Term::Message, Term::Byte], starts: vec![0] }));
        let step = best(&points(|size| 1500.0 + 0.3 * size + if size > 1472.0 { 900.0 } else { 0.0 }), 0.02).unwrap();
        assert_eq!(step.starts, [0, 6]);
    }

    #[test]
    fn a_piece_beside_an_unknown_threshold_needs_four_sizes() {
        // The last three sizes cost a third more.
        let step = points(|size| (1500.0 + 0.3 * size) * if size > 1473.0 { 1.3 } else { 1.0 });
        let form = best(&step, 0.02).unwrap();
        assert!(!form.starts.contains(&7), "{form:?}");
        let known: Vec<bool> = step.iter().map(|point| point.size == 2032.0).collect();
        let named = super::best(&Search { points: &step, noise: 0.02, choices: &choices(&[]), known: &known }).unwrap();
        assert_eq!(named.starts, [0, 7]);
    }

    #[test]
    fn noise_is_what_the_simplest_line_leaves_but_a_known_step_is_none() {
        let known: Vec<bool> = SIZES.iter().map(|size| *size == 1473.0).collect();
        let step = points(|size| 1500.0 + 0.3 * size + if size > 1472.0 { 900.0 } else { 0.0 });
        assert_eq!(noise(&step, 0.02, &known), 0.02);
        assert!(noise(&step, 0.02, &[false; 10]) > 0.05);
        let mut wavy = points(|size| 1500.0 + 0.3 * size);
        wavy.iter_mut().enumerate().for_each(|(i, point)| point.time *= if i % 2 == 0 { 1.1 } else { 0.9 });
        assert!(noise(&wavy, 0.02, &known) > 0.08);
    }

    #[test]
    fn of_many_sizes_the_step_is_found_to_the_byte() {
        let sizes = (1400..1530).map(f64::from);
        let step = |size: f64| if size > 1472.0 { 900.0 } else { 0.0 };
        let points: Vec<Point> = sizes.map(|size| Point { size, time: 1500.0 + step(size), frames: None, wakeups: None }).collect();
        assert_eq!(best(&points, 0.02).unwrap().starts, [0, 73]);
    }

    /// At the noise that the criterion is told, a line is cut in fewer than one
    /// of twenty runs; a step of 20 % is found in nearly all.
    #[test]
    fn breakpoints_by_chance_are_rare() {
        let mut random = generator(5);
        let (mut cut, mut found) = (0, 0);
        for _ in 0..400 {
            let noise: Vec<f64> = SIZES.iter().map(|_| (0.02 * normal(&mut random)).exp()).collect();
            let noisy = |time: &dyn Fn(f64) -> f64| {
                let mut points = points(time);
                points.iter_mut().zip(&noise).for_each(|(point, noise)| point.time *= noise);
                best(&points, 0.02).unwrap()
            };
            cut += u32::from(noisy(&|size| 1500.0 + 0.3 * size).starts.len() > 1);
            found += u32::from(noisy(&|size| 1500.0 + 0.3 * size + if size > 1472.0 { 400.0 } else { 0.0 }).starts == [0, 6]);
        }
        eprintln!("breakpoints in a line by chance: {cut} of 400; a step of a fifth found at its place: {found} of 400");
        assert!(cut <= 20 && found >= 340, "{cut} {found}");
    }

    #[test]
    fn terms_are_taken_where_they_explain() {
        let mut random = generator(6);
        let sizes = [1., 500., 1000., 1472., 1473., 2000., 2900., 2953., 3500.];
        let one = |size: f64, noise: f64, wakeup: f64| {
            let (frames, wakeups) = (((size + 8.0) / 1480.0).ceil(), (size * 7.7).sin().abs());
            let time = (1500.0 + 0.2 * size + 700.0 * frames + wakeup * wakeups) * (0.01 * noise).exp();
            Point { size, time, frames: Some(frames), wakeups: Some(wakeups) }
        };
        let mut draw = |wakeup: f64| -> Vec<Point> { sizes.iter().map(|size| one(*size, normal(&mut random), wakeup)).collect() };
        assert_eq!(best(&draw(0.0), 0.01).unwrap().terms, [Term::Message, Term::Byte, Term::Frame]);
        assert_eq!(best(&draw(2000.0), 0.01).unwrap().terms, [Term::Message, Term::Byte, Term::Frame, Term::Wakeup]);
    }
}
