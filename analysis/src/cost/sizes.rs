//! The trials of one series by message size, ready to be resampled.

use model::Bytes;
use model::sorting::Order;

use crate::figures::Figures;
use crate::metric::Metric;
use crate::table::CellTrials;
use stats::batched::BatchedValues;
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

#[derive(Debug, Default)]
struct Size {
    size: Bytes,
    time: BatchedValues,
    frames: BatchedValues,
    wakeups: BatchedValues,
}

impl Sizes {
    /// Sizes at which `metric` was measured and is above 0.
    pub fn from_trials(members: &[&CellTrials], metric: Metric, batches: &Batches) -> Self {
        let size = |trials: &&CellTrials| Size {
            size: trials.cell.size,
            time: column(&trials.figures, metric, batches),
            frames: column(&trials.figures, Metric::FramesPerMessage, batches),
            wakeups: column(&trials.figures, Metric::ReceiverWakeupsPerMessage, batches),
        };
        let mut sizes: Vec<Size> = members.iter().map(size).filter(|size| size.time.median(None).is_some_and(|time| time > 0.0)).collect();
        sizes.order_by_key(|size| size.size);
        Self { sizes, segment: members.iter().filter_map(|trials| trials.segment).max() }
    }

    /// Sizes with these times, one a block from 0 on, and no counts.
    pub(super) fn from_times(times: impl Iterator<Item = (Bytes, Vec<f64>)>) -> Self {
        let column = |times: Vec<f64>| BatchedValues::new((0..).zip(times).map(|(batch, time)| (time, batch)).collect());
        let sizes = times.map(|(size, times)| Size { size, time: column(times), ..Size::default() }).collect();
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
        self.sizes.iter().map(|size| size.time.values().collect())
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

/// The figure of each trial of a block that was dealt and that gives it.
pub fn column(figures: &[Figures], metric: Metric, batches: &Batches) -> BatchedValues {
    let value = |trial: &Figures| Some((trial.get(metric)?, batches.of_block(trial.block)? as u32));
    BatchedValues::new(figures.iter().filter_map(value).collect())
}
