//! A run's report as one page that holds everything: text, charts, script, data.

use analysis::result::Analysis;

use crate::studies::receipt::{self, Flames, Sink};
use crate::{assembly, csv, json, sinks};

/// The whole page, without flame graphs.
pub fn render(analysis: &Analysis) -> String {
    render_with(analysis, &Flames::default())
}

/// The whole page.
pub fn render_with(analysis: &Analysis, flames: &Flames) -> String {
    let mut document = assembly::document(analysis, Sink::Page(flames));
    document.data = vec![("analysis", receipt::held::json(analysis)), ("csv", json::compact(&csv::render(analysis)))];
    sinks::html::render(&document)
}
