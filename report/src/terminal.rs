//! A run's report in a terminal: tables, the cost model in words, every doubt.

use analysis::result::Analysis;

use crate::document::{Block, Document};
pub use crate::sinks::terminal::{Style, render as document};
use crate::studies::receipt::Flames;
use crate::{assembly, sinks};

/// The whole answer of a run; ends with a newline.
pub fn render(analysis: &Analysis, style: Style) -> String {
    sinks::terminal::render(&assembly::document(analysis, &Flames::default()), style)
}

/// A sentence alone, broken into lines; ends with a newline.
pub fn sentence(text: &str, style: Style) -> String {
    sinks::terminal::render(&Document::plain("", [Block::Paragraph(text.into())]), style)
}

/// Lines below a title, each broken where it is too long; ends with a newline.
pub fn items(title: &str, lines: &[String], style: Style) -> String {
    sinks::terminal::render(&Document::plain(title, Block::sentences(lines.iter().map(String::as_str))), style)
}
