//! Turns an analysis into something to read: text, HTML, JSON, CSV.
//!
//! Every output is a pure function of one [`analysis::result::Analysis`], or of
//! one trial ([`oneshot`]), so
//! that it can be tested against a golden file. Nothing here measures, reads a
//! run directory or prints.
//!
//! ```text
//! Analysis -> series (what belongs into one table) -> words, number, interval (how it is said) -> an output
//! ```
#![forbid(unsafe_code)]

// What a user asks for.
pub mod csv;
pub mod doctor;
pub mod html;
pub mod json;
pub mod oneshot;
pub mod plan;
pub mod terminal;

pub use studies::{receipt, reference, verdict, workload};

// What the outputs share.
mod assembly;
mod clock;
mod document;
mod figure;
mod interval;
mod number;
mod series;
mod sinks;
mod studies;
mod words;

/// The former names of figures.
#[allow(unused_imports)]
mod chart {
    pub use crate::figure::{Figure as Chart, Panel, SizeAxis, Ticks, Trace, X, escape, placeable};
}
