//! CSV in long form: one row per cell and metric, for any tool that reads tables.
//!
//! | column | meaning |
//! |---|---|
//! | `series` | what the cell shares with all cells but for the message size, such as `TCP_STREAM (nodelay)` |
//! | `test` | netperf's name of the test |
//! | `family` | `ipv4` or `ipv6` |
//! | `api` | how messages reach the kernel |
//! | `size` | message size in bytes |
//! | `metric` | what the figure is; its unit is the end of its name (`_ns`, `_per_s`, `_share`: 1 is all) |
//! | `value` | the figure |
//! | `low`, `high` | the ends of its interval; empty when there is none |
//! | `confidence` | the coverage that the interval attains, 0 to 1; of a bootstrap the nominal one |
//! | `method` | `order_statistics`, `block_bootstrap` or `randomisation` |
//! | `n` | trials (or blocks) behind the figure |
//!
//! Metrics are those of [`Metric`]. A request/response cell has besides, of
//! the round trips of all its trials merged: `merged_round_trip_p50_ns`,
//! `..._p90_ns`, `..._p99_ns`, `..._p99_9_ns`, and without interval
//! `merged_round_trip_min_ns`, `merged_round_trip_max_ns` and
//! `merged_round_trip_transactions`. With the same ends `merged_uncorrected_...` are
//! round trips from the actual time of each request, `merged_lateness_...` how
//! late sends of a schedule began, `merged_beyond_least_...` how much longer than
//! the shortest stamped datagrams took. A figure that is not a number is empty.

use analysis::result::{Analysis, CellResult, Estimate, Latency, Metric};

use crate::interval;

const HEADER: [&str; 12] = ["series", "test", "family", "api", "size", "metric", "value", "low", "high", "confidence", "method", "n"];

/// The table, with a line of names first. Lines end with `\n`.
pub fn render(analysis: &Analysis) -> String {
    let mut table = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail, and every row has as many fields as the header.
    let _ = table.write_record(HEADER);
    for cell in &analysis.cells {
        for (metric, estimate) in metrics(cell) {
            let _ = table.write_record(row(cell, &metric, &estimate));
        }
    }
    table.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn metrics(cell: &CellResult) -> Vec<(String, Estimate)> {
    let known = Metric::ALL.iter().filter_map(|metric| Some((metric.name().to_owned(), *cell.metrics.get(metric)?)));
    let times = [
        ("round_trip", &cell.latency),
        ("uncorrected", &cell.uncorrected),
        ("lateness", &cell.lateness),
        ("beyond_least", &cell.beyond_least),
    ];
    known.chain(times.into_iter().flat_map(|(name, times)| times.iter().flat_map(|times| latency(name, times)))).collect()
}

fn latency(name: &str, latency: &Latency) -> Vec<(String, Estimate)> {
    let mut rows: Vec<_> = latency
        .percentiles
        .iter()
        .map(|entry| (format!("merged_{name}_p{}_ns", entry.percent.to_string().replace('.', "_")), entry.estimate))
        .collect();
    let plain =
        |value: u64| Estimate { value: value as f64, interval: None, n: usize::try_from(latency.transactions).unwrap_or(usize::MAX) };
    rows.push((format!("merged_{name}_min_ns"), plain(latency.min_ns)));
    rows.push((format!("merged_{name}_max_ns"), plain(latency.max_ns)));
    rows.push((
        format!("merged_{name}_{}", if matches!(name, "round_trip" | "uncorrected") { "transactions" } else { "messages" }),
        plain(latency.transactions),
    ));
    rows
}

fn row(cell: &CellResult, metric: &str, estimate: &Estimate) -> [String; 12] {
    let number = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
    let interval = estimate.interval;
    [
        cell.cell.series().to_string(),
        cell.cell.test.to_string(),
        cell.cell.family.to_string(),
        cell.cell.api.to_string(),
        cell.cell.size.get().to_string(),
        metric.to_owned(),
        number(estimate.value),
        interval.map_or(String::new(), |ends| number(ends.low)),
        interval.map_or(String::new(), |ends| number(ends.high)),
        interval.map_or(String::new(), |ends| number(ends.confidence)),
        interval.map_or(String::new(), |ends| interval::method_name(ends.method).to_owned()),
        estimate.n.to_string(),
    ]
}
