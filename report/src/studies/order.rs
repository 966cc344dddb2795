//! Order of the blocks of a run without arms.

use analysis::result::{Analysis, OrderStudy};
use analysis::verdict::Doubt;

use super::verdict::doubt;
use crate::document::{Part, Section};
use crate::number;

/// Correlation of neighbouring blocks from which on intervals are visibly too narrow: at
/// 0.3 one that states 95 % holds in 92.8 % of studies (docs/statistics.md).
const WORTH_A_WORD: f64 = 0.3;

/// The section; `None` where the order shows nothing.
pub fn section(study: &OrderStudy, analysis: &Analysis) -> Option<Section> {
    let labels: Vec<String> = analysis.cells.iter().map(|cell| cell.label.clone()).collect();
    let of_series = |found: &Doubt| doubt(&Doubt { side: None, ..*found }, &labels, ["", ""]);
    let correlated = study.correlation.filter(|correlation| *correlation >= WORTH_A_WORD).map(|correlation| {
        format!("Neighbouring blocks are correlated ({}): intervals are narrower than they should be.", number::significant(correlation, 2))
    });
    let notes: Vec<String> = study.doubts.iter().map(of_series).chain(correlated).collect();
    (!notes.is_empty()).then(|| {
        let lead = "A median hides what time per message does from block to block. Lengthen the warm-up, quieten the machine, or compare as \
                    arms of one study, which drift hits alike.";
        let finding = notes[0].clone();
        Section::study("order", "Order of the blocks", lead.to_owned(), Vec::new(), [Part { notes, ..Part::default() }.into()]).folded(finding)
    })
}
