//! A run's report as one page that holds everything: text, charts, script, data.

use analysis::result::Analysis;
use attribution::exact::Timed;

use crate::studies::microscope;
use crate::studies::receipt::{self, Flames};
use crate::{assembly, csv, json, sinks};

pub use crate::sinks::html::render as document;

/// The whole page, without flame graphs.
pub fn render(analysis: &Analysis) -> String {
    render_with(analysis, &Flames::default())
}

/// The whole page.
pub fn render_with(analysis: &Analysis, flames: &Flames) -> String {
    render_timed(analysis, flames, &[])
}

/// The whole page, with time next to instructions where both are known.
pub fn render_timed(analysis: &Analysis, flames: &Flames, timed: &[Timed]) -> String {
    let mut document = assembly::document(analysis, flames);
    document.sections.extend(microscope::timed_section(timed));
    document.data = vec![("analysis", receipt::held::json(analysis)), ("csv", json::compact(&csv::render(analysis)))];
    sinks::html::render(&document)
}
