//! The answer of a fleet: which hosts, pairs or directions differ from the others.

use super::next::Next;
use super::notation::{amount, change, list, plural};
use super::{Answer, Direction, Grade, Part};
use crate::studies::Analysis;
use crate::studies::fleet::{Fault, FleetResult, Named};

/// Hosts that a headline names.
const MOST_NAMED: usize = 4;

/// The answer.
pub fn of(analysis: &Analysis) -> Answer {
    let Some(fleet) = analysis.fleet() else { return Answer::new("fleet", "Nothing was measured.", Grade::Open, "no trial was measured") };
    let hosts = plural(fleet.hosts.len() as u64, "host");
    let question = format!("fleet of {hosts}");
    let placed = fleet.figures.iter().filter(|figure| figure.told_apart).count();
    let untested = fleet.hosts.iter().filter(|host| host.measured == 0).count();
    let measured = fleet.hosts.len() - untested;
    let (grade, reason) = match () {
        () if placed == 0 => (
            Grade::Open,
            format!("{} in {} cannot place a host", plural(measured as u64, "host"), plural(u64::from(analysis.blocks), "round")),
        ),
        () if untested > 0 || placed < fleet.figures.len() => {
            (Grade::Rough, format!("{} of {hosts} placed by {placed} of {}", measured, plural(fleet.figures.len() as u64, "figure")))
        }
        () => (Grade::Settled, format!("all {hosts} placed")),
    };
    let headline = match (fleet.figures.is_empty(), placed) {
        (true, _) => "Nothing was measured.".to_owned(),
        (false, 0) => "Whether a host differs is open: these rounds do not place them.".to_owned(),
        _ => differing(fleet),
    };
    let part = |named: &Named| {
        let figure = fleet.figures.get(named.figure)?;
        let part = Part::figure(who(named), Some(figure.metric), Some(figure.cell.size), named.change.change);
        Some(Part { interval: named.change.interval, direction: Direction::Worse, ..part })
    };
    let parts: Vec<Part> = fleet.named.iter().filter_map(part).collect();
    let brief = match fleet.named.first() {
        Some(first) => format!("{} differs", who(first)),
        None if placed == 0 => "no host placed".to_owned(),
        None => "no host differs".to_owned(),
    };
    let next = (grade == Grade::Open).then(|| Next::advice("Measure at least 3 hosts in 3 rounds or more (--rounds).")).or_else(|| {
        (untested > 0).then(|| {
            Next::command(
                "measure what is missing",
                format!("nettoll fleet --resume {}", super::next::quoted(super::next::short(&analysis.run.id))),
                None,
            )
        })
    });
    Answer { parts, brief, next, ..Answer::new(question, headline, grade, reason) }
}

fn differing(fleet: &FleetResult) -> String {
    let mut found: Vec<(String, String)> = Vec::new();
    for named in &fleet.named {
        let who = who(named);
        if !found.iter().any(|(known, _)| *known == who) {
            let kind = match named.fault {
                Fault::Host => "",
                Fault::Sender => " as sender only",
                Fault::Receiver => " as receiver only",
                Fault::Asymmetry => " between sending and receiving",
                Fault::Link => " as a pair",
                Fault::Direction => " in this direction only",
                Fault::Rack => " as a rack",
            };
            found.push((who, format!("{}{kind}", change(named.change.change))));
        }
    }
    if found.is_empty() {
        return format!("No host, pair or direction differs from the others by {} % or more.", amount(fleet.least));
    }
    let more = found.len().saturating_sub(MOST_NAMED);
    found.truncate(MOST_NAMED);
    let names: Vec<String> = found.iter().map(|(who, by)| format!("{who} ({by})")).collect();
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let verb = if names.len() == 1 && more.is_empty() { "differs" } else { "differ" };
    format!("{}{more} {verb} from the other hosts.", list(&names))
}

/// Names of what differs.
fn who(named: &Named) -> String {
    match (named.fault, named.who.as_slice()) {
        (Fault::Direction, [a, b]) => format!("{a} -> {b}"),
        (_, [a, b]) => format!("{a} <-> {b}"),
        (_, who) => who.join(" "),
    }
}
