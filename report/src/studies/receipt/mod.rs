//! The receipts of a run: where the time of a message goes.
//!
//! ```text
//! ReceiptStudy -> words, figure (how it is said) -> blocks -> Section
//!              -> tables of series -> terminal (the sizes that fit) | page (all of them, with flame graphs) -> Section
//! ```

mod blocks;
mod brief;
pub(crate) mod figure;
mod words;

mod chains;
mod chart;
mod page;
mod terminal;

mod flame;
pub(crate) mod held;
mod rules;
pub mod tables;

pub use flame::Flames;
pub(crate) use flame::{Counted, MOST_BYTES as MOST_FLAMES, Side, counted, differences, one as one_flame, usual};
pub use rules::render as shares_of_rules;
pub use words::no_receipt;
pub(crate) use words::red;

use analysis::result::receipt::ReceiptStudy;
use model::proof::KeptProof;

use crate::document::{Block, Link, Section};

/// The sink that receipts are made for: their tables are not the same in each.
#[derive(Clone, Copy)]
pub(crate) enum Sink<'a> {
    /// A page, which has every size, and flame graphs.
    Page(&'a Flames),
    /// A terminal with this number of columns.
    Terminal(usize),
}

/// Makes the section of receipts, which a terminal prints before the cells.
pub(crate) fn section(study: &ReceiptStudy, proof: Option<&KeptProof>, sink: Sink) -> Section {
    let proof = || proof.map(|proof| Block::Paragraph(words::proof(proof).into()));
    let series = study.series.iter().enumerate().map(|(place, series)| match sink {
        Sink::Page(flames) => page::series(study, series, place, flames),
        Sink::Terminal(room) => terminal::series(study, series, room),
    });
    let everything = blocks::before(study).into_iter().chain(series).chain(proof()).chain(blocks::after(study)).collect();
    let brief = match sink {
        Sink::Page(_) => None,
        Sink::Terminal(room) => Some(Block::Brief(brief::blocks(study, room).into_iter().chain(proof()).collect())),
    };
    let blocks = brief.into_iter().chain([Block::Full(everything)]);
    let section = Section::new("receipt", "Where the time of a message goes", blocks);
    Section { link: Link::Short("Receipt", None), headed: true, rank: 2, ..section }
}
