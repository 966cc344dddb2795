//! How much was measured, why it ended, how well it is known, on what.

use std::collections::BTreeMap;

use analysis::result::{Analysis, CellResult, Estimate, Finding, FitOutcome, Method, Metric, Roles};
use model::host::HostFacts;
use model::plan::{Plan, PlanEnd};

use super::{capital, plural};
use crate::{interval, number, series};

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

/// What a reader must know first when the machine disturbed half of the trials
/// or more: in how many, how, and what that does to the figures.
pub fn disturbed(analysis: &Analysis) -> Option<String> {
    let found = analysis.disturbed;
    if found.trials == 0 || found.trials * 2 < analysis.trials {
        return None;
    }
    let ways = [
        (found.waited, "an end waited for a CPU"),
        (found.stolen, "the hypervisor took CPU time"),
        (found.throttled, "a CPU was slowed down for its heat"),
        (found.misaligned, "an end was late to start or to stop"),
    ];
    // What hit a few trials besides is among the warnings.
    let usual = ways.iter().filter(|(trials, _)| trials * 4 >= found.trials).map(|(_, way)| *way);
    let text = format!(
        "Disturbed: in {} of {} {}; rates and elapsed times are this machine's, not the stack's.",
        number::whole(found.trials),
        plural(analysis.trials, "trial"),
        usual.collect::<Vec<_>>().join(", or "),
    );
    let cpu = if found.throttled * 4 >= found.trials { "" } else { " CPU per message is less affected." };
    Some(text + cpu)
}

/// How many cells are known as well as was asked for, and which is known worst.
pub fn precision(analysis: &Analysis) -> String {
    let wanted = analysis.run.plan.blocks.interval;
    let time = |cell: &CellResult| series::metric(cell, Metric::TimePerMessageNs).copied();
    let known: Vec<_> =
        analysis.cells.iter().filter_map(|cell| time(cell).and_then(|found| Some((found.half_width()?, found, &cell.label)))).collect();
    if known.is_empty() {
        return "Nothing was measured often enough for an interval.".to_owned();
    }
    let met = known.iter().filter(|(width, ..)| *width <= wanted).count();
    let mut text = format!(
        "The time per message is known within ±{} or better, as asked, in {met} of {}.",
        number::percent(wanted),
        plural(analysis.cells.len() as u64, "cell")
    );
    if let Some((_, found, label)) = known.iter().max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(width, ..)| *width > wanted) {
        text += &format!(" The widest interval is {}, of {label}.", interval::plus_minus(found));
    }
    let without = analysis.cells.len() - known.len();
    if without > 0 {
        text += &format!(" {} without an interval: too few trials.", capital(&plural(without as u64, "cell")));
    }
    text
}

/// How intervals were found, from how many units, at which coverage.
pub fn methods(analysis: &Analysis) -> Vec<String> {
    let mut seen: BTreeMap<&'static str, (usize, usize, f64, Method)> = BTreeMap::new();
    for estimate in estimates(analysis) {
        let Some(found) = estimate.interval else { continue };
        let entry = seen.entry(interval::method(found.method)).or_insert((estimate.n, estimate.n, found.confidence, found.method));
        *entry = (entry.0.min(estimate.n), entry.1.max(estimate.n), entry.2.min(found.confidence), found.method);
    }
    let asked = number::percent(analysis.run.plan.blocks.confidence);
    let one = |(name, (least, most, attained, method)): (&str, (usize, usize, f64, Method))| {
        let n = if least == most { least.to_string() } else { format!("{least} to {most}") };
        match method {
            // What it covers is not known beforehand: docs/statistics.md has simulations.
            Method::BlockBootstrap => format!("{name} (percentiles, cost models), n = {n}, nominal coverage {:.1} %", attained * 100.0),
            Method::OrderStatistics | Method::Randomisation => {
                format!("{name}, n = {n}, coverage {:.1} % ({asked} asked)", attained * 100.0)
            }
        }
    };
    seen.into_iter().map(one).collect()
}

/// What a finding concerns: `A; B; and 3 more cells`. In how many trials stands in its text.
pub fn concerns(finding: &Finding) -> String {
    let more = finding.cell_count.saturating_sub(finding.cells.len());
    let mut cells = finding.cells.join("; ");
    if more > 0 {
        cells += &format!("; and {}", plural(more as u64, "more cell"));
    }
    if cells.is_empty() { "the whole run".to_owned() } else { cells }
}

/// The length of a trial, in words.
pub fn trial(plan: &Plan) -> String {
    let measured = match plan.end {
        PlanEnd::Length(length) => format!("{length} measured"),
        PlanEnd::Messages(count) => format!("{} measured", plural(count, "message")),
        PlanEnd::Bytes(bytes) => format!("{bytes} measured"),
    };
    format!("{measured} after {} of warm-up", plan.warmup)
}

/// The links and what was set on them.
pub fn link(plan: &Plan) -> String {
    let mut text = links(plan);
    if let Some(mtu) = plan.link.mtu {
        text += &format!(", MTU {}", number::whole(u64::from(mtu)));
    }
    for (offload, on) in &plan.link.offloads {
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

/// Every figure that may have an interval.
fn estimates(analysis: &Analysis) -> impl Iterator<Item = &Estimate> {
    let metrics = analysis.cells.iter().flat_map(|cell| cell.metrics.values());
    let percentiles = analysis.cells.iter().filter_map(|cell| cell.latency.as_ref()).flat_map(|found| &found.percentiles);
    let fits = analysis.models().iter().filter_map(|model| match &model.outcome {
        FitOutcome::Fitted(fit) => Some(fit),
        FitOutcome::NotALine { .. } => None,
    });
    let terms = fits.flat_map(|fit| &fit.pieces).flat_map(|piece| &piece.terms).map(|entry| &entry.estimate);
    let roles = analysis.roles().into_iter().filter_map(|roles| match roles {
        Roles::Tested(test) => Some(&test.ratio),
        Roles::TooFewBlocks { .. } => None,
    });
    metrics.chain(percentiles.map(|entry| &entry.estimate)).chain(terms).chain(roles)
}
