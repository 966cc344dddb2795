//! Exact counts of an emulated machine: one kernel, several side by side, what changed
//! between two, and time next to them.
//!
//! ```text
//! attribution::exact -> tables, tree, words, chart, flames -> Document -> terminal | html
//!                    -> json, folded
//! ```

mod change;
mod chart;
mod flames;
mod phases;
mod tables;
mod timed;
mod tree;
mod words;

use attribution::exact::{EXACT_FORMAT, Measured, Timed};
use serde::Serialize;

pub use self::change::document as diff;

use crate::document::{Block, Document, Level, Masthead, Section};
use crate::json;

/// What else to show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Detail {
    /// The call tree of each scenario's message; a page draws it as a flame graph as well.
    pub tree: bool,
}

/// Everything, as JSON: see docs/microscope.md.
#[derive(Serialize)]
struct Json<'m> {
    format: u32,
    measured: &'m [Measured],
    #[serde(skip_serializing_if = "<[Timed]>::is_empty")]
    timed: &'m [Timed],
}

/// The counts as JSON, indented.
pub fn json(measured: &[Measured], timed: &[Timed]) -> String {
    json::pretty(&Json { format: EXACT_FORMAT, measured, timed })
}

/// A line for a list of runs.
pub fn headline(measured: &[Measured]) -> String {
    words::headline(measured)
}

/// Time next to instructions, for the report of a run that has both; empty where it has not.
pub fn timed(all: &[Timed]) -> Document {
    Document::of(Masthead::default(), timed::section(all))
}

/// The same as a section, for its page.
pub(crate) fn timed_section(all: &[Timed]) -> Option<Section> {
    timed::section(all)
}

/// Counts of kernels, with time next to them where it is known.
pub fn document(measured: &[Measured], timed: &[Timed], shown: Detail) -> Document {
    let mut sections: Vec<Section> = timed::section(timed).into_iter().collect();
    // Of more kernels than two the messages of each are the answer; the matrix has those of the last.
    let matrix = tables::matrix(measured).map(Block::from);
    let matrix = if measured.len() > 2 { matrix.map(|table| Block::usual([table])) } else { matrix };
    let behind = words::courses(measured).into_iter().chain(tables::messages(measured));
    let summary = matrix.into_iter().chain(words::answers(measured)).chain([Block::usual(behind)]);
    sections.push(Section::new("summary", "What a message executes", summary));
    if measured.len() > 1 {
        let blocks = Block::figures(chart::of(measured)).into_iter().chain(tables::kernels(measured));
        let section = Section::new("kernels", "Kernel by kernel", blocks);
        sections.push(if measured.len() > 2 { section } else { section.behind() });
    }
    for one in measured {
        let kernel = if measured.len() > 1 { format!(", kernel {}", one.provenance.kernel) } else { String::new() };
        let id = |part: &str| format!("{part}-{}", one.provenance.kernel.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
        let mut push = |part: &str, title: &str, level: Level, blocks: Vec<Block>| {
            let section = Section::new(id(part), format!("{title}{kernel}"), [Block::At(level, String::new(), blocks)]);
            sections.push(section.folded(format!("{title}{kernel}")));
        };
        push("layers", "By layer", Level::Usual, tables::layers(one));
        push("categories", "By kind of work", Level::Usual, tables::categories(one));
        let split = phases::of(one, |scenario| id(&format!("phase-{scenario}")));
        if !split.is_empty() {
            push("phases", "Sent, received and acknowledged, as in 1997", Level::Usual, split);
        }
        push("functions", "By function", Level::Usual, tables::functions(one));
        if shown.tree {
            let drawn = flames::of(one, |scenario| format!("{}-{scenario}", id("flame")));
            push("tree", "By call path", Level::Answer, drawn.into_iter().chain(tree::of(one)).collect());
        }
        push("origin", "What moves these figures", Level::Usual, words::origin(one));
    }
    let masthead = Masthead::of("microscope", words::heading(measured), [words::source(measured)]);
    let masthead = Masthead { answer: Some(analysis::answer::exact(measured)), ..masthead };
    let data = vec![("analysis", json::compact(&Json { format: EXACT_FORMAT, measured, timed }))];
    Document { title: "The microscope".to_owned(), data, ..Document::of(masthead, sections) }
}
