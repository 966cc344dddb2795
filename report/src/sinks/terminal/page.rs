//! Lines of text as they are put together: width, indentation, colour.

use anstyle::{AnsiColor, Effects, Style as Paint};
use model::printable::{Keep, printable};

use super::table::{Column, table};
use super::wrap::wrap;

/// Properties of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Use colour; `cli` asks for it only on a terminal without `NO_COLOR`.
    pub colour: bool,
    /// Columns of the terminal. Less than 80 counts as 80.
    pub width: usize,
}

impl Style {
    /// No colour, 80 columns.
    pub const PLAIN: Self = Self { colour: false, width: 80 };

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
}

impl Page {
    pub const fn new(style: Style) -> Self {
        Self { style, text: String::new() }
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
        let (head, rows) = table(columns, self.width());
        for line in head {
            self.line(&line, FAINT);
        }
        for line in rows {
            self.line(&line, PLAIN);
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

    /// What comes from outside is in the line already, and is cleaned before it is styled.
    fn line(&mut self, line: &str, paint: Paint) {
        let line = &printable(line.trim_end(), Keep::Nothing);
        if self.style.colour && paint != PLAIN {
            self.text += &format!("{paint}{line}{paint:#}\n");
        } else {
            self.text += line;
            self.text.push('\n');
        }
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
        let mut page = Page::new(Style { colour: true, width: 80 });
        page.labelled(foreign, foreign, 2);
        page.text(foreign);
        page.table(vec![Column::words(9, ["", foreign], vec![foreign.to_owned()])]);
        let text = page.finish();
        let ours = text.matches('\u{1b}').count();
        // Both lines of the table's head are faint, and nothing else has a style.
        assert_eq!((ours, text.matches("\u{1b}[2m").count()), (4, 2), "{text:?}");
        assert!(text.contains("trust me") && !text.contains('\u{202e}'), "{text:?}");
    }
}
