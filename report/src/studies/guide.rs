//! The guide to a report: its words, and how its intervals were found.

use std::collections::BTreeMap;

use analysis::result::{Analysis, Estimate, FitOutcome, Method, Metric, Roles};

use super::cells;
use crate::document::{Block, Section};
use crate::series::{Group, has, lost_any, missing_any};
use crate::words::capital;
use crate::{interval, number};

/// Makes the guide: words and marks that occur, and methods.
pub fn section(analysis: &Analysis, groups: &[Group]) -> Section {
    let asked = number::percent(analysis.run.plan.blocks.confidence);
    let any = |name: Metric| groups.iter().any(|group| has(group, name));
    let streams = groups.iter().any(|group| group.test.is_stream());
    let trips = groups.iter().any(|group| !group.test.is_stream());
    let spins = groups.iter().flat_map(|group| &group.cells).any(|cell| cells::spins(&cell.cell));
    let all = [
        (true, "message", "Payload that a process hands to one send call."),
        (
            true,
            "±",
            &*format!(
                "From the median to the farther end of its {asked} interval, as a share of the median; ±?: trials are too few for one. Two figures \
             whose intervals overlap may be equal."
            ),
        ),
        (
            streams,
            "goodput",
            "Payload that the receiver got, per second: headers and what was lost do not count. The receiver's figure is the result.",
        ),
        (streams, "time", "1 / (messages/s): the time between two messages of a stream, not the time one takes to arrive."),
        (true, "CPU", "CPU time an end spends on one message: its process, its interrupts, and kernel threads that work for it."),
        (
            analysis.irq_pooled,
            "interrupts",
            "This kernel shows their time in ticks of 10 ms, too coarse for one trial: it is added up over the trials of a cell and shared out \
             among their messages. Intervals of CPU per message are wider by what the ticks may be wrong by.",
        ),
        (
            streams,
            "limit",
            "The end whose CPU was busy all the time; “waiting” if neither was, “no CPU” if an end was ready but waited for one, “–” if it is unknown.",
        ),
        (
            groups.iter().any(|group| group.test.is_stream() && lost_any(group)),
            "sent",
            "Messages/s at the sender, where anything was lost.",
        ),
        (
            any(Metric::LimitShare),
            "of link's limit",
            "Goodput as a share of the link's payload rate, by the frames and acknowledgements counted.",
        ),
        (
            any(Metric::OfferedMessagesPerS),
            "rate",
            "As limit: what was offered was sent. Round trips count from the intended time of a request, uncorrected from the actual one.",
        ),
        (
            any(Metric::BackGoodputBitPerS),
            "back",
            "Goodput back to the sender; nothing says which way an end's CPU time went, so CPU per message is left out.",
        ),
        (any(Metric::JitterNs), "beyond", "How much longer than the shortest of its trial a datagram took: it needs no common clock."),
        (spins, "–", "A sender that spins until a message's time has come has no CPU per message: the time is the waiting's."),
        (trips, "p50…", "Round trips of all trials merged, with intervals over blocks."),
        (
            groups.iter().any(missing_any),
            "≥",
            "At least: requests never sent or never answered count as longer than all round trips of their trial.",
        ),
        (true, "block", "One pass over all cells in a fresh random order. Half of the blocks exchange the hosts' roles."),
        (
            !analysis.models().is_empty(),
            "r²",
            "The share of the variance between sizes that the line explains. A high one does not make a line true: look at the residuals.",
        ),
    ];
    let known = all.into_iter().filter(|(there, ..)| *there).map(|(_, word, meaning)| (word, meaning));
    let mut blocks = vec![Block::facts(known)];
    let methods = methods(analysis);
    if !methods.is_empty() {
        blocks.push(Block::Heading("How the intervals were found".into()));
        blocks.extend(Block::sentences(methods.iter().map(|method| format!("{}.", capital(method)))));
    }
    Section::new("guide", "How to read it", [Block::usual(blocks)]).folded("Words of this page, and how intervals were found")
}

/// Methods of the intervals, with the number of units and the coverage.
fn methods(analysis: &Analysis) -> Vec<String> {
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
            Method::OrderStatistics | Method::Randomisation | Method::Welch | Method::Instances => {
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
