//! The receipts of a run: where the time of a message goes, as text, as a part
//! of the page, as flame graphs.
//!
//! ```text
//! ReceiptStudy -> words, figure (how it is said) -> blocks -> Document
//!              -> tables of series -> terminal (the sizes that fit) | html (all of them, with flame graphs)
//! ```

mod blocks;
mod figure;
mod words;

mod chart;
pub(crate) mod html;
pub(crate) mod terminal;

mod flame;
pub(crate) mod held;
mod rules;
mod tables;

pub(crate) use blocks::{after, before};
pub use flame::Flames;
pub use rules::render as shares_of_rules;
pub(crate) use words::red;

/// Title of their section.
pub(crate) const TITLE: &str = "Where the time of a message goes";
