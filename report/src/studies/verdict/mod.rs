//! Verdicts: arms of one run, and runs against each other, in every form.
//!
//! ```text
//! Analysis.verdicts, RunComparison -> Document -> terminal | markdown | html
//! ```

mod arms;
mod between;
mod brief;
mod forest;
mod words;

pub(crate) use arms::ID as ARMS;
pub use arms::section as arms;
pub(super) use words::doubt;

use analysis::result::Analysis;
use analysis::runs::RunComparison;

use super::receipt::{Flames, Side, differences};
use crate::document::{Block, Document, Masthead, Section};
use crate::json;
use crate::sinks::terminal::Style;
use crate::sinks::{self, markdown};

/// Runs compared with the first.
fn document(between: &RunComparison, tool: &str) -> Document {
    let blocks = between::blocks(between);
    let heading = between::heading(between);
    Document {
        title: heading.clone(),
        masthead: Masthead { brand: "compare".to_owned(), heading, ..Masthead::default() },
        sections: vec![Section { blocks, ..Section::default() }],
        data: vec![("analysis", json::compact(between)), ("csv", json::compact(&""))],
        tool: tool.to_owned(),
        ..Document::default()
    }
}

/// Runs compared with the first, for a terminal; ends with a newline.
pub fn terminal(between: &RunComparison, style: Style) -> String {
    sinks::terminal::render(&Document { masthead: Masthead::default(), ..document(between, "") }, style)
}

/// The same as Markdown.
pub fn markdown(between: &RunComparison) -> String {
    markdown::render(&document(between, ""))
}

/// The arms of a run against its baseline, as Markdown; empty without arms.
pub fn arms_as_markdown(analysis: &Analysis) -> String {
    arms::section(analysis).as_ref().map_or_else(String::new, markdown::section)
}

/// Runs compared with the first, as JSON.
pub fn json(between: &RunComparison) -> String {
    json::pretty(between)
}

/// Runs compared with the first, as a page; `tool` is nettoll's version.
pub fn html(between: &RunComparison, tool: &str) -> String {
    sinks::html::render(&document(between, tool))
}

/// The same of two runs with their stacks, the first one's first: with the difference of their flame graphs.
pub fn html_with(between: &RunComparison, tool: &str, runs: [(&Analysis, &Flames); 2]) -> String {
    let mut document = document(between, tool);
    document.sections.extend(flame_graphs(runs));
    sinks::html::render(&document)
}

fn flame_graphs(runs: [(&Analysis, &Flames); 2]) -> Option<Section> {
    let [Some(first), Some(second)] = runs.map(|(run, flames)| Some(Side { name: &run.run.id, study: run.receipt()?, flames })) else {
        return None;
    };
    let graphs: Vec<Block> = differences([&first, &second]).into_iter().map(|graph| Block::Flame(Box::new(graph))).collect();
    let title = "Where the time of a message went";
    (!graphs.is_empty()).then(|| Section::new("flames", title, [Block::Page(graphs)]))
}
