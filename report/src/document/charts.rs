//! Data of the charts that have a form of their own: a ribbon of choices, a forest of changes, the
//! parts of a whole, one message's time. Lines and points over an axis are a [`figure`](super::figure).

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

/// One message's time.
#[derive(Debug, Default)]
pub struct Waterfall {
    /// Its heading.
    pub heading: String,
    /// What the axis of time shows.
    pub axis: String,
    /// What it is the toll of.
    pub subject: String,
    /// The whole of both ends, in a sentence.
    pub whole: String,
    /// Reason not to use it; empty where there is none.
    pub bad: String,
    /// Name and whole of each end.
    pub ends: [(String, String); 2],
    /// The rows from the top of the stack to its bottom, each with the sender's bar and the receiver's.
    pub rows: Vec<(RowName, [Option<Bar>; 2])>,
    /// Names of the kinds of work, each with its place among colours, and how much it takes.
    pub kinds: Vec<(usize, String, String)>,
    /// What it was measured on, and how to read it.
    pub caption: Vec<String>,
}

/// The name of a row.
#[derive(Debug, Clone, Default)]
pub struct RowName {
    /// In full.
    pub whole: String,
    /// Where room is short; `None`: in full.
    pub short: Option<&'static str>,
}

impl From<String> for RowName {
    fn from(whole: String) -> Self {
        Self { whole, short: None }
    }
}

/// The time of one layer at one end.
#[derive(Debug, Clone)]
pub struct Bar {
    /// In ns; may be negative where it is a remainder.
    pub ns: f64,
    /// Both ends of its interval, in ns.
    pub interval: Option<[f64; 2]>,
    /// Its kinds of work: the place of the colour, the name, and ns. None: the bar is hollow.
    pub parts: Vec<(usize, String, f64)>,
    /// Figure and interval, as printed next to it.
    pub text: String,
    /// Its figures in lines, for a reader who points at it.
    pub hint: String,
}
