//! Trials of single sizes and of mixes, as predictions need them.
//!
//! Sizes to measure, so that a workload can be predicted.

use model::cell::Series;
use model::sorting::Order;
use model::{Cell, Protocol};
use stats::bootstrap::Batches;

use crate::confidence::Confidence;
use crate::grouping::group_by;
use crate::table::{CellTrials, TrialTable};

/// The clean trials of the streams of a run; of one with arms, those of the
/// baseline.
#[derive(Debug)]
pub struct StreamTrials {
    table: TrialTable,
    /// The confidence of the intervals of figures.
    pub(super) confidence: Confidence,
    /// The batches by which blocks are resampled.
    pub(super) batches: Batches,
    /// Seed of the resampling.
    pub(super) seed: u64,
}

impl StreamTrials {
    /// Those of a run's trials.
    pub fn from_table(table: TrialTable) -> Self {
        let blocks = cells(&table).flat_map(|cell| cell.figures.iter().map(|trial| trial.block));
        let (confidence, batches, seed) = (Confidence::new(&table.plan().blocks), Batches::from_blocks(blocks), table.plan().seed);
        Self { table, confidence, batches, seed }
    }

    /// Every series that a mix can be predicted from: cells without a mix or an
    /// offered rate that differ in size alone, at least two of them, the smallest
    /// first. In the order of their settings: that of trials was drawn.
    pub fn sweeps(&self) -> Vec<Vec<&CellTrials>> {
        let of_one_size = |cell: &Cell| cell.mix.is_none() && cell.rate.is_none() && !cell.bidirectional && !cell.stamp;
        let mut sweeps = group_by(cells(&self.table).filter(|trials| of_one_size(&trials.cell)), |trials| trials.cell.series());
        sweeps.retain(|(_, members)| members.len() > 1);
        sweeps.order_by_key(|(series, _)| series.clone());
        let sorted = |(_, mut members): (Series, Vec<_>)| {
            members.order_by_key(|trials: &&CellTrials| trials.cell.size);
            members
        };
        sweeps.into_iter().map(sorted).collect()
    }

    /// A cell of each sweep, for making others like it.
    pub fn likes(&self) -> Vec<Cell> {
        self.sweeps().into_iter().filter_map(|sweep| sweep.first().map(|trials| trials.cell.clone())).collect()
    }

    /// The trials of a mix of this name in a series.
    pub fn mix(&self, name: &str, series: &Series) -> Option<&CellTrials> {
        let named = |cell: &Cell| cell.mix.as_ref().is_some_and(|mix| mix.name == name);
        cells(&self.table).find(|trials| named(&trials.cell) && trials.cell.series_of_sizes() == *series)
    }
}

/// The cells of streams that have trials.
fn cells(table: &TrialTable) -> impl Iterator<Item = &CellTrials> {
    table.arm(0).iter().filter(|trials| trials.cell.test.is_stream() && !trials.figures.is_empty())
}

/// Sizes that any sweep has: below, at and above what a segment and a datagram
/// hold, and on to 16 KiB.
const USUAL: [u64; 8] = [1, 64, 256, 512, 1_024, 2_048, 4_096, 16_384];

/// No size of a sweep is larger: beyond it a message costs by the byte, and a
/// short trial would hold too few.
const LARGEST: u64 = 1 << 20;

/// Sizes, rising, that cells like this one should measure for messages of up to
/// `largest` bytes: at least the usual, the largest that fits one packet and the
/// smallest that does not, and then in fourfold steps. The last is the largest
/// of all, unless that is above 1 MiB.
pub fn sizes_for(cell: &Cell, largest: u64) -> Vec<u64> {
    // What one Ethernet frame of 1,500 bytes carries, with TCP's timestamps.
    let full = match (cell.protocol(), cell.family) {
        (Protocol::Udp, model::Family::V4) => 1_472,
        (Protocol::Udp, model::Family::V6) => 1_452,
        (Protocol::Tcp, model::Family::V4) => 1_448,
        (Protocol::Tcp, model::Family::V6) => 1_428,
    };
    let mut sizes: Vec<u64> = USUAL.into_iter().chain([full, full + 1]).collect();
    let end = largest.min(LARGEST);
    sizes.extend(std::iter::successors(Some(65_536), |size| Some(size * 4)).take_while(|size| *size < end));
    if end > USUAL[USUAL.len() - 1] {
        sizes.push(end);
    }
    if cell.protocol() == Protocol::Udp {
        sizes.iter_mut().for_each(|size| *size = (*size).min(cell.family.largest_datagram()));
    }
    sizes.order();
    sizes.dedup();
    sizes
}
