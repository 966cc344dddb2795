//! The parts of a report that a kind of study has: conditions beside their base,
//! counts, rates. One line in [`all`] adds another.

use std::collections::HashSet;

use analysis::result::Analysis;
use maud::{Markup, html};

use crate::chart::{self, Chart};
use crate::html::{figures, part};
use crate::terminal::Page;
use crate::verdict::{self, Part};
use crate::{levels, open_loop, repetitions};

/// What one kind of study shows.
pub struct Section {
    /// Name of its element in the page.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// How to read it, in a sentence or two.
    pub lead: String,
    /// What it says, piece by piece.
    pub parts: Vec<Part>,
    /// What it draws.
    pub charts: Vec<Chart>,
}

/// Every section that the analysis has figures for.
pub fn all(analysis: &Analysis) -> Vec<Section> {
    let sections = [
        analysis.levels().map(|study| levels::section(study, analysis)),
        analysis.repetitions().map(repetitions::section),
        analysis.open_loop().map(|study| open_loop::section(study, analysis)),
    ];
    sections.into_iter().flatten().map(drawable).collect()
}

/// Places of the cells that a section sums up, so that their tables and models
/// need not lead.
pub fn variants(analysis: &Analysis) -> HashSet<usize> {
    let levels = analysis.levels().into_iter().flat_map(|study| study.variants());
    let counts = analysis.repetitions().into_iter().flat_map(|study| study.variants());
    let rates = analysis.open_loop().into_iter().flat_map(|study| study.variants());
    levels.chain(counts).chain(rates).collect()
}

/// Without charts that have nothing to draw.
fn drawable(section: Section) -> Section {
    let charts = section.charts.into_iter().map(chart::placeable);
    Section { charts: charts.filter(|chart| chart.traces.iter().any(|trace| !trace.is_empty())).collect(), ..section }
}

/// In a terminal.
pub fn print(page: &mut Page, section: &Section) {
    page.gap();
    page.heading(section.title);
    page.faint(&section.lead, 0);
    section.parts.iter().for_each(|part| verdict::print(page, part));
}

/// As a part of a page.
pub fn html(section: &Section) -> Markup {
    let content = html! {
        p .lead { (section.lead) }
        @if !section.charts.is_empty() { div .charts { @for chart in &section.charts { (figures::figure(chart)) } } }
        @for part in &section.parts { (verdict::section(part)) }
    };
    part(section.id, section.title, &content)
}
