//! A run's report in a terminal: tables, the cost model in words, every doubt.

use analysis::result::Analysis;

pub use crate::sinks::terminal::Style;
use crate::studies::receipt::Sink;
use crate::{assembly, sinks};

/// The whole answer; ends with a newline.
pub fn render(analysis: &Analysis, style: Style) -> String {
    sinks::terminal::render(&assembly::document(analysis, Sink::Terminal(style.columns())), style)
}
