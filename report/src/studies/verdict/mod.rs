//! Verdicts: arms of one run, and runs against each other, in every form.
//!
//! ```text
//! Analysis.verdicts, RunComparison -> Document -> terminal | markdown | html
//! ```

mod arms;
mod between;
mod charts;
mod words;

pub use arms::section as arms;
pub(super) use charts::{arms as charts_of_arms, signed};
pub(super) use words::{BILLED_CHANGE, answered, billed_change, is_time, p};
pub use words::{agreement, shape};
pub(super) use words::{doubt, is_series, subjects};

use analysis::result::Analysis;
use analysis::runs::RunComparison;

use super::receipt::{Flames, Side, differences};
use crate::document::{Block, Document, Masthead, Section};
use crate::json;

/// Runs compared with the first.
pub fn document(between: &RunComparison) -> Document {
    let answer = Some(analysis::answer::between(between));
    let masthead = Masthead { answer, ..Masthead::of("compare", between::heading(between), []) };
    let data = vec![("analysis", json::compact(between)), ("csv", json::compact(&""))];
    Document { data, ..Document::of(masthead, [Section::untitled(between::blocks(between))]) }
}

/// Everything, as JSON, with the answer.
pub fn json(between: &RunComparison) -> String {
    #[derive(serde::Serialize)]
    struct Json<'a> {
        answer: analysis::answer::Answer,
        #[serde(flatten)]
        between: &'a RunComparison,
    }
    json::pretty(&Json { answer: analysis::answer::between(between), between })
}

/// The document of two runs with their stacks, the first one's first: with the difference of their flame graphs.
pub fn with_flames(between: &RunComparison, runs: [(&Analysis, &Flames); 2]) -> Document {
    let mut document = document(between);
    document.sections.extend(flame_graphs(runs));
    document
}

fn flame_graphs(runs: [(&Analysis, &Flames); 2]) -> Option<Section> {
    let [Some(first), Some(second)] = runs.map(|(run, flames)| Some(Side { name: &run.run.id, study: run.receipt()?, flames })) else {
        return None;
    };
    let graphs: Vec<Block> = differences([&first, &second]).into_iter().map(Block::flame).collect();
    (!graphs.is_empty()).then(|| Section::new("flames", "Where the time of a message went", graphs))
}
