//! From a form to a fit with intervals, or to the reason why there is none.

use std::ops::Range;

use model::{Bytes, Cell};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::cost::sizes::Sizes;
use crate::cost::{Context, frames_count, threshold};
use crate::cost::{Fit, FitOutcome, FitPoint, Piece, TermEstimate};
use stats::bootstrap;
use stats::cost::Term;
use stats::cost::design::{Point, choices, collinearity, range};
use stats::cost::robust;
use stats::cost::search::{self, Form, Search};
use stats::noise::normal;

/// A model that is wrong by more than this at any size is not one.
const WORST_RESIDUAL: f64 = 0.5;

/// A model that explains less than this of the variance is not one, unless it
/// is right to [`FLAT`] at every size: times that hardly differ leave nothing
/// to explain.
const LEAST_EXPLAINED: f64 = 0.8;

/// See [`LEAST_EXPLAINED`].
const FLAT: f64 = 0.1;

/// Fits a series over its sizes with the terms that it may have next to a
/// message and its bytes. `cell` is any cell of the series.
pub fn fit(sizes: &Sizes, cell: &Cell, optional: &[Term], context: &Context) -> FitOutcome {
    let none = |reason: &str| FitOutcome::NotALine { reason: reason.to_owned() };
    let Some(points) = sizes.points(None) else { return none("there are sizes without trials") };
    let bytes = sizes.bytes();
    let mtu = context.paths.of_cell(cell).mtu;
    let thresholds = threshold::thresholds(cell, mtu, sizes.segment);
    let breakpoint = |start: usize| threshold::breakpoint(bytes[start - 1], bytes[start], &thresholds);
    let known: Vec<bool> = (0..bytes.len()).map(|start| start > 0 && breakpoint(start).name.is_some()).collect();
    let pure = sizes.noise();
    let payload = threshold::frame_payload(cell, mtu, sizes.segment).filter(|_| frames_count(cell, context));
    let mut optional = optional.to_vec();
    loop {
        let choices = choices(&optional);
        let noise = search::noise(&points, pure, &choices, &known);
        let search = Search { points: &points, noise, choices: &choices, known: &known };
        let rivals = search::rivals(&search);
        let fitted = rivals.first().and_then(|form| form.fit(&points, noise).map(|coefficients| (form, coefficients)));
        let Some((form, coefficients)) = fitted else { return none("no line gives times above 0 at every size") };
        let pieces =
            Pieces { sizes, search: &search, rivals: &rivals, form, payload, uneven: (noise * noise - pure * pure).max(0.0).sqrt() }
                .with_intervals(&coefficients, context);
        // A term that may be nothing is no fact: what is left is fitted again.
        let none_shown = |found: &TermEstimate| found.estimate.interval.is_none() || !found.is_shown();
        let unsure = |term: &Term| pieces.iter().flat_map(|piece| &piece.terms).any(|found| found.term == *term && none_shown(found));
        let before = optional.len();
        optional.retain(|term| !unsure(term));
        if optional.len() < before {
            continue;
        }
        let Some(points) = fit_points(sizes, &points, form, &coefficients, context) else {
            return none("a count that the model needs is missing at some size");
        };
        let breakpoints = form.starts.iter().skip(1).map(|start| breakpoint(*start)).collect();
        return judged(Fit { breakpoints, pieces, r_squared: r_squared(&points), points });
    }
}

/// The model against each size.
fn fit_points(sizes: &Sizes, points: &[Point], form: &Form, coefficients: &[Vec<f64>], context: &Context) -> Option<Vec<FitPoint>> {
    let by_size = form.pieces(points.len()).zip(coefficients).flat_map(|(piece, coefficients)| piece.map(move |_| coefficients));
    let bytes = sizes.bytes();
    let all = points.iter().zip(by_size).zip(bytes).zip(sizes.times());
    all.map(|(((point, coefficients), size), times)| {
        let fitted = robust::predict(point, &form.terms, coefficients)?;
        Some(FitPoint { size, measured: context.confidence.estimate(&times)?, fitted, residual: (point.time - fitted) / fitted })
    })
    .collect()
}

/// The share of the variance of the measured medians that the model explains;
/// 1 when there is none and the model is right.
fn r_squared(points: &[FitPoint]) -> f64 {
    let mean = points.iter().map(|point| point.measured.value).sum::<f64>() / points.len() as f64;
    let squares = |left: &dyn Fn(&FitPoint) -> f64| points.iter().map(|point| left(point).powi(2)).sum::<f64>();
    let (all, left) = (squares(&|point| point.measured.value - mean), squares(&|point| point.measured.value - point.fitted));
    match all > 0.0 {
        true => 1.0 - left / all,
        false => 1.0,
    }
}

/// The fit, unless it would mislead.
fn judged(fit: Fit) -> FitOutcome {
    let start = fit.pieces.first().and_then(|piece| piece.terms.iter().find(|found| found.term == Term::Message));
    if start.is_some_and(|found| found.estimate.value < 0.0) {
        return FitOutcome::NotALine {
            reason: "the line would start below 0: no message costs that; read the cells themselves".to_owned(),
        };
    }
    let residual = |point: &FitPoint| point.residual.abs();
    let Some(worst) = fit.points.iter().max_by(|a, b| residual(a).total_cmp(&residual(b))) else {
        return FitOutcome::NotALine { reason: "there are no sizes".to_owned() };
    };
    let (r_squared, share) = (fit.r_squared, residual(worst));
    let figures = format!(
        "it explains {:.0} % of the variance, and {} B is {:.0} % off",
        (r_squared * 100.0).max(0.0),
        worst.size.get(),
        worst.residual * 100.0
    );
    if !share.is_finite() || share > WORST_RESIDUAL || (r_squared < LEAST_EXPLAINED && share > FLAT) {
        let reason = format!("even the best line would mislead: {figures}; read the cells themselves");
        return FitOutcome::NotALine { reason };
    }
    FitOutcome::Fitted(fit)
}

/// Input of the intervals of a fit's coefficients.
struct Pieces<'a> {
    sizes: &'a Sizes,
    search: &'a Search<'a>,
    /// The forms that come near the best, which is the first.
    rivals: &'a [Form],
    form: &'a Form,
    /// The largest payload of a frame, where frames are a cause.
    payload: Option<u64>,
    /// Lack of fit: scatter of the sizes beyond what their trials explain, as a share.
    uneven: f64,
}

impl Pieces<'_> {
    /// Every piece with its terms. The medians of each draw of blocks choose their
    /// form again among the rivals, so that intervals are not conditional on the
    /// form that was found. What sets sizes off the line in all blocks alike no draw of
    /// blocks shows: it is drawn for each size, normally.
    fn with_intervals(&self, coefficients: &[Vec<f64>], context: &Context) -> Vec<Piece> {
        let draws = bootstrap::draws(context.batches.len(), context.seed);
        let mut random = ChaCha8Rng::seed_from_u64(context.seed);
        let again = |times: Vec<u32>| {
            let mut points = self.sizes.points(Some(&times))?;
            if self.uneven > 0.0 {
                points.iter_mut().for_each(|point| point.time *= (self.uneven * normal(&mut random)).exp());
            }
            let search = Search { points: &points, ..*self.search };
            let (form, coefficients) = search::best_of(&search, self.rivals)?;
            Some(if form == self.form { coefficients } else { self.in_own_pieces(form, &coefficients) })
        };
        let drawn: Vec<Option<Vec<Vec<f64>>>> = draws.map(again).collect();
        let estimate = |piece: usize, place: usize, factor: f64| {
            let of_draw = |fit: &Option<Vec<Vec<f64>>>| fit.as_ref().map_or(f64::NAN, |fit| fit[piece][place] * factor);
            let values: Vec<f64> = drawn.iter().map(of_draw).collect();
            context.confidence.drawn(coefficients[piece][place] * factor, &values, context.batches)
        };
        let bytes = self.sizes.bytes();
        let piece = |(index, within): (usize, Range<usize>)| {
            let points = &self.search.points[within.clone()];
            let collinearity = self.payload.and_then(|_| collinearity(points));
            let payload = self.payload.filter(|_| collinearity.is_some());
            let mut terms: Vec<TermEstimate> = Vec::new();
            for (place, term) in self.form.terms.iter().enumerate() {
                let counted = if matches!(term, Term::Frame | Term::Wakeup) { range(points, *term) } else { None };
                terms.push(TermEstimate { term: *term, estimate: estimate(index, place, 1.0), counted });
                let full = payload.filter(|_| *term == Term::Byte).map(|payload| estimate(index, place, payload as f64));
                terms.extend(full.map(|estimate| TermEstimate { term: Term::FullSegment, estimate, counted: None }));
            }
            let (from, to): (Bytes, Bytes) = (bytes[within.start], bytes[within.end - 1]);
            Piece { from, to, terms, collinearity }
        };
        self.form.pieces(self.search.points.len()).enumerate().map(piece).collect()
    }

    /// The coefficients of another form, in the pieces and terms of this one: each
    /// piece has those of the other's piece that holds most of its sizes, and 0 of a
    /// term that the other does without.
    fn in_own_pieces(&self, other: &Form, coefficients: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let sizes = self.search.points.len();
        let shared = |a: &Range<usize>, b: &Range<usize>| a.end.min(b.end).saturating_sub(a.start.max(b.start));
        let piece = |own: Range<usize>| {
            let nearest = other.pieces(sizes).zip(coefficients).max_by_key(|(piece, _)| shared(&own, piece));
            let cost = |term: &Term| {
                let place = other.terms.iter().position(|other| other == term);
                nearest.as_ref().zip(place).map_or(0.0, |((_, line), place)| line[place])
            };
            self.form.terms.iter().map(cost).collect()
        };
        self.form.pieces(sizes).map(piece).collect()
    }
}
