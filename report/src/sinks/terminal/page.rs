//! Lines of text as they are put together: width, indentation, colour.

use anstyle::{AnsiColor, Effects, Style as Paint};
use model::printable::{Keep, printable};

use super::table::{Column, Entry, table};
use super::wrap::wrap;

/// Properties of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Use colour; `cli` asks for it only on a terminal without `NO_COLOR`.
    pub colour: bool,
    /// Columns of the terminal. Less than 80 counts as 80.
    pub width: usize,
    /// Print methods, legends, every warning and every figure as well.
    pub verbose: bool,
}

impl Style {
    /// No colour, 80 columns, the answer alone.
    pub const PLAIN: Self = Self { colour: false, width: 80, verbose: false };

    /// No colour, 80 columns, everything there is to say.
    pub const VERBOSE: Self = Self { verbose: true, ..Self::PLAIN };

    /// Columns that there are.
    pub fn columns(self) -> usize {
        self.width.max(NARROWEST)
    }
}

impl Default for Style {
    fn default() -> Self {
        Self::PLAIN
    }
}

/// The narrowest page that a table must fit.
const NARROWEST: usize = 80;
/// Text wider than this is hard to read, whatever the terminal has room for.
const WIDEST_TEXT: usize = 110;

const HEADING: Paint = Paint::new().effects(Effects::BOLD);
const FAINT: Paint = Paint::new().effects(Effects::DIMMED);
const WARNING: Paint = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
const PLAIN: Paint = Paint::new();

/// Text that grows line by line, none wider than its style says.
pub struct Page {
    style: Style,
    text: String,
    /// Intervals that reach farther than this share of their figure are marked.
    precision: Option<f64>,
}

impl Page {
    pub const fn new(style: Style) -> Self {
        Self { style, text: String::new(), precision: None }
    }

    /// A page that marks figures known less well than `precision`.
    pub const fn with_precision(style: Style, precision: Option<f64>) -> Self {
        Self { style, text: String::new(), precision }
    }

    /// Share beyond which intervals are marked.
    pub const fn precision(&self) -> Option<f64> {
        self.precision
    }

    /// Prints methods, legends, every warning and every figure as well.
    pub const fn is_verbose(&self) -> bool {
        self.style.verbose
    }

    /// One empty line, except at the start.
    pub fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    pub fn heading(&mut self, text: &str) {
        self.lines(text, 0, 0, HEADING);
    }

    pub fn warning(&mut self, text: &str) {
        self.lines(text, 0, 0, WARNING);
    }

    /// Secondary text.
    pub fn faint(&mut self, text: &str, indent: usize) {
        self.lines(text, indent, indent, FAINT);
    }

    /// Meaning of a column's head.
    pub fn legend(&mut self, key: &str, meaning: &str) {
        self.lines(&format!("{key:<5} {meaning}"), 0, 6, FAINT);
    }

    /// A sentence or two.
    pub fn text(&mut self, text: &str) {
        self.plain(text, 0, 0);
    }

    pub fn plain(&mut self, text: &str, first: usize, further: usize) {
        self.lines(text, first, further, PLAIN);
    }

    /// Text behind a label that stands in the margin; further lines start at `further`.
    pub fn labelled(&mut self, label: &str, text: &str, further: usize) {
        self.behind(label, text, further, PLAIN);
    }

    /// The same, as a warning.
    pub fn labelled_warning(&mut self, label: &str, text: &str, further: usize) {
        self.behind(label, text, further, WARNING);
    }

    /// One of several, with a mark before it.
    pub fn item(&mut self, text: &str) {
        self.lines(&format!("- {text}"), 0, 2, PLAIN);
    }

    /// A table of as many columns as there is room for.
    pub fn table(&mut self, columns: Vec<Column>) {
        self.named_table("", columns);
    }

    /// A table with its name where the first line of its head leaves room, otherwise above it.
    pub fn named_table(&mut self, name: &str, columns: Vec<Column>) {
        let ([first, second], rows) = table(columns, self.width());
        let (room, taken) = (first.len() - first.trim_start().len(), name.chars().count());
        if !name.is_empty() && (taken + 2 <= room || first.trim().is_empty()) {
            let name = self.painted(name, HEADING);
            let rest = first.chars().skip(taken).collect::<String>();
            self.text += &format!("{name}{}\n", self.painted(rest.trim_end(), FAINT));
        } else {
            if !name.is_empty() {
                self.heading(name);
            }
            self.line(&first, FAINT);
        }
        self.line(&second, FAINT);
        for entries in rows {
            self.row(&entries);
        }
    }

    pub fn finish(self) -> String {
        self.text
    }

    /// Columns that there are.
    pub fn width(&self) -> usize {
        self.style.columns()
    }

    fn lines(&mut self, text: &str, first: usize, further: usize, paint: Paint) {
        for line in wrap(text, self.width().min(WIDEST_TEXT), first, further) {
            self.line(&line, paint);
        }
    }

    fn behind(&mut self, label: &str, text: &str, further: usize, paint: Paint) {
        // Wrapped with room for the label, which then takes the room.
        for (place, line) in wrap(text, self.width().min(WIDEST_TEXT), label.len(), further).into_iter().enumerate() {
            let line = if place == 0 { format!("{label}{}", line.trim_start()) } else { line };
            self.line(&line, paint);
        }
    }

    /// A row of a table, in which some entries may be faint.
    fn row(&mut self, entries: &[Entry]) {
        let blank = |entry: &&Entry| entry.text.trim().is_empty();
        let used = entries.len() - entries.iter().rev().take_while(blank).count();
        let mut line = String::new();
        for (place, Entry { text, faint }) in entries[..used].iter().enumerate() {
            let text = if place + 1 == used { text.trim_end() } else { text };
            line += &self.painted(text, if *faint { FAINT } else { PLAIN });
        }
        self.text += line.trim_end();
        self.text.push('\n');
    }

    /// What comes from outside is in the line already, and is cleaned before it is styled.
    fn line(&mut self, line: &str, paint: Paint) {
        let line = self.painted(line.trim_end(), paint);
        self.text += &line;
        self.text.push('\n');
    }

    fn painted(&self, text: &str, paint: Paint) -> String {
        let text = printable(text, Keep::Nothing);
        if self.style.colour && paint != PLAIN && !text.is_empty() { format!("{paint}{text}{paint:#}") } else { text.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use model::printable::{Keep, STYLES, printable};

    use super::super::table::Column;
    use super::{FAINT, HEADING, Page, Style, WARNING};

    #[test]
    fn the_sequences_of_our_styles_are_those_that_pass() {
        for paint in [HEADING, FAINT, WARNING] {
            let styled = format!("{paint}x{paint:#}");
            assert_eq!(printable(&styled, Keep::Styles), styled);
            assert!(STYLES.iter().any(|style| styled.starts_with(style)));
        }
    }

    #[test]
    fn a_style_in_foreign_text_is_none() {
        let foreign = "\u{1b}[1mtrust me\u{1b}[0m\u{202e}";
        let mut page = Page::new(Style { colour: true, ..Style::PLAIN });
        page.labelled(foreign, foreign, 2);
        page.text(foreign);
        page.table(vec![Column::words(9, ["", foreign], vec![foreign.to_owned()])]);
        let text = page.finish();
        let ours = text.matches('\u{1b}').count();
        // The line of the table's head is faint, and nothing else has a style.
        assert_eq!((ours, text.matches("\u{1b}[2m").count()), (2, 1), "{text:?}");
        assert!(text.contains("trust me") && !text.contains('\u{202e}'), "{text:?}");
    }
}
