//! What stands around the receipts of the series: sources, alarms, pictures, doubts.

use analysis::result::receipt::ReceiptStudy;

use super::{chart, rules, words};
use crate::document::{Alert, Block, Finding};
use crate::words::{capital, plural};

/// Key to the tables of series.
const LEGEND: [(&str, &str); 5] = [
    ("ns", "CPU time of this end per message, ± to the farther end at 95 %, share of its CPU time"),
    ("↑ ↓ ~", "shown by a test to rise, fall or vary with the size; a line to the left of a size: a boundary lies between"),
    ("most", "messages/s that this end's processing alone would allow on one CPU; below, without its work on acknowledgements"),
    ("billed", "CPU time that the clock gives an end for a wake-up, before it has a CPU: no CPU ran it"),
    ("…irq", "work that ran in a softirq or hard interrupt says so; the rest ran in the process"),
];

/// Returns the receipts that do not add up, why, and what to do; `None` where all do.
pub fn alarm(study: &ReceiptStudy) -> Option<Block> {
    let text = words::red(study)?;
    let reds = words::reds(study);
    let reason = |red: &words::Red| red.doubts.iter().map(|doubt| format!("{}: {doubt}", red.label)).collect::<Vec<_>>();
    let remedies = words::red_remedies(study).into_iter().map(capital).collect();
    Some(Block::Alert(Alert { text, reasons: reds.iter().flat_map(reason).collect(), remedies }))
}

/// Returns what stands before the series: sources, figures, legend.
pub fn before(study: &ReceiptStudy) -> Vec<Block> {
    let mut blocks = vec![Block::Lead(format!("{}. {}", capital(&words::sources(study)), words::rules(study)).into())];
    blocks.extend(Block::figures(chart::all(study)));
    blocks.extend((!study.series.is_empty()).then(|| Block::facts(LEGEND)));
    blocks
}

/// Returns what stands behind the series: doubts, absences, rules.
pub fn after(study: &ReceiptStudy) -> Vec<Block> {
    let mut blocks = Vec::new();
    let missing = words::missing(study).into_iter();
    let missing = missing.map(|text| Finding { text: format!("No receipt of {text}"), remedy: String::new(), concerns: String::new() });
    let doubts = words::doubts(study).into_iter().map(|doubt| Finding {
        text: format!("{}{}", if doubt.of.len() > 1 { "at worst " } else { "" }, doubt.text),
        remedy: capital(doubt.remedy),
        concerns: words::concerned(&doubt.of),
    });
    blocks.extend(findings("Doubts about receipts", missing.chain(doubts).collect()));
    let absences = study.absences.iter().map(|absence| Finding {
        text: format!("{}: {} ({})", absence.unavailable.what, absence.unavailable.answer, plural(absence.trials, "trial")),
        remedy: capital(&absence.unavailable.remedy),
        concerns: String::new(),
    });
    blocks.extend(findings("Unavailable", absences.collect()));
    let decided = rules::table(study);
    if decided.rows() > 0 {
        blocks.extend(Block::everything("What each rule decided", [decided.into()]));
    }
    blocks
}

fn findings(heading: &str, all: Vec<Finding>) -> Vec<Block> {
    if all.is_empty() { Vec::new() } else { vec![Block::Heading(heading.into()), Block::Findings(all)] }
}
