//! The maths of nettoll: pure functions from trial records to what they show.
//!
//! ```text
//! TrialRecord -> audit: is it sound? -> stopping: is it enough?
//! TrialRecord -> Collector: figures, latency, conservation, findings
//!             -> medians | cost models | roles -> Analysis
//! ```
#![forbid(unsafe_code)]

pub mod audit;
pub mod expectation;
pub mod receipt;
pub mod stopping;

mod collector;
pub mod conservation;
mod figures;
mod findings;
mod latency;

pub mod single;

mod cost;
mod roles;
pub mod stats;

pub mod result;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use collector::Collector;
pub use result::Analysis;
