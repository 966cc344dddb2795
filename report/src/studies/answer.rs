//! The answer in a line for each series: CPU time of its smallest message at either end,
//! and what bytes add at the sender; or its round trip. Of a study of ways, the cheapest.

use analysis::result::{Analysis, CellResult, Estimate, Fit, FitOutcome, Metric, Quantity, Term};

use super::cost::threshold;
use super::ways;
use crate::document::Text;
use crate::series::{Group, metric, percentile};
use crate::words::series;
use crate::{interval, number};

/// Series that have a line; the others are in the tables.
const MOST_LINES: usize = 8;

/// A smaller share of lost datagrams is left to the tables.
const LOST: f64 = 0.01;

/// The lines.
pub fn lines(analysis: &Analysis, groups: &[Group]) -> Vec<Text> {
    let mut lines: Vec<Text> = match analysis.ways() {
        // Which way is the cheapest is what was asked.
        Some(ways) => ways.series.iter().map(|series| format!("{}: cheapest {}", series.series, ways::cheapest(series)).into()).collect(),
        None => groups.iter().filter_map(line).map(Text::from).collect(),
    };
    if lines.len() > MOST_LINES {
        let more = series((lines.len() - MOST_LINES) as u64);
        lines.truncate(MOST_LINES);
        lines.push(format!("{more} more below").into());
    }
    lines
}

fn line(group: &Group) -> Option<String> {
    let cell = group.cells.iter().copied().filter(|cell| !cell.metrics.is_empty()).min_by_key(|cell| cell.cell.size)?;
    let of = |name: Metric, write: fn(f64) -> String| metric(cell, name).map(|found| figure(found, write));
    let cpu = [(Metric::SenderCpuPerMessageNs, "sender"), (Metric::ReceiverCpuPerMessageNs, "receiver")];
    let cpu: Vec<String> = cpu.into_iter().filter_map(|(name, end)| Some(format!("{} {end}", of(name, number::time)?))).collect();
    let mut parts = Vec::new();
    if group.test.is_stream() {
        match cpu.as_slice() {
            [] => parts.extend(of(Metric::TimePerMessageNs, number::time)),
            cpu => parts.push(cpu.join(", ")),
        }
        parts.extend(bytes(group));
        let lost = metric(cell, Metric::LossShare).map(|found| found.value).filter(|share| *share >= LOST);
        parts.extend(lost.map(|share| format!("{} lost", number::percent(share))));
    } else {
        parts.extend(round_trip(cell));
    }
    let size = number::whole(cell.cell.size.get());
    (!parts.is_empty()).then(|| format!("{} {size} B: {}", group.name, parts.join("; ")))
}

/// A figure with its interval: `1.93 µs ±1.2%`, or both ends where they are far apart.
fn figure(found: &Estimate, write: fn(f64) -> String) -> String {
    match found.half_width() {
        Some(reach) if reach > interval::WIDE => interval::short_range(found, write),
        _ => format!("{} {}", write(found.value), interval::plus_minus(found)),
    }
}

fn round_trip(cell: &CellResult) -> Option<String> {
    let times = cell.latency.as_ref();
    let median = percentile(times, 50.0).map(|found| &found.estimate).or_else(|| metric(cell, Metric::RoundTripP50Ns))?;
    let tail = percentile(times, 99.0).map_or(String::new(), |found| format!(", p99 {}", interval::narrow_time(Some(found))));
    Some(format!("round trip {}{tail}", figure(median, number::time)))
}

/// What a byte adds at the sender, where a line holds.
fn bytes(group: &Group) -> Option<String> {
    match &group.model(Quantity::SenderCpu)?.outcome {
        FitOutcome::Fitted(fit) => pieces(fit),
        FitOutcome::NotALine { .. } => None,
    }
}

fn pieces(fit: &Fit) -> Option<String> {
    let piece = |(place, piece): (usize, &analysis::result::Piece)| {
        let byte = piece.terms.iter().find(|entry| entry.term == Term::Byte && entry.is_shown())?;
        let from = place.checked_sub(1).and_then(|before| fit.breakpoints.get(before));
        let from = from.map_or(String::new(), |point| format!(" from {} B on ({})", number::whole(point.before.get()), threshold(point)));
        Some(format!("+{} ns/B{from}", number::significant(byte.estimate.value, 2)))
    };
    let pieces: Vec<String> = fit.pieces.iter().enumerate().filter_map(piece).collect();
    (!pieces.is_empty()).then(|| pieces.join(", "))
}
