//! Which columns a series has in a terminal.

use analysis::result::{CellResult, Metric};

use super::table::Column;
use crate::interval::plus_minus;
use crate::number::{self, NOTHING, tight};
use crate::series::{Group, Kind, OTHER_TIMES, counts_wakeups, has, limit, lost_any, metric, percentile};

/// The tables of a series: one for a stream, round trips and costs for
/// request/response.
pub fn of(group: &Group) -> Vec<Vec<Column>> {
    let mut tables = if group.test.is_stream() { vec![stream(group)] } else { vec![round_trips(group), costs(group)] };
    tables.extend(OTHER_TIMES.iter().filter_map(|kind| times(group, *kind)));
    tables.extend(schedule(group));
    tables.extend(stamps(group));
    tables
}

/// Percentiles of a kind of times, where any cell has them.
fn times(group: &Group, (name, of): Kind) -> Option<Vec<Column>> {
    group.cells.iter().any(|cell| of(cell).is_some()).then(|| {
        let mut columns = vec![size(group)];
        for (keep, percent, head) in [(9, 50.0, "p50"), (8, 90.0, "p90"), (9, 99.0, "p99"), (6, 99.9, "p99.9")] {
            let cells = group.cells.iter().map(|cell| measured(percentile(of(cell), percent), number::time)).collect();
            columns.push(Column::measured(keep, [name, head], cells));
        }
        columns
    })
}

/// What was offered and what of it was sent, where a rate was asked for.
fn schedule(group: &Group) -> Option<Vec<Column>> {
    has(group, Metric::OfferedMessagesPerS).then(|| {
        vec![
            size(group),
            value(group, 9, ["", "offered/s"], Metric::OfferedMessagesPerS, number::count),
            both(group, 9, ["", "sent/s"], Metric::SentMessagesPerS, number::count),
            value(group, 9, ["", "not in time"], Metric::BehindShare, number::percent),
        ]
    })
}

/// What stamped datagrams tell of their way.
fn stamps(group: &Group) -> Option<Vec<Column>> {
    has(group, Metric::JitterNs).then(|| {
        vec![
            size(group),
            both(group, 9, ["", "jitter"], Metric::JitterNs, number::time),
            value(group, 9, ["", "out of order"], Metric::ReorderedShare, number::percent),
            both(group, 9, ["", "shortest way"], Metric::LeastWayNs, number::time),
            value(group, 9, ["clock", "error"], Metric::ClockErrorNs, number::time),
        ]
    })
}

fn stream(group: &Group) -> Vec<Column> {
    let mut columns = vec![size(group), both(group, 9, ["", "messages/s"], Metric::MessagesPerS, number::count)];
    // The receiver's figure is the result; where they differ, the sender's stands beside it.
    columns.extend(lost_any(group).then(|| value(group, 8, ["", "sent/s"], Metric::SentMessagesPerS, number::count)));
    columns.push(value(group, 8, ["", "bit/s"], Metric::GoodputBitPerS, number::count));
    columns.extend(
        has(group, Metric::BackGoodputBitPerS).then(|| value(group, 9, ["", "back bit/s"], Metric::BackGoodputBitPerS, number::count)),
    );
    columns.extend(has(group, Metric::LimitShare).then(|| value(group, 9, ["of link's", "limit"], Metric::LimitShare, number::percent)));
    columns.push(value(group, 7, ["", "time"], Metric::TimePerMessageNs, number::time));
    // Of both ways there is no CPU per message; a column of dashes says nothing.
    if has(group, Metric::ReceiverCpuPerMessageNs) || !has(group, Metric::BackGoodputBitPerS) {
        columns.extend(cpu(group, ["CPU/message", "sender"], ["CPU/message", "receiver"]));
    }
    columns.extend(loss(group, "loss"));
    columns.push(limits(group));
    columns.extend(extras(group));
    columns
}

fn round_trips(group: &Group) -> Vec<Column> {
    let mut columns = vec![size(group), both(group, 9, ["transactions", "/s"], Metric::MessagesPerS, number::count)];
    for (keep, percent, name) in [(9, 50.0, "p50"), (8, 90.0, "p90"), (9, 99.0, "p99"), (6, 99.9, "p99.9")] {
        let cells = group.cells.iter().map(|cell| measured(percentile(cell.latency.as_ref(), percent), number::time)).collect();
        columns.push(Column::measured(keep, ["round trip", name], cells));
    }
    columns
}

fn costs(group: &Group) -> Vec<Column> {
    let mut columns = vec![size(group)];
    columns.extend(cpu(group, ["CPU/transaction", "sender"], ["CPU/transaction", "receiver"]));
    columns.extend(loss(group, "lost"));
    columns.push(limits(group));
    columns.extend(extras(group));
    columns
}

fn size(group: &Group) -> Column {
    Column::figures(9, ["", "size"], group.cells.iter().map(|cell| cell.cell.size.get().to_string()).collect())
}

fn cpu(group: &Group, sender: [&'static str; 2], receiver: [&'static str; 2]) -> [Column; 2] {
    [
        both(group, 9, sender, Metric::SenderCpuPerMessageNs, number::time),
        both(group, 9, receiver, Metric::ReceiverCpuPerMessageNs, number::time),
    ]
}

/// Only where something can be lost.
fn loss(group: &Group, head: &'static str) -> Option<Column> {
    let known = group.cells.iter().any(|cell| metric(cell, Metric::LossShare).is_some());
    known.then(|| value(group, 8, ["", head], Metric::LossShare, number::percent))
}

fn limits(group: &Group) -> Column {
    Column::words(6, ["", "limit"], group.cells.iter().map(|cell| limit(cell.limit).to_owned()).collect())
}

/// For wide terminals.
fn extras(group: &Group) -> Vec<Column> {
    let figure = |value: f64| number::significant(value, 2);
    let all = [
        // A figure that a cost model is made of has to be seen.
        (
            if counts_wakeups(group) { 8 } else { 5 },
            ["wake-ups", "/message"],
            Metric::ReceiverWakeupsPerMessage,
            figure as fn(f64) -> String,
        ),
        (4, ["frames", "/message"], Metric::FramesPerMessage, figure),
        (3, ["host CPU", "/message"], Metric::HostCpuPerMessageNs, number::time),
        (2, ["", "resent"], Metric::Retransmits, number::count),
    ];
    let known = all.into_iter().filter(|(_, _, name, _)| group.cells.iter().any(|cell| metric(cell, *name).is_some()));
    known.map(|(keep, head, name, write)| both(group, keep, head, name, write)).collect()
}

fn value(group: &Group, keep: u8, head: [&'static str; 2], name: Metric, write: fn(f64) -> String) -> Column {
    let text = |cell: &&CellResult| metric(cell, name).map_or(NOTHING.to_owned(), |estimate| tight(&write(estimate.value)));
    Column::figures(keep, head, group.cells.iter().map(text).collect())
}

fn both(group: &Group, keep: u8, head: [&'static str; 2], name: Metric, write: fn(f64) -> String) -> Column {
    Column::measured(keep, head, group.cells.iter().map(|cell| measured(metric(cell, name), write)).collect())
}

fn measured(estimate: Option<&analysis::result::Estimate>, write: fn(f64) -> String) -> (String, String) {
    match estimate {
        Some(estimate) => (tight(&write(estimate.value)), plus_minus(estimate)),
        None => (NOTHING.to_owned(), String::new()),
    }
}
