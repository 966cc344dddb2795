//! The receipts of a run: where the time of a message goes.
//!
//! ```text
//! ReceiptStudy -> words, figure (how it is said) -> blocks -> Section
//!              -> tables of series -> terminal (the sizes that fit) | page (all of them, with flame graphs) -> Section
//! ```

mod blocks;
mod figure;
mod words;

mod chart;
mod page;
mod terminal;

mod flame;
pub(crate) mod held;
mod rules;
mod tables;

pub use flame::Flames;
pub use rules::render as shares_of_rules;
pub(crate) use words::red;

use analysis::result::receipt::ReceiptStudy;

use crate::document::{Link, Section};

/// The sink that receipts are made for: their tables are not the same in each.
#[derive(Clone, Copy)]
pub(crate) enum Sink<'a> {
    /// A page, which has every size, and flame graphs.
    Page(&'a Flames),
    /// A terminal with this number of columns.
    Terminal(usize),
}

/// Makes the section of receipts, the last in a terminal.
pub(crate) fn section(study: &ReceiptStudy, sink: Sink) -> Section {
    let series = study.series.iter().map(|series| match sink {
        Sink::Page(flames) => page::series(study, series, flames),
        Sink::Terminal(room) => terminal::series(study, series, room),
    });
    let blocks = blocks::before(study).into_iter().chain(series).chain(blocks::after(study));
    let section = Section::new("receipt", "Where the time of a message goes", blocks);
    Section { link: Link::Short("Receipt", None), headed: true, rank: 10, ..section }
}
