//! Sentences of receipts.

use std::mem::{Discriminant, discriminant};

use analysis::group_by;
use analysis::result::Estimate;
use analysis::result::receipt::{Boundary, CellReceipt, EndReceipt, ReceiptOutcome, ReceiptStudy};
use attribution::{Context, Direction, Doubt, Footing, Gravity, LEAST_FOR_SUMS, Observer, Path, Receipt, Symbol, longer};
use model::profile::SampleSource;
use model::proof::KeptProof;
use model::sorting::Order;
use model::{Refusal, Role};

use super::figure;
use crate::clock::day;
use crate::document::Tone;
use crate::words::plural;
use crate::{interval, number};

/// The spacing of samples.
pub fn source(receipt: &Receipt) -> String {
    let period = number::whole(receipt.sampling.period);
    match receipt.sampling.source {
        SampleSource::CpuClock if receipt.off_cpu.others.is_some() || receipt.off_cpu.others_unknown => {
            format!("a sample every {period} ns of its CPUs' time (cpu-clock)")
        }
        SampleSource::CpuClock => format!("a sample every {period} ns of CPU time (cpu-clock)"),
        SampleSource::TaskClock => format!("a sample every {period} ns on a CPU (task-clock)"),
        SampleSource::Cycles => format!("a sample every {period} cycles"),
    }
}

/// The ways of sampling in the study: `a sample every ...`.
pub fn sources(study: &ReceiptStudy) -> String {
    let mut found: Vec<String> = study.cells.iter().flat_map(CellReceipt::receipts).map(source).collect();
    found.order();
    found.dedup();
    if found.is_empty() { "nothing was sampled".to_owned() } else { found.join("; ") }
}

/// The source of the cost of sampling: slices, passes with the reason, or both.
fn source_of_cost(study: &ReceiptStudy) -> String {
    let all: Vec<&Observer> = study.cells.iter().flat_map(CellReceipt::receipts).filter_map(|receipt| receipt.observer.as_ref()).collect();
    let mut reasons: Vec<&str> = all.iter().filter_map(|observer| observer.no_slices.as_deref()).collect();
    let by_passes = reasons.len();
    reasons.order();
    reasons.dedup();
    let because = format!("by passes, because {}", reasons.join(", or "));
    match by_passes {
        0 => "by slices".to_owned(),
        _ if by_passes == all.len() => because,
        _ => format!("by slices; {} {because}", plural(by_passes as u64, "end")),
    }
}

/// The cost of sampling: of each end where they are too few for an interval of all.
pub fn observer(study: &ReceiptStudy) -> String {
    let Some(Estimate { value, interval: ends, n }) = study.observer else {
        return "The cost of sampling is unknown: no block has a time pass and a clean one.".to_owned();
    };
    let by = source_of_cost(study);
    if n <= Role::ALL.len() {
        let of_end = |receipt: &Receipt| {
            let ratio = receipt.observer.as_ref()?.ratio;
            Some(format!("of the {} to {} ({})", receipt.role, figure::ratio(ratio.value), interval::plus_minus(&ratio)))
        };
        let ends: Vec<String> = study.cells.iter().flat_map(CellReceipt::receipts).filter_map(of_end).collect();
        return format!("Sampling changed the CPU time {} times its clean value ({by}), which no row contains.", ends.join(" and "));
    }
    let interval = ends.map_or_else(
        || "no interval".to_owned(),
        |ends| format!("{} to {} at {}", figure::ratio(ends.low), figure::ratio(ends.high), number::percent(ends.confidence)),
    );
    format!(
        "Sampling changed the CPU time to {} times its clean value ({interval}; median over {} of cells, {by}), which no row contains.",
        figure::ratio(value),
        plural(n as u64, "end"),
    )
}

/// How far known costs were found on the machine.
pub fn proof(proof: &KeptProof) -> String {
    let [low, high] = proof.found;
    let when = match proof.neighbours {
        [true, true] => "",
        [true, false] => ", quiet",
        [false, _] => ", busy",
    };
    let missing =
        if proof.missing > 0 { format!("; {} could not be looked for", plural(proof.missing.into(), "other")) } else { String::new() };
    format!("Known costs were found at {low:.2} to {high:.2} on this machine{when} (doctor --prove, {}{missing}).", day(proof.ended_ms))
}

/// The rules that classified.
pub fn rules(study: &ReceiptStudy) -> String {
    format!("Classified by {} ({}).", plural(study.rule_count as u64, "rule"), study.rules)
}

/// A receipt that does not add up.
pub struct Red<'a> {
    /// Cell and end.
    pub label: String,
    /// The reasons.
    pub doubts: Vec<&'a Doubt>,
}

/// Every receipt that does not add up.
pub fn reds(study: &ReceiptStudy) -> Vec<Red<'_>> {
    let all = study.cells.iter().flat_map(|cell| cell.receipts().map(move |receipt| (cell, receipt)));
    all.filter(|(_, receipt)| receipt.is_red())
        .map(|(cell, receipt)| {
            let doubts = receipt.doubts.iter().filter(|doubt| doubt.gravity() == Gravity::Red).collect();
            Red { label: format!("{}, {}", cell.label, receipt.role), doubts }
        })
        .collect()
}

/// The remedies, each once.
pub fn red_remedies(study: &ReceiptStudy) -> Vec<&'static str> {
    let mut remedies: Vec<&str> = reds(study).iter().flat_map(|red| &red.doubts).map(|doubt| doubt.remedy()).collect();
    remedies.order();
    remedies.dedup();
    remedies
}

/// The number of receipts that do not add up, of all; `None` where all do.
pub fn red(study: &ReceiptStudy) -> Option<String> {
    let all = study.cells.iter().flat_map(CellReceipt::receipts).count();
    let reds = reds(study);
    match reds.as_slice() {
        [] => None,
        [one] => Some(format!("1 of {} does not add up ({}): its rows are not to be used", plural(all as u64, "receipt"), one.label)),
        more => Some(format!("{} of {} do not add up: their rows are not to be used", more.len(), plural(all as u64, "receipt"))),
    }
}

/// Whether the receipts of a study add up, in sentences, by what their sums show.
pub fn sums(study: &ReceiptStudy) -> (Tone, String) {
    let ends = 2 * study.cells.len();
    let all: Vec<Footing> = study.cells.iter().flat_map(CellReceipt::receipts).map(Receipt::footing).collect();
    if all.is_empty() {
        return (Tone::Bad, format!("No receipt was made: {}", no_receipt(study)));
    }
    let too_few = all.iter().filter_map(|footing| if let Footing::TooFew { samples } = footing { Some(*samples) } else { None });
    let count = |wanted: Footing| all.iter().filter(|footing| **footing == wanted).count();
    let (few, no_records, hold) = (too_few.clone().count(), count(Footing::NoRecords), count(Footing::Hold));
    let receipts = |count: usize| plural(count as u64, "receipt");
    let mut parts = Vec::new();
    if let Some(least) = too_few.min() {
        let (has, needed) = (if few == 1 { "has" } else { "have" }, number::whole(LEAST_FOR_SUMS));
        let longer = longer(least);
        parts.push(format!(
            "{few} of {} {has} too few samples to tell whether the sums hold ({}, of {needed}); {longer} times as many `--blocks` give enough.",
            receipts(all.len()),
            number::whole(least)
        ));
    }
    parts.extend(red(study).map(|red| format!("{red}.")));
    if no_records > 0 {
        parts.push(format!("{no_records} of {}: the samples were compared with no time on a CPU.", receipts(all.len())));
    }
    if hold == all.len() && hold == ends {
        parts.push("All receipts add up.".to_owned());
    } else if hold == all.len() {
        let missing = ends - all.len();
        let have = if missing == 1 { "1 end has none".to_owned() } else { format!("{missing} ends have none") };
        parts.push(format!("{} of {ends} ends add up; {have}: {}", receipts(hold), no_receipt(study)));
    }
    (if hold == ends { Tone::Good } else { Tone::Open }, parts.join(" "))
}

/// The reason why an end has no receipt, and what to do.
pub fn no_receipt(study: &ReceiptStudy) -> String {
    let ends = study.cells.iter().flat_map(|cell| [&cell.sender, &cell.receiver]);
    let why = ends.filter_map(|end| if let ReceiptOutcome::Absent { reason } = &end.outcome { Some(format!("{reason}.")) } else { None });
    // What else is absent leaves rows out.
    let refused = study.absences.iter().find(|absence| absence.samples).or(study.absences.first()).map(|absence| {
        let Refusal { what, answer, remedy } = &absence.unavailable;
        format!("{what}: {answer}. {}.", remedy.trim_end_matches('.'))
    });
    refused.or(why.into_iter().next()).unwrap_or_else(|| "no trial was measured.".to_owned())
}

/// A doubt that several receipts share.
pub struct Shared {
    /// The gravest of them, in words.
    pub text: String,
    /// The remedy.
    pub remedy: &'static str,
    /// Cells and ends.
    pub of: Vec<String>,
}

/// Doubts that leave a receipt usable, those of one kind together, in the order met.
pub fn doubts(study: &ReceiptStudy) -> Vec<Shared> {
    let receipts = study.cells.iter().flat_map(|cell| cell.receipts().map(move |receipt| (cell, receipt)));
    let warnings = receipts.flat_map(|(cell, receipt)| {
        let all = receipt.doubts.iter().filter(|doubt| doubt.gravity() == Gravity::Warning);
        all.map(move |doubt| (doubt, format!("{}, {}", cell.label, receipt.role)))
    });
    let shared = |(_, members): (Discriminant<Doubt>, Vec<(&Doubt, String)>)| {
        let worst =
            members.iter().map(|(doubt, _)| *doubt).reduce(|worst, doubt| if doubt.size() > worst.size() { doubt } else { worst })?;
        Some(Shared { text: worst.to_string(), remedy: worst.remedy(), of: members.into_iter().map(|(_, label)| label).collect() })
    };
    group_by(warnings, |(doubt, _)| discriminant(*doubt)).into_iter().filter_map(shared).collect()
}

/// What a routine's name with its caller behind it means; `None` where there is none.
pub fn interrupts_on<'a>(functions: impl IntoIterator<Item = &'a str>) -> Option<&'static str> {
    const MEANS: &str = "a < b: interrupts come on again in a, and timers that were due before fire there: the time is b's, before it.";
    functions.into_iter().any(Symbol::has_caller).then_some(MEANS)
}

/// An end at the beginning of a sentence.
pub const fn title(role: Role) -> &'static str {
    match role {
        Role::Sender => "Sender",
        Role::Receiver => "Receiver",
    }
}

/// Cells and ends, at most three by name.
pub fn concerned(of: &[String]) -> String {
    let named = of.iter().take(3).cloned().collect::<Vec<_>>().join("; ");
    match of.len().saturating_sub(3) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

/// Ends without a receipt, and why.
pub fn missing(study: &ReceiptStudy) -> Vec<String> {
    let ends = study.cells.iter().flat_map(|cell| [(Role::Sender, &cell.sender), (Role::Receiver, &cell.receiver)].map(|end| (cell, end)));
    let reason = |(cell, (role, end)): (&CellReceipt, (Role, &EndReceipt))| match &end.outcome {
        ReceiptOutcome::Absent { reason } => Some(format!("{}, {role}: {reason}", cell.label)),
        ReceiptOutcome::Made(_) => None,
    };
    ends.filter_map(reason).collect()
}

/// Direction and context: `receive, softirq`.
pub fn path(path: &Path) -> String {
    // Short: it stands in tables.
    let direction = if path.direction == Some(Direction::Acknowledgement) { "ack" } else { direction(path.direction) };
    match path.context {
        Context::Process => direction.to_owned(),
        Context::Softirq | Context::Hardirq => format!("{direction}, {}", path.context),
    }
}

/// A direction in a word.
pub const fn direction(direction: Option<Direction>) -> &'static str {
    match direction {
        Some(Direction::Send) => "send",
        Some(Direction::Receive) => "receive",
        Some(Direction::Acknowledgement) => "acknowledge",
        None => "neither way",
    }
}

/// A boundary that lies between two sizes, as the tables mark it.
pub fn boundary(boundary: &Boundary) -> String {
    format!("{}: {} B", boundary.name, number::whole(boundary.last.get()))
}
