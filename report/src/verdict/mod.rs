//! Verdicts: arms of one run, and runs against each other, in every form.
//!
//! ```text
//! Analysis.verdicts, Between -> Part (a heading, notes, tables) -> terminal | markdown | html
//! ```

mod arms;
mod between;
mod part;
mod words;

pub(crate) use arms::parts as arms;
pub(crate) use part::{Part, Table, Tone, html as section, terminal as print};

use analysis::between::Between;
use analysis::result::Analysis;

use crate::json;
use crate::terminal::{Page, Style};

/// Runs held against the first, for a terminal; ends with a newline.
pub fn terminal(between: &Between, style: Style) -> String {
    let mut page = Page::new(style);
    for part in between::parts(between) {
        part::terminal(&mut page, &part);
    }
    page.finish()
}

/// The same as Markdown.
pub fn markdown(between: &Between) -> String {
    part::markdown(&between::parts(between))
}

/// The arms of a run against its baseline, as Markdown; empty without arms.
pub fn arms_as_markdown(analysis: &Analysis) -> String {
    part::markdown(&arms::parts(analysis))
}

/// Runs held against the first, as JSON.
pub fn json(between: &Between) -> String {
    json::pretty(between)
}

/// Runs held against the first, as a page; `tool` is nettoll's version.
pub fn html(between: &Between, tool: &str) -> String {
    part::page(&between::parts(between), between, tool)
}
