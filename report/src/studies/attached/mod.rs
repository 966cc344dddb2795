//! What a program's network costs it: the report of an attached run.
//!
//! ```text
//! analysis::attached -> words, tables -> Document -> terminal | html
//!                    -> json, csv
//! ```

mod breakdown;
mod change;
mod csv;
mod tables;
mod waterfall;
mod words;

use analysis::attached::{Attached, State};
use serde_json::Value;

use crate::document::{Block, Document, Masthead, Section};
use crate::json;
use crate::studies::receipt::one_flame;
use crate::words::plural;

pub use change::document as change;
pub use csv::render as csv;

/// Everything, as JSON: see docs/attach.md.
pub fn json(attached: &Attached) -> String {
    json::pretty(&value(attached))
}

/// A receipt knows ends of trials; a program is none, so that its role is left out.
fn value(attached: &Attached) -> Value {
    let mut value = serde_json::to_value(attached).unwrap_or(Value::Null);
    let states = value.get_mut("states").and_then(Value::as_array_mut);
    for state in states.into_iter().flatten() {
        if let Some(receipt) = state.pointer_mut("/outcome/made").and_then(Value::as_object_mut) {
            receipt.remove("role");
        }
    }
    value
}

/// A line for a list of runs.
pub fn headline(attached: &Attached) -> String {
    attached.states.first().map_or_else(String::new, |state| words::short(&attached.run.program, state))
}

/// The run, with the folded call chains of each state, in order.
pub fn document(attached: &Attached, folded: &[String]) -> Document {
    let run = &attached.run;
    let mut sections: Vec<Section> = Vec::new();
    sections
        .extend(attached.change.as_ref().map(|change| Section::new("change", "The second arm against the first", change::blocks(change))));
    for (place, state) in attached.states.iter().enumerate() {
        let folded = folded.get(place).map_or("", String::as_str);
        sections.extend(state_sections(attached, state, place, folded));
    }
    let lines = [format!("{} · {}", run.id, words::source(attached))];
    let masthead = Masthead {
        answer: Some(analysis::answer::attached(attached)),
        warnings: warnings(attached),
        ..Masthead::of("attach", format!("Network cost of {}", run.program), lines)
    };
    Document { data: vec![("analysis", json::compact(&value(attached)))], ..Document::of(masthead, sections) }
}

fn warnings(attached: &Attached) -> usize {
    attached.states.iter().map(|state| state.doubts().len() + state.notes.len() + state.refused.len()).sum()
}

fn state_sections(attached: &Attached, state: &State, place: usize, folded: &str) -> Vec<Section> {
    let named = |title: &str| state.arm.as_ref().map_or_else(|| title.to_owned(), |arm| format!("{title}, arm {arm}"));
    let section = |id: &str, title: &str, blocks: Vec<Block>| Section::new(format!("{id}-{place}"), named(title), blocks);
    let mut receipt = tables::receipt(state);
    if let Some(made) = state.receipt() {
        let at = receipt.len().min(1);
        drop(receipt.splice(at..at, waterfall::block(&attached.run.program, state, place)));
        let error = made.cpu.error.map_or(0.0, |error| error / made.cpu.value);
        let sampled = made.basis.on_cpu.value;
        let title = format!("Flame graph of {}", attached.run.program);
        receipt.extend(one_flame(format!("flame-{place}"), title, folded, sampled, error).map(Block::flame));
    }
    // Rows say more than sentences on their sums do.
    let mut answer = tables::at_a_glance(state);
    let sentences = words::answer(&attached.run.program, state);
    if answer.is_empty() {
        answer = sentences
    } else {
        answer.push(Block::usual(sentences))
    }
    let doubts = plural((state.doubts().len() + state.notes.len() + state.refused.len()) as u64, "warning");
    let all = [
        section("answer", "In short", breakdown::block(&attached.run.program, state, place).into_iter().chain(answer).collect()),
        section("calls", "Calls that carry data", tables::calls(state)),
        section("receipt", &format!("Where the CPU time of a {} goes", state.unit()), receipt)
            .folded(named("Every row: kinds of work, layers, functions")),
        section("sockets", "Sockets", tables::sockets(state)).folded(named("Its sockets")),
        section("doubts", "Doubts", words::doubts(state)).folded(named(&doubts)),
    ];
    // Of two arms the change is the answer.
    let is_answer = |at: usize| at == 0 && attached.change.is_none();
    let levelled = all.into_iter().enumerate().map(|(at, section)| if is_answer(at) { section } else { section.behind() });
    levelled.filter(|section| !section.blocks.is_empty()).collect()
}
