//! The report of a run: every section that its analysis has something for.

use analysis::result::Analysis;

use crate::document::{Block, Document, Section};
use crate::series::{groups, variants};
use crate::studies::receipt::{self, Flames};
use crate::studies::{self, cells, charts, checks, cost, run};

/// The document. Receipts are in it where there are `flames`: a terminal picks
/// the sizes of theirs by its width.
pub fn document(analysis: &Analysis, flames: Option<&Flames>) -> Document {
    let groups = groups(analysis);
    let mut sections = vec![run::summary(analysis, &groups)];
    sections.extend(studies::all(analysis));
    sections.extend(cost::section(&groups));
    sections.extend(charts(charts::all(&groups)));
    sections.extend(flames.and_then(|flames| receipts(analysis, flames)));
    sections.push(cells::section(&groups, &variants(analysis), cost::coefficients(&groups)));
    sections.extend(cells::legend(analysis, &groups));
    sections.extend(checks::sections(analysis));
    sections.extend([run::setup(analysis), run::guide(analysis)]);
    Document {
        title: analysis.run.plan.title.clone(),
        masthead: run::masthead(analysis),
        places: places(analysis, &sections),
        sections,
        tool: analysis.run.tool.clone(),
        ..Document::default()
    }
}

/// The sections by the short names that lead to them.
fn places(analysis: &Analysis, sections: &[Section]) -> Vec<(String, String, Option<usize>)> {
    let doubts = Some(analysis.findings.len()).filter(|count| *count > 0);
    let named = |section: &&Section| !section.title.is_empty();
    let one = |section: &Section| {
        let name = match section.id.as_str() {
            "summary" => "Summary",
            "published" => "Published",
            "cost" => "Cost",
            "receipt" => "Receipt",
            "doubts" => "Doubts",
            _ => &section.title,
        };
        (section.id.clone(), name.to_owned(), doubts.filter(|_| section.id == "doubts"))
    };
    let mut places: Vec<_> = sections.iter().filter(named).map(one).collect();
    // What a message costs is asked for before what an arm changes.
    let place = |wanted: &str| places.iter().position(|(id, ..)| id == wanted);
    if let (Some(arms), Some(cost)) = (place("arms"), place("cost")) {
        places.swap(arms, cost);
    }
    places
}

fn charts(figures: Vec<crate::document::Figure>) -> Option<Section> {
    let figures = Block::figures(figures)?;
    let lead = "Marks are medians, bars their intervals. Point at or tap a mark for its figures; click a name to hide its series; drag to enlarge, double-click to return.";
    let blocks = vec![Block::Lead(lead.into()), Block::Undrawn("All of their figures are in the tables below."), figures];
    Some(Section { id: "charts".to_owned(), title: "Charts".to_owned(), blocks: vec![Block::Page(blocks)], ..Section::default() })
}

fn receipts(analysis: &Analysis, flames: &Flames) -> Option<Section> {
    let study = analysis.receipt()?;
    let series = receipt::html::series(study, flames).into_string();
    let mut blocks = receipt::before(study);
    blocks.push(Block::Page(vec![Block::Markup(series, Vec::new())]));
    blocks.extend(receipt::after(study));
    Some(Section { id: "receipt".to_owned(), title: receipt::TITLE.to_owned(), blocks, ..Section::default() })
}
