//! The report of a run: every section that its analysis has something for.

use analysis::result::{Analysis, FleetResult};

use crate::document::{Block, Document, Figure, Place, Section};
use crate::series::{groups, variants};
use crate::studies::receipt::{self, Sink};
use crate::studies::{self, answer, cells, charts, checks, cost, fleet, guide, run, setup, toll, trials, verdict};

/// The document, for a sink.
pub fn document(analysis: &Analysis, sink: Sink) -> Document {
    if let Some(fleet) = analysis.fleet() {
        return of_fleet(analysis, fleet);
    }
    let groups = groups(analysis);
    let has_receipt = analysis.receipt().is_some_and(|study| !study.series.is_empty());
    // What one message pays comes first where it is known.
    let toll = matches!(sink, Sink::Page(_)).then(|| toll::section(analysis)).flatten();
    let mut sections: Vec<Section> = toll.into_iter().collect();
    sections.extend([answer::section(analysis, &groups, run::ended(analysis)), run::summary(analysis, &groups)]);
    sections.extend(studies::all(analysis));
    sections.extend(cost::section(&groups));
    sections.extend(charts(charts::all(analysis, &groups)));
    sections.extend(analysis.receipt().map(|study| receipt::section(study, analysis.run.proof.as_deref(), sink)));
    sections.push(cells::section(&groups, &variants(analysis), cost::coefficients(&groups), has_receipt));
    sections.extend(cells::legend(analysis, &groups));
    sections.extend(trials::section(analysis));
    sections.extend(checks::sections(analysis));
    sections.extend([setup::section(analysis), guide::section(analysis)]);
    Document {
        title: analysis.run.plan.title.clone(),
        masthead: run::masthead(analysis),
        places: places(&sections),
        sections,
        tool: analysis.run.tool.clone(),
        precision: Some(analysis.run.plan.blocks.interval),
        ..Document::default()
    }
}

/// The report of a fleet: its cells are not compared, but its hosts.
fn of_fleet(analysis: &Analysis, result: &FleetResult) -> Document {
    let mut sections = fleet::sections(analysis, result);
    sections.extend(trials::section(analysis));
    sections.extend(checks::sections(analysis));
    sections.push(setup::section(analysis));
    Document {
        title: analysis.run.plan.title.clone(),
        masthead: run::masthead(analysis),
        places: places(&sections),
        sections,
        tool: analysis.run.tool.clone(),
        ..Document::default()
    }
}

/// The places of the sections; what a message costs is asked for before what an arm changes.
fn places(sections: &[Section]) -> Vec<Place> {
    let mut places: Vec<Place> = sections.iter().filter_map(Section::place).collect();
    let place = |wanted: &str| places.iter().position(|(id, ..)| id == wanted);
    if let (Some(arms), Some(cost)) = (place(verdict::ARMS), place(cost::ID)) {
        places.swap(arms, cost);
    }
    places
}

fn charts(figures: Vec<Figure>) -> Option<Section> {
    let figures = Block::figures(figures)?;
    let lead = "Marks are medians, bars their intervals. Point at or tap a mark for its figures, or go from mark to mark with the arrow keys; click a name to hide its series. Where sizes lie too close, bands stand for bars.";
    let blocks = vec![Block::Lead(lead.into()), figures];
    Some(Section::new("charts", "Charts", [Block::Page(blocks)]))
}
