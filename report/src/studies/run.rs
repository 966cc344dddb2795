//! The run itself: what it measured, why it ended, on which links and hosts.

use analysis::result::{Analysis, Finding};
use model::Warning;
use model::host::HostFacts;
use model::plan::Plan;
use model::run::Status;

use super::pictures::pictures;
use crate::document::{Block, Masthead, Section};
use crate::number;
use crate::series::Group;
use crate::words::{capital, plural};

/// Makes the head of the report.
pub fn masthead(analysis: &Analysis) -> Masthead {
    let run = &analysis.run;
    let kernel = analysis.hosts.first().map_or(String::new(), |facts| format!(" · Linux {}", facts.kernel));
    let machine = analysis.hosts.first().map(machine).into_iter().flatten();
    let (links, link) = (links(&run.plan), link(&run.plan));
    // What is set on the link alone: its kind, and in the run's name its time, stand before it.
    let settings = link.strip_prefix(&links).map(|set| set.trim_start_matches([',', ' ']).to_owned()).filter(|set| !set.is_empty());
    let more = settings.into_iter().chain(machine).collect::<Vec<_>>().join(" · ");
    Masthead {
        brand: run.plan.name.clone(),
        heading: run.plan.title.clone(),
        answer: Some(analysis::answer::of(analysis)),
        warnings: analysis.findings.len(),
        about: run.plan.description.clone(),
        lines: vec![format!("{} · {links}{kernel}", run.id), more],
        // A run that went through as planned need not say so.
        ended: if went_through(analysis) { String::new() } else { trials(analysis) },
    }
}

/// The pictures that answer, what to know of single figures, and how the run ended.
pub fn summary(analysis: &Analysis, groups: &[Group], caveat: Option<&str>) -> Section {
    let drawn = pictures(analysis, groups);
    let caveat = caveat.map(|caveat| Block::Aside(caveat.into()));
    let ended = Block::Aside(ended(analysis).into());
    Section::named("summary", "Summary", drawn.into_iter().chain(caveat).chain([Block::usual([ended])]))
}

/// Returns whether every trial was measured and could be read, and nothing ended the run early.
fn went_through(analysis: &Analysis) -> bool {
    let unread = analysis.findings.iter().any(|finding| matches!(finding.warning, Warning::BadLine { .. }));
    analysis.failed == 0 && !unread && matches!(analysis.run.status, Status::BlocksDone | Status::Settled)
}

/// How often each case was measured, and why the run ended where it did not go through as planned.
fn ended(analysis: &Analysis) -> String {
    let cases = match analysis.cells.len() {
        1 => "The case".to_owned(),
        more => format!("Each of {}", plural(more as u64, "case")),
    };
    let times = match analysis.blocks {
        1 => "once".to_owned(),
        more => format!("{} times", number::whole(more.into())),
    };
    let arms = match analysis.run.plan.arms.len() {
        0 => String::new(),
        more => format!(" in each of {}", plural(more as u64, "arm")),
    };
    match went_through(analysis) {
        true => format!("{cases} was measured {times}{arms}: {}.", plural(analysis.trials, "trial")),
        false => format!("{cases} was to be measured {times}{arms}: {}", trials(analysis)),
    }
}

/// The number of trials, and why the run ended.
fn trials(analysis: &Analysis) -> String {
    let failed = number::whole(analysis.failed);
    format!("{} measured, {failed} failed. {}.", plural(analysis.trials, "trial"), capital(&analysis.run.status.describe()))
}

/// Cells that a finding concerns: `A; B; and 3 more cells`. Its text has the number of trials.
pub fn concerns(finding: &Finding) -> String {
    let more = finding.places.len().saturating_sub(finding.cells.len());
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
    std::iter::once(format!("Linux {}", facts.kernel)).chain(machine(facts)).collect::<Vec<_>>().join(" · ")
}

fn machine(facts: &HostFacts) -> Vec<String> {
    let mut parts = Vec::new();
    parts.extend(Some(facts.cpu_model.clone()).filter(|text| !text.is_empty()));
    parts.push(plural(u64::from(facts.cpus), "CPU"));
    parts.extend(Some(facts.virtualisation.clone()).filter(|text| !text.is_empty()));
    parts
}
