//! The maths of nettoll: pure functions from trial records to what they show.
//!
//! ```text
//! TrialRecord -> audit: is it sound? -> stopping: is it enough?
//! TrialRecord -> Collector: figures, latency, conservation, findings
//!             -> medians | cost models | roles | levels | ... -> Analysis
//! ```
#![forbid(unsafe_code)]

pub mod audit;
pub mod between;
pub mod expectation;
pub mod receipt;
pub mod stopping;
pub mod verdict;
pub mod workload;

mod arms;
mod buffers;
mod collector;
pub mod conservation;
mod figures;
mod findings;
mod latency;
mod levels;
mod paths;
mod points;

pub mod single;

mod cost;
pub mod open_loop;
pub mod published;
pub mod repetitions;
mod roles;

pub mod result;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use collector::Collector;
pub use result::Analysis;
