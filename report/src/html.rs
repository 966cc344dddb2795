//! A run's report as one page that holds everything: text, charts, script, data.

use analysis::result::receipt::{ReceiptOutcome, ReceiptStudy};
use analysis::result::{Analysis, StudyResult};
use attribution::Row;
use attribution::exact::Timed;
use model::Bytes;

use crate::studies::receipt::Flames;
use crate::studies::{microscope, toll};
use crate::{assembly, csv, json, sinks};

pub use crate::sinks::html::render as document;
pub use crate::studies::toll::NoPicture;

/// Routines of each table; the JSON of `nettoll report -J` has them all.
const MOST_ROUTINES: usize = 120;
/// Significant digits of figures; counts are whole.
const DIGITS: usize = 7;

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
    document.data = vec![("analysis", compact(analysis)), ("csv", json::compact(&csv::render(analysis)))];
    sinks::html::render(&document, &analysis.run.tool)
}

/// The picture of one message as a file of its own: of the size asked for, else of the usual one.
///
/// # Errors
/// A run without receipts, or without one of that size; the message names the remedy.
pub fn picture(analysis: &Analysis, size: Option<Bytes>) -> Result<String, NoPicture> {
    toll::one(analysis, size).map(|one| sinks::html::picture_alone(&one))
}

/// Returns the analysis as JSON on one line; of a run with receipts without most of its bytes, which are
/// routines cell by cell (the costliest of the tables over sizes stay), values pass by pass, and digits
/// far beyond any interval.
fn compact(analysis: &Analysis) -> String {
    if analysis.receipt().is_none() {
        return json::compact(analysis);
    }
    let mut held = analysis.clone();
    for study in &mut held.studies {
        if let StudyResult::Receipt(receipts) = study {
            shorten(receipts);
        }
    }
    json::rounded(&held, DIGITS)
}

fn shorten(study: &mut ReceiptStudy) {
    for end in study.cells.iter_mut().flat_map(|cell| [&mut cell.sender, &mut cell.receiver]) {
        if let ReceiptOutcome::Made(receipt) = &mut end.outcome {
            receipt.rows.functions.clear();
            receipt.calls.clear();
            without_passes(&mut receipt.rows.categories);
            without_passes(&mut receipt.rows.layers);
            without_passes(&mut receipt.rows.contexts);
            without_passes(&mut receipt.rows.paths);
            without_passes(&mut receipt.rows.crossings);
            without_passes(&mut receipt.split.directions);
        }
    }
    for series in &mut study.series {
        series.functions.rows.truncate(MOST_ROUTINES);
    }
}

fn without_passes<K>(rows: &mut [Row<K>]) {
    rows.iter_mut().for_each(|row| row.passes.clear());
}
