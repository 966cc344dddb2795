//! The trials of one series by message size, ready to be resampled.

use model::Bytes;
use model::order::Order;

use crate::figures::Figures;
use crate::metric::Metric;
use crate::table::CellTrials;
use stats::bootstrap::Batches;
use stats::cost::LEAST_NOISE;
use stats::cost::design::Point;
use stats::median;

/// The sizes of one series, rising.
#[derive(Debug)]
pub struct Sizes {
    sizes: Vec<Size>,
    /// The largest segment that TCP sent at any size, if it tells.
    pub segment: Option<Bytes>,
}

#[derive(Debug)]
struct Size {
    size: Bytes,
    time: Column,
    frames: Column,
    wakeups: Column,
}

/// One figure of all trials of a cell, rising, each with the batch of its block.
#[derive(Debug)]
pub struct Column(Vec<(f64, u32)>);

impl Sizes {
    /// Sizes at which `metric` was measured and is above 0.
    pub fn from_trials(members: &[&CellTrials], metric: Metric, batches: &Batches) -> Self {
        let size = |trials: &&CellTrials| Size {
            size: trials.cell.size,
            time: Column::new(&trials.figures, metric, batches),
            frames: Column::new(&trials.figures, Metric::FramesPerMessage, batches),
            wakeups: Column::new(&trials.figures, Metric::ReceiverWakeupsPerMessage, batches),
        };
        let mut sizes: Vec<Size> = members.iter().map(size).filter(|size| size.time.median(None).is_some_and(|time| time > 0.0)).collect();
        sizes.order_by_key(|size| size.size);
        Self { sizes, segment: members.iter().filter_map(|trials| trials.segment).max() }
    }

    /// Sizes with these times, one a block from 0 on, and no counts.
    pub(super) fn from_times(times: impl Iterator<Item = (Bytes, Vec<f64>)>) -> Self {
        let column = |times: Vec<f64>| Column::sorted((0..).zip(times).map(|(batch, time)| (time, batch)).collect());
        let none = || Column(Vec::new());
        let sizes = times.map(|(size, times)| Size { size, time: column(times), frames: none(), wakeups: none() }).collect();
        Self { sizes, segment: None }
    }

    /// Their number.
    pub const fn len(&self) -> usize {
        self.sizes.len()
    }

    /// The sizes themselves.
    pub fn bytes(&self) -> Vec<Bytes> {
        self.sizes.iter().map(|size| size.size).collect()
    }

    /// The measured times of each size.
    pub fn times(&self) -> impl Iterator<Item = Vec<f64>> {
        self.sizes.iter().map(|size| size.time.0.iter().map(|(value, _)| *value).collect())
    }

    /// The medians at each size: of all trials, or with each batch counted as
    /// often as it was drawn. `None` when a size was not drawn at all.
    pub fn points(&self, drawn: Option<&[u32]>) -> Option<Vec<Point>> {
        let point = |size: &Size| {
            let time = size.time.median(drawn).filter(|time| *time > 0.0)?;
            let (frames, wakeups) = (size.frames.median(drawn), size.wakeups.median(drawn));
            Some(Point { size: size.size.get() as f64, time, frames, wakeups })
        };
        self.sizes.iter().map(point).collect()
    }

    /// Scatter of the medians, as a share: the usual standard error of a
    /// median, 1.2533·s/√n, with s from the median absolute deviation; the
    /// median of that over the sizes, because noise is alike at all of them and
    /// nine trials tell it badly; at least [`LEAST_NOISE`].
    pub fn noise(&self) -> f64 {
        let error = |values: Vec<f64>| {
            let n = values.len();
            let centre = median::median(&values)?;
            (n > 2).then_some(1.2533 * median::deviation(&values)? / (n as f64).sqrt() / centre)
        };
        let errors: Vec<f64> = self.times().filter_map(error).collect();
        median::median(&errors).unwrap_or_default().max(LEAST_NOISE)
    }
}

impl Column {
    /// The figure of each trial of a block that was dealt and that gives it.
    pub fn new(figures: &[Figures], metric: Metric, batches: &Batches) -> Self {
        let value = |trial: &Figures| Some((trial.get(metric)?, batches.of_block(trial.block)? as u32));
        Self::sorted(figures.iter().filter_map(value).collect())
    }

    fn sorted(mut column: Vec<(f64, u32)>) -> Self {
        column.order_by(|a, b| a.0.total_cmp(&b.0));
        Self(column)
    }

    /// The median, each value counted as often as its batch was drawn.
    pub fn median(&self, drawn: Option<&[u32]>) -> Option<f64> {
        median::of_batches(&self.0, drawn)
    }
}
