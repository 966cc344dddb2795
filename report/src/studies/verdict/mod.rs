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

use crate::document::{Document, Masthead, Section};
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
