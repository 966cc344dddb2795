//! The report of a run: every section that its analysis has something for.

use analysis::answer::Answer;
use analysis::result::{Analysis, FleetResult};

use crate::document::{Block, Document, Section};
use crate::series::groups;
use crate::sinks::markdown;
use crate::studies::receipt::{self, Flames};
use crate::studies::{self, brief, buffers, cells, charts, checks, cost, fleet, guide, run, setup, toll, trials, verdict};

/// The document, with the call chains of a run.
pub fn document(analysis: &Analysis, flames: &Flames) -> Document {
    let masthead = run::masthead(analysis);
    let sections = match analysis.fleet() {
        Some(fleet) => of_fleet(analysis, fleet),
        None => of_cells(analysis, flames, masthead.answer.as_ref()),
    };
    Document { title: analysis.run.plan.title.clone(), ..Document::of(masthead, sections) }
}

/// The answer of a run with arms, its table and what stands behind it, as Markdown; empty without arms.
pub fn arms_as_markdown(analysis: &Analysis) -> String {
    let answer = analysis::answer::of(analysis);
    let Some(arms) = verdict::arms(analysis) else { return String::new() };
    let table = brief::section(analysis, &answer, &groups(analysis));
    markdown::answer(&answer) + &markdown::section(&table) + &markdown::section(&arms)
}

fn of_cells(analysis: &Analysis, flames: &Flames, answer: Option<&Answer>) -> Vec<Section> {
    let groups = groups(analysis);
    let table = answer.map(|answer| brief::section(analysis, answer, &groups)).filter(|section| !section.blocks.is_empty());
    // Where no table is the answer, the section of what was asked is.
    let has_table = table.is_some();
    let caveat = answer.and_then(|answer| answer.caveat.as_deref()).filter(|_| !has_table);
    let summary = run::summary(analysis, &groups, caveat);
    // What one message pays comes first where it is known and no arms are compared.
    let mut first: Vec<Section> = toll::section(analysis).into_iter().chain([summary]).collect();
    first.rotate_right(usize::from(!analysis.verdicts().is_empty()));
    // Of buffers the map is the answer.
    let mut sections: Vec<Section> = buffers::section(analysis).into_iter().chain(first).chain(table).collect();
    let has_answer = has_table || !analysis.buffers().is_empty();
    let behind = |section: Section| if has_answer { section.behind() } else { section };
    sections.extend(studies::all(analysis).into_iter().map(behind));
    sections.extend(analysis.receipt().map(|study| receipt::section(study, analysis.run.proof.as_deref(), flames).behind()));
    let tables = cells::section(analysis).behind();
    // What each cell costs answers a sweep; elsewhere it stands behind the answer.
    sections.push(if is_sweep(analysis) { tables } else { tables.folded("Rates, time and CPU of every size") });
    sections.extend(Block::figures(charts::all(analysis, &groups)).map(|figures| {
        let finding = "Messages a second, goodput, time and CPU of each end by size";
        Section::new("charts", "Charts", [figures]).folded(finding)
    }));
    sections.extend(cost::section(&groups));
    sections.extend(trials::section(analysis));
    sections.extend([checks::section(analysis), setup::section(analysis), guide::section(analysis, &groups)]);
    sections
}

/// Returns whether a run varies nothing but sizes and tests.
fn is_sweep(analysis: &Analysis) -> bool {
    let studied =
        [analysis.ways().is_some(), analysis.levels().is_some(), analysis.repetitions().is_some(), analysis.open_loop().is_some()];
    let others = [!analysis.buffers().is_empty(), !analysis.verdicts().is_empty(), analysis.receipt().is_some()];
    !studied.into_iter().chain(others).any(|one| one)
}

/// The report of a fleet: its cells are not compared, but its hosts.
fn of_fleet(analysis: &Analysis, result: &FleetResult) -> Vec<Section> {
    let mut sections = fleet::sections(analysis, result);
    sections.extend(trials::section(analysis));
    sections.extend([checks::section(analysis), setup::section(analysis)]);
    sections
}
