//! The analysis as the page holds it.

use std::io::{Result, Write};

use analysis::result::receipt::{ReceiptOutcome, ReceiptStudy};
use analysis::result::{Analysis, StudyResult};
use attribution::Row;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use crate::json;

/// Routines of each table; the JSON of `nettoll report -J` has them all.
const MOST_ROUTINES: usize = 120;

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
    let mut text = Vec::new();
    match held.serialize(&mut Serializer::with_formatter(&mut text, Rounded)) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => json::compact(&held),
    }
}

/// Writes numbers with 7 significant digits; counts are whole.
struct Rounded;

impl Formatter for Rounded {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> Result<()> {
        let short = format!("{value:.6e}").parse().unwrap_or(value);
        CompactFormatter.write_f64(writer, short)
    }
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
