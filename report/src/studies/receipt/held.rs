//! The analysis as the page holds it.

use std::borrow::Cow;

use analysis::result::receipt::{ReceiptOutcome, ReceiptStudy};
use analysis::result::{Analysis, StudyResult};
use attribution::Row;

/// Routines of each table; the JSON of `nettoll report -J` has them all.
const MOST_ROUTINES: usize = 120;

/// Returns the analysis; of a run with receipts without most of its bytes, which are
/// routines cell by cell (the costliest of the tables over sizes stay) and values
/// pass by pass.
pub fn of(analysis: &Analysis) -> Cow<'_, Analysis> {
    if analysis.receipt().is_none() {
        return Cow::Borrowed(analysis);
    }
    let mut held = analysis.clone();
    for study in &mut held.studies {
        if let StudyResult::Receipt(receipts) = study {
            shorten(receipts);
        }
    }
    Cow::Owned(held)
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
