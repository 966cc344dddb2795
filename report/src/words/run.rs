//! How much was measured, why it ended, how well it is known, on what.

use std::collections::BTreeMap;

use analysis::result::{Analysis, CellResult, Estimate, Finding, Metric};
use model::host::HostFacts;
use model::plan::{Plan, TrialEnd};

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

/// How many cells are known as well as was asked for, and which is known worst.
pub fn precision(analysis: &Analysis) -> String {
    let wanted = analysis.run.plan.blocks.interval;
    let rate = |cell: &CellResult| series::metric(cell, Metric::MessagesPerS).copied();
    let known: Vec<_> = analysis
        .cells
        .iter()
        .filter_map(|cell| rate(cell).and_then(|found| Some((interval::half_width(&found)?, found, &cell.label))))
        .collect();
    if known.is_empty() {
        return "Nothing was measured often enough for an interval.".to_owned();
    }
    let met = known.iter().filter(|(width, ..)| *width <= wanted).count();
    let mut text = format!(
        "The rate is known within ±{} or better, as asked, in {met} of {}.",
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
    let mut seen: BTreeMap<&'static str, (usize, usize, f64)> = BTreeMap::new();
    for estimate in estimates(analysis) {
        let Some(found) = estimate.interval else { continue };
        let entry = seen.entry(interval::method(found.method)).or_insert((estimate.n, estimate.n, found.confidence));
        *entry = (entry.0.min(estimate.n), entry.1.max(estimate.n), entry.2.min(found.confidence));
    }
    let asked = number::percent(analysis.run.plan.blocks.confidence);
    let one = |(name, (least, most, attained)): (&str, (usize, usize, f64))| {
        let n = if least == most { least.to_string() } else { format!("{least} to {most}") };
        format!("{name}, n = {n}, coverage {:.1} % ({asked} asked)", attained * 100.0)
    };
    seen.into_iter().map(one).collect()
}

/// What a finding concerns: `in 12 trials of A, B and 3 more cells`.
pub fn concerns(finding: &Finding) -> String {
    let more = finding.cell_count.saturating_sub(finding.cells.len());
    let mut cells = finding.cells.join("; ");
    if more > 0 {
        cells += &format!("; and {}", plural(more as u64, "more cell"));
    }
    match (finding.trials, cells.is_empty()) {
        (0, true) => "the whole run".to_owned(),
        (0, false) => cells,
        (trials, true) => plural(trials, "trial"),
        (trials, false) => format!("{}: {cells}", plural(trials, "trial")),
    }
}

/// The length of a trial, in words.
pub fn trial(plan: &Plan) -> String {
    let measured = match plan.end {
        TrialEnd::Length(length) => format!("{length} measured"),
        TrialEnd::Messages(count) => format!("{} measured", plural(count, "message")),
    };
    format!("{measured} after {} of warm-up", plan.warmup)
}

/// The link and what was set on it.
pub fn link(plan: &Plan) -> String {
    let mut text = plan.link.kind.to_string();
    if let Some(mtu) = plan.link.mtu {
        text += &format!(", MTU {}", number::whole(u64::from(mtu)));
    }
    for (offload, on) in &plan.link.offloads {
        text += &format!(", {offload} {}", if *on { "on" } else { "off" });
    }
    text
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
    metrics.chain(percentiles.map(|entry| &entry.estimate)).chain(analysis.roles.iter().map(|test| &test.ratio))
}
