//! 2007, Bidulock: three implementations of UDP over loopback on five kernels.

use super::read::csv::SweepRow;
use super::sweep::{Series, SizePoint};

/// The published tables.
pub const TABLES: &str = include_str!("../../reference/bidulock2007/udp_loopback.csv");

/// Rows as series, those of one table and one implementation together.
pub fn series(rows: &[SweepRow]) -> Vec<Series> {
    Series::from_points(rows.iter().map(|row| {
        let group = format!("table {}, {}, {}, {}", row.table, row.host, row.distribution, row.kernel);
        let (messages_per_s, sent) = (row.received / row.seconds, row.sent / row.seconds);
        (group, row.implementation.clone(), false, SizePoint { bytes: row.bytes, messages_per_s, sent_per_s: Some(sent) })
    }))
}

/// Contradictions in rows of this kind.
pub fn inconsistencies(rows: &[SweepRow]) -> Vec<String> {
    let more: Vec<&SweepRow> = rows.iter().filter(|row| row.received > row.sent).collect();
    if more.is_empty() {
        return Vec::new();
    }
    let by_one = more.iter().filter(|row| row.received - row.sent == 1.0).count();
    vec![format!(
        "{} of {} rows have more messages received than sent, {} of them by exactly one: the receiver counts one message that is none of the sender's",
        more.len(),
        rows.len(),
        if by_one == more.len() { "all".to_owned() } else { by_one.to_string() }
    )]
}
