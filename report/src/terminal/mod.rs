//! The answer in a terminal: tables, the cost model in words, every doubt.
//!
//! No line is wider than the width asked for; columns that do not fit are
//! left out, the least wanted first. They are all in the page and the CSV.

mod columns;
mod page;
pub(crate) mod table;
mod wrap;

use analysis::result::{Analysis, Finding, Metric};

use crate::document::Section;
use crate::series::{self, Group, groups};
use crate::{receipt, sinks, studies, words};
pub(crate) use page::Page;
pub use page::Style;

/// The whole answer; ends with a newline.
pub fn render(analysis: &Analysis, style: Style) -> String {
    let mut page = Page::new(style);
    title(&mut page, analysis);
    let groups = groups(analysis);
    let mut sections = studies::all(analysis);
    sections.sort_by_key(|section| section.rank);
    let (arms, studies): (Vec<Section>, Vec<Section>) = sections.into_iter().partition(|section| section.id == "arms");
    studies.iter().for_each(|section| sinks::terminal::section(&mut page, section));
    for group in &groups {
        tables(&mut page, group);
    }
    let left_out = series::variants(analysis).len() as u64;
    if left_out > 0 {
        page.gap();
        page.faint(
            &format!(
                "{} more are summed up above; every figure of them is in the HTML report, the CSV and the JSON.",
                words::series(left_out)
            ),
            0,
        );
    }
    legend(&mut page, analysis, &groups);
    costs(&mut page, &groups);
    checks(&mut page, analysis);
    findings(&mut page, analysis);
    ending(&mut page, analysis);
    arms.iter().for_each(|section| sinks::terminal::section(&mut page, section));
    if let Some(study) = analysis.receipt() {
        receipt::terminal::receipts(&mut page, study);
    }
    page.finish()
}

fn title(page: &mut Page, analysis: &Analysis) {
    let run = &analysis.run;
    page.heading(&run.plan.title);
    if let Some(text) = words::run::disturbed(analysis) {
        page.warning(&text);
    }
    if !run.plan.description.is_empty() {
        page.plain(&run.plan.description, 0, 0);
    }
    if let Some(text) = analysis.receipt().and_then(receipt::red) {
        page.warning(&format!("RED: {text}."));
    }
    page.faint(&format!("{} · {}", run.id, words::run::link(&run.plan)), 0);
    if let Some(host) = analysis.hosts.first() {
        page.faint(&words::run::host(host), 0);
    }
}

fn tables(page: &mut Page, group: &Group) {
    page.gap();
    page.heading(&group.name);
    for columns in columns::of(group) {
        page.table(columns);
    }
}

fn legend(page: &mut Page, analysis: &Analysis, groups: &[Group]) {
    if groups.is_empty() {
        return;
    }
    let asked = crate::number::percent(analysis.run.plan.blocks.confidence);
    page.gap();
    page.legend("±", &format!("farther end of the {asked} interval; ±? where trials are too few for one"));
    if groups.iter().any(|group| group.test.is_stream()) {
        page.legend("bit/s", "goodput at the receiver, with the ± of messages/s");
        page.legend("time", "elapsed per message: 1 / (messages/s); its interval is in the HTML report and the CSV");
        page.legend("limit", "whose CPU was busy all the time; waiting: neither; no CPU: an end waited for one");
    }
    if groups.iter().any(|group| group.cells.iter().any(|cell| series::metric(cell, Metric::LossShare).is_some())) {
        page.legend("loss", "median of the trials; its interval is in the HTML report and the CSV");
    }
    if groups.iter().any(series::lost_any) {
        page.legend("sent", "messages/s at the sender, where anything was lost");
    }
    factors(page, groups);
    if analysis.irq_pooled {
        page.legend("CPU", "with interrupt time, which comes in ticks and is pooled over the trials of a cell");
    }
    if groups.iter().any(|group| !group.test.is_stream()) {
        page.legend("p50…", "round trips of all trials merged, with intervals over blocks");
    }
}

/// What is to be known of rates, of both ways and of stamps.
fn factors(page: &mut Page, groups: &[Group]) {
    let any = |name: Metric| groups.iter().any(|group| series::has(group, name));
    if any(Metric::LimitShare) {
        page.legend(
            "of link's limit",
            "goodput as a share of what the link's rate leaves room for, with the frames and acknowledgements that were counted",
        );
    }
    if any(Metric::OfferedMessagesPerS) {
        page.legend(
            "rate",
            "as limit: what was offered was sent; round trips count from the intended time of a request, uncorrected from the actual one",
        );
    }
    if any(Metric::BackGoodputBitPerS) {
        page.legend("back", words::factor::BOTH_WAYS);
    }
    if any(Metric::JitterNs) {
        page.legend("beyond", words::factor::STAMPS);
    }
    if groups.iter().flat_map(|group| &group.cells).any(|cell| words::factor::spins(&cell.cell)) {
        page.legend("–", words::factor::SPINS);
    }
}

fn costs(page: &mut Page, groups: &[Group]) {
    if groups.iter().all(|group| group.models.is_empty()) {
        return;
    }
    page.gap();
    page.heading("What a message costs");
    for group in groups.iter().filter(|group| !group.models.is_empty()) {
        page.plain(&group.name, 0, 0);
        for sentence in words::cost::sentences(group) {
            page.item(&sentence);
        }
    }
}

fn checks(page: &mut Page, analysis: &Analysis) {
    if analysis.roles().is_none() && analysis.datagrams().is_none() {
        return;
    }
    page.gap();
    page.heading("Checks");
    if let Some(balance) = analysis.datagrams() {
        page.item(&words::balance::datagrams(balance));
    }
    if let Some(test) = analysis.roles() {
        page.item(&words::balance::roles(analysis, test));
    }
}

fn findings(page: &mut Page, analysis: &Analysis) {
    let findings: &[Finding] = &analysis.findings;
    if findings.is_empty() && analysis.trials == 0 {
        // Nothing was looked at.
        return;
    }
    page.gap();
    if findings.is_empty() {
        page.heading("No warnings");
        return;
    }
    page.warning(&words::plural(findings.len() as u64, "warning"));
    for finding in findings {
        page.item(&words::capital(&finding.text));
        page.faint(&words::run::concerns(finding), 2);
        page.plain(&format!("→ {}", finding.remedy), 2, 4);
    }
}

fn ending(page: &mut Page, analysis: &Analysis) {
    page.gap();
    page.plain(&words::run::ended(analysis), 0, 0);
    page.plain(&words::run::precision(analysis), 0, 0);
    let methods = words::run::methods(analysis);
    if !methods.is_empty() {
        page.plain(&format!("Intervals: {}.", methods.join("; ")), 0, 0);
    }
}
