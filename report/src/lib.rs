//! Turns an analysis into text, HTML, Markdown, JSON and CSV.
//!
//! Every output is a pure function of one [`analysis::result::Analysis`], or of
//! one trial ([`oneshot`]), so that it can be tested against a golden file.
//! Nothing here measures, reads a run directory or prints.
//!
//! ```text
//! number, interval, words <- document <- series, studies <- assembly <- terminal, html
//!                                     <- sinks
//! ```
//!
//! `studies` turn results into sections of a `document`, `assembly` puts the
//! sections of a run in order, `sinks` show a document.
#![forbid(unsafe_code)]

// What a user asks for.
pub mod advice;
pub mod columns;
pub mod doctor;
pub mod html;
pub mod oneshot;
pub mod plan;
pub mod preview;
pub mod proof;
pub mod show;
pub mod terminal;
pub mod top;

pub use assembly::arms_as_markdown;
pub use document::Document;
pub use sinks::{benchstat, csv, events, json, markdown};
pub use studies::setup::settings as plan_settings;
pub use studies::{attached, history, microscope, papers, receipt, reference, verdict, workload};

// What the outputs share.
mod assembly;
mod clock;
mod document;
mod interval;
mod like;
mod number;
mod origin;
mod series;
mod sinks;
mod studies;
mod words;
