//! Changes against a threshold, as data of a forest plot.

/// Ratios of one side over another.
#[derive(Debug)]
pub struct Forest {
    /// Name of its element in the page.
    pub id: String,
    /// Title.
    pub title: String,
    /// Caption.
    pub caption: String,
    /// Words for the two sides of no change.
    pub sides: [&'static str; 2],
    /// Quantity that changes.
    pub axis: String,
    /// A verdict needs a change beyond this share; 0: there is none to need.
    pub threshold: f64,
    /// Its rows, from the top.
    pub rows: Vec<Change>,
}

/// A change.
#[derive(Debug)]
pub struct Change {
    /// Subject.
    pub label: String,
    /// Change as a share; 0 is none.
    pub value: f64,
    /// Both ends of its interval.
    pub interval: Option<[f64; 2]>,
    /// Colour and mark.
    pub tint: Tint,
    /// The figure as printed.
    pub figure: String,
    /// Its interval as printed.
    pub ends: String,
    /// Figure, interval and verdict, for a reader who points at it.
    pub hint: String,
}

/// Colour and mark of a change.
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
    /// Not to be used, or in doubt.
    Barred,
}
