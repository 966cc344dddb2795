//! Sentences about a program.

use analysis::attached::{Attached, Outcome, State, Work};
use model::attach::Look;

use crate::document::{Block, Finding, Text, Tone};
use crate::number::{bytes, count, percent, time, whole};
use crate::studies::receipt::figure;
use crate::words::{capital, plural};

/// The line below the heading.
pub fn source(attached: &Attached) -> String {
    let run = &attached.run;
    let windows: u32 = attached.states.iter().flat_map(|state| &state.windows).map(|(_, count)| count).sum();
    format!(
        "{} · requests by {} · {} of {} · Linux {} · {}",
        run.target,
        run.requests,
        plural(u64::from(windows), "window"),
        time(run.window.get() as f64),
        run.kernel,
        plural(u64::from(run.cpus), "CPU")
    )
}

/// The answer in a few words.
pub fn short(program: &str, state: &State) -> String {
    match state.receipt() {
        Some(receipt) => {
            format!("{program}: {} a request, {} network", time(receipt.cpu.value), percent(state.network().unwrap_or(0.0)))
        }
        None => format!("{program}: no receipt"),
    }
}

/// The answer.
pub fn answer(program: &str, state: &State) -> Vec<Block> {
    let receipt = match &state.outcome {
        Outcome::Made(receipt) => receipt,
        Outcome::Absent { reason } => return vec![Block::Conclusion(Tone::Bad, format!("There is no receipt: {reason}."))],
    };
    let share = |work| state.work.iter().find(|row| row.work == work).map_or(0.0, |row| row.share.value);
    let mut sentences = vec![format!(
        "A request takes {} of CPU time ({} at 95 %): {} in {program}'s own code, {} for the network.",
        time(receipt.cpu.value),
        figure::range(&receipt.cpu, time),
        percent(share(Work::Own)),
        percent(state.network().unwrap_or(0.0)),
    )];
    if receipt.size.get() > 0 {
        sentences.push(format!(
            "It moves {}, so that a byte takes {} ns.",
            bytes(receipt.size.get() as f64),
            figure::ns(receipt.cpu.value / receipt.size.get() as f64)
        ));
    }
    if let (Some(rate), Some(busy)) = (state.rate, state.busy) {
        sentences.push(format!("It answered {} requests/s and kept {:.2} CPUs busy.", count(rate.value), busy.value));
    }
    if let Some(elsewhere) = state.elsewhere {
        sentences.push(format!(
            "Softirqs of the network in other programs and in idle time took {} per request on the CPUs that it may use: what they did for {program} is part of that.",
            time(elsewhere.value)
        ));
    }
    vec![Block::Answers(sentences.into_iter().map(Text::from).collect())]
}

/// Everything to know before believing the figures.
pub fn doubts(state: &State) -> Vec<Block> {
    let doubts = state.doubts().iter().map(|doubt| Finding {
        text: capital(&doubt.to_string()),
        remedy: capital(doubt.remedy()),
        concerns: String::new(),
    });
    let refused = state.refused.iter().map(|refusal| Finding {
        text: format!("{}: {}", capital(&refusal.what), refusal.answer),
        remedy: refusal.remedy.clone(),
        concerns: String::new(),
    });
    let mut blocks: Vec<Block> = Block::sentences(state.notes.clone()).into_iter().collect();
    let all: Vec<Finding> = doubts.chain(refused).collect();
    if !all.is_empty() {
        blocks.push(Block::Findings(all));
    }
    let looks = state.windows.iter().map(|(look, count)| format!("{} {}", whole(u64::from(*count)), word(*look)));
    blocks.push(Block::Aside(format!("Windows: {}.", looks.collect::<Vec<_>>().join(", ")).into()));
    blocks
}

const fn word(look: Look) -> &'static str {
    match look {
        Look::Clean => "without an instrument",
        Look::Time => "with samples",
        Look::Messages => "with socket calls",
        Look::Waits => "with waits",
    }
}
