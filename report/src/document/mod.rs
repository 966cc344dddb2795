//! A report before it is shown: sections of sentences, verdicts, tables and figures.
//!
//! `studies` makes it from a result, `sinks` show it. Nothing here knows a
//! terminal's width, a tag or a colour; where two sinks show the same table in
//! different columns, its columns say so ([`Head`], [`Shown`]). A block that only
//! one sink has is marked ([`Block::Page`], [`Block::Terminal`]).

pub mod figure;
pub mod flame;
pub mod forest;
mod table;
pub mod waterfall;

pub use self::figure::Figure;
use self::flame::Flame;
use self::forest::Forest;
pub use self::table::{Cell, Column, Cut, Estimated, Head, Keeps, Kind, Rows, Shown, Table};

/// A report.
#[derive(Debug, Default)]
pub struct Document {
    /// Name of the page.
    pub title: String,
    /// Head of the report.
    pub masthead: Masthead,
    /// Places that a page leads to.
    pub places: Vec<Place>,
    /// The sections, in the order of a page.
    pub sections: Vec<Section>,
    /// Data that a page carries for its script and for whoever reads it by one: names and JSON.
    pub data: Vec<(&'static str, String)>,
    /// Version of nettoll that writes it.
    pub tool: String,
    /// Reach of intervals, as a share, beyond which a figure is marked.
    pub precision: Option<f64>,
}

/// Head of a report. Empty fields are not shown.
#[derive(Debug, Default)]
pub struct Masthead {
    /// Name of what is shown, next to the tool's.
    pub brand: String,
    /// The heading.
    pub heading: String,
    /// Trust in the figures, which is said before them.
    pub trust: Option<Trust>,
    /// Reason not to use its receipts.
    pub red: Option<String>,
    /// Subject.
    pub about: String,
    /// Time at which it began.
    pub started: String,
    /// Origin of its figures.
    pub source: String,
    /// The same as lines of a terminal.
    pub lines: Vec<String>,
}

/// Trust in the figures of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// Bad: the figures are not to be relied on.
    pub tone: Tone,
    /// One word, then how well the cells are known and what disturbed them.
    pub text: String,
    /// The first thing to do; empty where nothing is.
    pub remedy: String,
    /// Number of warnings.
    pub warnings: usize,
}

/// A place that a page leads to: its name, words, and a count where there is one.
pub type Place = (String, String, Option<usize>);

/// Words that lead to a section, where that has a title.
#[derive(Debug, Default)]
pub enum Link {
    /// The title.
    #[default]
    Title,
    /// A short name, and a count where there is one.
    Short(&'static str, Option<usize>),
    /// Nothing leads there.
    Absent,
}

/// A part of a report with a title.
#[derive(Debug, Default)]
pub struct Section {
    /// Name of its element in a page.
    pub id: String,
    /// Its title; empty: its pieces have headings enough.
    pub title: String,
    /// Words that lead to it.
    pub link: Link,
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
        Self { headed: true, rank: 1, ..Self::new(id, title, lead.chain(blocks)) }
    }

    /// A section that only a page gives its title.
    pub fn new(id: impl Into<String>, title: impl Into<String>, blocks: impl IntoIterator<Item = Block>) -> Self {
        Self { id: id.into(), title: title.into(), blocks: blocks.into_iter().collect(), ..Self::default() }
    }

    /// Returns the place that leads to it.
    pub fn place(&self) -> Option<Place> {
        let (name, count) = match self.link {
            Link::Title => (self.title.clone(), None),
            Link::Short(name, count) => (name.to_owned(), count),
            Link::Absent => return None,
        };
        (!self.title.is_empty()).then(|| (self.id.clone(), name, count))
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
    /// Sentences under headings of their own.
    Prose(Vec<Prose>),
    /// Words and their meanings, with a word for the page's style.
    Terms(&'static str, Vec<(String, String)>),
    /// Markup of a page.
    Markup(String),
    /// Ways to save the data of a page.
    Save,
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
    /// The figure of the first screen of a page.
    Hero(Box<Figure>),
    /// Changes of cells against a threshold.
    Forest(Box<Forest>),
    /// Call chains, which only a page draws.
    Flame(Box<Flame>),
    /// A row of figures at a glance.
    Headlines(Vec<Headline>),
    /// Shares over two levels.
    Map(HeatMap),
    /// Blocks for who wants every figure: a page folds them below the summary, a
    /// terminal leaves them out.
    Details(String, Vec<Self>),
    /// Blocks that a terminal prints only if it is asked for everything.
    Full(Vec<Self>),
    /// Blocks of a terminal that is asked for the answer alone.
    Brief(Vec<Self>),
    /// A table whose name takes no line of its own in a terminal.
    Compact(String, Table),
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
            Self::Figures(figures) => figures.iter().collect(),
            Self::Hero(figure) => vec![figure],
            Self::Piece(Piece { blocks, .. }) | Self::Page(blocks) | Self::Full(blocks) | Self::Details(_, blocks) => {
                blocks.iter().flat_map(Self::all_figures).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Blocks below a heading.
    pub fn piece(heading: impl Into<Text>, blocks: impl IntoIterator<Item = Self>) -> Self {
        Self::Piece(Piece { heading: heading.into(), blocks: blocks.into_iter().collect(), ..Piece::default() })
    }

    /// Words and their meanings.
    pub fn terms<S: Into<String>>(style: &'static str, all: impl IntoIterator<Item = (&'static str, S)>) -> Self {
        Self::Terms(style, all.into_iter().map(|(term, meaning)| (term.to_owned(), meaning.into())).collect())
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

/// A figure at a glance.
#[derive(Debug)]
pub struct Headline {
    /// Its series.
    pub heading: String,
    /// The figure.
    pub value: String,
    /// Its `±`.
    pub margin: String,
    /// Description of the figure.
    pub what: String,
    /// Its interval, for who points at it.
    pub hint: String,
    /// It is known less well than was asked for.
    pub missed: bool,
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
    /// Blocks that stand for tables and notes in a terminal that is asked for the answer alone.
    pub brief: Vec<Block>,
    /// Plots of its changes, for a page.
    pub plots: Option<Block>,
}

impl From<Part> for Block {
    fn from(part: Part) -> Self {
        let mut blocks: Vec<Self> = Vec::new();
        blocks.extend(part.conclusion.map(|(tone, text)| Self::Conclusion(tone, text)));
        blocks.extend(part.plots);
        let mut full: Vec<Self> = Self::warnings(part.warnings).into_iter().collect();
        full.extend(part.tables.into_iter().map(Self::Table));
        full.extend(Self::sentences(part.notes));
        if part.brief.is_empty() {
            blocks.append(&mut full);
        } else {
            blocks.extend([Self::Brief(part.brief), Self::Full(full)]);
        }
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
    /// The share of a whole that a figure is.
    Share(String),
    /// A way to another place of the page: its name, and the words.
    Link(&'static str, String),
}

impl Span {
    /// The words alone.
    pub fn words(&self) -> &str {
        match self {
            Self::Plain(text) | Self::Strong(text) | Self::Faint(text) | Self::Small(text) => text,
            Self::Margin(text) | Self::Share(text) | Self::Link(_, text) => text,
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
    /// Share that is drawn darkest.
    pub darkest: f64,
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
