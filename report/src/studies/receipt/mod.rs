//! The receipts of a run: where the time of a message goes.
//!
//! ```text
//! ReceiptStudy -> words, figure (how it is said) -> answer, series, behind -> Section
//! ```

mod answer;
mod behind;
mod chains;
mod chart;
pub(crate) mod figure;
mod flame;
mod rules;
mod series;
pub mod tables;
mod words;

pub use flame::Flames;
pub(crate) use flame::{Counted, MOST_BYTES as MOST_FLAMES, Side, counted, differences, one as one_flame};
pub use rules::document as shares_of_rules;
pub use words::no_receipt;

use analysis::result::receipt::ReceiptStudy;
use model::proof::KeptProof;

use crate::document::{Block, Section};

/// The layers of the first series at both ends, and how far known costs were found.
pub(crate) fn at_a_glance(study: &ReceiptStudy, proof: Option<&KeptProof>) -> Vec<Block> {
    let proof = |_: &Block| proof.map(|proof| Block::Aside(words::proof(proof).into()));
    let first = answer::first(study);
    let proof = first.as_ref().and_then(proof);
    first.into_iter().chain(proof).collect()
}

/// Makes the section of receipts: layers by end, then everything series by series.
pub(crate) fn section(study: &ReceiptStudy, proof: Option<&KeptProof>, flames: &Flames) -> Section {
    let series = study.series.iter().enumerate().map(|(place, one)| series::piece(study, one, place, flames));
    let usual = behind::before(study).into_iter().chain(series).chain(behind::after(study));
    let proof = proof.map(|proof| Block::Paragraph(words::proof(proof).into()));
    let blocks =
        behind::alarm(study).into_iter().chain(answer::blocks(study)).chain(proof).chain(Block::behind("Every row, size by size", usual));
    Section::new("receipt", "Where the time of a message goes", blocks).led("Receipt")
}
