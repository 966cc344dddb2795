//! Curves of the published tables, and of tables with their columns.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::evidence::{Curve, Evidence, Figure};
use crate::jacobson::{self, FrameLimit, KB};
use crate::read::ReadError;
use crate::read::csv::{LoadRow, RoutineRow, SweepRow, Table, UnloadedRow};
use crate::shape::SOCKETS;
use crate::sweep::SeriesResult;
use crate::{bidulock, cabrera, sweep};

/// The stated figures of 1997.
const STATED_1997: &str = include_str!("../../../reference/kim1997/stated.csv");

/// Messages behind a routine's figures.
const ROUTINE_MESSAGES: f64 = 10_000.0;

/// Bytes of a TCP segment on the wire that are no payload: headers, check sequence, preamble and gap.
const FRAME_OVERHEAD: f64 = 78.0;

/// The largest payload of a segment of 1984.
const SEGMENT_1984: f64 = 1_024.0;

/// Adds the curves of a table; `given` by a user.
pub fn add(evidence: &mut Evidence, table: &Table, given: bool) {
    let first = evidence.curves.len();
    let all = &mut evidence.curves;
    match table {
        Table::Unloaded(rows) => unloaded(all, rows),
        Table::Latency(rows) => loads(all, rows, "latency"),
        Table::RoundTrip(rows) => loads(all, rows, "round-trip"),
        Table::Seconds(rows) => routines(all, rows, "seconds", 1.0),
        Table::Calls(rows) => routines(all, rows, "calls", ROUTINE_MESSAGES),
        Table::Buffers(_) => buffers(all, table),
        Table::Sweep(rows) => sweep(all, rows),
    }
    evidence.curves[first..].iter_mut().for_each(|curve| curve.given = given);
}

fn push(all: &mut Vec<Curve>, quantity: &'static str, name: &str, group: &str, labels: &[&str], (at, figure): (f64, Figure)) {
    let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    let same = |curve: &&mut Curve| curve.quantity == quantity && curve.name == name && curve.group == group && curve.labels == labels;
    match all.iter_mut().find(same) {
        Some(curve) => {
            let place = curve.points.partition_point(|point| point.0 < at);
            curve.points.insert(place, (at, figure));
        }
        None => {
            all.push(Curve { quantity, name: name.to_owned(), group: group.to_owned(), labels, points: vec![(at, figure)], given: false });
        }
    }
}

/// The machine and the link of `VAX 11/750 10 megabit/second Ethernet`.
fn hardware(text: &str) -> (&str, String) {
    let Some(words) = text.find(" megabit") else { return (text, String::new()) };
    let before = text[..words].trim_end();
    let (machine, rate) = before.rsplit_once(' ').unwrap_or(("", before));
    (machine, format!("{rate} megabit"))
}

fn unloaded(all: &mut Vec<Curve>, rows: &[UnloadedRow]) {
    for row in rows {
        let (machine, link) = hardware(&row.hardware);
        let group = format!("{} to {}, {}", row.sender, row.receiver, row.hardware);
        let labels = [row.table.as_str(), row.protocol.as_str(), &row.sender, &row.receiver, machine, link.as_str()];
        let bytes = row.bytes as f64;
        let mut one = |quantity, value| push(all, quantity, &row.table, &group, &labels, (bytes, Figure::exact(value)));
        // The finest of the three printed figures is that in bits.
        one("time", 8e3 * bytes / row.bits_per_s);
        one("rate", row.bits_per_s);
        if bytes <= SEGMENT_1984 {
            one("wire-rate", row.bits_per_s * (bytes + FRAME_OVERHEAD) / bytes);
        }
    }
    let [low, high] = cabrera::unloaded::implied_messages(rows);
    let value = cabrera::unloaded::roundest([low, high]).unwrap_or(low);
    push(all, "messages", &format!("{} rows", rows.len()), "", &[], (0.0, Figure::within(value, [low, high])));
}

fn loads(all: &mut Vec<Curve>, rows: &[LoadRow], quantity: &'static str) {
    for row in rows {
        let name = format!("{} {}", row.machine, row.protocol.to_uppercase());
        let mut one = |quantity, value| {
            push(all, quantity, &name, &row.machine, &[&row.machine, &row.protocol], (row.load, Figure::exact(value)));
        };
        one(quantity, row.ms);
        if quantity == "latency" {
            one("load-rate", 8e3 / row.ms);
        }
    }
}

fn routines(all: &mut Vec<Curve>, rows: &[RoutineRow], quantity: &'static str, per: f64) {
    // The tables of UDP have the columns of those of TCP: the routines say whose they are.
    let udp = rows.iter().any(|row| row.routine.starts_with("udp_"));
    let protocol = if udp { "udp" } else { "tcp" };
    let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
    for row in rows {
        push(all, quantity, &row.routine, protocol, &[&row.routine, protocol], (row.bytes as f64, Figure::exact(row.figure / per)));
        *sums.entry(row.bytes).or_default() += row.figure;
    }
    if quantity == "seconds" {
        sums.into_iter().for_each(|(bytes, sum)| push(all, "sum", "all rows", protocol, &[protocol], (bytes as f64, Figure::exact(sum))));
    }
}

/// Acknowledgements a packet, by which frames are counted.
const READINGS: [(&str, &str, f64); 2] =
    [("one", "one acknowledgement for each packet", 1.0), ("two", "one acknowledgement for two packets", 0.5)];

/// The sums of frames of 1988: they need no table.
pub fn frames(evidence: &mut Evidence) {
    for (label, name, share) in READINGS {
        let limit = FrameLimit::per_packet(share);
        push(&mut evidence.curves, "limit", name, "", &[label], (0.0, Figure::exact(limit.kbytes_per_s)));
        push(&mut evidence.curves, "frame-factor", name, "", &[label], (0.0, Figure::exact(limit.wire_bytes_per_byte)));
    }
}

fn buffers(all: &mut Vec<Curve>, table: &Table) {
    let Table::Buffers(rows) = table else { return };
    for curve in jacobson::curves(rows, 0) {
        let label = if curve.name.starts_with("LANCE to LANCE") { "lance" } else { "other" };
        let mut one = |quantity, at, figure| push(all, quantity, &curve.name, "", &[label], (at, figure));
        for point in &curve.points {
            one("task", point.packets, Figure::exact(point.kbytes_per_s));
            point.wire_mbit_per_s.into_iter().for_each(|rate| one("wire", point.packets, Figure::exact(rate)));
        }
        let best = curve.points.iter().map(|point| point.kbytes_per_s).fold(0.0, f64::max);
        one("clock-share", 0.0, Figure::exact(jacobson::CLOCK / (jacobson::TRANSFER / (best * KB))));
        if let Some(wire) = curve.wire {
            let rate = |factor: f64| jacobson::STATED * KB * 8.0 * factor / 1e6;
            one("wire-factor", 0.0, Figure::within(wire.implied, wire.allowed_1024));
            one("wire-at-limit", 0.0, Figure::within(rate(wire.implied), wire.allowed_1024.map(rate)));
        }
    }
}

fn sweep(all: &mut Vec<Curve>, rows: &[SweepRow]) {
    let series = sweep::analyse(&bidulock::series(rows), 0);
    for one in &series {
        let sockets = series.iter().find(|other| other.group == one.group && other.name == SOCKETS);
        implementation(all, one, sockets);
    }
}

fn implementation(all: &mut Vec<Curve>, one: &SeriesResult, sockets: Option<&SeriesResult>) {
    let table = one.group.split(", ").next().unwrap_or_default().trim_start_matches("table ").to_owned();
    let name = format!("T{table} {}", one.name);
    let mut labels: Vec<&str> = vec![&table, &one.name];
    labels.extend(one.group.split(", ").skip(1));
    let mut add = |quantity, at, value| push(all, quantity, &name, &table, &labels, (at, Figure::exact(value)));
    for size in &one.sizes {
        let at = size.message_bytes as f64;
        add("messages-per-s", at, size.messages_per_s);
        size.sent_per_s
            .filter(|sent| *sent > 0.0)
            .into_iter()
            .for_each(|sent| add("lost", at, (1.0 - size.messages_per_s / sent).max(0.0)));
        let Some(base) = sockets.filter(|sockets| sockets.name != one.name).and_then(|sockets| sockets.at(size.message_bytes)) else {
            continue;
        };
        add("ratio", at, size.messages_per_s / base.messages_per_s);
        let sent = size.sent_per_s.zip(base.sent_per_s).filter(|(_, base)| *base > 0.0);
        sent.into_iter().for_each(|(sent, base)| add("ratio-sent", at, sent / base));
    }
    let (law, last) = (one.power_law, one.sizes.last());
    if let (Some(law), Some(last)) = (law, last) {
        // How far the largest size stays below the law of the small ones.
        add("departure", 0.0, last.goodput_bit_per_s / (law.coefficient * (last.message_bytes as f64).powf(law.exponent)));
    }
    let lines = sockets.filter(|sockets| sockets.name != one.name).and_then(|sockets| Some((one.cost.as_ref()?, sockets.cost.as_ref()?)));
    if let Some((ours, theirs)) = lines {
        add("byte-ratio", 0.0, ours.least_squares.byte_ns / theirs.least_squares.byte_ns);
        add("message-ratio", 0.0, ours.least_squares.message_ns / theirs.least_squares.message_ns);
    }
}

/// A stated figure of 1997.
#[derive(Debug, Deserialize)]
struct StatedRow {
    id: String,
    value: f64,
}

/// The stated figures of 1997 and the arithmetic between them.
///
/// # Errors
/// A table that is none; its tests read it.
pub fn stated_1997(evidence: &mut Evidence) -> Result<(), ReadError> {
    let mut reader = csv::Reader::from_reader(STATED_1997.as_bytes());
    let rows: BTreeMap<String, f64> = reader
        .deserialize::<StatedRow>()
        .map(|row| row.map(|row| (row.id, row.value)))
        .collect::<Result<_, _>>()
        .map_err(|error| ReadError::NotARow { line: 0, reason: error.to_string() })?;
    let stated = |id: &str| rows.get(id).copied();
    const BYTES: f64 = 1_440.0;
    // Times are printed to 0.01 ms.
    const HALF: f64 = 0.005;
    let all = &mut evidence.curves;
    for direction in ["send", "receive"] {
        let times = [("acknowledged", format!("{direction}-ack-time")), ("alone", format!("{direction}-time"))];
        let mut ms = Vec::new();
        for (how, id) in times {
            let Some(time) = stated(&id) else { continue };
            let rate = |ms: f64| BYTES * 8.0 / ms / 1e3;
            let figure = Figure::within(rate(time), [rate(time + HALF), rate(time - HALF)]);
            push(all, "cpu-rate", &format!("{direction}, {how}"), "", &[direction, how], (BYTES, figure));
            ms.push(time);
        }
        if let [with, alone] = ms[..] {
            let share = |with: f64, alone: f64| 1.0 - alone / with;
            let ends = [share(with - HALF, alone + HALF), share(with + HALF, alone - HALF)];
            push(all, "acknowledgement", direction, "", &[direction], (BYTES, Figure::within(share(with, alone), ends)));
        }
    }
    // Section 3 has the memory's rate at the lower of the rates: at 85 Mbit/s the same traffic is more.
    if let (Some(memory), Some(rate), Some(abstracted)) = (stated("receive-memory"), stated("receive-ack-rate"), stated("abstract-rate")) {
        push(all, "memory-at-85", "memory at the abstract's rate", "", &[], (0.0, Figure::exact(memory * abstracted / rate)));
    }
    Ok(())
}
