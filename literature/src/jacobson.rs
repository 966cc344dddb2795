//! 1988, Jacobson: task-to-task throughput of TCP by socket buffer, and the
//! limit that the frames of an Ethernet set.

use std::collections::BTreeMap;

use serde::Serialize;

use super::read::csv::BufferRow;
use super::statement::{Ruling, Statement};
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

/// Bytes of a transfer.
const TRANSFER: f64 = 8.0 * 1024.0 * 1024.0;

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
    /// One acknowledgement a segment, whose frame is of the least length and
    /// has a gap; its preamble is counted only `with_preamble`: the stated limit leaves it out.
    pub fn with_headers(with_preamble: bool) -> Self {
        let segment = SEGMENT + HEADERS + ADDRESSES + CHECK + PREAMBLE + GAP;
        let acknowledgement = LEAST_FRAME + GAP + if with_preamble { PREAMBLE } else { 0.0 };
        let wire_bytes_per_byte = (segment + acknowledgement) / SEGMENT;
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
        let mut curve = curve(name, &points, Some(FrameLimit::with_headers(false)), draws);
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

/// The paper's statements on its table, with their rulings.
pub fn statements(curves: &[BufferCurve]) -> Vec<Statement> {
    let Some((curve, limit)) = curves.first().and_then(|curve| Some((curve, curve.limit?))) else { return Vec::new() };
    let mut statements = vec![limit_statement(curve, &limit)];
    statements.extend(share(curve, &limit));
    statements.extend(ends(curve));
    statements.extend(wire(curve, &limit));
    statements.extend(clock(curve));
    let other = "pair with the slower interface";
    statements.push(Statement::undecided(
        "notch",
        other,
        "it saturates at 65 % of the limit and has a notch at three packets, where acknowledgements collide",
        "the table has the LANCE pair only",
    ));
    let equal = "the table has equal buffers only, 12 of the 289 combinations";
    statements.push(Statement::undecided("equal", &curve.name, "throughput is best when both buffers are equal", equal));
    statements
}

/// The stated limit.
const STATED: f64 = 1104.0;

fn limit_statement(curve: &BufferCurve, limit: &FrameLimit) -> Statement {
    let full = FrameLimit::with_headers(true);
    let found = format!(
        "{SEGMENT:.0} bytes in {:.0} byte times and an acknowledgement of {:.0}, at 10 Mb/s: {:.1} KB/s of 1,024 bytes. The {:.0} leave out \
         the acknowledgement's preamble: with it they are {:.0} and the limit {:.1}",
        limit.segment_byte_times,
        limit.acknowledgement_byte_times,
        limit.kbytes_per_s,
        limit.acknowledgement_byte_times,
        full.acknowledgement_byte_times,
        full.kbytes_per_s
    );
    let ruling = if limit.kbytes_per_s.round() == STATED { Ruling::Consistent } else { Ruling::NotConfirmed };
    Statement::ruled("limit", &curve.name, "the limit after all overheads is 1,104 KB/s", ruling)
        .found(found, [limit.kbytes_per_s, full.kbytes_per_s])
        .rule("there is a sum of frames that gives it to the last digit stated; which frames are in it was found from the figure")
}

fn share(curve: &BufferCurve, limit: &FrameLimit) -> Option<Statement> {
    let last = curve.points.last()?;
    let share = last.kbytes_per_s / limit.kbytes_per_s * 100.0;
    let found = format!("{:.0} KB/s are {share:.1} % of {:.1}", last.kbytes_per_s, limit.kbytes_per_s);
    let statement =
        Statement::decided("share", &curve.name, "twelve packets reach 91 % of the limit", last.packets == 12.0 && share.round() == 91.0);
    Some(statement.found(found, [share]).rule("the share at 12 packets rounds to 91 %"))
}

fn ends(curve: &BufferCurve) -> Option<Statement> {
    let (first, last) = (curve.points.first()?, curve.points.last()?);
    let rises = curve.points.is_sorted_by(|a, b| a.kbytes_per_s < b.kbytes_per_s);
    let holds = rises && (first.packets, first.kbytes_per_s, last.packets, last.kbytes_per_s) == (1.0, 384.0, 12.0, 1001.0);
    let knee = curve.knee.as_ref().map_or_else(String::new, |knee| {
        let range =
            knee.at.residual_bootstrap.map_or("no interval".to_owned(), |[low, high]| format!("residual bootstrap {low:.1} to {high:.1}"));
        let ends = (knee.before, knee.after);
        format!("; knee at {:.1} packets ({range}): {:.0} KB/s a packet before it, {:.0} after", knee.at.value, ends.0, ends.1)
    });
    let found = format!("{:.0} KB/s at {:.0}, {:.0} at {:.0}{knee}", first.kbytes_per_s, first.packets, last.kbytes_per_s, last.packets);
    let statement = Statement::decided("rise", &curve.name, "throughput rises from 384 KB/s at one packet to 1,001 at twelve", holds);
    let statement = statement.found(found, [first.kbytes_per_s, last.kbytes_per_s]);
    Some(statement.rule("both ends are those of the table, and every further packet adds something"))
}

fn wire(curve: &BufferCurve, limit: &FrameLimit) -> Option<Statement> {
    let wire = curve.wire?;
    let within = |[low, high]: [f64; 2]| (low..=high).contains(&limit.wire_bytes_per_byte);
    let range = |[low, high]: [f64; 2]| format!("{low:.4} to {high:.4}");
    let found = format!(
        "the wire column implies {:.3} wire bytes per byte (rounding allows {}), the limit {:.4}; were a KB 1,000 bytes in it, rounding would \
         allow {}, which {} the limit's",
        wire.implied,
        range(wire.allowed_1024),
        limit.wire_bytes_per_byte,
        range(wire.allowed_1000),
        if within(wire.allowed_1000) { "holds" } else { "does not hold" }
    );
    Some(
        Statement::decided("wire", &curve.name, "wire rate and limit come from the same frames", within(wire.allowed_1024))
            .found(found, [wire.implied, limit.wire_bytes_per_byte])
            .rule(
                "the limit's wire bytes per byte lie within what the rounding of all rows allows, a KB being 1,024 bytes as in the limit",
            ),
    )
}

fn clock(curve: &BufferCurve) -> Option<Statement> {
    let fastest = curve.points.iter().map(|point| point.kbytes_per_s).fold(0.0, f64::max);
    let seconds = (fastest > 0.0).then(|| TRANSFER / (fastest * KB))?;
    let lacks = format!(
        "the clock's resolution is not published; the shortest transfer of 8 MB takes {seconds:.1} s, of which 0.1 % are {:.1} ms",
        seconds
    );
    Some(Statement::undecided("clock", &curve.name, "8 MB are enough for the clock to cost at most 0.1 %", lacks))
}
