//! The split of 1997: what a TCP message executes when it is sent, received and acknowledged, by
//! layer and size, in the form of its figures 4, 5, 7 and 8.

use attribution::exact::{Counts, Measured, PhaseRow, Region, phases};
use attribution::{Phase, Rules, Stack};

use super::words::by_scenario;
use crate::document::figure::{Figure, Panel, Scale, Trace};
use crate::document::{Block, Table};
use crate::number::whole;

/// A count, and what it is called.
type Quantity = (&'static str, fn(&Counts) -> u64);

const QUANTITIES: [Quantity; 4] = [
    ("instructions", |counts| counts.instructions),
    ("data reads", |counts| counts.reads),
    ("data writes", |counts| counts.writes),
    ("bytes read and written", |counts| counts.bytes),
];

/// A side of the paper: the figures of instructions, of reads and writes, and the phases that it sums.
struct Side {
    name: &'static str,
    figures: [&'static str; 2],
    phases: [Phase; 2],
}

const SIDES: [Side; 2] = [
    Side { name: "send and acknowledgement taken", figures: ["4", "5"], phases: [Phase::Send, Phase::AckTaken] },
    Side { name: "receive and acknowledgement sent", figures: ["7", "8"], phases: [Phase::Receive, Phase::AckSent] },
];

/// One size: its name, and its rows.
type Column = (String, Vec<PhaseRow>);

/// The split of every TCP scenario; nothing where none was run.
pub fn of(one: &Measured, id: impl Fn(&str) -> String) -> Vec<Block> {
    let Ok(rules) = Rules::builtin() else { return Vec::new() };
    let mut blocks = Vec::new();
    for (scenario, regions) in by_scenario(one).into_iter().filter(|(name, _)| name.starts_with("tcp")) {
        let column = |region: &&Region| {
            let size = region.scenario().1.map_or_else(|| region.name.clone(), |size| format!("{} B", whole(size)));
            (size, phases(&region.tree, &rules))
        };
        let columns: Vec<Column> = regions.iter().map(column).collect();
        if columns.iter().any(|(_, rows)| rows.iter().any(|row| row.phase.is_some())) {
            let counted = |(_, of): &Quantity| columns.iter().flat_map(|(_, rows)| rows).any(|row| of(&row.counts) > 0);
            blocks.extend(QUANTITIES.into_iter().filter(counted).map(|quantity| Block::from(table(scenario, &columns, quantity))));
            let figures =
                SIDES.iter().flat_map(|side| [instructions(side, &columns, id(scenario)), accesses(side, &columns, id(scenario))]);
            blocks.extend(Block::figures(figures.collect()));
        }
    }
    blocks
}

fn count(rows: &[PhaseRow], phase: Option<Phase>, stack: Option<Stack>, of: fn(&Counts) -> u64) -> u64 {
    let wanted = rows.iter().filter(|row| row.phase == phase && stack.is_none_or(|stack| row.stack == stack));
    wanted.fold(0, |sum, row| sum.saturating_add(of(&row.counts)))
}

/// A row a phase and layer, and below each phase its sum.
fn table(scenario: &str, columns: &[Column], (name, of): Quantity) -> Table {
    let figures = |phase: Option<Phase>, stack: Option<Stack>| columns.iter().map(move |(_, rows)| count(rows, phase, stack, of));
    let mut lines: Vec<Vec<String>> = Vec::new();
    for phase in Phase::ALL.iter().copied().map(Some).chain([None]) {
        let title = phase.map_or_else(|| "no phase shows".to_owned(), |phase| phase.to_string());
        for stack in Stack::ALL.iter().copied().map(Some).chain([None]) {
            let counts: Vec<u64> = figures(phase, stack).collect();
            if counts.iter().any(|count| *count > 0) {
                let head = stack.map_or_else(|| format!("{title}: all"), |stack| format!("{title}: {stack}"));
                lines.push(std::iter::once(head).chain(counts.into_iter().map(whole)).collect());
            }
        }
    }
    let heads = std::iter::once("phase: layer of 1997".to_owned()).chain(columns.iter().map(|(size, _)| size.clone())).collect();
    Table::of_figures(format!("{scenario}: {name}"), heads, lines)
}

fn figure(id: String, title: String, panel: Panel, traces: Vec<Trace>) -> Figure {
    Figure {
        id: id.into(),
        alt: format!("{title}, stacked by layer. The figures are in the table above."),
        title: title.into(),
        caption: "Socket, TCP, IP, Ethernet, and apart what 1997 left out. Counted, so without an interval.".to_owned(),
        sizes: None,
        panels: vec![panel],
        traces,
    }
}

/// Bars by size, stacked by layer.
fn bars(columns: &[Column], side: &Side, name: impl Fn(&str) -> String, of: fn(&Counts) -> u64) -> Vec<(Stack, Vec<(String, u64)>)> {
    let both = |rows: &[PhaseRow], stack: Stack| {
        side.phases.iter().fold(0, |sum: u64, phase| sum.saturating_add(count(rows, Some(*phase), Some(stack), of)))
    };
    Stack::ALL.iter().map(|stack| (*stack, columns.iter().map(|(size, rows)| (name(size), both(rows, *stack))).collect())).collect()
}

fn traces(stacks: Vec<(Stack, Vec<(String, u64)>)>, what: &str) -> Vec<Trace> {
    let seen = stacks.into_iter().enumerate().filter(|(_, (_, bars))| bars.iter().any(|(_, count)| *count > 0));
    let trace = |(place, (stack, bars)): (usize, (Stack, Vec<(String, u64)>))| {
        let points = bars.into_iter().map(|(name, count)| (name.clone(), count as f64, name, format!("{} {what}", whole(count))));
        Trace { stacked: true, ..Trace::points(&stack.to_string(), place, points) }
    };
    seen.map(trace).collect()
}

fn instructions(side: &Side, columns: &[Column], id: String) -> Figure {
    let bars = bars(columns, side, str::to_owned, |counts| counts.instructions);
    let title = format!("Figure {}: instructions, {}", side.figures[0], side.name);
    figure(format!("{id}-{}", side.figures[0]), title, Panel::of("instructions", "").on(Scale::Linear), traces(bars, "instructions"))
}

/// Reads and writes, two bars a size.
fn accesses(side: &Side, columns: &[Column], id: String) -> Figure {
    let reads = bars(columns, side, |size| format!("{size}, reads"), |counts| counts.reads);
    let writes = bars(columns, side, |size| format!("{size}, writes"), |counts| counts.writes);
    let pairs = reads.into_iter().zip(writes).map(|((stack, reads), (_, writes))| {
        let both = reads.into_iter().zip(writes).flat_map(|(read, written)| [read, written]);
        (stack, both.collect())
    });
    let title = format!("Figure {}: data reads and writes, {}", side.figures[1], side.name);
    figure(format!("{id}-{}", side.figures[1]), title, Panel::of("accesses", "").on(Scale::Linear), traces(pairs.collect(), "accesses"))
}
