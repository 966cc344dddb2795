//! Lines of text as they are put together: width, indentation, colour.

use anstyle::{AnsiColor, Effects, Style as Paint};
use model::printable::{Keep, printable};

use unicode_width::UnicodeWidthStr;

use super::table::{Column, Lines, fits, table};
use super::wrap::wrap;
use crate::document::Level;

/// Properties of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Use colour; `cli` asks for it only on a terminal without `NO_COLOR`.
    pub colour: bool,
    /// Columns of the terminal. Less than 40 counts as 40.
    pub width: usize,
    /// Print methods, legends, every warning and more figures as well.
    pub verbose: bool,
    /// The terminal's locale has no UTF-8: marks and units are written in ASCII.
    pub ascii: bool,
}

impl Style {
    /// No colour, 80 columns, the answer alone.
    pub const PLAIN: Self = Self { colour: false, width: 80, verbose: false, ascii: false };

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

/// The narrowest page.
const NARROWEST: usize = 40;
/// A page from this width on has a table of the columns that fit; a narrower one each row in lines of its own.
const LEAST_OF_TABLES: usize = 80;
/// Indentation of the figures of a row that has lines of its own, and of further ones.
const FIGURES: [usize; 2] = [2, 4];
/// Between two figures of such a row.
const GAP: &str = "  ";
/// Goes on with a command on the next line.
const GOES_ON: &str = " \\";
/// Text wider than this is hard to read, whatever the terminal has room for.
const WIDEST_TEXT: usize = 110;
/// Names of facts that are longer, with the gap behind them, stand above their values.
const LONGEST_NAME: usize = 32;

const HEADING: Paint = Paint::new().effects(Effects::BOLD);
const FAINT: Paint = Paint::new().effects(Effects::DIMMED);
const WARNING: Paint = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
/// Of figures that are not to be used, and of nothing else.
const RED: Paint = AnsiColor::Red.on_default().effects(Effects::BOLD);
const PLAIN: Paint = Paint::new();

/// What stands in the last line.
#[derive(PartialEq, Eq)]
enum Last {
    Heading,
    Block,
    Text,
}

/// Text that grows line by line, none wider than its style says. Headings, tables and what
/// follows tables stand apart.
pub struct Page {
    style: Style,
    text: String,
    last: Last,
    /// A table has columns that it has no room for.
    is_short: bool,
}

impl Page {
    /// An empty page.
    pub const fn new(style: Style) -> Self {
        Self { style, text: String::new(), last: Last::Text, is_short: false }
    }

    pub const fn is_verbose(&self) -> bool {
        self.style.verbose
    }

    /// The last level that it has.
    pub const fn level(&self) -> Level {
        if self.style.verbose { Level::Usual } else { Level::Answer }
    }

    /// One empty line, except at the start and behind another.
    pub fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Stands apart, but not from its heading.
    pub fn apart(&mut self) {
        if self.last != Last::Heading {
            self.gap();
        }
    }

    /// Ends what a text that follows stands apart from.
    pub fn end_block(&mut self) {
        self.last = Last::Block;
    }

    /// Stands apart from a table or an introduction.
    pub fn after_block(&mut self) {
        if self.last == Last::Block {
            self.gap();
        }
    }

    pub fn heading(&mut self, text: &str) {
        self.lines(text, 0, 0, HEADING);
        self.last = Last::Heading;
    }

    pub fn warning(&mut self, text: &str) {
        self.lines(text, 0, 0, WARNING);
    }

    /// Figures that are not to be used.
    pub fn red(&mut self, text: &str) {
        self.lines(text, 0, 0, RED);
    }

    /// Secondary text.
    pub fn faint(&mut self, text: &str, indent: usize) {
        self.lines(text, indent, indent, FAINT);
    }

    /// A sentence or two.
    pub fn text(&mut self, text: &str) {
        self.plain(text, 0, 0);
    }

    pub fn plain(&mut self, text: &str, first: usize, further: usize) {
        self.lines(text, first, further, PLAIN);
    }

    /// A command. Over several lines it is still one that can be pasted, unless a word of it is quoted.
    pub fn command(&mut self, text: &str) {
        let [first, further] = FIGURES;
        let width = self.width().min(WIDEST_TEXT);
        if first + text.width() <= width || text.contains('\'') {
            return self.plain(text, first, further);
        }
        let lines = wrap(text, width - GOES_ON.len(), first, further);
        let last = lines.len() - 1;
        for (place, line) in lines.iter().enumerate() {
            self.line(&format!("{line}{}", if place < last { GOES_ON } else { "" }), PLAIN);
        }
    }

    /// A warning with a mark before it.
    pub fn marked_warning(&mut self, text: &str) {
        self.lines(&format!("- {text}"), 0, 2, WARNING);
    }

    /// One of several, with a mark before it.
    pub fn item(&mut self, text: &str) {
        self.lines(&format!("- {text}"), 0, 2, PLAIN);
    }

    /// Names and their values: side by side, or below each other where names are long.
    pub fn facts(&mut self, all: &[(String, String)]) {
        let margin = all.iter().map(|(name, _)| name.width()).max().unwrap_or(0) + 2;
        self.apart();
        for (name, value) in all {
            if margin <= LONGEST_NAME.min(self.width() / 2) {
                let label = format!("{name}{}", " ".repeat(margin - name.width()));
                // Wrapped with room for the label, which then takes the room.
                for (place, line) in wrap(value, self.width().min(WIDEST_TEXT), margin, margin).into_iter().enumerate() {
                    let line = if place == 0 { format!("{label}{}", line.trim_start()) } else { line };
                    self.line(&line, PLAIN);
                }
            } else {
                self.plain(name, 2, 4);
                self.plain(value, 6, 6);
            }
        }
        self.last = Last::Block;
    }

    /// A table of as many columns as there is room for, with its name where the first line of
    /// its head leaves room, otherwise above it.
    pub fn table(&mut self, name: &str, columns: Vec<Column>) {
        self.apart();
        let name = printable(name, Keep::Nothing);
        if self.width() < LEAST_OF_TABLES && !fits(&columns, self.width()) {
            return self.rows(&name, &columns);
        }
        let Lines { head: [first, second], rows, is_short } = table(columns, self.width());
        let (room, taken) = (first.len() - first.trim_start().len(), name.width());
        if !name.is_empty() && taken < self.width() && (taken + 2 <= room || first.trim().is_empty()) {
            let name = self.painted(&name, HEADING);
            let rest = first.chars().skip(taken).collect::<String>();
            self.text += &format!("{name}{}\n", self.painted(rest.trim_end(), FAINT));
        } else {
            if !name.is_empty() {
                self.heading(&name);
            }
            if !first.trim().is_empty() {
                self.line(&first, FAINT);
            }
        }
        if !second.trim().is_empty() {
            self.line(&second, FAINT);
        }
        rows.iter().for_each(|row| self.line(row, PLAIN));
        self.is_short |= is_short;
        self.last = Last::Block;
    }

    /// A table that has no room for its columns: what names a row, then its figures, each with its head.
    fn rows(&mut self, name: &str, columns: &[Column]) {
        if !name.is_empty() {
            self.heading(name);
        }
        let Some((names, figures)) = columns.split_first() else { return };
        let [first, further] = FIGURES;
        for row in 0..names.rows() {
            let (head, cell) = names.entry(row);
            match names.is_of_words {
                true if cell.is_empty() => {}
                true => self.plain(cell, 0, first),
                false => self.plain(&format!("{head} {cell}"), 0, first),
            }
            let mut line = String::new();
            let mut indent = first;
            for (head, cell) in figures.iter().map(|column| column.entry(row)).filter(|(_, cell)| !cell.is_empty()) {
                let figure = format!("{head} {cell}");
                let figure = figure.trim();
                if !line.is_empty() && indent + line.width() + GAP.len() + figure.width() > self.width() {
                    self.plain(&std::mem::take(&mut line), indent, further);
                    indent = further;
                }
                if !line.is_empty() {
                    line.push_str(GAP);
                }
                line.push_str(figure);
            }
            if !line.is_empty() {
                self.plain(&line, indent, further);
            }
        }
        self.last = Last::Block;
    }

    pub fn finish(mut self) -> String {
        if self.is_short && self.is_verbose() {
            self.gap();
            self.faint("Some columns have no room here; a wider terminal, the page and the JSON have them.", 0);
        }
        if self.style.ascii { self.text.chars().map(in_ascii).collect() } else { self.text }
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

    /// What comes from outside is in the line already, and is cleaned before it is styled.
    fn line(&mut self, line: &str, paint: Paint) {
        let line = self.painted(line.trim_end(), paint);
        self.text += &line;
        self.text.push('\n');
        self.last = Last::Text;
    }

    fn painted(&self, text: &str, paint: Paint) -> String {
        let text = printable(text, Keep::Nothing);
        if self.style.colour && paint != PLAIN && !text.is_empty() { format!("{paint}{text}{paint:#}") } else { text.to_string() }
    }
}

/// Marks and units with the ASCII letter that stands for each: of one column, so that tables stay aligned.
const ASCII: [(char, char); 19] = [
    ('–', '-'),
    ('−', '-'),
    ('±', '~'),
    ('µ', 'u'),
    ('×', 'x'),
    ('▼', '-'),
    ('▲', '+'),
    ('→', '>'),
    ('↓', 'v'),
    ('↑', '^'),
    ('≥', '>'),
    ('≤', '<'),
    ('·', '|'),
    ('│', '|'),
    ('…', '.'),
    ('✓', '+'),
    ('✗', 'x'),
    ('“', '"'),
    ('”', '"'),
];

/// The ASCII letter that stands for a letter on a terminal without UTF-8.
pub fn in_ascii(letter: char) -> char {
    match ASCII.iter().find(|(mark, _)| *mark == letter) {
        Some((_, plain)) => *plain,
        None if letter.is_ascii() => letter,
        None => '?',
    }
}

#[cfg(test)]
mod tests {
    use model::printable::{Keep, STYLES, printable};

    use super::super::table::{Column, Figure};
    use super::{FAINT, HEADING, Page, RED, Style, WARNING};

    #[test]
    fn the_sequences_of_our_styles_are_those_that_pass() {
        for paint in [HEADING, FAINT, WARNING, RED] {
            let styled = format!("{paint}x{paint:#}");
            assert_eq!(printable(&styled, Keep::Styles), styled);
            assert!(STYLES.iter().any(|style| styled.starts_with(style)));
        }
    }

    #[test]
    fn without_utf8_every_letter_is_ascii() {
        let mut page = Page::new(Style { ascii: true, ..Style::PLAIN });
        page.text("7.14 µs (5.99–9.83), −28 to +15 %, ▼ better, gso ×32 → größe");
        assert_eq!(page.finish(), "7.14 us (5.99-9.83), -28 to +15 %, - better, gso x32 > gr??e\n");
    }

    #[test]
    fn a_row_that_has_no_room_has_lines_of_its_own() {
        let mut page = Page::new(Style { width: 40, ..Style::PLAIN });
        let figures = |cells: [&str; 2]| cells.map(|cell| Figure::Whole(cell.to_owned()));
        page.table(
            "CPU of a message",
            vec![
                Column::words(9, ["", "series"], vec!["TCP_STREAM (nodelay)".to_owned(), String::new()]),
                Column::figures(1, ["", "size, B"], &figures(["64", "1,448"])),
                Column::figures(2, ["UDP", "sender"], &figures(["5.23 (4.63–7.64)", "6.16 (4.85–7.39)"])),
                Column::words(3, ["", ""], vec!["▲ worse".to_owned(), String::new()]),
            ],
        );
        let lines = [
            "CPU of a message",
            "TCP_STREAM (nodelay)",
            "  size, B 64",
            "    UDP sender 5.23 (4.63–7.64)  ▲ worse",
            "  size, B 1,448",
            "    UDP sender 6.16 (4.85–7.39)",
        ];
        assert_eq!(page.finish().lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn a_long_command_can_be_pasted() {
        let of = |text: &str| {
            let mut page = Page::new(Style { width: 40, ..Style::PLAIN });
            page.command(text);
            page.finish()
        };
        assert_eq!(of("nettoll study --again 4582 --blocks 9"), "  nettoll study --again 4582 --blocks 9\n");
        let long = of("nettoll study --again 4582 --size 64,1448 --blocks 115");
        assert_eq!(long, "  nettoll study --again 4582 --size \\\n    64,1448 --blocks 115\n");
    }

    #[test]
    fn a_style_in_foreign_text_is_none() {
        let foreign = "\u{1b}[1mtrust me\u{1b}[0m\u{202e}";
        let mut page = Page::new(Style { colour: true, ..Style::PLAIN });
        page.facts(&[(foreign.to_owned(), foreign.to_owned())]);
        page.text(foreign);
        page.table("", vec![Column::words(9, ["", foreign], vec![foreign.to_owned()])]);
        let text = page.finish();
        let ours = text.matches('\u{1b}').count();
        // The line of the table's head is faint, and nothing else has a style.
        assert_eq!((ours, text.matches("\u{1b}[2m").count()), (2, 1), "{text:?}");
        assert!(text.contains("trust me") && !text.contains('\u{202e}'), "{text:?}");
    }
}
