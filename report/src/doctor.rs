//! The doctor's checks: what this machine can do and what it does less of, group by group; behind that every check
//! with the system's own answer.

use model::check::{self, Area, Check, Need, State};
use model::sorting::Order;

use crate::document::{Block, Document, Finding, Tone};
use crate::words::{list, plural};

/// Needs, the gravest first, each with its word.
const NEEDS: [(Need, &str); 3] = [(Need::Required, "MISSING"), (Need::Useful, "absent"), (Need::Optional, "optional")];

/// Checks that belong together in a reader's eyes.
struct Group {
    name: &'static str,
    has: fn(&Check) -> bool,
    /// Where all is there: what to say in place of the checks' own details; empty: these.
    there: &'static str,
    /// What is done where something is not there.
    without: &'static str,
}

const fn group(name: &'static str, has: fn(&Check) -> bool, there: &'static str, without: &'static str) -> Group {
    Group { name, has, there, without }
}

/// Every check but that of the machine belongs to the first group that has it.
const GROUPS: [Group; 12] = [
    group("governor", |check| check.name == check::GOVERNOR, "", "compare only what ran in one run"),
    group("CPUs", |check| check.area == Area::Cpu, "", "the ends take turns"),
    group("clock", |check| check.area == Area::Clock, "", "round trips pay for each reading"),
    group("hosts", |check| check.area == Area::Namespaces, "namespaces joined by veth; root is not needed", "made of what there is (-v)"),
    group("ways", |check| [Area::Ways, Area::Sockets].contains(&check.area), "every way of sending and receiving", "studies go on"),
    group("offloads", |check| check.area == Area::Offloads, "", "they stay as they are"),
    group("cycles", |check| check.name == check::CYCLES, "hardware counters", "receipts count time, not cycles"),
    group("sampling", |check| check.area == Area::Profiling, "kernel and user code, with callers", "no receipts"),
    group("exact calls", |check| check.area == Area::Bpf, "programs at function entries", "receipts count calls by tracepoint"),
    group("link rates", |check| check.area == Area::Queueing, "a token bucket limits them", "links with a rate are refused"),
    group("limits", |check| check.area == Area::Limits, "files, memory, buffers and room on the disk", "what to do: -v"),
    group("emulator", |check| check.area == Area::Microscope, "QEMU and kernels", "`nettoll microscope` fetches it"),
];

/// A command with the checks that it cannot do without.
type CommandNeeds = (&'static str, fn(&Check) -> bool);

/// Commands, those that measure first.
const COMMANDS: [CommandNeeds; 5] = [
    ("study", |check| check.need == Need::Required),
    ("advise", |check| check.need == Need::Required),
    ("receipt", |check| check.name == check::RECEIPTS),
    ("attach", |check| check.name == check::RECEIPTS),
    ("microscope", |check| check.area == Area::Microscope),
];

/// Absent things of a group that are named.
const MOST_NAMED: usize = 3;

/// The answer in three lines, the groups, and what stands behind: what is absent with what to do, then what is there
/// by area.
pub fn document(checks: &[Check]) -> Document {
    let absent = NEEDS.into_iter().flat_map(|(need, word)| {
        let all = checks.iter().filter(move |check| check.need == need);
        all.filter_map(move |check| match &check.state {
            State::Present { .. } => None,
            State::Absent { answer, remedy } => {
                Some(Finding { text: format!("{}: {word}: {answer}", check.name), remedy: remedy.clone(), concerns: String::new() })
            }
        })
    });
    let there = |area: &Area| {
        let present = checks.iter().filter(|check| check.area == *area).filter_map(|check| match &check.state {
            State::Present { detail } if detail.is_empty() => Some(check.name.clone()),
            State::Present { detail } => Some(format!("{}: {detail}", check.name)),
            State::Absent { .. } => None,
        });
        let present: Vec<String> = present.collect();
        (!present.is_empty()).then(|| (area.name(), format!("✓ {}", present.join("; "))))
    };
    let absent: Vec<Finding> = absent.collect();
    let findings = (!absent.is_empty()).then_some(Block::Findings(absent));
    let facts = Block::facts(Area::ALL.iter().filter_map(there));
    let lines = lines(checks);
    let legend = legend(&lines);
    let more = format!("All {} with the system's own answers and what to do: -v", plural(checks.len() as u64, "check"));
    let facts_of_groups = Block::facts(lines.into_iter().map(|(mark, name, words)| (format!("{mark} {name}"), words)));
    let groups = [facts_of_groups, Block::Paragraph(legend.into()), Block::Aside(more.into())];
    let behind = Block::usual([Block::Heading("Every check".into())].into_iter().chain(findings).chain([facts]));
    Document::plain("", answer(checks).into_iter().chain(groups).chain([behind]))
}

/// What can run, what runs with less, and what to expect of this machine.
fn answer(checks: &[Check]) -> Vec<Block> {
    let missing: Vec<&Check> = checks.iter().filter(|check| check.need == Need::Required && !check.is_present()).collect();
    if let [first, ..] = missing.as_slice() {
        let names: Vec<String> = missing.iter().map(|check| check.name.clone()).collect();
        let is = if names.len() == 1 { "is" } else { "are" };
        let mut blocks = vec![Block::Conclusion(Tone::Bad, format!("Nothing can be measured: {} {is} MISSING.", list(&names)))];
        if let State::Absent { answer, remedy } = &first.state {
            blocks.push(Block::Paragraph(format!("{}: {answer}", first.name).into()));
            blocks.push(Block::Paragraph(format!("→ {remedy}").into()));
        }
        return blocks;
    }
    // What was not examined is not known.
    let known = COMMANDS.iter().filter(|(_, needs)| checks.iter().any(needs));
    let (ready, less): (Vec<_>, Vec<_>) = known.partition(|(_, needs)| checks.iter().filter(|check| needs(check)).all(Check::is_present));
    let names = |all: &[&CommandNeeds]| all.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>().join(", ");
    let mut blocks = vec![Block::Conclusion(Tone::Good, format!("Ready for: {}.", names(&ready)))];
    blocks.extend((!less.is_empty()).then(|| Block::Paragraph(format!("Lacking something, see below: {}.", names(&less)).into())));
    let machine = checks.iter().find(|check| check.name == check::MACHINE);
    if let Some(State::Present { detail }) = machine.map(|check| &check.state) {
        blocks.push(Block::Paragraph(format!("{detail}.").into()));
    }
    blocks
}

/// Mark, name and words of each group that was examined: what is there, what is there with less, what is absent.
fn lines(checks: &[Check]) -> Vec<(&'static str, &'static str, String)> {
    let group_of = |check: &Check| GROUPS.iter().position(|group| (group.has)(check));
    let line = |(at, group): (usize, &Group)| {
        let own: Vec<&Check> = checks.iter().filter(|check| check.name != check::MACHINE && group_of(check) == Some(at)).collect();
        let absent: Vec<&Check> = own.iter().copied().filter(|check| !check.is_present()).collect();
        let mark = match absent.iter().map(|check| check.need).min() {
            None => THERE,
            Some(Need::Required) => MISSING,
            Some(Need::Useful) => LESS,
            Some(Need::Optional) => ABSENT,
        };
        let words = if absent.is_empty() { there(group, &own) } else { without(group, &absent, own.len()) };
        (!own.is_empty()).then_some((mark, group.name, words))
    };
    let mut lines: Vec<_> = GROUPS.iter().enumerate().filter_map(line).collect();
    lines.order_by_key(|(mark, ..)| MARKS.iter().position(|(known, _)| known == mark));
    lines
}

const THERE: &str = "✓";
const LESS: &str = "!";
const ABSENT: &str = "–";
const MISSING: &str = "✗";

/// Marks in the order of lines, with their meanings.
const MARKS: [(&str, &str); 4] = [(MISSING, "MISSING"), (THERE, "there"), (LESS, "works, with less"), (ABSENT, "absent, optional")];

fn there(group: &Group, own: &[&Check]) -> String {
    if !group.there.is_empty() {
        return group.there.to_owned();
    }
    let details = own.iter().filter_map(|check| match &check.state {
        State::Present { detail } if !detail.is_empty() => Some(detail.clone()),
        _ => None,
    });
    details.collect::<Vec<_>>().join("; ")
}

/// What is absent, and what is done without it.
fn without(group: &Group, absent: &[&Check], of: usize) -> String {
    let mut names: Vec<String> = absent.iter().map(|check| check.name.clone()).collect();
    let more = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    names.extend((more > 0).then(|| format!("{more} more")));
    let count = if of > 3 { format!(" ({} of {of})", absent.len()) } else { String::new() };
    let required = absent.iter().any(|check| check.need == Need::Required);
    format!("no {}{count}: {}", list(&names), if required { "nothing can be measured" } else { group.without })
}

/// What the marks mean that occur.
fn legend(lines: &[(&'static str, &'static str, String)]) -> String {
    let shown = MARKS.iter().filter(|(mark, _)| lines.iter().any(|(one, ..)| one == mark));
    shown.map(|(mark, words)| format!("{mark} {words}")).collect::<Vec<_>>().join("  ")
}
