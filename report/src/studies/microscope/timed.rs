//! Time next to instructions: what each layer takes, and what it executes.

use attribution::exact::{Timed, TimedRow};

use crate::document::{Block, Level, Section, Table};
use crate::number::{NOTHING, percent, significant, whole};
use crate::studies::receipt::figure::{ns, plus_minus, range};

/// Layers that are the answer.
const MOST: usize = 6;

/// The section; none where there is nothing to put next to each other.
pub fn section(all: &[Timed]) -> Option<Section> {
    if all.is_empty() {
        return None;
    }
    let lead = "CPU time per message of both ends, from the receipt, next to the instructions that the same message executes in an emulated machine. \
                A layer whose instructions take longer than those of the message waits: for memory, or for another CPU.";
    let mut blocks = vec![Block::usual([Block::Lead(lead.into())])];
    blocks.extend(Block::sentences(all.iter().map(sentence)));
    let mut tables = all.iter().map(|one| Block::from(table(one)));
    blocks.extend(tables.next());
    blocks.push(Block::usual(tables));
    Some(Section::new("timed", "Time next to instructions", blocks))
}

fn sentence(one: &Timed) -> String {
    let each = &one.per_instruction;
    let stalls: Vec<String> = one.rows.iter().filter(|row| row.stalls).map(|row| row.layer.to_string()).collect();
    let above = match stalls.is_empty() {
        true => "no layer's instructions are shown to take longer than that".to_owned(),
        false => format!("longer in {}", stalls.join(", ")),
    };
    format!(
        "{}: {} ns and {} instructions ({}), {} ns an instruction ({}); {above}.",
        one.cell,
        ns(one.ns.value),
        whole(one.instructions),
        one.region,
        each_ns(each.value),
        range(each, each_ns)
    )
}

/// ns an instruction: some tenths.
fn each_ns(value: f64) -> String {
    significant(value, 2)
}

fn table(one: &Timed) -> Table {
    let cells = |row: &TimedRow| {
        let each = row.per_instruction.as_ref();
        vec![
            row.layer.to_string(),
            ns(row.ns.value),
            if row.ns.interval.is_some() { plus_minus(&row.ns) } else { NOTHING.to_owned() },
            percent(row.time_share),
            whole(row.instructions),
            percent(row.instruction_share),
            each.map_or_else(|| NOTHING.to_owned(), |each| each_ns(each.value)),
        ]
    };
    let mut rows: Vec<Vec<String>> = one.rows.iter().map(cells).collect();
    let all = &one.per_instruction;
    rows.push(vec![
        "message".to_owned(),
        ns(one.ns.value),
        plus_minus(&one.ns),
        percent(1.0),
        whole(one.instructions),
        percent(1.0),
        each_ns(all.value),
    ]);
    // An instruction's time is as well known as its layer's: the counts are exact.
    let heads = vec!["layer", "ns", "±", "of time", "instructions", "of all", "ns each"];
    let levels = (0..rows.len()).map(|row| if row < MOST || row + 1 == rows.len() { Level::Answer } else { Level::Usual }).collect();
    Table { row_levels: levels, ..Table::of_figures(format!("{}, next to {}", one.cell, one.region), heads, rows) }
}
