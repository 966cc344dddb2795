//! The guide to a page: its words, and how its intervals were found.

use std::collections::BTreeMap;

use analysis::result::{Analysis, Estimate, FitOutcome, Method, Roles};

use crate::document::{Block, Section};
use crate::words::capital;
use crate::{interval, number};

/// Makes the guide to a page: words and methods.
pub fn section(analysis: &Analysis) -> Section {
    let mut terms = vec![
        ("Message", "What a process hands to one send call; its size is in bytes of payload."),
        (
            "Goodput",
            "Payload that the receiver got, per second: headers and whatever was lost do not count. The receiver's figure is the result.",
        ),
        (
            "Time per message",
            "1 / (messages per second): the time that goes by between two messages of a stream, not the time one takes to arrive.",
        ),
        ("Service demand", "CPU time an end spends on one message: its process, its interrupts, and kernel threads that work for it."),
        ("Block", "One pass over all cells in a fresh random order. Half of the blocks exchange the hosts' roles."),
        (
            "±",
            "From the median to the farther end of its interval, as a share of the median. Two figures whose intervals overlap may be equal.",
        ),
        (
            "Limit",
            "The end whose CPU was busy all the time; “waiting” if neither was, “no CPU” if an end was ready but waited for one that something else had, “–” if it cannot be told.",
        ),
        (
            "r²",
            "The share of the variance between sizes that the line explains. A high one does not make a line true: look at the residuals.",
        ),
    ];
    if analysis.irq_pooled {
        let pooled = "This kernel shows it in ticks of 10 ms, too coarse for one trial: it is added up over the trials of a cell and shared out among their messages. Intervals of CPU per message are widened by what the ticks may be wrong by.";
        terms.insert(terms.len() - 1, ("Interrupt time", pooled));
    }
    let mut blocks = vec![Block::terms("guide", terms)];
    let methods = methods(analysis);
    if !methods.is_empty() {
        blocks.push(Block::Heading("How the intervals were found".into()));
        blocks.extend(Block::sentences(methods.iter().map(|method| format!("{}.", capital(method)))));
    }
    Section::new("guide", "How to read it", [Block::Page(blocks)])
}

/// Methods of the intervals, with the number of units and the coverage.
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
            Method::OrderStatistics | Method::Randomisation | Method::Welch => {
                format!("{name}, n = {n}, coverage {:.1} % ({asked} asked)", attained * 100.0)
            }
        }
    };
    seen.into_iter().map(one).collect()
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
