//! Tables and results from elsewhere: CSV, iperf3's JSON, netperf's omni output.
//!
//! All of it is foreign: lengths and counts have limits, and every refusal says
//! where it is and what to do.

pub mod csv;
pub mod iperf3;
mod json;
pub mod netperf;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use crate::sweep::{Series, SizePoint};

pub use text::decode;

/// The longest file, in bytes.
pub const MOST_BYTES: usize = 4 << 20;

/// The largest message, in bytes.
pub const MOST_MESSAGE: u64 = 1 << 40;

/// More results of one file are not read.
const MOST_RESULTS: usize = 500;

/// Two statements of one figure may differ by so much of the larger.
const SLACK: f64 = 0.01;

/// Tests of one name and size are repetitions while the largest rate is at most this
/// many times the smallest; beyond, that is said.
const SPREAD: f64 = 1.5;

/// A table or result from elsewhere that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// More text than is read.
    #[error("it is longer than {MOST_BYTES} bytes; give fewer rows")]
    TooLong,
    /// Not one row.
    #[error("it holds no figures; it needs a line of column names and at least one row")]
    Empty,
    /// Some columns of the nearest table.
    #[error("the column {missing} is missing; a table of {kind} has the columns {all}")]
    MissingColumns {
        /// Those that are missing, in quotes.
        missing: String,
        /// Subject of that table.
        kind: &'static str,
        /// All of its columns.
        all: String,
    },
    /// A row that CSV does not have.
    #[error("line {line} is no row of this table: {reason}; give it as many fields as the first line, with quotes around commas")]
    NotARow {
        /// The line, from 1.
        line: u64,
        /// The problem.
        reason: String,
    },
    /// A cell that is no figure, or not one that can be.
    #[error("line {line}, column '{column}': '{found}' is {wrong}; {remedy}")]
    BadCell {
        /// The line, from 1.
        line: u64,
        /// The column's name.
        column: &'static str,
        /// The text there, shortened.
        found: String,
        /// The problem.
        wrong: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
    /// More rows than are looked at.
    #[error("it holds more than {0}; give fewer")]
    TooMany(&'static str),
    /// JSON that ends before it is complete.
    #[error("the JSON ends before it is complete (line {line}); the test or its output was cut off: run it again and let it end")]
    Truncated {
        /// The line on which it ends.
        line: usize,
    },
    /// Something that is no JSON.
    #[error("line {line} is no JSON ({reason}); keep the output of `iperf3 -J` as it is")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The parser's message.
        reason: String,
    },
    /// No JSON document at all.
    #[error("{found}; write it with `iperf3 -J`")]
    NoDocument {
        /// What there is instead.
        found: &'static str,
    },
    /// A test that failed.
    #[error("{tool} reports '{message}': nothing was measured; mend that and run it again")]
    Failed {
        /// The tool whose output it is.
        tool: &'static str,
        /// Its message.
        message: String,
    },
    /// A figure that the result has to hold.
    #[error("{tool}'s {key} is missing or no figure above 0; {remedy}")]
    MissingKey {
        /// The tool whose output it is.
        tool: &'static str,
        /// Its name there.
        key: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// Figures that contradict each other.
    #[error("{tool} counts {what}; such a result cannot be used: run the test again")]
    Contradiction {
        /// The tool whose output it is.
        tool: &'static str,
        /// The contradiction.
        what: String,
    },
}

/// One test of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerResult {
    /// The tool and its test: `iperf3 UDP`.
    pub name: String,
    /// Its messages are transactions.
    pub transactions: bool,
    /// The size and its rates.
    pub point: SizePoint,
    /// Remarks that hold for every test like it.
    pub remarks: Vec<String>,
    /// What is wrong with it or its file.
    pub faults: Vec<String>,
}

/// Tests as series, those of one name together, and their remarks, each once.
pub fn peer_series(results: Vec<PeerResult>) -> (Vec<Series>, Vec<String>) {
    let mut remarks: Vec<String> = results.iter().flat_map(|result| result.remarks.iter().chain(&result.faults).cloned()).collect();
    let mut rates: BTreeMap<(&str, u64), [f64; 2]> = BTreeMap::new();
    for PeerResult { name, point, .. } in &results {
        let [least, most] = rates.entry((name, point.bytes)).or_insert([f64::INFINITY, 0.0]);
        (*least, *most) = (least.min(point.messages_per_s), most.max(point.messages_per_s));
    }
    for ((name, bytes), [least, most]) in rates.into_iter().filter(|(_, [least, most])| *most > least * SPREAD) {
        remarks.push(format!(
            "results of {name} with {bytes} B lie between {least:.0} and {most:.0} messages per second, and their median counts: give \
             tests that differ in more than the size by themselves"
        ));
    }
    remarks.sort();
    remarks.dedup();
    let group = |name: &str| name.split(' ').next().unwrap_or_default().to_owned();
    let transactions: BTreeSet<String> = results.iter().filter(|result| result.transactions).map(|result| result.name.clone()).collect();
    let points = results.into_iter().map(|result| (group(&result.name), result.name, false, result.point));
    let mut series = Series::from_points(points);
    series.iter_mut().for_each(|series| series.transactions = transactions.contains(&series.name));
    (series, remarks)
}

/// The results of a file's tests. Those that cannot be used are left out where there are
/// others, which is said after `faults`, the file's own.
fn every(
    tests: impl ExactSizeIterator<Item = Result<PeerResult, ReadError>>,
    mut faults: Vec<String>,
) -> Result<Vec<PeerResult>, ReadError> {
    let (number, mut results, mut refused) = (tests.len(), Vec::new(), None);
    for (place, test) in tests.enumerate() {
        match test {
            Ok(result) => results.push(result),
            Err(refusal) => {
                faults.push(format!("result {} of {number} was left out: {refusal}", place + 1));
                refused.get_or_insert(refusal);
            }
        }
    }
    match (results.first_mut(), refused) {
        (Some(first), _) => first.faults.extend(faults),
        (None, Some(refusal)) => return Err(refusal),
        (None, None) => {}
    }
    Ok(results)
}

/// Returns whether two statements of one figure are the same within [`SLACK`].
fn agree(one: f64, other: f64) -> bool {
    (one - other).abs() <= SLACK * one.abs().max(other.abs())
}

/// Foreign text in an error: short, and without control characters.
fn shortened(text: &str) -> String {
    let clean = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    let short: String = clean.take(40).collect();
    if text.chars().count() > 40 { short + "…" } else { short }
}
