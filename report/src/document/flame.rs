//! Flame graphs as data: call chains with the samples of each profile.

use serde::{Serialize, Serializer};

/// Bars of a smaller share of the samples are not drawn until a reader zooms to them.
pub const LEAST_DRAWN: f64 = 1.0 / 550.0;

/// Call chains of one end of a message, at several sizes or in two runs.
#[derive(Debug, Default, Serialize)]
pub struct Flame {
    /// Name of its element in the page.
    pub id: String,
    /// Title.
    pub title: String,
    /// Profiles that can be drawn.
    pub columns: Vec<Column>,
    /// Names of the layers, by their colours.
    pub layers: Vec<String>,
    /// The profiles that a reader chooses from.
    pub choices: Vec<Choice>,
    /// Names of the profiles that a choice can be compared with.
    pub rivals: Vec<String>,
    /// Place of the choice that is drawn first, and of its rival, if it is compared at once.
    pub first: (usize, Option<usize>),
    /// Functions narrower than this share of the samples in every profile are left out.
    pub least_share: f64,
    /// Columns of one side, a seed each, where samples are instructions, counted exactly: those of a side
    /// lie next to each other. 0: they are samples of time.
    pub seeds: usize,
    /// The bars, a caller before what it calls; the first is the whole.
    pub bars: Vec<Bar>,
}

/// One profile.
#[derive(Debug, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// CPU time that a sample stands for, ns per message.
    pub ns: f64,
    /// Standard error of that time between trials, as a share of that time.
    pub error: f64,
}

/// A profile that a reader can choose.
#[derive(Debug, Serialize)]
pub struct Choice {
    /// Words on its button.
    pub name: String,
    /// Place of its column.
    pub column: usize,
    /// Place of the column of each rival.
    pub rivals: Vec<usize>,
}

/// A function where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    /// The function.
    pub name: String,
    /// Place of the layer that the rules give it there.
    pub layer: usize,
    /// Number of its callers.
    pub depth: usize,
    /// Samples in it and in what it called, in each column.
    pub samples: Vec<u64>,
}

/// `[name, layer, depth, [samples, ...]]`: there are thousands.
impl Serialize for Bar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.name, self.layer, self.depth, &self.samples).serialize(serializer)
    }
}
