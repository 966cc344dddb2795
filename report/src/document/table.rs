//! Tables: columns of words and figures, each with its place in the sinks.

use analysis::result::{Estimate, Percentile};

use super::Text;
use crate::{interval, number};

/// A table. The cells of its first column name the rows.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Title printed above it; empty where its surroundings name it.
    pub title: String,
    /// Description for readers who cannot see it; empty: the title.
    pub label: String,
    /// The same within the table of a page; empty: none.
    pub caption: String,
    /// A word that the page's style goes by; empty: none.
    pub style: &'static str,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Rows that begin a group, with its name, in rising order.
    pub groups: Vec<(usize, String)>,
    /// Words that the page's style of a row goes by; shorter than the rows where none follows.
    pub row_styles: Vec<&'static str>,
}

impl Table {
    /// A table of columns made already.
    pub fn of_columns(columns: Vec<Column>) -> Self {
        Self { columns, ..Self::default() }
    }

    /// A table of rows made already: words in the first column, `kind` in the others.
    pub fn of_rows(heads: Vec<impl Into<Head>>, rows: Vec<Vec<impl Into<Cell>>>, kind: Kind) -> Self {
        let mut columns: Vec<Column> =
            heads.into_iter().enumerate().map(|(place, head)| Column::new(head, if place == 0 { Kind::Words } else { kind })).collect();
        for row in rows {
            let mut cells = row.into_iter();
            columns.iter_mut().for_each(|column| column.cells.push(cells.next().map_or(Cell::Nothing, Into::into)));
        }
        Self::of_columns(columns)
    }

    /// The same with a title, and all but the first column of figures.
    pub fn of_figures(title: impl Into<String>, heads: Vec<impl Into<Head>>, rows: Vec<Vec<impl Into<Cell>>>) -> Self {
        Self::of_rows(heads, rows, Kind::Figures).titled(title)
    }

    /// The same with words in the last column.
    pub fn of_verdicts(title: impl Into<String>, heads: Vec<impl Into<Head>>, rows: Vec<Vec<impl Into<Cell>>>) -> Self {
        let mut table = Self::of_figures(title, heads, rows);
        table.columns.last_mut().into_iter().for_each(|column| column.kind = Kind::Words);
        table
    }

    /// With a title above it.
    pub fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// With a label, and with a caption within a page.
    pub fn labelled(self, label: impl Into<String>, caption: impl Into<String>) -> Self {
        Self { label: label.into(), caption: caption.into(), ..self }
    }

    /// With a word for the page's style.
    pub fn styled(self, style: &'static str) -> Self {
        Self { style, ..self }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }
}

/// A column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    /// Head.
    pub head: Head,
    /// Content and alignment.
    pub kind: Kind,
    /// A terminal leaves out the spaces between numbers and units.
    pub tight: bool,
    /// Words that the page's style of its head and of its cells goes by; `None`: those of its kind.
    pub style: Option<[&'static str; 2]>,
    /// What a terminal that is too narrow cuts off its words before it leaves out figures; `None`: nothing.
    pub cut: Option<Cut>,
    /// Note below its head in a page; empty: none.
    pub note: &'static str,
    /// Its cells, from the first row.
    pub cells: Vec<Cell>,
}

impl Column {
    /// A column without cells.
    pub fn new(head: impl Into<Head>, kind: Kind) -> Self {
        Self { head: head.into(), kind, tight: false, style: None, cut: None, note: "", cells: Vec::new() }
    }
}

/// Words that may be cut to make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Letters that stay at least, the mark of the cut among them.
    pub least: usize,
    /// The part that stays.
    pub keeps: Keeps,
}

/// The part of words that a cut leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// Their beginning: of a name.
    Start,
    /// Their end: of a path.
    End,
}

/// Content of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Words, aligned to the left.
    Words,
    /// Figures, aligned to the right.
    Figures,
    /// Figures with intervals, shown in a page and in a terminal as it says.
    Estimates(Shown, Shown),
}

/// Parts of an estimate that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The value.
    Value,
    /// The value with its `±`; both ends for who points at it.
    Margin,
    /// The value with its `±`, as one text.
    Joined,
    /// Both ends of the interval.
    Ends,
    /// The value, both ends and the number of units.
    All,
}

/// Head of a column, in each sink that has the column.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// In a page and in Markdown; `None`: they have no such column.
    pub page: Option<String>,
    /// In a terminal, on two lines; `None`: it has no such column.
    pub terminal: Option<[String; 2]>,
    /// Columns of the lowest rank go first where a terminal is too narrow. `None`:
    /// words stay, and of the rest the later columns go first.
    pub rank: Option<u8>,
}

impl Head {
    /// Makes the head of a column that only a page has.
    pub fn page(head: impl Into<String>) -> Self {
        Self { page: Some(head.into()), ..Self::default() }
    }

    /// Makes the head of a column that only a terminal has.
    pub fn terminal(rank: u8, lines: [impl Into<String>; 2]) -> Self {
        Self { page: None, terminal: Some(lines.map(Into::into)), rank: Some(rank) }
    }
}

impl From<String> for Head {
    fn from(head: String) -> Self {
        Self { page: Some(head.clone()), terminal: Some([String::new(), head]), rank: None }
    }
}

impl From<&str> for Head {
    fn from(head: &str) -> Self {
        head.to_owned().into()
    }
}

/// The head in a page, the rank in a terminal, and the head there.
impl<T: Into<String>> From<(&str, u8, [T; 2])> for Head {
    fn from((page, rank, lines): (&str, u8, [T; 2])) -> Self {
        Self { page: Some(page.to_owned()), ..Self::terminal(rank, lines) }
    }
}

/// A cell of a table.
#[derive(Debug, Clone)]
pub enum Cell {
    /// There is no figure.
    Nothing,
    /// Text, or a figure as it is written.
    Text(Text),
    /// The same, with an explanation for who points at it.
    Hinted(Text, String),
    /// A figure with its interval.
    Estimate(Estimated),
    /// A line, and smaller ones below it.
    Stack(Vec<String>),
    /// Texts below each other.
    Lines(Vec<Text>),
    /// Text that reaches over this many rows.
    Tall(usize, Text),
    /// Text that reaches over this many columns.
    Wide(usize, Text),
    /// A taller or wider cell reaches over here.
    Covered,
}

/// A figure with its interval, as it is written.
#[derive(Debug, Clone)]
pub struct Estimated {
    /// The value.
    pub value: String,
    /// The `±`; empty where there is none to have.
    pub margin: String,
    /// Both ends, or why there are none.
    pub ends: String,
    /// Number of units behind it.
    pub n: usize,
    /// There is an interval.
    pub known: bool,
    /// Reach of the interval to its farther end, as a share of the value.
    pub reach: Option<f64>,
    /// Both ends in few letters, such as `290ns–2.13µs`; empty where there are none.
    pub range: String,
}

impl Cell {
    /// An estimate as `write` writes it.
    pub fn estimate(estimate: Option<&Estimate>, write: fn(f64) -> String) -> Self {
        estimate.map_or(Self::Nothing, |estimate| {
            Self::Estimate(Estimated {
                value: write(estimate.value),
                margin: interval::plus_minus(estimate),
                ends: interval::range(estimate, write),
                n: estimate.n,
                known: estimate.interval.is_some(),
                reach: estimate.half_width(),
                range: interval::short_range(estimate, write),
            })
        })
    }

    /// A percentile of times: where it is a lower bound, with `≥`.
    pub fn percentile(found: Option<&Percentile>) -> Self {
        let cell = Self::estimate(found.map(|found| &found.estimate), number::time);
        match (cell, found) {
            (Self::Estimate(one), Some(found)) if found.at_least => Self::Estimate(Estimated {
                value: interval::at_least(&one.value),
                margin: String::new(),
                ends: "no upper end: times that are missing count as longer than all others".to_owned(),
                reach: None,
                ..one
            }),
            (cell, _) => cell,
        }
    }
}

impl<T: Into<Text>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

impl From<Option<String>> for Cell {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Nothing, Into::into)
    }
}

/// A table that grows column by column over the same rows.
pub struct Rows<'a, R> {
    rows: Vec<&'a R>,
    tight: bool,
    columns: Vec<Column>,
}

impl<'a, R> Rows<'a, R> {
    /// A table of these rows, without columns.
    pub fn of(rows: impl IntoIterator<Item = &'a R>) -> Self {
        Self { rows: rows.into_iter().collect(), tight: false, columns: Vec::new() }
    }

    /// A terminal leaves spaces between numbers and units out of the columns that follow.
    pub fn tight(self, tight: bool) -> Self {
        Self { tight, ..self }
    }

    /// One more column of words.
    pub fn words<C: Into<Cell>>(self, head: impl Into<Head>, cell: impl Fn(&'a R) -> C) -> Self {
        self.column(head, Kind::Words, cell)
    }

    /// One more column of figures.
    pub fn figures<C: Into<Cell>>(self, head: impl Into<Head>, cell: impl Fn(&'a R) -> C) -> Self {
        self.column(head, Kind::Figures, cell)
    }

    /// One more column.
    pub fn column<C: Into<Cell>>(mut self, head: impl Into<Head>, kind: Kind, cell: impl Fn(&'a R) -> C) -> Self {
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        self.columns.push(Column { tight: self.tight, cells, ..Column::new(head, kind) });
        self
    }

    /// The same, where `there`.
    pub fn column_if<C: Into<Cell>>(self, there: bool, head: impl Into<Head>, kind: Kind, cell: impl Fn(&'a R) -> C) -> Self {
        if there { self.column(head, kind, cell) } else { self }
    }

    /// The table, without a title.
    pub fn table(self) -> Table {
        Table::of_columns(self.columns)
    }
}
