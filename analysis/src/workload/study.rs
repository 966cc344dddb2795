//! Predictions compared with measurements.

use model::cell::Series;
use model::{Protocol, Role};
use serde::Serialize;

use super::share::{Beyond, Weights};
use super::share::{Cut, Workload};
use super::touching::{Touching, touching};
use super::trials::StreamTrials;
use crate::cost;
use crate::metric::Metric;
use crate::studies::Analysis;
use crate::table::CellTrials;
use stats::estimate::Estimate;

mod predicted;

use predicted::{AtSizes, Drawn};

/// The version of [`WorkloadStudy`] as JSON.
pub const WORKLOAD_FORMAT: u32 = 1;

/// Costs of workloads: predicted, and measured where that was done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkloadStudy {
    /// [`WORKLOAD_FORMAT`].
    pub format: u32,
    /// True where sizes and mixes were measured in the same blocks; `None` where no
    /// run was to measure a mix. Its trials may all have failed: see
    /// [`WorkloadStudy::is_measured`].
    pub same_run: Option<bool>,
    /// Blocks of the run that single sizes are from.
    pub blocks: usize,
    /// One a workload, in the order asked for.
    pub workloads: Vec<WorkloadResult>,
}

/// One workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkloadResult {
    /// Its name.
    pub workload: String,
    /// Its description.
    pub title: String,
    /// Its mean message in bytes.
    pub mean_bytes: f64,
    /// Its largest message in bytes.
    pub largest_bytes: u64,
    /// One a series of cells that measured sizes.
    pub series: Vec<WorkloadSeries>,
}

/// One workload over one series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkloadSeries {
    /// The series in words.
    pub series: String,
    /// Its transport.
    pub protocol: Protocol,
    /// True where Nagle's algorithm joins small messages.
    pub nagle: bool,
    /// The mean message of what is sent, in bytes.
    pub mean_bytes: f64,
    /// Part of the workload that cannot be sent; `None`: nothing.
    pub cut: Option<Cut>,
    /// Smallest and largest size measured, in bytes.
    pub measured_sizes: [u64; 2],
    /// Their number.
    pub sizes: usize,
    /// Part of the mix that lies beyond them.
    pub beyond: Beyond,
    /// Reasons why there is no cost model of CPU time at the sender or the receiver.
    pub no_model: Vec<NoModel>,
    /// The figures, in the order of [`Quantity::ALL`]; those that can be predicted.
    pub figures: Vec<FigureRow>,
    /// The share of CPU time that touches data, where there are receipts.
    pub touching: Vec<Touching>,
    /// Messages that were really sent; `None`: no trial of the mix can be used.
    pub sent: Option<MixTotals>,
}

/// A cost model that there is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoModel {
    /// End whose CPU time it is of.
    pub role: Role,
    /// In a sentence.
    pub reason: String,
}

/// A predicted figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// CPU time of the sender's end, ns per message.
    SenderCpu,
    /// CPU time of the receiver's end, ns per message received.
    ReceiverCpu,
    /// Messages that the sender sends a second.
    MessagesPerS,
    /// Frames, or bundles of them that the device divides, per message.
    Frames,
    /// Wake-ups of the receiver per message.
    ReceiverWakeups,
}

impl Quantity {
    /// Every quantity, in the order of reports.
    pub const ALL: [Self; 5] = [Self::SenderCpu, Self::ReceiverCpu, Self::MessagesPerS, Self::Frames, Self::ReceiverWakeups];

    /// The figure of a trial that it is.
    pub const fn metric(self) -> Metric {
        match self {
            Self::SenderCpu => Metric::SenderCpuPerMessageNs,
            Self::ReceiverCpu => Metric::ReceiverCpuPerMessageNs,
            Self::MessagesPerS => Metric::SentMessagesPerS,
            Self::Frames => Metric::FramesPerMessage,
            Self::ReceiverWakeups => Metric::ReceiverWakeupsPerMessage,
        }
    }

    /// The cost model that explains it, if any does.
    const fn model(self) -> Option<(cost::Quantity, Role)> {
        match self {
            Self::SenderCpu => Some((cost::Quantity::SenderCpu, Role::Sender)),
            Self::ReceiverCpu => Some((cost::Quantity::ReceiverCpu, Role::Receiver)),
            Self::MessagesPerS | Self::Frames | Self::ReceiverWakeups => None,
        }
    }
}

/// Origin of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The lines of the cost model.
    Model,
    /// The medians of the sizes measured, with straight lines between them.
    Sizes,
}

/// One figure, predicted and measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FigureRow {
    /// The figure.
    pub quantity: Quantity,
    /// Origin of the prediction.
    pub source: Source,
    /// The prediction, where the mix was measured for the mean message that
    /// was really sent; its interval by bootstrap over blocks.
    pub predicted: Estimate,
    /// The median over the trials of the mix.
    pub measured: Option<Estimate>,
    /// Measured over predicted: 1 is a prediction that was confirmed. Where sizes
    /// and mixes are of one run its blocks are drawn for both at once, so that
    /// what hit a whole block does not widen the interval.
    pub ratio: Option<Estimate>,
}

/// Messages of a mix that were really sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MixTotals {
    /// Trials.
    pub trials: usize,
    /// Messages in their measured parts.
    pub messages: u64,
    /// Their mean size in bytes, as the sender counted.
    pub mean_bytes: f64,
}

/// Predicts each workload from a run that measured sizes, next to what a run
/// measured of it; the same run may be both.
///
/// A workload that a series cannot send at all is left out there.
pub fn predict(workloads: &[Workload], sizes: (&StreamTrials, &Analysis), mixes: Option<(&StreamTrials, &Analysis)>) -> WorkloadStudy {
    let sweeps: Vec<Sweep> = sizes.0.sweeps().into_iter().filter_map(|members| Sweep::new(&members, sizes)).collect();
    let result = |workload: &Workload| WorkloadResult {
        workload: workload.name.clone(),
        title: workload.title.clone(),
        mean_bytes: workload.sizes.mean(),
        largest_bytes: workload.sizes.largest(),
        series: sweeps.iter().filter_map(|sweep| sweep.result(workload, sizes, mixes)).collect(),
    };
    let planned = |cell: &model::Cell| cell.mix.as_ref().is_some_and(|mix| workloads.iter().any(|workload| workload.name == mix.name));
    let mixed = mixes.filter(|(_, analysis)| analysis.run.plan.cells.iter().any(planned));
    WorkloadStudy {
        format: WORKLOAD_FORMAT,
        same_run: mixed.map(|(mixes, _)| std::ptr::eq(mixes, sizes.0)),
        blocks: sizes.0.batches.blocks(),
        workloads: workloads.iter().map(result).collect(),
    }
}

impl WorkloadStudy {
    /// Returns whether any trial of a mix can be used.
    pub fn is_measured(&self) -> bool {
        self.workloads.iter().flat_map(|result| &result.series).any(|series| series.sent.is_some())
    }
}

/// A series with the figures at each of its sizes, drawn many times.
struct Sweep {
    like: model::Cell,
    series: Series,
    bytes: Vec<u64>,
    found: Vec<(Quantity, AtSizes)>,
    no_model: Vec<NoModel>,
}

impl Sweep {
    fn new(members: &[&CellTrials], (gathered, analysis): (&StreamTrials, &Analysis)) -> Option<Self> {
        let like = members.first()?.cell.clone();
        let series = like.series();
        let mut no_model = Vec::new();
        let mut found = Vec::new();
        for quantity in Quantity::ALL {
            let outcome = quantity.model().and_then(|(model, role)| Some((predicted::outcome(analysis, &series, model)?, role)));
            let fit = match outcome {
                Some((Ok(fit), _)) => Some(fit),
                Some((Err(reason), role)) => {
                    no_model.push(NoModel { role, reason: reason.to_owned() });
                    None
                }
                None => None,
            };
            found.extend(AtSizes::new(members, quantity, fit, gathered).map(|at| (quantity, at)));
        }
        let bytes = members.iter().map(|trials| trials.cell.size.get()).collect();
        Some(Self { like, series, bytes, found, no_model })
    }

    fn result(
        &self,
        workload: &Workload,
        sizes: (&StreamTrials, &Analysis),
        mixes: Option<(&StreamTrials, &Analysis)>,
    ) -> Option<WorkloadSeries> {
        let share = workload.share_of(&self.like).ok()?;
        let beyond = Weights::new(share.sizes.points(), &self.bytes)?.beyond;
        let trials = mixes.and_then(|(gathered, _)| Some((gathered.mix(&workload.name, &self.series)?, gathered)));
        let trials = trials.filter(|(trials, _)| trials.sent[0] > 0);
        let mean = trials.map_or_else(|| share.sizes.mean(), |(trials, _)| trials.mean_sent());
        let row = |(quantity, at): &(Quantity, AtSizes)| compare(*quantity, at, (share.sizes.points(), mean), sizes.0, trials);
        Some(WorkloadSeries {
            series: self.series.to_string(),
            protocol: self.like.protocol(),
            nagle: self.like.protocol() == Protocol::Tcp && !self.like.nodelay,
            mean_bytes: share.sizes.mean(),
            cut: share.cut,
            measured_sizes: [*self.bytes.first()?, *self.bytes.last()?],
            sizes: self.bytes.len(),
            beyond,
            no_model: self.no_model.clone(),
            figures: self.found.iter().filter_map(row).collect(),
            touching: touching(&share, &self.series, &workload.name, sizes.1, mixes.map(|(_, analysis)| analysis)),
            sent: trials.map(|(trials, _)| MixTotals {
                trials: trials.figures.len(),
                messages: trials.sent[0],
                mean_bytes: trials.mean_sent(),
            }),
        })
    }
}

/// One figure of a mix, predicted and measured.
fn compare(
    quantity: Quantity,
    at: &AtSizes,
    (mix, mean): (&[(u64, f64)], f64),
    sizes: &StreamTrials,
    mixes: Option<(&CellTrials, &StreamTrials)>,
) -> Option<FigureRow> {
    let drawn = at.mean_over(mix, mean)?;
    let predicted = sizes.confidence.drawn(drawn.value, &drawn.draws, &sizes.batches);
    let found = mixes.and_then(|(trials, gathered)| {
        let values: Vec<f64> = trials.figures.iter().filter_map(|trial| trial.get(quantity.metric())).collect();
        Some((
            gathered.confidence.estimate(&values)?,
            Drawn::from_mix(trials, quantity, gathered, std::ptr::eq(gathered, sizes))?,
            gathered,
        ))
    });
    let ratio = found.as_ref().filter(|_| drawn.value > 0.0).map(|(measured, of_mix, gathered)| {
        let value = measured.value / drawn.value;
        let draws: Vec<f64> = of_mix.draws.iter().zip(&drawn.draws).map(|(measured, predicted)| measured / predicted).collect();
        let batches = gathered.batches.len().min(sizes.batches.len());
        let interval = sizes.confidence.bootstrapped(value, &draws, batches);
        Estimate { value, interval, n: gathered.batches.blocks().min(predicted.n) }
    });
    Some(FigureRow { quantity, source: at.source, predicted, measured: found.map(|(measured, ..)| measured), ratio })
}
