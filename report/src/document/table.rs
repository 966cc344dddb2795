//! Tables: columns of words and figures, each with its level and its rank.

use analysis::result::{Estimate, Percentile};

use super::{Level, Text};
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
    /// The style has a form of its own for a narrow screen.
    pub has_narrow_style: bool,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Rows that begin a group, with its name, in rising order.
    pub groups: Vec<(usize, Text)>,
    /// Rows that are no plain ones; shorter than the rows where plain ones follow.
    pub row_kinds: Vec<RowKind>,
    /// Levels of the rows; shorter than the rows where those of the answer follow.
    pub row_levels: Vec<Level>,
}

/// A row that is no plain one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RowKind {
    /// A plain one.
    #[default]
    Plain,
    /// A part of a row above it.
    Part,
    /// A sum of others.
    Sum,
    /// One whose cells differ.
    Differs,
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
    /// Level at which it is shown.
    pub level: Level,
    /// Content and alignment.
    pub kind: Kind,
    /// No spaces between numbers and units where room is short.
    pub tight: bool,
    /// A boundary lies between it and the column before.
    pub edge: bool,
    /// What is cut off its words before figures are left out; `None`: nothing.
    pub cut: Option<Cut>,
    /// Reason not to use it; empty: none.
    pub bad: &'static str,
    /// Its cells, from the first row.
    pub cells: Vec<Cell>,
}

impl Column {
    /// A column without cells.
    pub fn new(head: impl Into<Head>, kind: Kind) -> Self {
        let head = head.into();
        Self { head, level: Level::Answer, kind, tight: false, edge: false, cut: None, bad: "", cells: Vec::new() }
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
    /// Figures with intervals, of which so much is shown.
    Estimates(Shown),
}

/// Parts of an estimate that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The value.
    Value,
    /// The value with its `±`; both ends for a reader who points at it.
    Margin,
    /// Both ends of the interval.
    Ends,
    /// The value, both ends and the number of units.
    All,
}

/// Head of a column.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// On one line.
    pub line: String,
    /// On two short ones.
    pub short: [String; 2],
    /// Columns of the lowest rank go first where room is short. `None`: words stay, and
    /// of the rest the later columns go first.
    pub rank: Option<u8>,
}

impl Head {
    /// The same with a rank.
    pub fn ranked(head: impl Into<String>, rank: u8) -> Self {
        Self { rank: Some(rank), ..Self::from(head.into()) }
    }
}

impl From<String> for Head {
    fn from(head: String) -> Self {
        Self { line: head.clone(), short: [String::new(), head], rank: None }
    }
}

impl From<&str> for Head {
    fn from(head: &str) -> Self {
        head.to_owned().into()
    }
}

/// The head on one line, the rank, and the head on two.
impl<T: Into<String>> From<(&str, u8, [T; 2])> for Head {
    fn from((line, rank, short): (&str, u8, [T; 2])) -> Self {
        Self { line: line.to_owned(), short: short.map(Into::into), rank: Some(rank) }
    }
}

/// A cell of a table.
#[derive(Debug, Clone)]
pub enum Cell {
    /// There is no figure.
    Nothing,
    /// Text, or a figure as it is written.
    Text(Text),
    /// The same, with an explanation for a reader who points at it.
    Hinted(Text, String),
    /// The same on a ground as dark as a share of the darkest.
    Shaded(Text, f64),
    /// A figure with its interval.
    Estimate(Estimated),
    /// A figure of a receipt.
    Entry(Entry),
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

/// A figure in parts, each of which stands below those of its kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entry {
    /// The figure.
    pub value: String,
    /// Its `±`; empty where there is none to have.
    pub margin: String,
    /// Its share of a whole; empty where it makes no sense.
    pub share: String,
    /// Calls of a routine, and the letter of the way in which they were counted; empty of other rows.
    pub calls: String,
    /// Both ends of the interval, for a reader who points at it.
    pub title: String,
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
    /// `?` where the ends of the interval are more than a factor of two apart.
    pub mark: &'static str,
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
                mark: interval::mark(estimate),
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
                mark: "",
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
    level: Level,
    columns: Vec<Column>,
}

impl<'a, R> Rows<'a, R> {
    /// A table of these rows, without columns.
    pub fn of(rows: impl IntoIterator<Item = &'a R>) -> Self {
        Self { rows: rows.into_iter().collect(), tight: false, level: Level::Answer, columns: Vec::new() }
    }

    /// The columns that follow go without spaces between numbers and units where room is short.
    pub fn tight(self, tight: bool) -> Self {
        Self { tight, ..self }
    }

    /// The columns that follow stand at this level.
    pub fn level(self, level: Level) -> Self {
        Self { level, ..self }
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
        self.columns.push(Column { tight: self.tight, level: self.level, cells, ..Column::new(head, kind) });
        self
    }

    /// One more column, made already.
    pub fn made(mut self, column: Column) -> Self {
        self.columns.push(column);
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
