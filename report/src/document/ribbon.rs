//! The best choice by size, as data of a ribbon.

/// Choices over an axis of sizes, one next to the other.
#[derive(Debug)]
pub struct Ribbon {
    /// Name of its element in the page.
    pub id: String,
    /// Title.
    pub title: String,
    /// Caption.
    pub caption: String,
    /// Description for readers who cannot see it.
    pub alt: String,
    /// Measured sizes, rising; at least two.
    pub sizes: Vec<u64>,
    /// The choices, from the least size to the largest.
    pub spans: Vec<Span>,
    /// Intervals of the boundaries between them.
    pub unsure: Vec<[f64; 2]>,
}

/// Sizes at which one choice is the best.
#[derive(Debug)]
pub struct Span {
    /// The choice.
    pub name: String,
    /// Place of its colour among series.
    pub series: usize,
    /// From this size on.
    pub from: f64,
    /// Up to this one.
    pub to: f64,
}
