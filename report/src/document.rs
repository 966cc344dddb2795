//! A report before it is shown: sections of sentences, verdicts, tables and figures.
//!
//! `studies` makes it from a result, `sinks` show it. Nothing here knows a
//! terminal's width, a tag or a colour; where two sinks show the same table in
//! different columns, its columns say so ([`Head`], [`Shown`]). A block that only
//! one sink has is marked ([`Block::Page`], [`Block::Terminal`]).

use analysis::result::Estimate;

pub use crate::figure::Figure;
use crate::{figure, interval};

/// A report.
#[derive(Debug, Default)]
pub struct Document {
    /// Name of the page.
    pub title: String,
    /// Head of the report.
    pub masthead: Masthead,
    /// Places that a page leads to: their names, words, and a count where there is one.
    pub places: Vec<(String, String, Option<usize>)>,
    /// The sections, in the order of a page.
    pub sections: Vec<Section>,
    /// Data that a page carries for its script and for whoever reads it by one: names and JSON.
    pub data: Vec<(&'static str, String)>,
    /// Version of nettoll that writes it.
    pub tool: String,
}

/// Head of a report. Empty fields are not shown.
#[derive(Debug, Default)]
pub struct Masthead {
    /// Name of what is shown, next to the tool's.
    pub brand: String,
    /// The heading.
    pub heading: String,
    /// Disturbance of the measurements by the machine.
    pub disturbed: Option<String>,
    /// Reason not to use its receipts.
    pub red: Option<String>,
    /// Subject.
    pub about: String,
    /// When it began.
    pub started: String,
    /// Origin of its figures.
    pub source: String,
    /// The same as lines of a terminal.
    pub lines: Vec<String>,
}

/// A part of a report with a title.
#[derive(Debug, Default)]
pub struct Section {
    /// Name of its element in a page.
    pub id: String,
    /// Its title; empty: its pieces have headings enough.
    pub title: String,
    /// A terminal prints the title.
    pub headed: bool,
    /// Place in a terminal, where sections of a lower one come first.
    pub rank: u8,
    /// Content.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A section of a study: how to read it, what it draws, what it says.
    pub fn study(id: &str, title: &str, lead: String, figures: Vec<Figure>, blocks: impl IntoIterator<Item = Block>) -> Self {
        let lead = [Block::Lead(lead.into())].into_iter().chain(Block::figures(figures));
        Self { id: id.to_owned(), title: title.to_owned(), headed: true, rank: 1, blocks: lead.chain(blocks).collect() }
    }

    /// Every figure of it, in the order of a page.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.blocks.iter().flat_map(Block::all_figures)
    }
}

/// A piece of a section.
#[derive(Debug)]
pub enum Block {
    /// Introduction to the blocks that follow.
    Lead(Text),
    /// A sentence or two.
    Paragraph(Text),
    /// Secondary text.
    Aside(Text),
    /// A heading within a section or a piece.
    Heading(Text),
    /// The gravest doubt, or that there is none.
    Callout(Callout),
    /// The answers at a glance.
    Cards(Vec<Card>),
    /// Sentences under headings of their own.
    Prose(Vec<Prose>),
    /// Words and what they mean, with a word for the page's style.
    Terms(&'static str, Vec<(String, String)>),
    /// Meanings of the heads of tables.
    Legend(Vec<(&'static str, String)>),
    /// Markup of a page, and the figures that it has places for.
    Markup(String, Vec<Figure>),
    /// Ways to save the data of a page.
    Save,
    /// Note for a page that draws no figures because scripts are off.
    Undrawn(&'static str),
    /// Blocks below a heading of their own.
    Piece(Piece),
    /// Conclusion from the figures, with its tone.
    Conclusion(Tone, String),
    /// Facts to know before believing the figures.
    Warnings(Vec<String>),
    /// Sentences, each of which stands by itself.
    Sentences(Vec<Text>),
    /// Sentences that answer the question: a page leads with them, a terminal, which
    /// is read from its end, ends with them.
    Answers(Vec<Text>),
    /// Doubts with remedies.
    Findings(Vec<Finding>),
    /// Statements that were tested.
    Statements(Vec<Statement>),
    /// Figures that are not to be used, why, and what to do.
    Alert(Alert),
    /// Explanations of signs, in the sentences of a page.
    Key(&'static str),
    /// A table.
    Table(Table),
    /// Figures next to each other; a terminal draws none.
    Figures(Vec<Figure>),
    /// Shares over two levels.
    Map(HeatMap),
    /// Blocks for who wants every figure: a page folds them below the summary, a
    /// terminal leaves them out.
    Details(String, Vec<Self>),
    /// Blocks of a page alone.
    Page(Vec<Self>),
    /// Blocks of a terminal alone.
    Terminal(Vec<Self>),
    /// An empty line in a terminal; a page spaces by itself.
    Gap,
}

impl Block {
    /// Sentences; none where there are none to say.
    pub fn sentences<T: Into<Text>>(all: impl IntoIterator<Item = T>) -> Option<Self> {
        let all: Vec<Text> = all.into_iter().map(Into::into).collect();
        (!all.is_empty()).then_some(Self::Sentences(all))
    }

    /// Warnings; none where there is none.
    pub fn warnings(all: Vec<String>) -> Option<Self> {
        (!all.is_empty()).then_some(Self::Warnings(all))
    }

    /// Figures that have something to draw; none where none has.
    pub fn figures(all: Vec<Figure>) -> Option<Self> {
        let all: Vec<Figure> =
            all.into_iter().map(figure::placeable).filter(|one| one.traces.iter().any(|trace| !trace.is_empty())).collect();
        (!all.is_empty()).then_some(Self::Figures(all))
    }

    fn all_figures(&self) -> Vec<&Figure> {
        match self {
            Self::Figures(figures) | Self::Markup(_, figures) => figures.iter().collect(),
            Self::Piece(Piece { blocks, .. }) | Self::Page(blocks) | Self::Details(_, blocks) => {
                blocks.iter().flat_map(Self::all_figures).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Blocks below a heading.
    pub fn piece(heading: impl Into<Text>, blocks: impl IntoIterator<Item = Self>) -> Self {
        Self::Piece(Piece { heading: heading.into(), blocks: blocks.into_iter().collect(), ..Piece::default() })
    }

    /// Folded blocks; none where there is nothing to fold.
    pub fn details(summary: impl Into<String>, blocks: impl IntoIterator<Item = Self>) -> Option<Self> {
        let blocks: Vec<Self> = blocks.into_iter().collect();
        (!blocks.is_empty()).then(|| Self::Details(summary.into(), blocks))
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

/// Blocks below a heading of their own.
#[derive(Debug, Default)]
pub struct Piece {
    /// Name of its element in a page; empty: none.
    pub id: &'static str,
    /// A word that the page's style goes by; empty: none.
    pub style: &'static str,
    /// Subject.
    pub heading: Text,
    /// Content.
    pub blocks: Vec<Block>,
}

/// A sentence that is seen first.
#[derive(Debug)]
pub struct Callout {
    /// The place that it leads to; empty: all is well.
    pub place: &'static str,
    /// In few words.
    pub head: String,
    /// In a sentence.
    pub text: String,
}

/// An answer at a glance.
#[derive(Debug)]
pub struct Card {
    /// Subject.
    pub heading: String,
    /// The figure; text: why there is none.
    pub value: Cell,
    /// Description of the figure.
    pub what: String,
    /// Further figures with their names; those that are [`Cell::Nothing`] are not shown.
    pub facts: Vec<(String, Cell)>,
}

/// Sentences under a heading of their own.
#[derive(Debug)]
pub struct Prose {
    /// Subject.
    pub heading: String,
    /// The sentences.
    pub sentences: Vec<Text>,
}

/// A comparison or an advice: a heading, what follows, and the figures behind it.
#[derive(Debug, Default)]
pub struct Part {
    /// Subject.
    pub heading: String,
    /// Conclusion in a sentence, with its tone.
    pub conclusion: Option<(Tone, String)>,
    /// Facts to know before believing it.
    pub warnings: Vec<String>,
    /// The tables.
    pub tables: Vec<Table>,
    /// Further notes.
    pub notes: Vec<String>,
    /// Tables for who wants every figure.
    pub more: Vec<Table>,
}

impl From<Part> for Block {
    fn from(part: Part) -> Self {
        let mut blocks: Vec<Self> = Vec::new();
        blocks.extend(part.conclusion.map(|(tone, text)| Self::Conclusion(tone, text)));
        blocks.extend(Self::warnings(part.warnings));
        blocks.extend(part.tables.into_iter().map(Self::Table));
        blocks.extend(Self::sentences(part.notes));
        blocks.extend(Self::details(format!("Every figure: {}", part.heading), part.more.into_iter().map(Self::Table)));
        Self::piece(part.heading, blocks)
    }
}

/// Tone of a conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Well.
    Good,
    /// Nothing follows.
    Open,
    /// Badly.
    Bad,
}

/// A doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The doubt in a sentence.
    pub text: String,
    /// Remedy; empty where there is none.
    pub remedy: String,
    /// Cells it concerns; empty for all.
    pub concerns: String,
}

/// Figures that are not to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// Names in a sentence.
    pub text: String,
    /// The reasons.
    pub reasons: Vec<String>,
    /// Remedy.
    pub remedies: Vec<String>,
}

/// A statement that was tested, with its ruling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Name of its element in a page.
    pub id: String,
    /// Ruling, statement and what was found.
    pub text: Text,
    /// The rule that it was tested by.
    pub rule: String,
}

/// Text in which some words stand out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(pub Vec<Span>);

/// A stretch of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// As it is.
    Plain(String),
    /// In bold.
    Strong(String),
    /// Set back.
    Faint(String),
    /// A note of its own line.
    Small(String),
    /// The `±` of a figure.
    Margin(String),
    /// A way to another place of the page: its name, and the words.
    Link(&'static str, String),
}

impl Span {
    /// The words alone.
    pub fn words(&self) -> &str {
        match self {
            Self::Plain(text) | Self::Strong(text) | Self::Faint(text) | Self::Small(text) | Self::Margin(text) | Self::Link(_, text) => {
                text
            }
        }
    }
}

impl Text {
    /// The words alone.
    pub fn plain(&self) -> String {
        self.0.iter().map(Span::words).collect()
    }

    /// The same text with more behind it.
    pub fn and(mut self, span: Span) -> Self {
        self.0.push(span);
        self
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(vec![Span::Plain(text)])
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

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
    /// Its cells, from the first row.
    pub cells: Vec<Cell>,
}

impl Column {
    /// A column without cells.
    pub fn new(head: impl Into<Head>, kind: Kind) -> Self {
        Self { head: head.into(), kind, tight: false, cells: Vec::new() }
    }
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
            })
        })
    }
}

impl From<Text> for Cell {
    fn from(text: Text) -> Self {
        Self::Text(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<Option<String>> for Cell {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Nothing, Into::into)
    }
}

/// A share for each pair of two levels.
#[derive(Debug)]
pub struct HeatMap {
    /// Description for readers who cannot see it.
    pub label: String,
    /// Text above the names of rows in a terminal.
    pub corner: &'static str,
    /// Quantity that rises to the right.
    pub across: &'static str,
    /// Quantity that rises upwards.
    pub up: &'static str,
    /// Levels to the right.
    pub columns: Vec<Level>,
    /// Levels upwards.
    pub rows: Vec<Level>,
    /// The shares.
    pub squares: Vec<Square>,
}

/// A level of a heat map.
#[derive(Debug)]
pub struct Level {
    /// Its shortest name.
    pub name: String,
    /// Explanation for readers who point at it.
    pub hint: String,
}

/// A share of a heat map.
#[derive(Debug)]
pub struct Square {
    /// Place of its column.
    pub column: usize,
    /// Place of its row.
    pub row: usize,
    /// The share, from 0.
    pub share: f64,
    /// It has a star.
    pub marked: bool,
    /// It has a frame.
    pub framed: bool,
    /// Explanation for readers who point at it.
    pub hint: String,
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
