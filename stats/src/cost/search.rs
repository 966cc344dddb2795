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

/// Pieces of a model, at most.
const MOST_PIECES: usize = 3;

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

/// Coefficients that a breakpoint costs on top of its piece's own, because its place was
/// searched for (Zhang and Siegmund 2007; Hall, Osborn and Sakkas 2013).
const SEARCHED: usize = 3;

/// Coefficients that an optional term costs on top of its own.
const SEARCHED_TERM: usize = 2;

/// Forms whose criterion is within this of the least are chosen from again in each draw
/// of a bootstrap: a difference of 10 is very strong evidence (Kass and Raftery 1995,
/// "Bayes factors").
pub const RIVAL: f64 = 10.0;

/// Scatter of the medians around a line, as a share: the scatter of trials says `pure`
/// (pure error: Draper and Smith, "Applied Regression Analysis", 2.1), which is too
/// little where sizes differ in more than their bytes (the place of a buffer in memory,
/// say). So the robust scale of the residuals counts if it is larger; of those of the
/// richest forms, because to a simple one a step is noise and hides itself. Each number
/// of pieces gives a scale, with what was searched for counted as fitted, and so does
/// each way to cut at known thresholds; the least of them is the scatter.
pub fn noise(points: &[Point], pure: f64, choices: &[Vec<Term>], known: &[bool]) -> f64 {
    let search = Search { points, noise: pure, choices, known };
    choices.iter().flat_map(|terms| scales(&search, terms, MOST_PIECES)).min_by(f64::total_cmp).unwrap_or(pure).max(pure)
}

/// The same of sizes that were measured once, as in a published table: no pure error says
/// what is lack of fit, so that only one straight line, or one cut at known thresholds, is
/// taken for the truth. At least `least`.
pub fn noise_of_single(points: &[Point], least: f64, known: &[bool]) -> f64 {
    let search = Search { points, noise: least, choices: &[], known };
    scales(&search, LINE, 1).into_iter().min_by(f64::total_cmp).unwrap_or(least).max(least)
}

/// The scale of what forms of these terms leave: of each that is cut at known thresholds
/// alone, and of the best of 2, 3, ... up to `most` pieces.
fn scales(search: &Search, terms: &[Term], most: usize) -> Vec<f64> {
    let sizes = search.points.len();
    let pieces = Pieces { search, terms, known: Default::default() };
    let form = |starts: Vec<usize>| Form { terms: terms.to_vec(), starts };
    let gaps: Vec<usize> = (1..sizes).filter(|gap| search.known.get(*gap) == Some(&true)).collect();
    let named = candidates_at(sizes, &gaps).into_iter().map(|starts| (0, form(starts)));
    let searched = (2..=most).filter_map(|count| {
        let all = candidates(sizes).into_iter().filter(|starts| starts.len() == count);
        let least = all.filter_map(|starts| pieces.judged(form(starts))).min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some((SEARCHED * (count - 1), pieces.refined(least).1))
    });
    let scale = |(searched, form): (usize, Form)| {
        let fitted = searched + terms.len() * form.starts.len() + SEARCHED_TERM * (terms.len() - LINE.len());
        let residuals = form.pieces(sizes).map(|piece| pieces.residuals(piece)).collect::<Option<Vec<_>>>()?.concat();
        (sizes > fitted).then(|| robust::spread(&residuals, fitted))
    };
    named.chain(searched).filter_map(scale).collect()
}

/// The logarithm of measured over fitted; `None` where the fit is not above 0.
fn residual(point: &Point, terms: &[Term], coefficients: &[f64]) -> Option<f64> {
    let fitted = robust::predict(point, terms, coefficients).filter(|fitted| *fitted > 0.0)?;
    Some((point.time / fitted).ln())
}

/// The form with the least information criterion; `None` when no straight line gives
/// times above 0. See [`rivals`].
pub fn best(search: &Search) -> Option<Form> {
    rivals(search).into_iter().next()
}

/// The forms whose information criterion is least or within [`RIVAL`] of the least, by
/// their criterion.
///
/// The criterion is Schwarz's (BIC) with the variance known: the sum of squared
/// log ratios of measured to fitted times, over `noise` squared, plus ln(sizes)
/// for each coefficient. The variance is known because every size was measured
/// many times, and lack of fit is judged by it ([`noise`]). What was
/// searched for pays for the search: a breakpoint counts as three coefficients
/// on top of its piece's own, an optional term as three in all.
///
/// An optional term must cost something: one with a coefficient below 0 only
/// mends what another term got wrong, and is not taken. Nor is one that leaves
/// a message a cost of 0 or less: it has taken over what is not its own.
pub fn rivals(search: &Search) -> Vec<Form> {
    let mut all: Vec<(f64, Form)> = Vec::new();
    for terms in search.choices {
        let pieces = Pieces { search, terms, known: Default::default() };
        let judged = candidates(search.points.len()).into_iter().filter_map(|starts| pieces.judged(Form { terms: terms.clone(), starts }));
        let from = all.len();
        all.extend(judged);
        // Of many sizes only the best is worth moving.
        let least = (from..all.len()).min_by(|a, b| all[*a].0.total_cmp(&all[*b].0));
        if let Some(least) = least {
            all[least] = pieces.refined(all[least].clone());
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let limit = all.first().map_or(0.0, |least| least.0 + RIVAL);
    all.into_iter().take_while(|(criterion, _)| *criterion <= limit).map(|(_, form)| form).collect()
}

/// The best of `forms` for these points, with its coefficients; `None` where none fits.
pub fn best_of<'a>(search: &Search, forms: &'a [Form]) -> Option<(&'a Form, Vec<Vec<f64>>)> {
    if let [only] = forms {
        return Some((only, only.fit(search.points, search.noise)?));
    }
    let mut tried: Vec<Pieces> = Vec::new();
    let mut least: Option<(f64, &Form)> = None;
    for form in forms {
        if !tried.iter().any(|pieces| pieces.terms == form.terms) {
            tried.push(Pieces { search, terms: &form.terms, known: Default::default() });
        }
        let criterion = tried.iter().find(|pieces| pieces.terms == form.terms).and_then(|pieces| pieces.criterion(form));
        if let Some(criterion) = criterion.filter(|criterion| least.is_none_or(|(least, _)| *criterion < least)) {
            least = Some((criterion, form));
        }
    }
    let (_, form) = least?;
    let pieces = tried.iter().find(|pieces| pieces.terms == form.terms)?;
    Some((form, form.pieces(search.points.len()).map(|piece| Some(pieces.fitted(piece)?.1)).collect::<Option<_>>()?))
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

/// The line through a piece of the sizes: its misfit and its coefficients.
type Fitted = (f64, Vec<f64>);

/// The line through each piece of the sizes, each worked out once.
struct Pieces<'a> {
    search: &'a Search<'a>,
    terms: &'a [Term],
    known: std::cell::RefCell<std::collections::BTreeMap<(usize, usize), Option<Fitted>>>,
}

impl Pieces<'_> {
    /// A form with its criterion; `None` where some piece cannot carry it.
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
        let misfit: f64 = form.pieces(sizes).map(|piece| self.misfit(&piece)).sum::<Option<f64>>()?;
        let (terms, pieces) = (form.terms.len(), form.starts.len());
        let coefficients = terms * pieces + SEARCHED * (pieces - 1) + SEARCHED_TERM * (terms - LINE.len());
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

    fn misfit(&self, piece: &std::ops::Range<usize>) -> Option<f64> {
        let key = (piece.start, piece.end);
        if let Some(known) = self.known.borrow().get(&key) {
            return known.as_ref().map(|fitted| fitted.0);
        }
        let found = self.work_out(&self.search.points[piece.clone()]);
        let misfit = found.as_ref().map(|fitted| fitted.0);
        self.known.borrow_mut().insert(key, found);
        misfit
    }

    fn fitted(&self, piece: std::ops::Range<usize>) -> Option<Fitted> {
        self.misfit(&piece)?;
        self.known.borrow().get(&(piece.start, piece.end)).cloned().flatten()
    }

    /// Logarithms of measured over fitted times of a piece.
    fn residuals(&self, piece: std::ops::Range<usize>) -> Option<Vec<f64>> {
        let (_, line) = self.fitted(piece.clone())?;
        self.search.points[piece].iter().map(|point| residual(point, self.terms, &line)).collect()
    }

    fn work_out(&self, points: &[Point]) -> Option<Fitted> {
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
        let misfit = points.iter().map(misfit).sum::<Option<f64>>()?;
        Some((misfit, line.coefficients))
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
    fn a_piece_next_to_an_unknown_threshold_needs_four_sizes() {
        // The last three sizes cost a third more.
        let step = points(|size| (1500.0 + 0.3 * size) * if size > 1473.0 { 1.3 } else { 1.0 });
        let form = best(&step, 0.02).unwrap();
        assert!(!form.starts.contains(&7), "{form:?}");
        let known: Vec<bool> = step.iter().map(|point| point.size == 2032.0).collect();
        let named = super::best(&Search { points: &step, noise: 0.02, choices: &choices(&[]), known: &known }).unwrap();
        assert_eq!(named.starts, [0, 7]);
    }

    #[test]
    fn noise_is_what_the_richest_form_leaves() {
        let plain = choices(&[]);
        let known: Vec<bool> = SIZES.iter().map(|size| *size == 1473.0).collect();
        let step = points(|size| 1500.0 + 0.3 * size + if size > 1472.0 { 900.0 } else { 0.0 });
        // A step is no noise, whether a threshold is known there or not.
        assert_eq!([noise(&step, 0.02, &plain, &known), noise(&step, 0.02, &plain, &[false; 10])], [0.02; 2]);
        let mut wavy = points(|size| 1500.0 + 0.3 * size);
        wavy.iter_mut().enumerate().for_each(|(i, point)| point.time *= if i % 2 == 0 { 1.1 } else { 0.9 });
        assert!(noise(&wavy, 0.02, &plain, &known) > 0.08);
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
