//! A report before it is shown: sections of sentences, verdicts, tables and figures.
//!
//! `studies` makes it from a result, `sinks` show it. Nothing here knows a
//! terminal's width, a tag or a colour: a block and a column say at which [`Level`]
//! they stand, a column which others go before it, and a sink shows what it has room for.

pub mod charts;
pub mod figure;
pub mod flame;
mod table;

use std::borrow::Cow;

use analysis::answer::Answer;

use self::charts::{Breakdown, Forest, Ribbon, Waterfall};
pub use self::figure::Figure;
use self::flame::Flame;
pub use self::table::{Cell, Column, Cut, Entry, Estimated, Head, Keeps, Kind, RowKind, Rows, Shown, Table};

/// How much of a report a reader asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The answer: every reader has it.
    #[default]
    Answer,
    /// What stands behind it: on a page, and in a terminal that is asked for more.
    Usual,
    /// Every figure: a page folds it, a terminal leaves it to the page.
    Everything,
}

/// A report.
#[derive(Debug, Default)]
pub struct Document {
    /// Name of the page; empty: its heading.
    pub title: String,
    /// Head of the report.
    pub masthead: Masthead,
    /// The sections, in order.
    pub sections: Vec<Section>,
    /// Data that a page carries for its script and for programs that read it: names and JSON.
    pub data: Vec<(&'static str, String)>,
}

impl Document {
    /// A document below a masthead.
    pub fn of(masthead: Masthead, sections: impl IntoIterator<Item = Section>) -> Self {
        Self { masthead, sections: sections.into_iter().collect(), ..Self::default() }
    }

    /// A document of one section without a title, below a heading.
    pub fn plain(heading: impl Into<String>, blocks: impl IntoIterator<Item = Block>) -> Self {
        Self { sections: vec![Section::new("", heading, blocks)], ..Self::default() }
    }
}

/// Head of a report. Empty fields are not shown.
#[derive(Debug, Default)]
pub struct Masthead {
    /// Name of what is shown, next to the tool's.
    pub brand: String,
    /// The heading.
    pub heading: String,
    /// The answer, which is said before everything else.
    pub answer: Option<Answer>,
    /// Number of warnings.
    pub warnings: usize,
    /// Subject.
    pub about: String,
    /// Origin of its figures, the most telling first.
    pub lines: Vec<String>,
    /// Number of trials and end of a run that did not go as planned.
    pub ended: String,
}

impl Masthead {
    /// A masthead without an answer.
    pub fn of(brand: impl Into<String>, heading: impl Into<String>, lines: impl IntoIterator<Item = String>) -> Self {
        Self { brand: brand.into(), heading: heading.into(), lines: lines.into_iter().collect(), ..Self::default() }
    }
}

/// A part of a report.
#[derive(Debug, Default)]
pub struct Section {
    /// Name of its element in a page.
    pub id: String,
    /// Short name that leads to it; empty: nothing leads there.
    pub name: String,
    /// Its title; empty: its pieces have headings enough.
    pub title: String,
    /// Finding that a page folds it below; empty: it stands open.
    pub finding: String,
    /// Content.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A section of a study: how to read it, what it draws, what it says.
    pub fn study(id: &str, title: &str, lead: String, figures: Vec<Figure>, blocks: impl IntoIterator<Item = Block>) -> Self {
        Self::new(id, title, [Block::Lead(lead.into())].into_iter().chain(Block::figures(figures)).chain(blocks))
    }

    /// A section with a title that leads to it as well.
    pub fn new(id: impl Into<String>, title: impl Into<String>, blocks: impl IntoIterator<Item = Block>) -> Self {
        let title = title.into();
        Self { id: id.into(), name: title.clone(), title, blocks: blocks.into_iter().collect(), ..Self::default() }
    }

    /// A section whose pieces have headings enough, with a name that leads to it.
    pub fn named(id: impl Into<String>, name: impl Into<String>, blocks: impl IntoIterator<Item = Block>) -> Self {
        Self { title: String::new(), ..Self::new(id, name, blocks) }
    }

    /// A section of blocks alone.
    pub fn untitled(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self::named("", "", blocks)
    }

    /// The same, all of which stands behind an answer.
    pub fn behind(mut self) -> Self {
        if !self.blocks.is_empty() {
            self.blocks = vec![Block::usual(std::mem::take(&mut self.blocks))];
        }
        self
    }

    /// The same with another name that leads to it.
    pub fn led(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// The same, which a page folds below a finding.
    pub fn folded(self, finding: impl Into<String>) -> Self {
        Self { finding: finding.into(), ..self }
    }

    /// Every figure of it, in order.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.blocks.iter().flat_map(Block::all_figures)
    }
}

/// A piece of a section. What it holds says a sink at which level it is shown, and how.
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
    /// Words and their meanings, names and their values.
    Facts(Vec<(String, String)>),
    /// Blocks below a heading of their own.
    Piece(Text, Vec<Self>),
    /// Conclusion from the figures, with its tone.
    Conclusion(Tone, String),
    /// Facts to know before believing the figures.
    Warnings(Vec<String>),
    /// Sentences, each of which stands by itself.
    Sentences(Vec<Text>),
    /// Doubts with remedies.
    Findings(Vec<Finding>),
    /// Statements that were tested.
    Statements(Vec<Statement>),
    /// Figures that are not to be used, why, and what to do.
    Alert(Alert),
    /// A table.
    Table(Table),
    /// What is drawn.
    Picture(Picture),
    /// Shares over two levels.
    Map(HeatMap),
    /// Blocks at a level, which a page folds below the words, if there are any.
    At(Level, String, Vec<Self>),
}

/// What a sink that draws shows as a picture. Its figures are in tables as well.
#[derive(Debug)]
pub enum Picture {
    /// Charts next to each other.
    Charts(Vec<Chart>),
    /// Call chains.
    Flame(Box<Flame>),
    /// The time of one message at sizes that a reader chooses from.
    Waterfalls(Waterfalls),
}

/// A chart in a row of them.
#[derive(Debug)]
pub enum Chart {
    /// Points and lines over an axis.
    Figure(Figure),
    /// Changes against a threshold.
    Forest(Forest),
    /// The best choice by size.
    Ribbon(Ribbon),
    /// A whole in parts.
    Breakdown(Breakdown),
}

/// Pictures of one message, of which one is shown.
#[derive(Debug)]
pub struct Waterfalls {
    /// Name of their element in a page.
    pub id: String,
    /// Title.
    pub title: String,
    /// Each with its name, words that choose it, and whether it is shown first.
    pub all: Vec<(String, String, bool, Waterfall)>,
}

impl Chart {
    const fn figure(&self) -> Option<&Figure> {
        match self {
            Self::Figure(figure) => Some(figure),
            Self::Forest(_) | Self::Ribbon(_) | Self::Breakdown(_) => None,
        }
    }
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
        Self::charts(all.into_iter().map(Chart::Figure))
    }

    /// Charts that have something to draw; none where none has.
    pub fn charts(all: impl IntoIterator<Item = Chart>) -> Option<Self> {
        let drawn = |chart: Chart| match chart {
            Chart::Figure(one) => figure::drawable(one).map(Chart::Figure),
            chart => Some(chart),
        };
        let mut all: Vec<Chart> = all.into_iter().collect();
        figure::share_scales(all.iter_mut().filter_map(|chart| if let Chart::Figure(one) = chart { Some(one) } else { None }));
        let all: Vec<Chart> = all.into_iter().filter_map(drawn).collect();
        (!all.is_empty()).then_some(Self::Picture(Picture::Charts(all)))
    }

    /// A flame graph.
    pub fn flame(graph: Flame) -> Self {
        Self::Picture(Picture::Flame(Box::new(graph)))
    }

    fn all_figures(&self) -> Vec<&Figure> {
        match self {
            Self::Picture(Picture::Charts(charts)) => charts.iter().filter_map(Chart::figure).collect(),
            Self::Piece(_, blocks) | Self::At(_, _, blocks) => blocks.iter().flat_map(Self::all_figures).collect(),
            _ => Vec::new(),
        }
    }

    /// Blocks below a heading.
    pub fn piece(heading: impl Into<Text>, blocks: impl IntoIterator<Item = Self>) -> Self {
        Self::Piece(heading.into(), blocks.into_iter().collect())
    }

    /// Words and their meanings.
    pub fn facts<K: Into<String>, S: Into<String>>(all: impl IntoIterator<Item = (K, S)>) -> Self {
        Self::Facts(all.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// Blocks that stand behind an answer.
    pub fn usual(blocks: impl IntoIterator<Item = Self>) -> Self {
        Self::At(Level::Usual, String::new(), blocks.into_iter().collect())
    }

    /// Blocks of the answer that a page has no room for at once, folded below a summary; none where there is
    /// nothing to fold.
    pub fn folded(summary: impl Into<String>, blocks: impl IntoIterator<Item = Self>) -> Option<Self> {
        Self::at(Level::Answer, summary.into(), blocks)
    }

    fn at(level: Level, summary: String, blocks: impl IntoIterator<Item = Self>) -> Option<Self> {
        let blocks: Vec<Self> = blocks.into_iter().collect();
        (!blocks.is_empty()).then_some(Self::At(level, summary, blocks))
    }

    /// Blocks that stand behind an answer, which a page folds below a summary; none where there is nothing to fold.
    pub fn behind(summary: impl Into<String>, blocks: impl IntoIterator<Item = Self>) -> Option<Self> {
        Self::at(Level::Usual, summary.into(), blocks)
    }

    /// Blocks of every figure, folded below a summary; none where there is nothing to fold.
    pub fn everything(summary: impl Into<String>, blocks: impl IntoIterator<Item = Self>) -> Option<Self> {
        Self::at(Level::Everything, summary.into(), blocks)
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
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
    /// Tables of every figure.
    pub more: Vec<Table>,
}

impl From<Part> for Block {
    fn from(part: Part) -> Self {
        let mut blocks: Vec<Self> = Vec::new();
        blocks.extend(part.conclusion.map(|(tone, text)| Self::Conclusion(tone, text)));
        blocks.extend(Self::warnings(part.warnings));
        blocks.extend(part.tables.into_iter().map(Self::Table));
        blocks.extend(Self::sentences(part.notes));
        blocks.extend(Self::everything(format!("Every figure: {}", part.heading), part.more.into_iter().map(Self::Table)));
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
    /// A way to another place of the page: its name, and the words.
    Link(Cow<'static, str>, String),
    /// A place that a way leads to, without words.
    Place(String),
}

impl Span {
    /// The words alone.
    pub fn words(&self) -> &str {
        match self {
            Self::Plain(text) | Self::Strong(text) | Self::Faint(text) | Self::Small(text) | Self::Link(_, text) => text,
            Self::Place(_) => "",
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

/// A share for each pair of two steps.
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
    /// Units of the steps' names and of their details; empty where there are no details.
    pub units: [&'static str; 2],
    /// Steps to the right.
    pub columns: Vec<Step>,
    /// Steps upwards.
    pub rows: Vec<Step>,
    /// The shares.
    pub squares: Vec<Square>,
    /// Share that is drawn darkest.
    pub darkest: f64,
}

/// A step of an axis of a heat map.
#[derive(Debug)]
pub struct Step {
    /// Its shortest name.
    pub name: String,
    /// The same in another unit; empty where there is none.
    pub detail: String,
    /// Explanation for readers who point at it.
    pub hint: String,
    /// Level at which a sink in figures has it; one that draws has every step.
    pub level: Level,
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
