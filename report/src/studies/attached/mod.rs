//! What a program's network costs it: the report of an attached run.
//!
//! ```text
//! analysis::attached -> words, tables -> Document -> terminal | html
//!                    -> json, csv
//! ```

mod change;
mod csv;
mod tables;
mod waterfall;
mod words;

use analysis::attached::{Attached, State};
use attribution::Footing;
use serde_json::Value;

use crate::document::{Block, Document, Masthead, Section, Trust};
use crate::sinks::terminal::Style;
use crate::studies::receipt::one_flame;
use crate::{clock, json, sinks};

pub use change::{json as change_json, page as change_html, terminal as change_terminal};
pub use csv::render as csv;

/// The run as text; ends with a newline.
pub fn terminal(attached: &Attached, style: Style) -> String {
    sinks::terminal::render(&document(attached, &[]), style)
}

/// The same as a page, with the folded call chains of each state, in order.
pub fn html(attached: &Attached, folded: &[String]) -> String {
    sinks::html::render(&document(attached, folded))
}

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

fn document(attached: &Attached, folded: &[String]) -> Document {
    let run = &attached.run;
    let mut sections = Vec::new();
    for (place, state) in attached.states.iter().enumerate() {
        let folded = folded.get(place).map_or("", String::as_str);
        sections.extend(state_sections(attached, state, place, folded));
    }
    if let Some(change) = &attached.change {
        sections.push(Section {
            rank: 4,
            headed: true,
            ..Section::new("change", "The second arm against the first", change::blocks(change))
        });
    }
    let source = words::source(attached);
    Document {
        title: format!("What the network costs {}", run.program),
        masthead: Masthead {
            brand: "attach".to_owned(),
            heading: format!("What the network costs {}", run.program),
            trust: Some(trust(attached)),
            red: attached
                .states
                .iter()
                .any(|state| state.footing == Some(Footing::Off))
                .then(|| "the receipt does not add up: its rows are not to be used".to_owned()),
            started: clock::utc(run.started_ms),
            lines: vec![format!("{} · {source}", run.id)],
            source,
            ..Masthead::default()
        },
        places: sections.iter().filter_map(Section::place).collect(),
        sections,
        data: vec![("analysis", json::compact(&value(attached)))],
        tool: run.tool.clone(),
        precision: None,
    }
}

fn trust(attached: &Attached) -> Trust {
    let warnings = attached.states.iter().map(|state| state.doubts().len() + state.notes.len() + state.refused.len()).sum();
    let (tone, text, remedy) = words::trust(&attached.states);
    Trust { tone, text, remedy, warnings }
}

fn state_sections(attached: &Attached, state: &State, place: usize, folded: &str) -> Vec<Section> {
    let named = |title: &str| state.arm.as_ref().map_or_else(|| title.to_owned(), |arm| format!("{title}, arm {arm}"));
    let section = |id: &str, title: &str, rank, blocks: Vec<Block>| Section {
        headed: true,
        rank,
        ..Section::new(format!("{id}-{place}"), named(title), blocks)
    };
    let mut receipt = tables::receipt(state);
    if let Some(made) = state.receipt() {
        let at = receipt.len().min(1);
        drop(receipt.splice(at..at, waterfall::block(&attached.run.program, state)));
        let error = made.cpu.error.map_or(0.0, |error| error / made.cpu.value);
        let sampled = made.basis.on_cpu.value;
        let title = format!("Flame graph of {}", attached.run.program);
        receipt.extend(one_flame(format!("flame-{place}"), title, folded, sampled, error).map(|flame| Block::Flame(Box::new(flame))));
    }
    let all = [
        section("receipt", "Where the CPU time of a request goes", 1, receipt),
        section("calls", "Calls that carry data", 1, tables::calls(state)),
        section("sockets", "Sockets", 2, tables::sockets(state)),
        section("answer", "In short", 3, words::answer(&attached.run.program, state)),
        section("doubts", "Doubts", 2, words::doubts(state)),
    ];
    all.into_iter().filter(|section| !section.blocks.is_empty()).collect()
}
