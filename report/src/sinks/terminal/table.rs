//! Tables of aligned columns that fit a width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::document::{Cut, Keeps};

/// Between two columns.
const GAP: usize = 2;

/// One column, every cell of it padded to one width.
pub struct Column {
    head: [String; 2],
    keep: u8,
    /// A boundary lies to its left.
    edge: bool,
    cells: Vec<String>,
    /// Its words may be cut, and what stays of them.
    cut: Option<Cut>,
    /// Its cells stand at the left.
    pub is_of_words: bool,
}

/// A figure of a column.
pub enum Figure {
    /// As it is, aligned to the right.
    Whole(String),
    /// The value, its `±` and more, each below its like.
    Parts([String; 3]),
}

impl Column {
    /// Figures, aligned to the right. `keep` ranks it:
    /// columns of the lowest rank go first when there is no room.
    pub fn figures(keep: u8, head: [impl Into<String>; 2], cells: &[Figure]) -> Self {
        let part = |place: usize| {
            let parts = cells.iter().filter_map(|cell| if let Figure::Parts(parts) = cell { Some(parts[place].width()) } else { None });
            parts.max().unwrap_or(0)
        };
        let [value, margin, last] = [part(0), part(1), part(2)];
        let write = |cell: &Figure| match cell {
            Figure::Whole(text) => text.clone(),
            Figure::Parts(parts) => {
                let mut text = right(&parts[0], value);
                text += &if margin > 0 { format!(" {}", left(&parts[1], margin)) } else { String::new() };
                text + &if last > 0 { format!(" {}", right(&parts[2], last)) } else { String::new() }
            }
        };
        let cells: Vec<String> = cells.iter().map(write).collect();
        let width = widest(&cells);
        let cells = cells.iter().map(|cell| right(cell, width)).collect();
        Self { head: head.map(Into::into), keep, edge: false, cells, cut: None, is_of_words: false }
    }

    /// Words, aligned to the left.
    pub fn words(keep: u8, head: [impl Into<String>; 2], cells: Vec<String>) -> Self {
        let width = widest(&cells);
        let cells = cells.iter().map(|cell| left(cell, width)).collect();
        Self { head: head.map(Into::into), keep, edge: false, cells, cut: None, is_of_words: true }
    }

    /// The same, whose words may be cut, with a boundary to its left or without.
    pub fn with(self, cut: Option<Cut>, edge: bool) -> Self {
        Self { cut, edge, ..self }
    }

    /// Number of its cells.
    pub const fn rows(&self) -> usize {
        self.cells.len()
    }

    /// Its head on one line, and a cell.
    pub fn entry(&self, row: usize) -> (String, &str) {
        let cell = self.cells.get(row).map_or("", |cell| cell.trim());
        (self.head.join(" ").trim().to_owned(), cell)
    }

    fn width(&self) -> usize {
        self.cells.iter().chain(&self.head).map(String::as_str).map(UnicodeWidthStr::width).max().unwrap_or(0)
    }

    /// The width that it has at least, once its words are cut.
    fn least(&self) -> usize {
        let head = || widest(&self.head);
        self.cut.map_or_else(|| self.width(), |cut| self.width().min(cut.least.max(head())))
    }

    /// Cuts its words by up to `beyond` letters.
    fn narrow(&mut self, beyond: usize) {
        let room = self.width().saturating_sub(beyond).max(self.least());
        let Some(cut) = self.cut.filter(|_| beyond > 0) else { return };
        for cell in &mut self.cells {
            let words = cell.trim_end();
            *cell = if words.width() > room { shortened(words, room, cut.keeps) } else { left(words, room) };
        }
    }
}

/// Mark of a cut.
const CUT: char = '…';

/// As much of a text as `room` has, with the mark of the cut.
fn shortened(text: &str, room: usize, keeps: Keeps) -> String {
    let mut left = room.saturating_sub(1);
    let mut fits = |letter: &char| {
        let width = letter.width().unwrap_or(0);
        left.checked_sub(width).map(|rest| left = rest).is_some()
    };
    match keeps {
        Keeps::Start => text.chars().take_while(&mut fits).chain([CUT]).collect(),
        Keeps::End => {
            let mut letters: Vec<char> = text.chars().rev().take_while(&mut fits).chain([CUT]).collect();
            letters.reverse();
            letters.into_iter().collect()
        }
    }
}

/// A table as lines.
pub struct Lines {
    /// Lines of the head.
    pub head: [String; 2],
    /// The rows.
    pub rows: Vec<String>,
    /// Columns have no room.
    pub is_short: bool,
}

/// Returns whether all columns fit a width without a cut.
pub fn fits(columns: &[Column], width: usize) -> bool {
    total(columns) <= width
}

/// The lines of the head and of the rows, of the columns that fit once words are cut.
pub fn table(mut columns: Vec<Column>, width: usize) -> Lines {
    let all = columns.len();
    while columns.len() > 1 && taken(&columns, Column::least) > width {
        let Some((place, _)) = columns.iter().enumerate().rev().min_by_key(|(_, column)| column.keep) else { break };
        let edge = columns.remove(place).edge;
        // What lay to the left of it lies to the left of the next.
        columns.iter_mut().skip(place).take(1).for_each(|next| next.edge |= edge);
    }
    columns.iter_mut().filter(|column| column.edge).for_each(|column| column.head[1].insert_str(0, "│ "));
    // A path gives way before the name that stands first.
    for place in (0..columns.len()).rev() {
        let beyond = total(&columns).saturating_sub(width);
        columns[place].narrow(beyond);
    }
    let line = |cell: &dyn Fn(&Column) -> &str| {
        let padded =
            |column: &Column| if column.is_of_words { left(cell(column), column.width()) } else { right(cell(column), column.width()) };
        columns.iter().map(padded).collect::<Vec<_>>().join(&" ".repeat(GAP))
    };
    let head = [0, 1].map(|place| line(&|column| &column.head[place]));
    let rows = 0..columns.first().map_or(0, Column::rows);
    let rows = rows.map(|row| line(&|column| column.cells.get(row).map_or("", String::as_str))).collect();
    Lines { head, rows, is_short: columns.len() < all }
}

/// Width of the columns with the gaps between them.
fn total(columns: &[Column]) -> usize {
    taken(columns, Column::width)
}

fn taken(columns: &[Column], width: fn(&Column) -> usize) -> usize {
    columns.iter().map(width).sum::<usize>() + GAP * columns.len().saturating_sub(1)
}

fn widest(cells: &[String]) -> usize {
    cells.iter().map(|cell| cell.width()).max().unwrap_or(0)
}

fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

fn left(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}
