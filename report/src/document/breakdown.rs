//! A whole in parts, as data of one bar.

/// A whole in parts, in the order of the bar.
#[derive(Debug)]
pub struct Breakdown {
    /// Name of its element in the page.
    pub id: String,
    /// Title.
    pub title: String,
    /// Caption.
    pub caption: String,
    /// Description for readers who cannot see it.
    pub alt: String,
    /// Its parts.
    pub parts: Vec<Share>,
}

/// A part of a whole.
#[derive(Debug)]
pub struct Share {
    /// Name.
    pub name: String,
    /// Amount, above 0.
    pub amount: f64,
    /// The amount as printed.
    pub figure: String,
    /// Its share of the whole as printed.
    pub share: String,
    /// Place of its colour among those of stacks; `None`: it is hollow.
    pub colour: Option<usize>,
}
