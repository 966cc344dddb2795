//! The maths of nettoll: pure functions from trial records to results.
//!
//! ```text
//! TrialRecord -> audit: doubts -> stopping: enough blocks?
//! TrialRecord -> metric table: Figures -> TrialTable -> studies -> Analysis
//!                Analysis + exact counts -> exact: time next to instructions
//!                TrialTable of two arms, or of two runs -> verdict::Sides -> verdicts
//! every result -> answer: headline, grade, next command
//! ```
#![forbid(unsafe_code)]

pub mod advice;
pub mod agreement;
pub mod answer;
pub mod attached;
pub mod audit;
pub mod comparable;
pub mod conservation;
pub mod cost;
pub mod duration;
pub mod exact;
pub mod fleet;
pub mod history;
pub mod proof;
pub mod ranking;
pub mod result;
pub mod runs;
pub mod single;
pub mod stopping;
pub mod studies;
pub mod table;
pub mod top;
pub mod variance;
pub mod verdict;
pub mod workload;

mod cells;
mod collector;
mod confidence;
mod ends;
mod figures;
mod findings;
mod grouping;
mod json;
mod latency;
mod metric;
mod paths;
mod timeline;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use collector::Collector;
pub use figures::Figures;
pub use grouping::group_by;
pub use studies::{Analysis, open_loop, published, receipt, repetitions};
pub use verdict::woven;
