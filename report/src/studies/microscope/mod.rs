//! Exact counts of an emulated machine: one kernel, several side by side, and what
//! changed between two.
//!
//! ```text
//! attribution::exact -> tables, tree, words -> Document -> terminal | html
//!                    -> json, folded
//! ```

mod change;
mod tables;
mod tree;
mod words;

use attribution::exact::{ExactDiff, Measured};
use serde::Serialize;

use crate::document::{Block, Document, Masthead, Section};
use crate::sinks::terminal::Style;
use crate::{json, sinks};

/// What else to show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shown {
    /// The call tree of each scenario's message.
    pub tree: bool,
}

/// Counts of kernels as text; ends with a newline.
pub fn terminal(measured: &[Measured], shown: Shown, style: Style) -> String {
    sinks::terminal::render(&document(measured, shown, ""), style)
}

/// The same as a page; `tool` is nettoll's version.
pub fn html(measured: &[Measured], shown: Shown, tool: &str) -> String {
    sinks::html::render(&document(measured, shown, tool))
}

/// Everything, as JSON: see docs/microscope.md.
#[derive(Serialize)]
struct Json<'m> {
    format: u32,
    measured: &'m [Measured],
}

/// The counts as JSON, indented.
pub fn json(measured: &[Measured]) -> String {
    json::pretty(&Json { format: 1, measured })
}

/// A comparison as text; ends with a newline.
pub fn diff_terminal(diff: &ExactDiff, style: Style) -> String {
    sinks::terminal::render(&change::document(diff, ""), style)
}

/// The same as a page.
pub fn diff_html(diff: &ExactDiff, tool: &str) -> String {
    sinks::html::render(&change::document(diff, tool))
}

/// The comparison as JSON, indented.
pub fn diff_json(diff: &ExactDiff) -> String {
    json::pretty(diff)
}

fn document(measured: &[Measured], shown: Shown, tool: &str) -> Document {
    let mut sections = vec![Section {
        headed: true,
        ..Section::new("summary", "What a message executes", words::answers(measured).into_iter().chain(tables::messages(measured)))
    }];
    if measured.len() > 1 {
        sections.push(headed("kernels", "Kernel by kernel", tables::kernels(measured)));
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
            sections.push(Section { rank: 1, ..headed(&id("tree"), &format!("By call path{kernel}"), tree::of(one)) });
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
        data: vec![("analysis", json::compact(&Json { format: 1, measured }))],
        tool: tool.to_owned(),
        precision: None,
    }
}

fn headed(id: &str, title: &str, blocks: Vec<Block>) -> Section {
    Section { headed: true, ..Section::new(id, title, blocks) }
}
