//! Results of studies as sections of a document, one file a study. One line in
//! [`all`] adds another.

pub mod attached;
pub mod brief;
pub mod buffers;
pub mod cells;
pub mod charts;
pub mod checks;
pub mod cost;
pub mod fleet;
mod glance;
pub mod guide;
pub mod history;
mod levels;
pub mod microscope;
mod open_loop;
mod order;
pub mod papers;
mod peers;
pub mod pictures;
mod published;
pub mod receipt;
pub mod reference;
mod repetitions;
pub mod run;
pub mod setup;
pub mod toll;
pub mod trials;
pub mod verdict;
mod ways;
pub mod workload;

use analysis::result::Analysis;

use crate::document::Section;

/// Charts of a study of levels, counts or rates at the top of its page; its section has the others.
const AT_TOP: usize = 2;

/// Every section that the analysis has figures for, in the order of a page.
pub fn all(analysis: &Analysis) -> Vec<Section> {
    let sections = [
        analysis.ways().map(ways::section),
        analysis.levels().map(|study| levels::section(study, analysis)),
        peers::section(analysis),
        analysis.repetitions().map(repetitions::section),
        analysis.open_loop().map(|study| open_loop::section(study, analysis)),
        analysis.order().and_then(|study| order::section(study, analysis)),
        published::section(analysis),
        verdict::arms(analysis),
    ];
    sections.into_iter().flatten().collect()
}
