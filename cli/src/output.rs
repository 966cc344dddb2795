//! Standard output: which form, how wide, in colour or not.

use std::env;
use std::fs;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

use analysis::result::Analysis;
use anyhow::Context;
use model::printable::{Keep, printable};
use report::Document;
use report::terminal::Style;

use crate::args::FormatArgs;
use crate::version;

/// Prints an analysis in the form asked for.
///
/// # Errors
/// An answer of the system; a reader that went away is no error.
pub fn print(analysis: &Analysis, format: &FormatArgs) -> io::Result<()> {
    if format.json {
        return write(&report::json::render(analysis));
    }
    if format.csv {
        return write(&report::csv::render(analysis));
    }
    styled(&report::terminal::render(analysis, Style { verbose: format.verbose, ..style() }))
}

/// Prints a document, with what stands behind its answer where `verbose`.
///
/// # Errors
/// An answer of the system; a reader that went away is no error.
pub fn show(document: &Document, verbose: bool) -> io::Result<()> {
    styled(&report::terminal::document(document, Style { verbose, ..style() }))
}

/// Prints a result: its JSON where that is asked for, else its document.
///
/// # Errors
/// An answer of the system; a reader that went away is no error.
pub fn result(json: Option<String>, document: impl FnOnce() -> Document, verbose: bool) -> io::Result<()> {
    json.map_or_else(|| show(&document(), verbose), |json| write(&json))
}

/// Writes the page of a result that is asked for, prints the result, and says where the page is.
///
/// # Errors
/// A page that cannot be written, or an answer of the system.
pub fn result_with_page(json: Option<String>, document: &Document, place: Option<&Path>) -> anyhow::Result<()> {
    page(place, || html(document))?;
    if let Some(json) = json {
        return Ok(write(&json)?);
    }
    show(document, false)?;
    Ok(place.map_or(Ok(()), report_at)?)
}

/// Says where a page is.
///
/// # Errors
/// An answer of the system; a reader that went away is no error.
pub fn report_at(page: &Path) -> io::Result<()> {
    write(&format!("\nReport: {}", page.display()))
}

/// A document as a page of this nettoll.
pub fn html(document: &Document) -> String {
    report::html::document(document, version::SHORT)
}

/// The widest page: farther apart columns are hard to follow.
const WIDEST: usize = 200;

/// Prints a sentence, broken into lines.
///
/// # Errors
/// An answer of the system; a reader that went away is no error.
pub fn sentence(text: &str) -> io::Result<()> {
    styled(&report::terminal::sentence(text, style()))
}

/// Prints lines below a title.
///
/// # Errors
/// An answer of the system; a reader that went away is no error.
pub fn items(title: &str, lines: &[String]) -> io::Result<()> {
    styled(&report::terminal::items(title, lines, style()))
}

/// Columns of standard output: those of `COLUMNS` where it is set.
pub fn width() -> usize {
    let asked = env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok()).filter(|columns| *columns > 0);
    let usual = || if io::stdout().is_terminal() { console::Term::stdout().size().1 as usize } else { Style::PLAIN.width };
    asked.unwrap_or_else(usual).min(WIDEST)
}

/// Style of standard output.
pub fn style() -> Style {
    let terminal = io::stdout().is_terminal();
    let colour = terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Style { colour, width: width(), verbose: false, ascii: terminal && !has_utf8(|name| env::var(name).ok()) }
}

/// Returns whether the locale has UTF-8, by the first variable that is set (locale(7)).
fn has_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable).find(|value| !value.is_empty());
    locale.is_some_and(|locale| ["utf-8", "utf8"].iter().any(|name| locale.to_lowercase().contains(name)))
}

/// Says something on standard error that is no result.
pub fn note(words: &str) {
    // Whoever closed it does not want to hear of it.
    let _ = writeln!(io::stderr(), "nettoll: {}", printable(words, Keep::Lines));
}

/// Writes a text and makes sure that it ends its line. Words of agents, plans and
/// stored runs may be in the text; no control sequence of theirs reaches a terminal.
///
/// # Errors
/// An answer of the system; a reader that went away is no error.
pub fn write(text: &str) -> io::Result<()> {
    write_keeping(text, Keep::Lines).map(drop)
}

/// Writes a part of what goes on until its reader has enough: `false` once that went away.
///
/// # Errors
/// An answer of the system.
pub fn write_part(text: &str) -> io::Result<bool> {
    write_keeping(text, Keep::Lines)
}

/// Writes what a report made for a terminal, whose styles are the report's own.
///
/// # Errors
/// An answer of the system; a reader that went away is no error.
pub fn styled(text: &str) -> io::Result<()> {
    write_keeping(text, Keep::Styles).map(drop)
}

/// `false`: the reader went away.
fn write_keeping(text: &str, keep: Keep) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    match write!(out, "{}{end}", printable(text, keep)).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(io::Error::new(error.kind(), format!("write to standard output: {error}; see where it is sent"))),
        Ok(()) => Ok(true),
    }
}

/// Writes a page to the file that the user named, if any.
///
/// # Errors
/// A file that cannot be written.
pub fn page(place: Option<&Path>, page: impl FnOnce() -> String) -> anyhow::Result<()> {
    place.map_or(Ok(()), |place| file(place, &page()))
}

/// Writes a file that the user named.
///
/// # Errors
/// A file that cannot be written.
pub fn file(place: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(place, text).with_context(|| format!("write {}; does its directory exist, and is it writable?", place.display()))
}

#[cfg(test)]
mod tests {
    use super::has_utf8;

    #[test]
    fn the_first_variable_that_is_set_decides() {
        let of = |all: &[(&str, &str)]| has_utf8(|name| all.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()));
        assert!(of(&[("LANG", "de_DE.UTF-8")]) && of(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]));
        assert!(!of(&[("LC_ALL", "C"), ("LANG", "C.UTF-8")]) && !of(&[]));
    }
}
