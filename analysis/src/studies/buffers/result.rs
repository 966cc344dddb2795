//! Result of a study of socket buffers: goodput over the sender's buffer and the
//! receiver's.

use model::plan::LinkKind;
use model::{Bytes, Cell};
use serde::Serialize;

use super::BUFFERS;
use crate::grouping::but_for;
use stats::estimate::Estimate;

/// Goodput over two buffers, everything else being equal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BufferMap {
    /// The cell that its cells are but for their buffers.
    #[serde(skip)]
    pub rest: Cell,
    /// The same in words, without the size.
    pub label: String,
    /// Bytes of a message.
    pub message: Bytes,
    /// The link that they are over.
    pub link: LinkKind,
    /// The sender's buffers, by rising size asked for.
    pub senders: Vec<BufferLevel>,
    /// The receiver's, likewise.
    pub receivers: Vec<BufferLevel>,
    /// The cells that were measured, by sender and then receiver.
    pub cells: Vec<BufferCell>,
    /// Places in `cells`: both buffers alike, rising. Where one has fewer levels,
    /// the cells along the other with the largest of that one.
    pub diagonal: Vec<usize>,
    /// Place where the diagonal flattens; `None` where it has fewer than three cells.
    pub knee: Option<BufferKnee>,
    /// Cells that are significantly slower than both neighbours, and by how much.
    pub notches: Vec<Notch>,
    /// Number of cells that were compared with both neighbours.
    pub tested: usize,
    /// The cell whose buffers the kernel sizes by itself, if it was measured.
    pub autotuned: Option<Autotuned>,
    /// Time of a trial beyond its transfer, in ns.
    pub beyond_ns: Option<Estimate>,
}

impl BufferMap {
    /// The place of a cell of the plan in [`Self::cells`]; `None` of one that is
    /// not of this map.
    pub fn place_of(&self, cell: &Cell) -> Option<usize> {
        let level = |levels: &[BufferLevel], asked| levels.iter().position(|level| level.asked == asked);
        let (sender, receiver) = (level(&self.senders, cell.sndbuf)?, level(&self.receivers, cell.rcvbuf)?);
        if but_for(cell, &BUFFERS) != self.rest {
            return None;
        }
        self.cells.iter().position(|known| (known.sender, known.receiver) == (sender, receiver))
    }
}

/// One size of a buffer, as it was asked for and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BufferLevel {
    /// The size that the plan asks for; `None` leaves it to the kernel.
    pub asked: Option<Bytes>,
    /// Answer of `getsockopt` right after it was set; the largest of all trials.
    pub set: Option<i64>,
    /// Its answer at the end; the largest of all trials.
    pub got: Option<i64>,
    /// Window that a receiver offered last, in bytes: the median over trials.
    pub window: Option<f64>,
    /// Segments in flight: the most that was seen in each trial, the median over
    /// the trials in which the other buffer was at its largest.
    pub in_flight: Option<f64>,
    /// The most that was ever seen with it.
    pub most_in_flight: Option<u32>,
    /// Number of samples.
    pub looks: u64,
}

/// One pair of buffers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BufferCell {
    /// Place in [`BufferMap::senders`].
    pub sender: usize,
    /// Place in [`BufferMap::receivers`].
    pub receiver: usize,
    /// Payload bits a second, from task to task.
    pub goodput_bit_per_s: Estimate,
    /// As a share of what the link's rate leaves room for; `None` of a link without.
    pub limit_share: Option<f64>,
    /// Bits a second on the wire, with headers, preambles, gaps and
    /// acknowledgements where they share it; `None` of a link without a rate.
    pub wire_bit_per_s: Option<f64>,
    /// The most segments in flight that were seen: the median over trials.
    pub in_flight: Option<f64>,
    /// Data segments for each acknowledgement: the median over trials.
    pub segments_per_ack: Option<f64>,
    /// Segments that were sent again, in all trials.
    pub resent: u64,
    /// Prediction by the model of a transfer; of relays alone.
    pub predicted: Option<Prediction>,
}

/// The discrete-event model of the same wire, hosts, buffers and acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Prediction {
    /// Payload bits a second: the median over trials.
    pub bit_per_s: f64,
    /// Measured over predicted, trial by trial.
    pub ratio: Estimate,
}

/// Place where more buffer stops to help. Places are those in [`BufferMap::diagonal`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BufferKnee {
    /// The median of the largest buffers' medians, bits a second.
    pub plateau_bit_per_s: f64,
    /// Number of cells that the plateau is of, the largest.
    pub plateau_cells: usize,
    /// The knee: the smallest buffer whose interval reaches 95 % of the plateau.
    pub at: usize,
    /// The buffer to use: the smallest whose median does.
    pub buffer: usize,
    /// The smallest from which on the whole interval of every buffer does: no larger
    /// one is needed. `None` where this run cannot show it of any.
    pub surely: Option<usize>,
}

/// The line on which a cell lies between its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// Both buffers rise.
    Diagonal,
    /// The sender's buffer rises, the receiver's stays.
    OverSenders,
    /// The receiver's buffer rises, the sender's stays.
    OverReceivers,
}

/// A cell that is slower than both of its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Notch {
    /// Place in [`BufferMap::cells`].
    pub cell: usize,
    /// On which line.
    pub line: Line,
    /// Distance below the slower neighbour, as a share of that.
    pub depth: f64,
    /// Probability of one so deep by chance, corrected for all that were tested.
    pub p: f64,
}

/// The cell whose buffers the kernel sizes by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Autotuned {
    /// Payload bits a second.
    pub goodput_bit_per_s: Estimate,
    /// The buffer to use over it, paired by block; `None` without a knee.
    pub buffer_over_it: Option<Estimate>,
    /// The kernel's own buffers at the end: sender's and receiver's.
    pub got: [Option<i64>; 2],
}
