//! Lines of a screen: pieces of text, each with a role, and the room that they take.

use model::printable::{Keep, printable};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::sinks::terminal::wrap;

/// Meaning of a piece of text; a writer gives each role its style, and no meaning has a colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Text and figures.
    Plain,
    /// Titles of tables, and the figure that leads.
    Title,
    /// Words around figures.
    Faint,
    /// Work in calls.
    Call,
    /// Work in softirqs.
    Softirq,
    /// A thing that is refused, and a question.
    Warning,
    /// The row that keys act on.
    Selected,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Without control characters.
    pub text: String,
    /// Its meaning.
    pub role: Role,
}

/// One line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// From left to right.
    pub spans: Vec<Span>,
}

impl Line {
    /// A line of one piece.
    pub fn of(text: &str, role: Role) -> Self {
        Self::default().with(text, role)
    }

    /// The line with a piece more; others' text loses its control characters here.
    pub fn with(mut self, text: &str, role: Role) -> Self {
        self.push(text, role);
        self
    }

    /// Adds a piece.
    pub fn push(&mut self, text: &str, role: Role) {
        if !text.is_empty() {
            self.spans.push(Span { text: printable(text, Keep::Nothing).into_owned(), role });
        }
    }

    /// Adds another line behind it.
    pub fn append(&mut self, other: Self) {
        self.spans.extend(other.spans);
    }

    /// Columns that it takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// Fills it with spaces.
    pub fn padded(mut self, width: usize) -> Self {
        let room = width.saturating_sub(self.width());
        self.push(&" ".repeat(room), Role::Plain);
        self
    }

    /// Cuts off what is beyond a width.
    pub fn within(mut self, width: usize) -> Self {
        let mut room = width;
        for span in &mut self.spans {
            if span.text.width() > room {
                span.text = cut(&span.text, room);
            }
            room = room.saturating_sub(span.text.width());
        }
        self.spans.retain(|span| !span.text.is_empty());
        self
    }

    /// Text in one role.
    pub fn in_role(self, role: Role) -> Self {
        Self::of(&self.text(), role)
    }

    /// Its text alone.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }
}

/// As much of a text as a width has room for, with the mark of a cut; others' text loses its control characters first:
/// a half of one that was replaced is harmless, a half of a sequence is not.
pub fn cut(text: &str, width: usize) -> String {
    const MARK: char = '…';
    let text = printable(text, Keep::Nothing);
    if text.width() <= width {
        return text.into_owned();
    }
    let mut used = 0;
    let mut cut: String = text
        .chars()
        .take_while(|letter| {
            used += letter.width().unwrap_or(0);
            used < width
        })
        .collect();
    // Letters that join are wider or narrower than one by one.
    while cut.width() >= width.max(1) {
        cut.pop();
    }
    if width > 0 {
        cut.push(MARK);
    }
    cut
}

/// A text at the right of its column.
pub fn right(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.width())) + text
}

/// Lines of items with two spaces between, none wider than `width` unless an item is.
pub fn flow(items: Vec<Line>, width: usize) -> Vec<Line> {
    const GAP: &str = "  ";
    let mut lines: Vec<Line> = Vec::new();
    for item in items {
        match lines.last_mut().filter(|line| line.width() + GAP.len() + item.width() <= width) {
            Some(line) => {
                line.push(GAP, Role::Plain);
                line.append(item);
            }
            None => lines.push(item),
        }
    }
    lines
}

/// A text from outside as a paragraph: `first` and `further` are the indentations of its lines.
pub fn paragraph(text: &str, width: usize, role: Role, [first, further]: [usize; 2]) -> Vec<Line> {
    /// A line with less room for words is cut in the end.
    const LEAST: usize = 16;
    /// A longer text is none.
    const MOST: usize = 400;
    wrap(&cut(text, MOST), width.max(LEAST), first, further).iter().map(|line| Line::of(line, role)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};
    use unicode_width::UnicodeWidthStr;

    use super::{Line, Role, cut};

    #[test]
    fn a_cut_is_marked_and_a_wide_letter_is_not_halved() {
        assert_eq!(cut("nginx.service", 13), "nginx.service");
        assert_eq!(cut("nginx.service", 8), "nginx.s…");
        assert_eq!(cut("数据库服务", 6), "数据…");
        assert_eq!(cut("数据库服务", 5), "数据…");
        assert_eq!([cut("ab", 1), cut("ab", 0)], ["…", ""]);
        assert_eq!(cut("\u{1b}[31mred", 12), "\\u{1b}[31mr…");
    }

    proptest! {
        #[test]
        fn a_cut_text_fits(text in any::<String>(), width in 0..50_usize) {
            prop_assert!(cut(&text, width).width() <= width);
            prop_assert!(Line::of(&text, Role::Plain).with(&text, Role::Title).within(width).width() <= width);
        }
    }
}
