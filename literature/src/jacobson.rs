//! 1988, Jacobson: task-to-task throughput of TCP by socket buffer, and the
//! limit that the frames of an Ethernet set.

use std::collections::BTreeMap;

use serde::Serialize;

use super::read::csv::BufferRow;
use stats::knee::{self, Knee};

/// The published table.
pub const TABLE: &str = include_str!("../../reference/jacobson1988/tcp_socket_buffers.csv");

/// A KB, as the stated limit has it.
pub const KB: f64 = 1024.0;

/// Payload of a segment in the transfers.
pub const SEGMENT: f64 = 1460.0;

/// Bytes per second of a 10 Mb/s Ethernet.
const WIRE: f64 = 10e6 / 8.0;

/// Headers of IP and TCP without options (RFC 791, RFC 793).
const HEADERS: f64 = 20.0 + 20.0;

/// Header of an Ethernet frame (IEEE 802.3, 3.1.1 and 4.4.2): addresses and type.
const ADDRESSES: f64 = 14.0;
/// Its check sequence.
const CHECK: f64 = 4.0;
/// The bytes before it.
const PREAMBLE: f64 = 8.0;
/// The gap to the next frame.
const GAP: f64 = 12.0;
/// The least frame, with addresses and check sequence.
const LEAST_FRAME: f64 = 64.0;

/// The limit that the mail states, in KB/s.
pub const STATED: f64 = 1104.0;

/// Resolution of the clock in s, as the mail states it.
pub const CLOCK: f64 = 0.010;

/// Bytes of a transfer.
pub const TRANSFER: f64 = 8.0 * 1024.0 * 1024.0;

/// The sum of the frames of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FrameLimit {
    /// Byte times of a full segment on the wire.
    pub segment_byte_times: f64,
    /// Byte times that its acknowledgement takes.
    pub acknowledgement_byte_times: f64,
    /// Wire bytes for each byte of payload.
    pub wire_bytes_per_byte: f64,
    /// Payload that the wire has room for, in KB/s.
    pub kbytes_per_s: f64,
}

impl FrameLimit {
    /// This number of acknowledgements a segment, whose frames have the least length and a
    /// gap. Their preamble is left out, as in the limit that the mail states; with it the limit
    /// of one for each were 1,098.8 KB/s.
    pub fn per_packet(acknowledgements: f64) -> Self {
        let segment = SEGMENT + HEADERS + ADDRESSES + CHECK + PREAMBLE + GAP;
        let acknowledgement = LEAST_FRAME + GAP;
        let wire_bytes_per_byte = (segment + acknowledgements * acknowledgement) / SEGMENT;
        Self {
            segment_byte_times: segment,
            acknowledgement_byte_times: acknowledgement,
            wire_bytes_per_byte,
            kbytes_per_s: WIRE / wire_bytes_per_byte / KB,
        }
    }
}

/// One buffer size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BufferPoint {
    /// Socket buffer in packets.
    pub packets: f64,
    /// From task to task, in KB/s of 1,024 bytes.
    pub kbytes_per_s: f64,
    /// On the wire in Mbit/s, if that was published.
    pub wire_mbit_per_s: Option<f64>,
    /// Share of the best of the curve.
    pub share_of_best: f64,
    /// Share of the frame limit, where it applies.
    pub share_of_limit: Option<f64>,
    /// KB/s by the two lines that meet at the knee.
    pub fitted: Option<f64>,
}

/// Throughput over socket buffers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BufferCurve {
    /// Sender and receiver.
    pub name: String,
    /// By rising buffer.
    pub points: Vec<BufferPoint>,
    /// The place where it flattens.
    pub knee: Option<Knee>,
    /// The limit of the frames, on a 10 Mb/s Ethernet.
    pub limit: Option<FrameLimit>,
    /// The cost that the wire column implies.
    pub wire: Option<WireFactor>,
}

/// Wire bytes for each byte of payload, as the two columns of a table imply.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WireFactor {
    /// Median over the rows, a KB being 1,024 bytes.
    pub implied: f64,
    /// The range that all rows allow, each figure being rounded to its last digit, a KB
    /// being 1,024 bytes; low above high: no one factor fits all.
    pub allowed_1024: [f64; 2],
    /// The same, a KB being 1,000 bytes.
    pub allowed_1000: [f64; 2],
}

impl WireFactor {
    fn from_rows(rows: &[&BufferRow]) -> Option<Self> {
        let factor = |wire: f64, task: f64, kb: f64| wire * 1e6 / 8.0 / (task * kb);
        let implied: Vec<f64> = rows.iter().map(|row| factor(row.wire_mbit_per_s, row.kbytes_per_s, KB)).collect();
        let allowed = |kb: f64| {
            let ends = rows.iter().map(|row| {
                let ends = |way: f64| factor(row.wire_mbit_per_s + way * 0.05, row.kbytes_per_s - way * 0.5, kb);
                [ends(-1.0), ends(1.0)]
            });
            ends.fold([0.0, f64::INFINITY], |all: [f64; 2], row| [all[0].max(row[0]), all[1].min(row[1])])
        };
        Some(Self { implied: stats::median::median(&implied)?, allowed_1024: allowed(KB), allowed_1000: allowed(1000.0) })
    }
}

/// Curves of rows of this kind, those of one pair together; `draws` for the
/// interval of the knee.
pub fn curves(rows: &[BufferRow], draws: usize) -> Vec<BufferCurve> {
    let mut pairs: BTreeMap<&str, Vec<&BufferRow>> = BTreeMap::new();
    rows.iter().for_each(|row| pairs.entry(row.pair.as_str()).or_default().push(row));
    let one = |(name, mut rows): (&str, Vec<&BufferRow>)| {
        rows.sort_by(|a, b| a.packets.total_cmp(&b.packets));
        let points: Vec<(f64, f64, Option<f64>)> =
            rows.iter().map(|row| (row.packets, row.kbytes_per_s, Some(row.wire_mbit_per_s))).collect();
        let mut curve = curve(name, &points, Some(FrameLimit::per_packet(1.0)), draws);
        curve.wire = WireFactor::from_rows(&rows);
        curve
    };
    pairs.into_iter().map(one).collect()
}

/// A curve through points (packets, KB/s, Mbit/s on the wire) by rising buffer.
pub fn curve(name: &str, points: &[(f64, f64, Option<f64>)], limit: Option<FrameLimit>, draws: usize) -> BufferCurve {
    let best = points.iter().map(|(_, rate, _)| *rate).fold(0.0, f64::max);
    let plain: Vec<(f64, f64)> = points.iter().map(|(packets, rate, _)| (*packets, *rate)).collect();
    let knee = knee::lines_that_meet(&plain, draws);
    let point = |(place, (packets, rate, wire)): (usize, &(f64, f64, Option<f64>))| BufferPoint {
        packets: *packets,
        kbytes_per_s: *rate,
        wire_mbit_per_s: *wire,
        share_of_best: rate / best,
        share_of_limit: limit.map(|limit| rate / limit.kbytes_per_s),
        fitted: knee.as_ref().and_then(|knee| knee.fitted.get(place).copied()),
    };
    BufferCurve { name: name.to_owned(), points: points.iter().enumerate().map(point).collect(), knee, limit, wire: None }
}
