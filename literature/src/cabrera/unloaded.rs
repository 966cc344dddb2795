//! Appendix B: one test a size on unloaded hosts.

use std::collections::BTreeMap;

use crate::read::csv::UnloadedRow;
use crate::sweep::{Series, SizePoint};

/// Rows as series, a table each.
pub fn series(rows: &[UnloadedRow]) -> Vec<Series> {
    Series::from_points(rows.iter().map(|row| {
        let name = format!("{} {}", row.table, row.protocol.to_uppercase());
        let group = format!("{}, {} to {}", row.hardware, row.sender, row.receiver);
        // The finest of the three printed figures is that in bits.
        let point = SizePoint { bytes: row.bytes, messages_per_s: row.bits_per_s / 8.0 / row.bytes as f64, sent_per_s: None };
        (group, name, row.protocol.eq_ignore_ascii_case("tcp"), point)
    }))
}

/// The numbers of messages that every row allows: its total, in whole seconds
/// cut off, over its time per message, which is rounded. Low above high when no
/// number fits all rows.
pub fn implied_messages(rows: &[UnloadedRow]) -> [f64; 2] {
    let half = 0.000_05;
    let ends =
        rows.iter().map(|row| [row.total_s / (row.s_per_message + half), (row.total_s + 1.0) / (row.s_per_message - half).max(1e-9)]);
    ends.fold([0.0, f64::INFINITY], |all: [f64; 2], row| [all[0].max(row[0]), all[1].min(row[1])])
}

/// The roundest whole number between two: the one that ends with the most zeros.
pub fn roundest([low, high]: [f64; 2]) -> Option<f64> {
    let step = (0..12).rev().map(|power| 10_f64.powi(power));
    step.into_iter().map(|step| (low / step).ceil() * step).find(|number| *number > 0.0 && *number <= high)
}

/// Contradictions in these tables.
pub fn inconsistencies(rows: &[UnloadedRow]) -> Vec<String> {
    let mut all = Vec::new();
    let by_bits = |row: &UnloadedRow| row.bits_per_s / 8.0 / row.bytes as f64;
    let short: Vec<&UnloadedRow> = rows.iter().filter(|row| by_bits(row) - row.messages_per_s >= 1.0).collect();
    if let Some(worst) = short.iter().max_by(|a, b| (by_bits(a) / a.messages_per_s).total_cmp(&(by_bits(b) / b.messages_per_s))) {
        all.push(format!(
            "in {} of {} rows messages/s is lower than bits/s imply, by one or more; most in {} at {} B: {} printed, {:.1} implied",
            short.len(),
            rows.len(),
            worst.table,
            worst.bytes,
            worst.messages_per_s,
            by_bits(worst)
        ));
    }
    all.extend(swapped(rows));
    all
}

/// The same two hosts in both directions.
fn swapped(rows: &[UnloadedRow]) -> Option<String> {
    let key = |row: &UnloadedRow, swap: bool| {
        let ends = if swap { (row.receiver.clone(), row.sender.clone()) } else { (row.sender.clone(), row.receiver.clone()) };
        (row.protocol.clone(), ends, row.bytes)
    };
    let known: BTreeMap<_, &UnloadedRow> = rows.iter().map(|row| (key(row, false), row)).collect();
    let pairs = rows.iter().filter_map(|row| Some((row, *known.get(&key(row, true))?)));
    let ratios: Vec<(f64, &UnloadedRow, &UnloadedRow)> =
        pairs.map(|(row, other)| (row.s_per_message / other.s_per_message, row, other)).filter(|(ratio, ..)| *ratio >= 1.0).collect();
    let (ratio, row, other) = ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "{} and {} are the same hosts with roles exchanged and differ by up to {:.0} % (at {} B: {} and {} ms)",
        row.table,
        other.table,
        (ratio - 1.0) * 100.0,
        row.bytes,
        row.s_per_message * 1e3,
        other.s_per_message * 1e3
    ))
}
