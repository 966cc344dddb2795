//! Tables of aligned columns that fit a width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::document::{Cut, Keeps};

/// Between two columns.
const GAP: usize = 2;

/// One column, every cell of it padded to one width.
pub struct Column {
    head: [String; 2],
    keep: u8,
    cells: Vec<String>,
    /// Places of cells that are set back; shorter than the cells where none follows.
    faint: Vec<bool>,
    /// Its words may be cut, and what stays of them.
    cut: Option<Cut>,
    align: fn(&str, usize) -> String,
}

/// A cell of a row with the gap before it.
pub struct Entry {
    pub text: String,
    /// It is set back.
    pub faint: bool,
}

/// A figure with its interval in a narrow column.
pub enum Measured {
    /// The value and its `±`.
    Margin(String, String),
    /// Both ends: the interval is too wide for a value to mean much.
    Range(String),
}

impl Column {
    /// Figures, aligned to the right. `keep` ranks it: columns of the lowest
    /// rank go first when there is no room.
    pub fn figures(keep: u8, head: [impl Into<String>; 2], cells: Vec<String>) -> Self {
        let width = widest(&cells);
        let cells = cells.iter().map(|cell| right(cell, width)).collect();
        Self { head: head.map(Into::into), keep, cells, faint: Vec::new(), cut: None, align: right }
    }

    /// Words, aligned to the left.
    pub fn words(keep: u8, head: [impl Into<String>; 2], cells: Vec<String>) -> Self {
        let width = widest(&cells);
        let cells = cells.iter().map(|cell| left(cell, width)).collect();
        Self { head: head.map(Into::into), keep, cells, faint: Vec::new(), cut: None, align: left }
    }

    /// The same, whose words may be cut.
    pub fn with_cut(self, cut: Option<Cut>) -> Self {
        Self { cut, ..self }
    }

    /// Figures with their `±`, each aligned by itself; those marked `faint` are set back.
    pub fn measured(keep: u8, head: [impl Into<String>; 2], cells: &[Measured], faint: Vec<bool>) -> Self {
        let widest = |part: fn(&Measured) -> &str| cells.iter().map(|cell| part(cell).width()).max().unwrap_or(0);
        let value = widest(|cell| if let Measured::Margin(value, _) = cell { value } else { "" });
        let margin = widest(|cell| if let Measured::Margin(_, margin) = cell { margin } else { "" });
        let write = |cell: &Measured| match cell {
            Measured::Margin(number, reach) => format!("{} {}", right(number, value), left(reach, margin)),
            Measured::Range(text) => right(text, value + 1 + margin),
        };
        Self { head: head.map(Into::into), keep, cells: cells.iter().map(write).collect(), faint, cut: None, align: right }
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

/// The lines of the head and of the rows, of the columns that fit once words are cut.
pub fn table(mut columns: Vec<Column>, width: usize) -> ([String; 2], Vec<Vec<Entry>>) {
    while columns.len() > 1 && taken(&columns, Column::least) > width {
        let Some((place, _)) = columns.iter().enumerate().rev().min_by_key(|(_, column)| column.keep) else { break };
        columns.remove(place);
    }
    // A path gives way before the name that stands first.
    for place in (0..columns.len()).rev() {
        let beyond = total(&columns).saturating_sub(width);
        columns[place].narrow(beyond);
    }
    let heads = [0, 1].map(|line| columns.iter().map(|column| column.head[line].as_str()).zip(&columns).map(padded).collect::<Vec<_>>());
    let heads = heads.map(|cells| cells.join(&" ".repeat(GAP)));
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let entry = |row: usize, place: usize, column: &Column| Entry {
        text: " ".repeat(if place == 0 { 0 } else { GAP }) + &padded((column.cells.get(row).map_or("", String::as_str), column)),
        faint: column.faint.get(row).copied().unwrap_or_default(),
    };
    let rows = (0..rows).map(|row| columns.iter().enumerate().map(|(place, column)| entry(row, place, column)).collect()).collect();
    (heads, rows)
}

/// Width of the columns with the gaps between them.
pub fn total(columns: &[Column]) -> usize {
    taken(columns, Column::width)
}

fn taken(columns: &[Column], width: fn(&Column) -> usize) -> usize {
    columns.iter().map(width).sum::<usize>() + GAP * columns.len().saturating_sub(1)
}

fn padded((cell, column): (&str, &Column)) -> String {
    (column.align)(cell, column.width())
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
