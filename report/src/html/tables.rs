//! The figures: a table a series, and every metric on demand.

use analysis::result::{CellResult, Estimate, Latency, Metric};
use maud::{Markup, html};

use super::summary::limit_words;
use super::{part, scrolling};
use crate::series::{Group, OTHER_TIMES, counts_wakeups, has, lost_any, metric, percentile};
use crate::words::metric::{title, writer};
use crate::words::{self, capital, factor};
use crate::{interval, number};

/// The section with all tables.
pub fn section(groups: &[Group], variants: &[Group]) -> Markup {
    let content = html! {
        p .lead { "Medians of the trials; ± reaches to the farther end of the interval. “Every figure” has both ends and n." }
        div .buttons {
            button type="button" data-save="json" { "Save as JSON" }
            button type="button" data-save="csv" { "Save as CSV" }
        }
        @if groups.is_empty() { p .faint { "Nothing was measured." } }
        (super::cost::coefficients(groups))
        @for group in groups { (of_series(group)) }
        @if !variants.is_empty() {
            details {
                summary { "The " (words::series(variants.len() as u64)) " that are summed up above" }
                @for group in variants { (of_series(group)) }
            }
        }
    };
    part("tables", "Tables", &content)
}

fn of_series(group: &Group) -> Markup {
    html! {
        article .series {
            h3 { (group.name) }
            (scrolling(&format!("{}: the main figures", group.name), &main_table(group)))
            @if let Some(text) = note(group) { p .faint { (text) } }
            details {
                summary { "Every figure of " (group.name) }
                (scrolling(&format!("{}: every figure", group.name), &every(group)))
            }
        }
    }
}

/// A column: its head and what it says of a cell.
type Column = (&'static str, Box<dyn Fn(&CellResult) -> Markup>);

fn main_table(group: &Group) -> Markup {
    let columns = if group.test.is_stream() { stream(group) } else { round_trip(group) };
    html! {
        table {
            caption .hidden { (group.name) ": the main figures by message size" }
            thead { tr { th scope="col" { "Size, B" } @for (head, _) in &columns { th scope="col" { (head) } } } }
            tbody {
                @for cell in &group.cells {
                    tr {
                        th scope="row" { (number::whole(cell.cell.size.get())) }
                        @for (_, write) in &columns { td { (write(cell)) } }
                    }
                }
            }
        }
    }
}

fn stream(group: &Group) -> Vec<Column> {
    let mut columns = vec![of("Messages/s", Metric::MessagesPerS)];
    columns.extend(lost_any(group).then(|| of("Sent/s", Metric::SentMessagesPerS)));
    columns.extend([of("Goodput", Metric::GoodputBitPerS), of("Time/message", Metric::TimePerMessageNs)]);
    if has(group, Metric::BackGoodputBitPerS) {
        columns.push(of("Goodput back", Metric::BackGoodputBitPerS));
    } else {
        columns.push(of("Sender CPU/message", Metric::SenderCpuPerMessageNs));
        columns.push(of("Receiver CPU/message", Metric::ReceiverCpuPerMessageNs));
    }
    columns.extend(known(group, PACED_AND_STAMPED));
    if counts_wakeups(group) {
        columns.push(of("Wake-ups/message", Metric::ReceiverWakeupsPerMessage));
    }
    columns.extend(known(group, &[("Lost", Metric::LossShare)]));
    // The page has room for so many; all are among "every figure".
    if columns.len() < 7 {
        columns.extend(known(group, &[("Frames/message", Metric::FramesPerMessage)]));
    }
    columns.push(("Limit", Box::new(|cell| html! { (limit_words(cell)) })));
    columns
}

fn round_trip(group: &Group) -> Vec<Column> {
    let mut columns = vec![of("Transactions/s", Metric::MessagesPerS)];
    for (head, percent) in [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)] {
        columns.push((head, Box::new(move |cell| short(percentile(cell.latency.as_ref(), percent), number::time))));
    }
    columns.push(of("Sender CPU/transaction", Metric::SenderCpuPerMessageNs));
    columns.push(of("Receiver CPU/transaction", Metric::ReceiverCpuPerMessageNs));
    columns.extend(known(group, PACED_AND_STAMPED));
    columns.extend(known(group, &[("Lost", Metric::LossShare)]));
    columns
}

/// Columns of cells on a wire, with a rate, and with stamps.
const PACED_AND_STAMPED: &[(&str, Metric)] = &[
    ("Link's limit", Metric::LimitBitPerS),
    ("Of it", Metric::LimitShare),
    ("Offered/s", Metric::OfferedMessagesPerS),
    ("Not in time", Metric::BehindShare),
    ("Jitter", Metric::JitterNs),
];

/// What a series leaves out, and why.
fn note(group: &Group) -> Option<&'static str> {
    if has(group, Metric::BackGoodputBitPerS) {
        Some("Both ends sent: nothing says which way an end's CPU time went, so CPU per message is left out.")
    } else if group.cells.iter().any(|cell| factor::spins(&cell.cell)) {
        Some("A sender that spins until a message's time has come has no CPU per message: the time is the waiting's.")
    } else {
        None
    }
}

fn of(head: &'static str, name: Metric) -> Column {
    (head, Box::new(move |cell| short(metric(cell, name), writer(name))))
}

/// Columns that some cell has figures for.
fn known(group: &Group, columns: &[(&'static str, Metric)]) -> Vec<Column> {
    let some = |name: Metric| group.cells.iter().any(|cell| metric(cell, name).is_some());
    columns.iter().filter(|(_, name)| some(*name)).map(|(head, name)| of(head, *name)).collect()
}

fn short(estimate: Option<&Estimate>, write: fn(f64) -> String) -> Markup {
    html! {
        @match estimate {
            None => span .faint { (number::NOTHING) },
            Some(estimate) => span title={ (interval::range(estimate, write)) ", n = " (estimate.n) } {
                (write(estimate.value)) " " span .margin { (interval::plus_minus(estimate)) }
            },
        }
    }
}

/// Metrics down, sizes across.
fn every(group: &Group) -> Markup {
    html! {
        table .every {
            caption .hidden { (group.name) ": every figure by message size" }
            thead { tr { th scope="col" { "Size, B" } @for cell in &group.cells { th scope="col" { (number::whole(cell.cell.size.get())) } } } }
            tbody {
                tr { th scope="row" { "Trials" } @for cell in &group.cells { td { (cell.trials) } } }
                @for name in Metric::ALL {
                    @if group.cells.iter().any(|cell| cell.metrics.contains_key(name)) {
                        tr { th scope="row" { (title(*name)) } @for cell in &group.cells { td { (full(metric(cell, *name), writer(*name))) } } }
                    }
                }
                (times(group, "Round trip", |cell| cell.latency.as_ref()))
                @for (name, of) in OTHER_TIMES { (times(group, &capital(name), of)) }
            }
        }
    }
}

/// The merged times of one kind.
fn times(group: &Group, name: &str, of: fn(&CellResult) -> Option<&Latency>) -> Markup {
    let percents = [50.0, 90.0, 99.0, 99.9];
    let latencies = || group.cells.iter().map(|cell| of(cell));
    html! {
        @if latencies().any(|latency| latency.is_some()) {
            @for percent in percents {
                tr {
                    th scope="row" { (name) " p" (percent) ", merged" }
                    @for latency in latencies() { td { (full(percentile(latency, percent), number::time)) } }
                }
            }
            tr {
                th scope="row" { "Shortest and longest" }
                @for latency in latencies() {
                    td { @if let Some(l) = latency { (number::time(l.min_ns as f64)) small { (number::time(l.max_ns as f64)) } } }
                }
            }
            tr {
                th scope="row" { (if name == "Round trip" { "Transactions" } else { "Number of them" }) }
                @for latency in latencies() { td { @if let Some(l) = latency { (number::whole(l.transactions)) } } }
            }
        }
    }
}

fn full(estimate: Option<&Estimate>, write: fn(f64) -> String) -> Markup {
    html! {
        @match estimate {
            None => span .faint { (number::NOTHING) },
            Some(estimate) => {
                (write(estimate.value))
                small { (interval::range(estimate, write)) }
                @if estimate.interval.is_some() { small { "n = " (estimate.n) } }
            },
        }
    }
}
