//! Appendix B: one test a size on unloaded hosts.

use std::collections::BTreeMap;

use crate::read::csv::UnloadedRow;
use crate::statement::Statement;
use crate::sweep::{Series, SeriesResult, SizePoint};

/// The paper's one-byte latencies in ms.
const LATENCIES: [(&str, f64); 4] = [("B1", 5.5), ("B2", 6.1), ("B3", 4.0), ("B4", 4.5)];

/// The text's count of messages in a test.
const STATED_MESSAGES: f64 = 4_000.0;

/// The largest payload of a frame for UDP and TCP without options.
const FRAME: u64 = 1_460;

/// A page of the buffers: from here on a message travels by reference.
const PAGE: u64 = 1_024;

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

/// The paper's statements on these tables, with their rulings.
pub fn statements(rows: &[UnloadedRow], series: &[SeriesResult]) -> Vec<Statement> {
    let mut all: Vec<Statement> = LATENCIES.iter().filter_map(|(table, ms)| latency(rows, table, *ms)).collect();
    all.extend(repetitions(rows));
    for one in series {
        all.extend(page(one));
        all.extend(frame(one));
    }
    all
}

/// The short name of a series: `B1`.
fn table(series: &SeriesResult) -> &str {
    series.name.split(' ').next().unwrap_or_default()
}

fn latency(rows: &[UnloadedRow], table: &str, ms: f64) -> Option<Statement> {
    let row = rows.iter().find(|row| row.table == table && row.bytes == 1)?;
    let found = row.s_per_message * 1e3;
    let about = format!("{table}, {}", row.hardware);
    let statement = Statement::decided(
        format!("latency/{table}"),
        &about,
        format!("a {} message of one byte takes {ms:.1} ms", row.protocol.to_uppercase()),
        (found - ms).abs() < 0.05,
    );
    Some(statement.found(format!("{found:.1} ms"), [found]).rule("the table's time per message is the same to 0.1 ms"))
}

fn repetitions(rows: &[UnloadedRow]) -> Option<Statement> {
    let [low, high] = implied_messages(rows);
    let round = roundest([low, high])?;
    let found = format!(
        "total time over time per message: {:.0} to {:.0} messages fit all {} rows, the only round number among them being {}",
        low.ceil(),
        high.floor(),
        rows.len(),
        round
    );
    let statement = Statement::decided("messages", "appendix B", "a test is of 4,000 messages", (low..=high).contains(&STATED_MESSAGES));
    let statement = statement.found(found, [round, low, high]);
    Some(statement.rule("total_s / s_per_message allows it in every row, the total being cut to whole seconds"))
}

/// The jump at a page.
fn page(series: &SeriesResult) -> Option<Statement> {
    let step = series.steps.iter().find(|step| step.before == PAGE);
    let about = format!("{}, {}", series.name, series.group);
    series.at(PAGE)?;
    let found = step.map_or("no step at 1,024 B".to_owned(), |step| {
        format!("from {} to {} B the time per message is {:.0} % below the line so far", step.after, step.before, -step.departure * 100.0)
    });
    let statement = Statement::decided(
        format!("page/{}", table(series)),
        &about,
        "throughput jumps at 1,024 B, where a message travels as a page, by reference",
        step.is_some_and(|step| step.departure < 0.0),
    );
    Some(statement.found(found, step.map(|step| step.departure)).rule(step_rule("cheaper")))
}

fn step_rule(how: &str) -> String {
    format!("a step to the {how} side: beyond {:.0} % of what the slope of the sizes before gives", crate::steps::LEAST_STEP * 100.0)
}

/// The statement on the largest payload of a frame: TCP, whose segments are
/// of 1,024 B, dips at it; UDP falls beyond it, where it needs fragments.
fn frame(series: &SeriesResult) -> Option<Statement> {
    let udp = !series.tcp;
    let here = series.sizes.iter().position(|size| size.message_bytes == FRAME)?;
    let (from, to) = if udp { (here, here + 1) } else { (here.checked_sub(1)?, here) };
    let (from, to) = (series.sizes.get(from)?, series.sizes.get(to)?);
    let change = to.goodput_bit_per_s / from.goodput_bit_per_s - 1.0;
    let step = series.steps.iter().find(|step| step.before == to.message_bytes && step.departure > 0.0);
    let says = if udp { "UDP's throughput falls past 1,460 B" } else { "TCP's throughput dips at 1,460 B" };
    let found = format!(
        "{:.0} kbit/s at {} B, {:.0} at {} B: {:+.0} %{}",
        from.goodput_bit_per_s / 1e3,
        from.message_bytes,
        to.goodput_bit_per_s / 1e3,
        to.message_bytes,
        change * 100.0,
        step.map_or("; no step".to_owned(), |step| format!("; a step of {:+.0} % in time per message", step.departure * 100.0))
    );
    let statement = Statement::decided(
        format!("frame/{}", table(series)),
        &format!("{}, {}", series.name, series.group),
        says,
        change < 0.0 && step.is_some(),
    );
    Some(statement.found(found, [change]).rule(format!("less throughput than at the size before, and {}", step_rule("dearer"))))
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
