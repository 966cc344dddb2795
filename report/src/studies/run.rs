//! The run itself: what it measured, why it ended, on which links and hosts.

use analysis::result::{Analysis, Finding};
use model::host::HostFacts;
use model::plan::Plan;

use super::guide::methods;
use super::{fleet, headline, trust};
use crate::clock;
use crate::document::{Block, Link, Masthead, Section};
use crate::number;
use crate::series::Group;
use crate::words::{capital, plural};

/// Makes the head of the report.
pub fn masthead(analysis: &Analysis) -> Masthead {
    let run = &analysis.run;
    let host = analysis.hosts.first().map(host);
    let link = link(&run.plan);
    let kernel = analysis.hosts.first().map_or(String::new(), |facts| format!(" · Linux {}", facts.kernel));
    let source = host.iter().fold(link.clone(), |text, host| format!("{text} · {host}"));
    Masthead {
        brand: run.plan.name.clone(),
        heading: run.plan.title.clone(),
        trust: Some(analysis.fleet().map_or_else(|| trust::trust(analysis), |result| fleet::trust(analysis, result))),
        red: analysis.receipt().and_then(crate::studies::receipt::red),
        about: run.plan.description.clone(),
        started: clock::utc(run.started_ms),
        source,
        lines: [format!("{} · {}{kernel}", run.id, links(&run.plan)), link].into_iter().chain(host).collect(),
    }
}

/// The first chart and its figures, how the run ended.
pub fn summary(analysis: &Analysis, groups: &[Group]) -> Section {
    let ended = ended(analysis);
    let mut page = headline::blocks(analysis, groups);
    page.push(Block::Lead(ended.clone().into()));
    let mut terminal = vec![Block::Gap, Block::Paragraph(ended.into())];
    let methods = methods(analysis);
    terminal.extend((!methods.is_empty()).then(|| Block::Paragraph(format!("Intervals: {}.", methods.join("; ")).into())));
    let terminal = Block::Full(vec![Block::Terminal(terminal)]);
    let section = Section::new("summary", "In short", [Block::Page(page), terminal]);
    Section { link: Link::Short("Summary", None), rank: 8, ..section }
}

/// The number of blocks, cells and trials, and why the run ended.
pub fn ended(analysis: &Analysis) -> String {
    format!(
        "{} of {}, {} measured, {} failed. {}.",
        plural(u64::from(analysis.blocks), "block"),
        plural(analysis.cells.len() as u64, "cell"),
        plural(analysis.trials, "trial"),
        number::whole(analysis.failed),
        capital(&analysis.run.status.describe()),
    )
}

/// Cells that a finding concerns: `A; B; and 3 more cells`. Its text has the number of trials.
pub fn concerns(finding: &Finding) -> String {
    let more = finding.cell_count.saturating_sub(finding.cells.len());
    let mut cells = finding.cells.join("; ");
    if more > 0 {
        cells += &format!("; and {}", plural(more as u64, "more cell"));
    }
    if cells.is_empty() { "the whole run".to_owned() } else { cells }
}

/// The links and what was set on them.
pub fn link(plan: &Plan) -> String {
    with_settings(links(plan), &plan.link)
}

/// A link, or several that are set like it, and what is set on them.
pub fn with_settings(mut text: String, link: &model::plan::Link) -> String {
    if let Some(mtu) = link.mtu {
        text += &format!(", MTU {}", number::whole(u64::from(mtu)));
    }
    for (offload, on) in &link.offloads {
        text += &format!(", {offload} {}", if *on { "on" } else { "off" });
    }
    text
}

/// The links that trials cross.
pub fn links(plan: &Plan) -> String {
    plan.links().iter().map(|link| link.kind.to_string()).collect::<Vec<_>>().join(", ")
}

/// Kernel, processor and kind of machine of a host.
pub fn host(facts: &HostFacts) -> String {
    let mut parts = vec![format!("Linux {}", facts.kernel)];
    parts.extend(Some(facts.cpu_model.clone()).filter(|text| !text.is_empty()));
    parts.push(plural(u64::from(facts.cpus), "CPU"));
    parts.extend(Some(facts.virtualisation.clone()).filter(|text| !text.is_empty()));
    parts.join(" · ")
}
