//! Figures of a run, a file or another tool, compared with a published study.

use serde::Serialize;

use super::jacobson::{self, BufferCurve};
use super::read::csv::Table;
use super::read::{PeerResult, peer_series};
use super::sweep::{self, Series, SeriesResult};
use super::{ReferenceAnalysis, bidulock, cabrera, shape};

/// A socket buffer: packets, KB/s, Mbit/s on the wire.
pub type BufferRate = (f64, f64, Option<f64>);

/// Figures to compare with a published study.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Foreign {
    /// Their origin: a run or a file.
    pub label: String,
    /// Messages per second by size.
    pub series: Vec<Series>,
    /// Throughput by socket buffer: a name and points (packets, KB/s, Mbit/s on the wire).
    pub buffers: Vec<(String, Vec<BufferRate>)>,
    /// Remarks on them.
    pub remarks: Vec<String>,
}

/// Figures compared with a published study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Its origin.
    pub label: String,
    /// Its series.
    pub series: Vec<SeriesResult>,
    /// Its implementations next to its sockets.
    pub shapes: Vec<shape::Shape>,
    /// What these shapes have in common with those of the reference.
    pub likeness: Vec<shape::Likeness>,
    /// Each of its series against each of the reference.
    pub pairs: Vec<Pair>,
    /// Its throughput over socket buffers.
    pub buffers: Vec<BufferCurve>,
    /// Each of these against each of the reference.
    pub buffer_pairs: Vec<BufferPair>,
    /// Remarks.
    pub remarks: Vec<String>,
}

/// A series against one of the reference. Ratios are candidate over reference;
/// they say how far the two are apart, not why: everything differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Name of the candidate's series.
    pub candidate: String,
    /// Group of the reference's.
    pub group: String,
    /// Name of the reference's.
    pub reference: String,
    /// Sizes that both have, with the ratio of messages per second.
    pub sizes: Vec<(u64, f64)>,
    /// Ratio of the costs per message, where both have a line of one piece.
    pub message_ns: Option<f64>,
    /// Ratio of the costs per byte, likewise.
    pub byte_ns: Option<f64>,
}

/// A curve over socket buffers against one of the reference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BufferPair {
    /// Name of the candidate's curve.
    pub candidate: String,
    /// Name of the reference's.
    pub reference: String,
    /// Packets at the knee: candidate's and reference's.
    pub knees: [Option<f64>; 2],
    /// Packets from which on each reaches 90 % of its own best.
    pub nine_tenths: [Option<f64>; 2],
}

impl Foreign {
    /// Figures of a table with the columns of a published one. Loads and routines are
    /// not compared size by size, and stand by themselves.
    pub fn of_table(label: &str, table: &Table) -> Self {
        let mut foreign = Self { label: label.to_owned(), ..Self::default() };
        match table {
            Table::Sweep(rows) => foreign.series = bidulock::series(rows),
            Table::Unloaded(rows) => foreign.series = cabrera::unloaded::series(rows),
            Table::Buffers(rows) => {
                for curve in jacobson::curves(rows, 0) {
                    let points = curve.points.iter().map(|point| (point.packets, point.kbytes_per_s, point.wire_mbit_per_s)).collect();
                    foreign.buffers.push((curve.name, points));
                }
            }
            Table::Latency(_) | Table::RoundTrip(_) | Table::Seconds(_) | Table::Calls(_) => {
                foreign.remarks.push(
                    "loads and routines have no sizes or buffers to compare with; read this table by itself (`--table` without a name)"
                        .to_owned(),
                );
            }
        }
        foreign
    }

    /// Figures of another tool.
    pub fn of_peer(label: &str, results: Vec<PeerResult>) -> Self {
        let (series, remarks) = peer_series(results);
        Self { label: label.to_owned(), series, remarks, ..Self::default() }
    }
}

/// Compares figures with a published study.
pub fn compare(reference: &ReferenceAnalysis, foreign: &Foreign, draws: usize) -> Comparison {
    let series = sweep::analyse(&foreign.series, draws);
    let curve = |(name, points): &(String, Vec<BufferRate>)| {
        let mut points = points.clone();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        jacobson::curve(name, &points, None, draws)
    };
    let buffers: Vec<BufferCurve> = foreign.buffers.iter().map(curve).collect();
    let pairs: Vec<Pair> = series.iter().flat_map(|ours| reference.series.iter().filter_map(|theirs| pair(ours, theirs))).collect();
    let buffer_pairs: Vec<BufferPair> =
        buffers.iter().flat_map(|ours| reference.buffers.iter().map(|theirs| buffer_pair(ours, theirs))).collect();
    let mut remarks = foreign.remarks.clone();
    let apart = series.iter().filter(|ours| ours.transactions && !reference.series.is_empty());
    remarks.extend(apart.map(|ours| format!("{} counts transactions, which compare with no stream: it stands by itself", ours.name)));
    if !reference.series.is_empty() && pairs.is_empty() && series.iter().any(|ours| !ours.transactions) {
        remarks.push("no message size is in both: measure some of the reference's (`--size 1..16K:x2`)".to_owned());
    }
    if !reference.buffers.is_empty() && buffers.is_empty() {
        remarks
            .push("it does not vary a socket buffer: measure some (`--test TCP_STREAM --size 1460 --sndbuf 1460..17520:+1460`)".to_owned());
    }
    let shapes = shape::shapes(&series);
    let likeness = shape::likeness(&reference.shapes, &shapes);
    Comparison { label: foreign.label.clone(), series, shapes, likeness, pairs, buffers, buffer_pairs, remarks }
}

/// `None` when they have no size in common, or are of different kinds.
fn pair(ours: &SeriesResult, theirs: &SeriesResult) -> Option<Pair> {
    let ratio = |size: &sweep::SizeResult| Some((size.message_bytes, size.messages_per_s / theirs.at(size.message_bytes)?.messages_per_s));
    let sizes: Vec<(u64, f64)> = ours.sizes.iter().filter_map(ratio).collect();
    let line = |series: &SeriesResult| match series.cost.as_ref().map(|cost| cost.pieces.as_slice()) {
        Some([piece]) => Some((piece.message_ns.value, piece.byte_ns.value)),
        _ => None,
    };
    let costs = line(ours).zip(line(theirs));
    // A cost of nothing has no ratio.
    let over = |ours: f64, theirs: f64| (ours > 0.0 && theirs > 0.0).then(|| ours / theirs);
    // All that was published are streams.
    (!sizes.is_empty() && !ours.transactions).then(|| Pair {
        candidate: ours.name.clone(),
        group: theirs.group.clone(),
        reference: theirs.name.clone(),
        sizes,
        message_ns: costs.and_then(|(ours, theirs)| over(ours.0, theirs.0)),
        byte_ns: costs.and_then(|(ours, theirs)| over(ours.1, theirs.1)),
    })
}

fn buffer_pair(ours: &BufferCurve, theirs: &BufferCurve) -> BufferPair {
    let knee = |curve: &BufferCurve| curve.knee.as_ref().map(|knee| knee.at.value);
    let tenths = |curve: &BufferCurve| curve.points.iter().find(|point| point.share_of_best >= 0.9).map(|point| point.packets);
    BufferPair {
        candidate: ours.name.clone(),
        reference: theirs.name.clone(),
        knees: [knee(ours), knee(theirs)],
        nine_tenths: [tenths(ours), tenths(theirs)],
    }
}
