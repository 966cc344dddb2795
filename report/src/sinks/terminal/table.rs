//! Tables of aligned columns that fit a width.

use unicode_width::UnicodeWidthStr;

/// Between two columns.
const GAP: usize = 2;

/// One column, every cell of it padded to one width.
pub struct Column {
    head: [String; 2],
    keep: u8,
    cells: Vec<String>,
    align: fn(&str, usize) -> String,
}

impl Column {
    /// Figures, aligned to the right. `keep` ranks it: columns of the lowest
    /// rank go first when there is no room.
    pub fn figures(keep: u8, head: [impl Into<String>; 2], cells: Vec<String>) -> Self {
        let width = widest(&cells);
        Self { head: head.map(Into::into), keep, cells: cells.iter().map(|cell| right(cell, width)).collect(), align: right }
    }

    /// Words, aligned to the left.
    pub fn words(keep: u8, head: [impl Into<String>; 2], cells: Vec<String>) -> Self {
        let width = widest(&cells);
        Self { head: head.map(Into::into), keep, cells: cells.iter().map(|cell| left(cell, width)).collect(), align: left }
    }

    /// Figures with their `±`, each aligned by itself.
    pub fn measured(keep: u8, head: [impl Into<String>; 2], cells: Vec<(String, String)>) -> Self {
        let (values, widths): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
        let (value, margin) = (widest(&values), widest(&widths));
        let cells = values.iter().zip(&widths).map(|(v, w)| format!("{} {}", right(v, value), left(w, margin))).collect();
        Self { head: head.map(Into::into), keep, cells, align: right }
    }

    fn width(&self) -> usize {
        self.cells.iter().chain(&self.head).map(String::as_str).map(UnicodeWidthStr::width).max().unwrap_or(0)
    }
}

/// The lines of the head and of the rows, of the columns that fit.
pub fn table(mut columns: Vec<Column>, width: usize) -> (Vec<String>, Vec<String>) {
    while columns.len() > 1 && total(&columns) > width {
        let Some((place, _)) = columns.iter().enumerate().rev().min_by_key(|(_, column)| column.keep) else { break };
        columns.remove(place);
    }
    let heads = (0..2).map(|line| join(&columns, |column| column.head[line].as_str())).collect();
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let rows = (0..rows).map(|row| join(&columns, |column| column.cells.get(row).map_or("", String::as_str))).collect();
    (heads, rows)
}

/// Width of the columns with the gaps between them.
pub fn total(columns: &[Column]) -> usize {
    columns.iter().map(Column::width).sum::<usize>() + GAP * columns.len().saturating_sub(1)
}

fn join<'a>(columns: &'a [Column], cell: impl Fn(&'a Column) -> &'a str) -> String {
    let cells: Vec<String> = columns.iter().map(|column| (column.align)(cell(column), column.width())).collect();
    cells.join(&" ".repeat(GAP))
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
