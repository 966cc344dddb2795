//! Meaning of each column of a run's tables, in a terminal and in CSV, from the
//! tables of metrics and of factors, and of the rows of a receipt.

use analysis::result::Metric;

use crate::csv;
use crate::document::{Block, Document, Masthead, Section};

/// Columns of a terminal that are no metric of their own, and marks in them.
const TERMINAL: [(&str, &str); 8] = [
    ("size", "Bytes of payload of one send call; in a request/response test the size of the request and of the answer."),
    (
        "±",
        "Distance of the interval's farther end, as a share of the figure; beyond ±50 % both ends, low–high. ±?: too few trials for an \
         interval. ?: the ends of the interval are more than a factor of two apart.",
    ),
    (
        "limit",
        "The limit of the rate. sender, receiver, both: the CPU of this end was busy for 95 % of the time or more. waiting: neither was. \
         no CPU: an end was ready but another task had its CPU. rate: the sender sent the whole offered rate.",
    ),
    ("transactions/s", "messages_per_s of a request/response test."),
    ("CPU/transaction, CPU/trans.", "The CPU time per message of a request/response test."),
    (
        "round trip p50, p90, p99, p99.9",
        "Percentiles of the round trips of all trials merged. With an offered rate each counts from the intended time of its request.",
    ),
    ("uncorrected", "The same, counted from the time at which each request was sent."),
    ("≥", "Lower bound: requests that were never sent or answered decide the percentile. They count as longer than all others."),
];

/// Rows of a receipt that are no layer and no routine.
const RECEIPT: [(&str, &str); 9] = [
    (
        "on a CPU, unsampled",
        "CPU time of the end that no sample shows: sampling timers fire late, and a timer that is due as the end goes to sleep is lost.",
    ),
    ("billed before it ran", "CPU time that the kernel's clock gives the end after a wake-up, before the end runs its first instruction."),
    ("CPU time", "CPU time of one message at this end, measured in clean passes."),
    ("ready, no CPU", "Time in which the end was ready to run but another task had its CPU."),
    ("asleep", "Time in which the end waited to be woken."),
    (
        "CPU+waits / wall, sampled / on-CPU",
        "Sums of parts over the whole that was measured without sampling; they should be 1. Do not use the rows of a receipt that is \
         far from 1: it is red.",
    ),
    ("idle softirq, in no row", "Softirq work while the end's CPUs were otherwise idle, by samples. It is no part of the end's CPU time."),
    (
        "CPU sampled / not, time pass / clean pass",
        "CPU time with sampling over CPU time without, by slices or by passes; 1: sampling has no effect.",
    ),
    (
        "send, receive, softirq",
        "“receive, softirq” at the sender is work of the other end. If both hosts are one machine, it runs in the sender's call.",
    ),
];

/// Names and what they mean, under a heading.
pub type Meanings = (&'static str, Vec<(String, &'static str)>);

/// Returns the columns of a terminal, the metrics, the rows of a receipt, the columns of the CSV.
pub fn sections() -> [Meanings; 4] {
    let metric = |metric: &Metric| {
        let (name, head) = (metric.name(), metric.column().join(" "));
        (format!("{name}, {}, “{}”", csv::unit(name), head.trim_start()), metric.meaning())
    };
    [
        (
            "Tables in a terminal: a row for each message size",
            TERMINAL.iter().map(|(name, meaning)| ((*name).to_owned(), *meaning)).collect(),
        ),
        ("Metrics: name in CSV and JSON, unit, head of the column in a terminal", Metric::ALL.iter().map(metric).collect()),
        ("Rows of a receipt", RECEIPT.iter().map(|(name, meaning)| ((*name).to_owned(), *meaning)).collect()),
        ("Columns of the CSV: a row for each cell and metric", csv::columns().collect()),
    ]
}

/// Returns the same as a document.
pub fn document() -> Document {
    let section = |(heading, meanings): Meanings| Section::new("", heading, [Block::facts(meanings)]);
    Document::of(Masthead::default(), sections().into_iter().map(section))
}

#[cfg(test)]
mod tests {
    use analysis::result::Metric;
    use model::plan::Factor;

    use super::document;
    use crate::csv;
    use crate::sinks::terminal::{Style, render};

    #[test]
    fn every_metric_and_every_column_has_a_meaning() {
        let text = render(&document(), Style::PLAIN);
        let named = |name: &str| text.lines().any(|line| line.trim_start().split([',', ' ']).next() == Some(name));
        for metric in Metric::ALL {
            assert!(named(metric.name()) && !metric.meaning().is_empty(), "{metric}: {text}");
        }
        for (column, meaning) in csv::columns() {
            assert!(named(&column) && meaning.ends_with('.'), "{column}: {meaning}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    /// A comment for programmers would be shown to users.
    #[test]
    fn meanings_hold_no_links_of_the_code() {
        let metrics = Metric::ALL.iter().map(|metric| metric.meaning());
        for meaning in metrics.chain(Factor::ALL.iter().map(|factor| factor.meaning())) {
            assert!(!meaning.contains("[`") && !meaning.contains("  "), "{meaning}");
        }
    }

    /// Rows of the table under "CSV", each of which names one column or some.
    #[test]
    fn the_format_is_documented_column_by_column() {
        let page = include_str!("../../docs/format.md");
        let section = page.split("\n## CSV").nth(1).unwrap().split("\n\nFind columns").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let mut documented: Vec<&str> = rows.flat_map(|line| line.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)).collect();
        let mut columns: Vec<String> = csv::columns().map(|(name, _)| name).collect();
        documented.sort_unstable();
        columns.sort_unstable();
        assert_eq!(documented, columns);
    }
}
