//! The cells of a comparison in words.

use model::{Bytes, Cell};

use super::notation::{short_test, size};

/// The cells of a comparison in words.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Each cell by what sets it apart: `64 B`.
    pub cells: Vec<String>,
    /// The size of each, where cells differ in nothing else.
    pub sizes: Vec<Bytes>,
    /// What all of them are of, behind a comma: `UDP 256 B`, or empty.
    pub all: String,
    /// The word for a cell: `size` or `case`.
    pub word: &'static str,
}

impl Places {
    /// The places of cells that are compared.
    pub fn new(cells: &[&Cell]) -> Self {
        let same = |of: fn(&Cell, &Cell) -> bool| cells.windows(2).all(|pair| of(pair[0], pair[1]));
        let series = same(|a, b| a.series() == b.series());
        let test = cells.first().map_or("", |cell| short_test(cell.test));
        match cells {
            [one] => Self {
                cells: vec![size(one.size)],
                sizes: vec![one.size],
                all: format!("{test} {}", size(one.size)).trim_start().to_owned(),
                word: "size",
            },
            _ if series => Self {
                cells: cells.iter().map(|cell| size(cell.size)).collect(),
                sizes: cells.iter().map(|cell| cell.size).collect(),
                all: test.to_owned(),
                word: "size",
            },
            _ => Self {
                cells: cells.iter().map(|cell| cell.to_string().replace('_', " ")).collect(),
                sizes: Vec::new(),
                all: String::new(),
                word: "case",
            },
        }
    }

    /// The places of cells by their labels, such as those of two runs.
    pub fn of_labels(labels: &[String]) -> Self {
        // What all labels begin with is said once: `UDP_STREAM ` of `UDP_STREAM 64 B`.
        let series = |label: &String| label.trim_end_matches(" B").rsplit_once(' ').map(|(series, _)| series.to_owned());
        let first = labels.first().and_then(series);
        let same = first.is_some() && labels.iter().all(|label| series(label) == first) && labels.iter().all(|label| label.ends_with(" B"));
        let name = |label: &String| match (same, label.trim_end_matches(" B").rsplit_once(' ')) {
            (true, Some((_, bytes))) => bytes.parse().map_or_else(|_| label.clone(), |bytes| size(Bytes::new(bytes))),
            _ => label.clone(),
        };
        let cells: Vec<String> = labels.iter().map(name).collect();
        let all = match (cells.as_slice(), first) {
            ([one], Some(series)) if same => format!("{} {one}", series.replace("_STREAM", "")),
            (_, Some(series)) if same => series.replace("_STREAM", ""),
            _ => String::new(),
        };
        Self { cells, sizes: Vec::new(), all, word: if same { "size" } else { "case" } }
    }

    /// A cell's name.
    pub fn name(&self, place: usize) -> &str {
        self.cells.get(place).map_or("", String::as_str)
    }

    /// What all are of, behind a comma.
    pub fn tail(&self) -> String {
        if self.all.is_empty() { String::new() } else { format!(", {}", self.all) }
    }
}
