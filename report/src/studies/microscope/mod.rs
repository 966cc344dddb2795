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
mod tables;
mod timed;
mod tree;
mod words;

use attribution::exact::{EXACT_FORMAT, ExactDiff, Measured, Timed};
use serde::Serialize;

use crate::document::{Block, Document, Masthead, Section};
use crate::sinks::terminal::Style;
use crate::{json, sinks};

/// What else to show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shown {
    /// The call tree of each scenario's message; a page draws it as a flame graph as well.
    pub tree: bool,
}

/// Counts of kernels as text, with time next to them where it is known; ends with a newline.
pub fn terminal(measured: &[Measured], timed: &[Timed], shown: Shown, style: Style) -> String {
    sinks::terminal::render(&document(measured, timed, shown, ""), style)
}

/// The same as a page; `tool` is nettoll's version.
pub fn html(measured: &[Measured], timed: &[Timed], shown: Shown, tool: &str) -> String {
    sinks::html::render(&document(measured, timed, shown, tool))
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

/// Time next to instructions as text, for the report of a run that has both; empty where it
/// has not.
pub fn timed_terminal(all: &[Timed], style: Style) -> String {
    let sections = timed::section(all).into_iter().collect();
    sinks::terminal::render(&Document { sections, ..Document::default() }, style)
}

/// The same as a section, for its page.
pub(crate) fn timed_section(all: &[Timed]) -> Option<Section> {
    timed::section(all)
}

/// A comparison as text; ends with a newline.
pub fn diff_terminal(diff: &ExactDiff, style: Style) -> String {
    sinks::terminal::render(&change::document(diff, None, ""), style)
}

/// The same as a page, with the flame graphs of both sides, which are what was compared.
pub fn diff_html(diff: &ExactDiff, sides: [&[Measured]; 2], tool: &str) -> String {
    sinks::html::render(&change::document(diff, Some(sides), tool))
}

/// The comparison as JSON, indented.
pub fn diff_json(diff: &ExactDiff) -> String {
    json::pretty(diff)
}

fn document(measured: &[Measured], timed: &[Timed], shown: Shown, tool: &str) -> Document {
    let mut sections: Vec<Section> = timed::section(timed).into_iter().collect();
    sections.push(Section {
        headed: true,
        ..Section::new("summary", "What a message executes", words::answers(measured).into_iter().chain(tables::messages(measured)))
    });
    if measured.len() > 1 {
        sections.push(headed(
            "kernels",
            "Kernel by kernel",
            Block::figures(chart::of(measured)).into_iter().chain(tables::kernels(measured)).collect(),
        ));
    }
    for one in measured {
        let kernel = if measured.len() > 1 { format!(", kernel {}", one.provenance.kernel) } else { String::new() };
        // Of many kernels the matrix is what was asked for; the rest is for who wants it all.
        let held = |blocks: Vec<Block>| if measured.len() > 1 { vec![Block::Full(blocks)] } else { blocks };
        let id = |part: &str| format!("{part}-{}", one.provenance.kernel.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
        sections.push(Section { rank: 1, ..headed(&id("layers"), &format!("By layer{kernel}"), held(tables::layers(one))) });
        sections.push(Section { rank: 1, ..headed(&id("categories"), &format!("By kind of work{kernel}"), held(tables::categories(one))) });
        sections.push(Section { rank: 1, ..headed(&id("functions"), &format!("By function{kernel}"), held(tables::functions(one))) });
        if shown.tree {
            let drawn = flames::of(one, |scenario| format!("{}-{scenario}", id("flame")));
            let blocks = drawn.into_iter().chain(tree::of(one)).collect();
            sections.push(Section { rank: 1, ..headed(&id("tree"), &format!("By call path{kernel}"), blocks) });
        }
        sections.push(Section { rank: 2, ..headed(&id("origin"), &format!("What moves these figures{kernel}"), words::origin(one)) });
    }
    sections.retain(|section| !section.blocks.is_empty());
    Document {
        title: "The microscope".to_owned(),
        masthead: Masthead {
            brand: "microscope".to_owned(),
            heading: words::heading(measured),
            source: words::source(measured),
            lines: vec![words::source(measured)],
            ..Masthead::default()
        },
        places: sections.iter().filter_map(Section::place).collect(),
        sections,
        data: vec![("analysis", json::compact(&Json { format: EXACT_FORMAT, measured, timed }))],
        tool: tool.to_owned(),
        precision: None,
    }
}

fn headed(id: &str, title: &str, blocks: Vec<Block>) -> Section {
    Section { headed: true, ..Section::new(id, title, blocks) }
}
