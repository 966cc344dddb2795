//! Results of studies as sections of a document, one file a study. One line in
//! [`all`] adds another.

mod buffers;
mod levels;
mod open_loop;
mod published;
mod repetitions;
pub mod verdict;

use std::collections::HashSet;

use analysis::result::Analysis;

use crate::document::Section;

/// Every section that the analysis has figures for, in the order of a page.
pub fn all(analysis: &Analysis) -> Vec<Section> {
    let sections = [
        analysis.levels().map(|study| levels::section(study, analysis)),
        analysis.repetitions().map(repetitions::section),
        analysis.open_loop().map(|study| open_loop::section(study, analysis)),
        buffers::section(analysis),
        published::section(analysis),
        verdict::arms(analysis),
    ];
    sections.into_iter().flatten().collect()
}

/// Places of the cells that a section sums up, so that their tables and models
/// need not lead.
pub fn variants(analysis: &Analysis) -> HashSet<usize> {
    let levels = analysis.levels().into_iter().flat_map(|study| study.variants());
    let counts = analysis.repetitions().into_iter().flat_map(|study| study.variants());
    let rates = analysis.open_loop().into_iter().flat_map(|study| study.variants());
    levels.chain(counts).chain(rates).collect()
}
