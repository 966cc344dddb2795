//! The report of a run: every section that its analysis has something for.

use analysis::result::{Analysis, FleetResult};

use crate::document::{Block, Document, Section};
use crate::series::groups;
use crate::studies::receipt::{self, Flames};
use crate::studies::{self, cells, charts, checks, cost, fleet, guide, run, setup, toll, trials};

/// The document, with the call chains of a run.
pub fn document(analysis: &Analysis, flames: &Flames) -> Document {
    let sections = match analysis.fleet() {
        Some(fleet) => of_fleet(analysis, fleet),
        None => of_cells(analysis, flames),
    };
    Document {
        title: analysis.run.plan.title.clone(),
        masthead: run::masthead(analysis),
        sections,
        data: Vec::new(),
        tool: analysis.run.tool.clone(),
        precision: Some(analysis.run.plan.blocks.interval),
    }
}

fn of_cells(analysis: &Analysis, flames: &Flames) -> Vec<Section> {
    let groups = groups(analysis);
    // What one message pays comes first where it is known.
    let mut sections: Vec<Section> = toll::section(analysis).into_iter().collect();
    sections.push(run::summary(analysis, &groups));
    sections.extend(studies::all(analysis));
    sections.extend(analysis.receipt().map(|study| receipt::section(study, analysis.run.proof.as_deref(), flames)));
    sections.push(cells::section(analysis));
    sections.extend(Block::figures(charts::all(analysis, &groups)).map(|figures| Section::new("charts", "Charts", [figures])));
    sections.extend(cost::section(&groups));
    sections.extend(trials::section(analysis));
    sections.extend([checks::section(analysis), setup::section(analysis), guide::section(analysis, &groups)]);
    sections
}

/// The report of a fleet: its cells are not compared, but its hosts.
fn of_fleet(analysis: &Analysis, result: &FleetResult) -> Vec<Section> {
    let mut sections = fleet::sections(analysis, result);
    sections.extend(trials::section(analysis));
    sections.extend([checks::section(analysis), setup::section(analysis)]);
    sections
}
