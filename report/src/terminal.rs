//! A run's report in a terminal: tables, the cost model in words, every doubt.

use analysis::result::Analysis;

pub use crate::sinks::terminal::{Style, render as document};
use crate::studies::receipt::Flames;
use crate::{assembly, sinks};

/// The whole answer of a run; ends with a newline.
pub fn render(analysis: &Analysis, style: Style) -> String {
    sinks::terminal::render(&assembly::document(analysis, &Flames::default()), style)
}
