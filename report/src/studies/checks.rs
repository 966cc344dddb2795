//! Warnings, where the datagrams went, and what exchanging the hosts showed.

use analysis::result::hand_over::LATE;
use analysis::result::{Analysis, Balance, HandOver, RoleTest, Roles};

use crate::document::{Block, Finding, Rows, Section, Table};
use crate::words::{list, plural};
use crate::{interval, number};

/// Every warning, then the checks of the whole run.
pub fn section(analysis: &Analysis) -> Section {
    let count = plural(analysis.findings.len() as u64, "warning");
    let finding = |finding: &analysis::result::Finding| Finding {
        text: finding.text.clone(),
        remedy: finding.remedy.clone(),
        concerns: super::run::concerns(finding),
    };
    let lead = match analysis.findings.is_empty() {
        // Nothing was looked at.
        true if analysis.trials == 0 => "No trial was measured: there was nothing to doubt.".to_owned(),
        true => "No warnings.".to_owned(),
        false => format!("{count}: what is wrong or missing first, then by how much of how many trials is in question."),
    };
    let mut blocks = vec![Block::Lead(lead.into())];
    blocks.extend((!analysis.findings.is_empty()).then(|| Block::Findings(analysis.findings.iter().map(finding).collect())));
    if let Some(test) = analysis.roles() {
        blocks.extend([Block::Heading("Are both directions alike?".into()), Block::Paragraph(roles(analysis, test).into())]);
    }
    if let Some(found) = analysis.hand_over() {
        blocks.extend([Block::Heading("Did slices end on time?".into()), Block::Paragraph(hand_over(found).into())]);
    }
    if let Some(balance) = analysis.datagrams() {
        blocks.extend([Block::Heading("Where did the datagrams go?".into()), Block::Paragraph(datagrams(balance).into())]);
        blocks.extend(Block::everything("Datagrams, counted", [table(balance).into()]));
    }
    Section::new("doubts", "Doubts and checks", [Block::usual(blocks)]).led("Doubts").folded(found(analysis))
}

/// What disturbed the trials, and how many warnings there are.
fn found(analysis: &Analysis) -> String {
    let warnings = match analysis.findings.len() {
        0 => "No warning".to_owned(),
        count => plural(count as u64, "warning"),
    };
    match analysis.disturbed.trials {
        0 => format!("{warnings}, {} undisturbed", plural(analysis.trials, "trial")),
        _ => format!("{warnings}; {}", disturbance(analysis)),
    }
}

/// The ways in which most of the disturbed trials were disturbed.
fn disturbance(analysis: &Analysis) -> String {
    let found = analysis.disturbed;
    let ways = [
        (found.waited, "an end waited for a CPU"),
        (found.stolen, "the hypervisor took CPU time"),
        (found.throttled, "a CPU was slowed down for its heat"),
        (found.misaligned, "an end was late to start or to stop"),
        (found.impossible, "a figure was beyond what there is"),
    ];
    let usual = ways.iter().filter(|(trials, _)| trials * 4 >= found.trials).map(|(_, way)| *way);
    let usual = usual.collect::<Vec<_>>().join(", or ");
    format!("in {} of {} {usual}", number::whole(found.trials), plural(analysis.trials, "trial"))
}

fn table(balance: &Balance) -> Table {
    let share = |count: f64| number::percent(count / balance.sent as f64);
    let of = |name: &str, count: u64| (name.to_owned(), number::whole(count), share(count as f64));
    let mut rows = vec![of("Sent", balance.sent), of("Received", balance.received)];
    rows.extend(balance.dropped.iter().map(|(name, count)| of(name, *count)));
    rows.push(("Unaccounted for".to_owned(), number::signed(balance.unaccounted), share(balance.unaccounted as f64)));
    Rows::of(&rows)
        .words("Datagrams", |(name, ..)| name.as_str())
        .figures("Count", |(_, count, _)| count.as_str())
        .figures("Share", |(.., share)| share.as_str())
        .table()
        .labelled("Where the datagrams went", "Datagrams of all UDP trials")
        .styled("narrow")
}

/// How long hand-overs took, and how many slices ended late.
fn hand_over(found: &HandOver) -> String {
    let [half, most] = [found.p50_ns, found.p99_ns].map(|ns| number::time(ns as f64));
    let late = number::percent(found.late_share);
    format!(
        "Half of {} were handed over within {half}, 99 in 100 within {most}; {late} ended over {LATE} late.",
        plural(found.slices, "slice")
    )
}

/// The equation of sent and received, with every loss named.
pub fn datagrams(balance: &Balance) -> String {
    let share = |count: u64| number::percent(count as f64 / balance.sent as f64);
    let mut text = format!("{} sent, {} arrived", plural(balance.sent, "datagram"), number::whole(balance.received));
    if balance.sent > 0 {
        text += &format!(" ({})", share(balance.received));
    }
    let drops: Vec<String> =
        balance.dropped.iter().map(|(name, count)| format!("{} in {name} ({})", number::whole(*count), share(*count))).collect();
    if !drops.is_empty() {
        text += &format!("; the kernel dropped {}", list(&drops));
    }
    text += &match balance.unaccounted {
        0 => "; none is unaccounted for.".to_owned(),
        left => format!("; {} unaccounted for.", number::signed(left)),
    };
    if balance.packets {
        text += " A packet of many datagrams counts as one, as it does in the kernel.";
    }
    text
}

/// The host-swap test, its verdict and what it could have shown; or why there is none.
pub fn roles(analysis: &Analysis, roles: &Roles) -> String {
    match roles {
        Roles::Tested(test) => verdict(analysis, test),
        Roles::TooFewBlocks { blocks, needed } => {
            format!("{} cannot show whether exchanging the hosts' roles matters: this run needs {needed}.", plural(*blocks as u64, "block"))
        }
    }
}

fn verdict(analysis: &Analysis, test: &RoleTest) -> String {
    let blocks = analysis.run.plan.blocks;
    // A verdict needs both: unlikely by chance, and large enough to matter.
    let (unlikely, large) = (test.p <= 1.0 - blocks.confidence + 1e-9, (test.ratio.value - 1.0).abs() >= blocks.interval);
    let verdict = match (unlikely, large) {
        (true, true) => "a difference, the two directions are not alike".to_owned(),
        (true, false) => format!("a difference, smaller than the {} that matter here", number::percent(blocks.interval)),
        (false, _) => "no difference shown".to_owned(),
    };
    let ends = match test.ratio.interval {
        Some(ends) => format!("{} to {}", number::change(ends.low - 1.0), number::change(ends.high - 1.0)),
        None => interval::range(&test.ratio, number::percent),
    };
    format!(
        "With the hosts' roles exchanged, the time per message changes by {} ({ends}; p = {}; {} exchanged, {} not): {verdict}.",
        number::change(test.ratio.value - 1.0),
        number::significant(test.p, 2),
        plural(test.swapped as u64, "block"),
        number::whole(test.straight as u64),
    )
}
