//! Units with the most to gain, in sentences.

use analysis::answer::notation::plural;
use analysis::top::{Chance, Snapshot, UnitAdvice, advice};
use serde::Serialize;

use super::rows::tail;
use crate::number;
use crate::sinks::json;
use crate::sinks::terminal::Style;

/// The advice of one window as text; ends with a newline.
pub fn advice_text(snapshot: &Snapshot, style: Style) -> String {
    let all = advice(snapshot);
    let seconds = snapshot.elapsed_ns as f64 / 1e9;
    let Some(_) = all.first() else {
        let none = format!("In {seconds:.0} s no unit spent a shown part of its work on what a change could avoid.");
        return crate::terminal::sentence(&none, style);
    };
    let head =
        format!("{} with the most to gain, in {seconds:.0} s. What can be saved is at most so much:", plural(all.len() as u64, "unit"));
    let mut text = crate::terminal::sentence(&head, style);
    for (place, one) in all.iter().enumerate() {
        text += &crate::terminal::sentence(&format!("{}. {}", place + 1, sentence(one)), style);
        text += &format!("   {}\n", one.command);
    }
    text
}

/// The same as one line of JSON; ends with a newline.
pub fn advice_json(snapshot: &Snapshot) -> String {
    /// Its version goes with that of the snapshot.
    #[derive(Serialize)]
    struct Answer {
        format: u32,
        elapsed_ns: u64,
        advice: Vec<UnitAdvice>,
    }
    let answer = Answer { format: snapshot.format, elapsed_ns: snapshot.elapsed_ns, advice: advice(snapshot) };
    json::for_terminal(&json::rounded(&answer, super::DIGITS)) + "\n"
}

fn sentence(one: &UnitAdvice) -> String {
    let half = (one.touched.high - one.touched.low) / 2.0;
    let cpus = format!("{:.3} ± {half:.3} of {:.3} CPUs", one.touched.cpus, one.of);
    let messages = match (one.messages, one.bytes) {
        (Some(rate), Some(bytes)) => format!(" ({} messages/s of {} B)", number::count(rate), number::whole(bytes.round() as u64)),
        _ => String::new(),
    };
    let what = match one.chance {
        Chance::Calls => "are calls and sockets: move several messages a call",
        Chance::WakeUps => "are sleeping and waking: wake less often, or poll",
        Chance::Copies => "are copies: let the kernel send files, or lend it pages",
        Chance::Checksums => "are checksums in software: turn on those of the device",
        Chance::Filters => "are packet filters and BPF programs: shorten what each packet meets",
    };
    format!("{}: {cpus} {what}{messages}.", tail(&one.unit, 1))
}
