//! Figures and tables of the papers in their own form: axes, scales and series as the papers have
//! them, with what their tables or their text hold. A file a paper.

mod y1984;
mod y1988;
mod y1993;
mod y1997;
mod y2007;

use literature::{ReferenceAnalysis, Study};

use super::claims;
use crate::document::figure::{Figure, Panel, SizeAxis, Ticks, Trace};
use crate::document::{Block, Table};

/// A figure or a table of a paper, or several that are read together.
pub struct Item {
    /// The paper's name for it: `Figure 4`.
    pub name: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// What the paper gives: tables, stated figures, a drawing.
    pub then: &'static str,
    /// The claims that it was made for.
    pub claims: &'static [&'static str],
    /// The drawings; none where the paper has no numbers.
    pub figures: Vec<Figure>,
    /// The tables.
    pub tables: Vec<Table>,
    /// What follows from them.
    pub notes: Vec<String>,
}

/// The curve was published as a drawing only.
pub const DRAWING: &str = "The curve was published as a drawing only; what the text states of it is marked or said below.";

impl Item {
    fn new(name: &'static str, shows: &'static str, then: &'static str, claims: &'static [&'static str]) -> Self {
        Self { name, shows, then, claims, figures: Vec::new(), tables: Vec::new(), notes: Vec::new() }
    }

    fn drawn(self, figures: impl IntoIterator<Item = Figure>) -> Self {
        Self { figures: figures.into_iter().collect(), ..self }
    }

    fn tabled(self, tables: impl IntoIterator<Item = Table>) -> Self {
        Self { tables: tables.into_iter().collect(), ..self }
    }

    fn noted(self, notes: impl IntoIterator<Item = String>) -> Self {
        Self { notes: notes.into_iter().collect(), ..self }
    }

    fn block(self, analysis: &ReferenceAnalysis) -> Block {
        let heading = format!("{}: {}", self.name, self.shows);
        let tables = self.tables.into_iter().map(Block::from);
        let blocks = Block::figures(self.figures).into_iter().chain(tables).chain(Block::sentences(self.notes));
        let blocks = blocks.chain([Block::Aside(format!("Then: {}", self.then).into())]);
        Block::piece(heading, blocks.chain(claims::lines(&analysis.statements, self.claims)))
    }
}

/// Every figure and table of a paper that has a counterpart here, in the paper's order; the
/// conclusion in our words before them.
pub fn of(analysis: &ReferenceAnalysis) -> Vec<Block> {
    let Some(study) = analysis.study else { return Vec::new() };
    let (conclusion, items) = match study {
        Study::Cabrera1984 => (y1984::CONCLUSION, y1984::items(analysis)),
        Study::Jacobson1988 => (y1988::CONCLUSION, y1988::items(analysis)),
        Study::Kay1993 => (y1993::CONCLUSION, y1993::items()),
        Study::Kim1997 => (y1997::CONCLUSION, y1997::items()),
        Study::Bidulock2007 => (y2007::CONCLUSION, y2007::items(analysis)),
    };
    let lead = Block::Lead(format!("The paper concludes: {conclusion}").into());
    std::iter::once(lead).chain(items.into_iter().map(|item| item.block(analysis))).collect()
}

/// A linear axis of message sizes, and no other.
pub fn linear_sizes(most: u64) -> SizeAxis {
    SizeAxis { log: false, log_ticks: Ticks::default(), ..SizeAxis::over(1, most) }
}

/// A linear axis of numbers, and no other.
pub fn linear_numbers(title: &'static str, least: f64, most: f64) -> SizeAxis {
    SizeAxis { log_ticks: Ticks::default(), ..SizeAxis::of_numbers(title, least, most, false) }
}

/// A figure of one panel.
pub fn figure(id: String, title: &str, caption: &str, axis: Option<SizeAxis>, panel: Panel, traces: Vec<Trace>) -> Figure {
    let alt = format!("{title}. {caption}");
    Figure { id: id.into(), title: title.to_owned().into(), caption: caption.to_owned(), alt, sizes: axis, panels: vec![panel], traces }
}
