//! Figures at each size, of the whole run and of every draw of blocks.

use model::cell::Series;

use super::{Quantity, Source};
use crate::cost;
use crate::cost::sizes::{self, Sizes};
use crate::cost::{Fit, FitOutcome};
use crate::studies::Analysis;
use crate::table::CellTrials;
use crate::workload::share::Weights;
use crate::workload::trials::StreamTrials;
use stats::batched::BatchedValues;
use stats::bootstrap;
use stats::cost::Term;
use stats::cost::robust;
use stats::cost::search::Form;

/// A figure, and its value in each draw of blocks; not a number where a
/// draw did not give it.
#[derive(Debug, Clone)]
pub struct Drawn {
    pub value: f64,
    pub draws: Vec<f64>,
}

/// One quantity over the sizes of a series.
#[derive(Debug)]
pub struct AtSizes {
    pub source: Source,
    quantity: Quantity,
    bytes: Vec<u64>,
    values: Vec<f64>,
    /// One a draw; `None` where it lacks a size.
    drawn: Vec<Option<Vec<f64>>>,
}

/// The cost model of a series, or why there is none; `None` where the series is
/// not among the models.
pub fn outcome<'a>(analysis: &'a Analysis, series: &Series, quantity: cost::Quantity) -> Option<Result<&'a Fit, &'a str>> {
    let model = analysis.models().iter().find(|model| model.series == *series && model.quantity == quantity)?;
    Some(match &model.outcome {
        FitOutcome::Fitted(fit) => Ok(fit),
        FitOutcome::NotALine { reason } => Err(reason.as_str()),
    })
}

impl AtSizes {
    /// By the model where there is one, else as measured. `None` when the
    /// quantity was not measured at two sizes.
    pub fn new(members: &[&CellTrials], quantity: Quantity, fit: Option<&Fit>, gathered: &StreamTrials) -> Option<Self> {
        let modelled = fit.and_then(|fit| Self::by_model(members, quantity, fit, gathered));
        modelled.or_else(|| Self::as_measured(members, quantity, gathered))
    }

    fn as_measured(members: &[&CellTrials], quantity: Quantity, gathered: &StreamTrials) -> Option<Self> {
        let column = |trials: &&CellTrials| sizes::column(&trials.figures, quantity.metric(), &gathered.batches);
        let columns = members.iter().map(|trials| (trials.cell.size.get(), column(trials)));
        let (bytes, columns): (Vec<u64>, Vec<BatchedValues>) = columns.filter(|(_, column)| column.median(None).is_some()).unzip();
        let at = |drawn: Option<&[u32]>| columns.iter().map(|column| inside(quantity, column.median(drawn)?)).collect();
        let values = at(None)?;
        let drawn = bootstrap::draws(gathered.batches.len(), gathered.seed).map(|times| at(Some(&times))).collect();
        (bytes.len() > 1).then_some(Self { source: Source::Sizes, quantity, bytes, values, drawn })
    }

    /// The fitted times; in each draw the same form is fitted again.
    fn by_model(members: &[&CellTrials], quantity: Quantity, fit: &Fit, gathered: &StreamTrials) -> Option<Self> {
        let sizes = Sizes::from_trials(members, quantity.metric(), &gathered.batches);
        let bytes: Vec<u64> = sizes.bytes().iter().map(|size| size.get()).collect();
        let known: Vec<u64> = fit.points.iter().map(|point| point.size.get()).collect();
        if bytes != known || bytes.len() < 2 {
            return None;
        }
        let form = form(fit, &bytes)?;
        let noise = sizes.noise();
        let drawn = bootstrap::draws(gathered.batches.len(), gathered.seed).map(|times| {
            let points = sizes.points(Some(&times))?;
            let coefficients = form.fit(&points, noise)?;
            let lines = form.pieces(points.len()).zip(&coefficients);
            let fitted = lines.flat_map(|(piece, line)| points[piece].iter().map(|point| robust::predict(point, &form.terms, line)));
            fitted.collect()
        });
        let drawn = drawn.collect();
        Some(Self { source: Source::Model, quantity, bytes, values: fit.points.iter().map(|point| point.fitted).collect(), drawn })
    }

    /// The mean over a mix, sizes with shares that sum to 1, of which messages of
    /// `mean` bytes were sent.
    pub fn mean_over(&self, mix: &[(u64, f64)], mean: f64) -> Option<Drawn> {
        let weights = Weights::new(mix, &self.bytes)?.towards_mean(mean, &self.bytes);
        let mean = |values: &[f64]| weights.mean(|place| values.get(place).copied()).and_then(|mean| outside(self.quantity, mean));
        let draws = self.drawn.iter().map(|values| values.as_deref().and_then(mean).unwrap_or(f64::NAN)).collect();
        Some(Drawn { value: mean(&self.values)?, draws })
    }
}

impl Drawn {
    /// The figure of a mix; drawn with the sizes where they are of the same run.
    pub fn from_mix(trials: &CellTrials, quantity: Quantity, gathered: &StreamTrials, with_sizes: bool) -> Option<Self> {
        let column = sizes::column(&trials.figures, quantity.metric(), &gathered.batches);
        // Another run has another order, and two that were planned alike the same seed.
        let seed = if with_sizes { gathered.seed } else { gathered.seed ^ u64::MAX };
        let draws = bootstrap::draws(gathered.batches.len(), seed).map(|times| column.median(Some(&times)).unwrap_or(f64::NAN)).collect();
        Some(Self { value: column.median(None)?, draws })
    }
}

/// The form of a fit over its own sizes.
fn form(fit: &Fit, bytes: &[u64]) -> Option<Form> {
    let starts = fit.pieces.iter().map(|piece| bytes.iter().position(|size| *size == piece.from.get())).collect::<Option<_>>()?;
    let terms = fit.pieces.first()?.terms.iter().map(|term| term.term).filter(|term| *term != Term::FullSegment).collect();
    Some(Form { terms, starts })
}

/// A figure as one that adds up over messages: of a rate, the time of one.
fn inside(quantity: Quantity, figure: f64) -> Option<f64> {
    match quantity {
        Quantity::MessagesPerS => (figure > 0.0).then(|| 1e9 / figure),
        _ => Some(figure),
    }
}

/// And back again.
fn outside(quantity: Quantity, sum: f64) -> Option<f64> {
    match quantity {
        Quantity::MessagesPerS => (sum > 0.0).then(|| 1e9 / sum),
        _ => Some(sum),
    }
}
