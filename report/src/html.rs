//! A run's report as one page that holds everything: text, charts, script, data.

use analysis::result::Analysis;
use attribution::exact::Timed;
use model::Bytes;

use crate::studies::receipt::{self, Flames};
use crate::studies::{microscope, toll};
use crate::{assembly, csv, json, sinks};

pub use crate::sinks::html::render as document;
pub use crate::studies::toll::NoPicture;

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

/// The picture of one message as a file of its own: of the size asked for, else of the usual one.
///
/// # Errors
/// A run without receipts, or without one of that size; the message names the remedy.
pub fn picture(analysis: &Analysis, size: Option<Bytes>) -> Result<String, NoPicture> {
    toll::one(analysis, size).map(|one| sinks::html::picture_alone(&one))
}
