//! Changes of cells against a threshold, as data of a forest plot.

/// Changes of one metric.
#[derive(Debug)]
pub struct Forest {
    /// Name of its element in the page.
    pub id: String,
    /// Title.
    pub title: String,
    /// Caption.
    pub caption: String,
    /// A verdict needs a change beyond this share.
    pub threshold: f64,
    /// One a cell.
    pub rows: Vec<Change>,
}

/// The change of a cell.
#[derive(Debug)]
pub struct Change {
    /// The cell.
    pub label: String,
    /// Change as a share; 0 is none.
    pub value: f64,
    /// Both ends of its interval.
    pub interval: Option<[f64; 2]>,
    /// The verdict.
    pub verdict: Tint,
    /// Figure, interval and verdict, for a reader who points at it.
    pub hint: String,
    /// It stands for all cells.
    pub all: bool,
}

/// Colour of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tint {
    /// Worse.
    Worse,
    /// Better.
    Better,
    /// Equivalent.
    Same,
    /// Neither is shown.
    Open,
}
