//! One message's time as data of a picture: rows of the stack with a bar at each end.

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
