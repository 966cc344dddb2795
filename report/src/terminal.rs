//! A run's report in a terminal: tables, the cost model in words, every doubt.

use analysis::result::Analysis;

use crate::sinks::terminal::Page;
pub use crate::sinks::terminal::Style;
use crate::studies::receipt;
use crate::{assembly, sinks};

/// The whole answer; ends with a newline.
pub fn render(analysis: &Analysis, style: Style) -> String {
    let mut page = Page::new(style);
    sinks::terminal::document(&mut page, &assembly::document(analysis, None));
    if let Some(study) = analysis.receipt() {
        receipt::terminal::receipts(&mut page, study);
    }
    page.finish()
}
