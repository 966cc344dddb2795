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
//!
//! Cells that are compared with a base level have rows such as `load_throughput_ratio` and
//! `load_loss_difference`, by the condition and the figure; cells with a count of their own
//! have `total_ns` and `spread_share`.
//!
//! Of a map of buffers each pair has besides `segments_in_flight` (the most that
//! were seen under way, the median over trials), `segments_per_ack`, `wire_bit_per_s`,
//! and over a relay `model_bit_per_s` and `goodput_over_model`.
//!
//! Of receipts there are rows of their own, `sender_layer_tcp_ns` and the like; `n` is their number of
//! time passes. Routines and calls are in the JSON alone: they would be most of the table.

use analysis::result::buffers::BufferCell;
use analysis::result::receipt::CellReceipt;
use analysis::result::{Analysis, CellResult, Estimate, Latency, Metric};
use attribution::{Figure, Receipt, Row};
use model::Cell;

use crate::interval;

/// Of every interval of a receipt.
const CONFIDENCE: f64 = 0.95;

const HEADER: [&str; 12] = ["series", "test", "family", "api", "size", "metric", "value", "low", "high", "confidence", "method", "n"];

/// The table, with a line of names first. Lines end with `\n`.
pub fn render(analysis: &Analysis) -> String {
    let mut table = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail, and every row has as many fields as the header.
    let _ = table.write_record(HEADER);
    for cell in &analysis.cells {
        for (metric, estimate) in metrics(cell) {
            let _ = table.write_record(row(&cell.cell, &metric, &Figures::of(&estimate)));
        }
    }
    for (place, metric, estimate) in studies(analysis) {
        if let Some(cell) = analysis.cells.get(place) {
            let _ = table.write_record(row(&cell.cell, &metric, &Figures::of(&estimate)));
        }
    }
    for cell in &analysis.cells {
        let known = analysis.buffers().iter().find_map(|map| map.place_of(&cell.cell).map(|place| &map.cells[place]));
        for (metric, estimate) in known.into_iter().flat_map(|known| of_buffers(known, cell.trials)) {
            let _ = table.write_record(row(&cell.cell, metric, &Figures::of(&estimate)));
        }
    }
    for cell in analysis.receipt().into_iter().flat_map(|study| &study.cells) {
        for (metric, figures) in receipts(cell) {
            let _ = table.write_record(row(&cell.cell, &metric, &figures));
        }
    }
    table.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// What levels and counts add to their cells: the place of each, a name and a figure.
fn studies(analysis: &Analysis) -> Vec<(usize, String, Estimate)> {
    let mut rows = Vec::new();
    for factor in analysis.levels().into_iter().flat_map(|study| &study.factors) {
        for level in factor.series.iter().flat_map(|series| series.levels.iter().skip(1)) {
            for (compared, figure) in &level.figures {
                let kind = if compared.is_difference() { "difference" } else { "ratio" };
                let name = format!("{}_{}_{kind}", factor.factor, compared.name());
                let known = level.cells.iter().zip(&figure.by_size).filter_map(|(place, figure)| Some(((*place)?, figure.against_base?)));
                rows.extend(known.map(|(place, estimate)| (place, name.clone(), estimate)));
            }
        }
    }
    for count in analysis.repetitions().into_iter().flat_map(|study| &study.series).flat_map(|series| &series.counts) {
        rows.extend(count.total_ns.map(|total| (count.cell, "total_ns".to_owned(), total)));
        rows.extend(count.spread.map(|spread| (count.cell, "spread_share".to_owned(), spread)));
    }
    rows
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

/// What a map of buffers says of a cell besides its metrics.
fn of_buffers(cell: &BufferCell, n: usize) -> Vec<(&'static str, Estimate)> {
    let plain = |value: f64| Estimate { value, interval: None, n };
    let known = [
        ("segments_in_flight", cell.in_flight.map(plain)),
        ("segments_per_ack", cell.segments_per_ack.map(plain)),
        ("wire_bit_per_s", cell.wire_bit_per_s.map(plain)),
        ("model_bit_per_s", cell.predicted.map(|model| plain(model.bit_per_s))),
        ("goodput_over_model", cell.predicted.map(|model| model.ratio)),
    ];
    known.into_iter().filter_map(|(name, figure)| Some((name, figure?))).collect()
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

/// A figure as a row has it.
struct Figures {
    value: f64,
    ends: Option<[f64; 2]>,
    confidence: f64,
    method: &'static str,
    n: usize,
}

impl Figures {
    fn of(estimate: &Estimate) -> Self {
        let interval = estimate.interval;
        Self {
            value: estimate.value,
            ends: interval.map(|ends| [ends.low, ends.high]),
            confidence: interval.map_or(0.0, |ends| ends.confidence),
            method: interval.map_or("", |ends| interval::method_name(ends.method)),
            n: estimate.n,
        }
    }

    fn of_receipt(figure: &Figure, n: usize) -> Self {
        Self { value: figure.value, ends: figure.interval, confidence: CONFIDENCE, method: "student", n }
    }
}

/// What a cell's receipts say: `sender_category_data-movement_ns`,
/// `receiver_layer_tcp_ns`, `sender_not_sampled_ns`, ...
fn receipts(cell: &CellReceipt) -> Vec<(String, Figures)> {
    cell.receipts().flat_map(|receipt| of_receipt(cell, receipt)).collect()
}

fn of_receipt(cell: &CellReceipt, receipt: &Receipt) -> Vec<(String, Figures)> {
    let arm = cell.arm.as_ref().map_or(String::new(), |arm| format!("{arm}_"));
    let name = |what: &str| format!("{arm}{}_{what}_ns", receipt.role);
    let figure = |what: &str, figure: &Figure| (name(what), Figures::of_receipt(figure, receipt.passes));
    let mut rows: Vec<(String, Figures)> = Vec::new();
    rows.extend(kind("category", &receipt.categories).map(|(key, ns)| figure(&key, &ns)));
    rows.extend(kind("layer", &receipt.layers).map(|(key, ns)| figure(&key, &ns)));
    let known = [
        ("touching_payload", Some(receipt.touching.ns)),
        ("not_sampled", Some(receipt.not_sampled)),
        ("receipt_cpu", Some(receipt.cpu)),
        ("switching", receipt.switching),
        ("charged", receipt.charged),
        ("runnable", receipt.runnable),
        ("blocked", receipt.blocked),
        ("receipt_wall", Some(receipt.wall)),
    ];
    rows.extend(known.into_iter().filter_map(|(what, ns)| Some(figure(what, &ns?))));
    rows
}

fn kind<'a, K: std::fmt::Display>(kind: &'a str, rows: &'a [Row<K>]) -> impl Iterator<Item = (String, Figure)> + 'a {
    rows.iter().map(move |row| (format!("{kind}_{}", row.key), row.ns))
}

fn row(cell: &Cell, metric: &str, figures: &Figures) -> [String; 12] {
    let number = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
    let end = |place: usize| figures.ends.map_or(String::new(), |ends| number(ends[place]));
    [
        cell.series().to_string(),
        cell.test.to_string(),
        cell.family.to_string(),
        cell.api.to_string(),
        cell.size.get().to_string(),
        metric.to_owned(),
        number(figures.value),
        end(0),
        end(1),
        figures.ends.map_or(String::new(), |_| number(figures.confidence)),
        figures.ends.map_or(String::new(), |_| figures.method.to_owned()),
        figures.n.to_string(),
    ]
}
