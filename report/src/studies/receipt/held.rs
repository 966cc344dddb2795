//! The analysis as the page holds it.

use analysis::result::receipt::{ReceiptOutcome, ReceiptStudy};
use analysis::result::{Analysis, StudyResult};
use attribution::Row;

use crate::json;

/// Routines of each table; the JSON of `nettoll report -J` has them all.
const MOST_ROUTINES: usize = 120;
/// Significant digits of figures; counts are whole.
const DIGITS: usize = 7;

/// Returns the analysis as JSON on one line; of a run with receipts without most of its bytes, which are
/// routines cell by cell (the costliest of the tables over sizes stay), values pass by pass, and digits
/// far beyond any interval.
pub fn json(analysis: &Analysis) -> String {
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
