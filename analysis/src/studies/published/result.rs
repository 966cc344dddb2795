//! A published study next to the run that repeats it.

use serde::Serialize;

use stats::estimate::Estimate;

/// Published figures, and those that this run measured of the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Published {
    /// The study's name.
    pub name: String,
    /// Its subject.
    pub title: String,
    /// Its publication.
    pub source: String,
    /// Messages a second by size, for each of this run's series of streams.
    pub sizes: Vec<PublishedSizes>,
    /// Times of one message, in ms.
    pub times: Vec<PublishedTime>,
    /// Goodput by socket buffer.
    pub buffers: Vec<PublishedBuffers>,
}

/// A series of this run, and every published one of the same protocol.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedSizes {
    /// This run's series.
    pub series: String,
    /// The published ones: machine, and implementation or table.
    pub published: Vec<String>,
    /// Places of the published ones that are native sockets.
    #[serde(skip)]
    pub native: Vec<usize>,
    /// The sizes of either, rising.
    pub rows: Vec<PublishedSize>,
}

/// One size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedSize {
    /// Bytes of a message.
    pub message_bytes: u64,
    /// Messages a second of this run.
    pub today: Option<Estimate>,
    /// Those published, in the order of [`PublishedSizes::published`].
    pub published: Vec<Option<f64>>,
}

/// One time, without load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedTime {
    /// Machine, protocol, and what was timed.
    pub what: String,
    /// In ms.
    pub published_ms: f64,
    /// The figure of this run, in ms.
    pub today_ms: Estimate,
}

/// A published curve over socket buffers, and this run's diagonal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedBuffers {
    /// Sender and receiver.
    pub pair: String,
    /// This run's map in words.
    pub map: String,
    /// The place of that among the maps of the run.
    #[serde(skip)]
    pub place: usize,
    /// By rising buffer.
    pub rows: Vec<PublishedBuffer>,
}

/// One buffer. A KB is 1,024 bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedBuffer {
    /// In packets: published as asked for, of this run the most seen in flight.
    pub packets: u64,
    /// Published.
    pub published_kbytes_per_s: Option<f64>,
    /// Figure of this run; where several cells have as many packets, that of the smallest buffers.
    pub today_kbytes_per_s: Option<Estimate>,
}
