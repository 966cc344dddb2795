//! Sentences about a program.

use analysis::attached::{Attached, State, Work};
use analysis::studies::receipt::ReceiptOutcome;
use attribution::{Footing, LEAST_SAMPLES};
use model::attach::Look;

use crate::document::{Block, Finding, Tone};
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
    match (state.cpu, state.sampled(Work::Network)) {
        (Some(cpu), Some(network)) => format!("{program}: {} a {}, {} network", time(cpu.value), state.unit(), percent(network)),
        (Some(cpu), None) => format!("{program}: {} a {}", time(cpu.value), state.unit()),
        (None, _) => format!("{program}: no receipt"),
    }
}

/// The answer.
pub fn answer(program: &str, state: &State) -> Vec<Block> {
    let unit = state.unit();
    let mut blocks = Vec::new();
    if let ReceiptOutcome::Absent { reason } = &state.outcome {
        blocks.push(Block::Conclusion(Tone::Bad, format!("There is no receipt: {reason}.")));
    }
    let mut sentences = Vec::new();
    if let Some(cpu) = state.cpu {
        sentences.push(format!("A {unit} takes {} of CPU time ({} at 95 %).", time(cpu.value), figure::time_range(&cpu, time)));
    }
    sentences.extend(composition(program, state));
    if let Some(receipt) = state.receipt().filter(|receipt| receipt.size.get() > 0) {
        sentences.push(format!(
            "It moves {}, so that a byte takes {} ns.",
            bytes(receipt.size.get() as f64),
            figure::ns(receipt.cpu.value / receipt.size.get() as f64)
        ));
    }
    if let (Some(rate), Some(busy)) = (state.rate, state.busy) {
        let did = if state.per_send.is_some() { "made" } else { "answered" };
        sentences.push(format!("It {did} {} {unit}s/s and kept {:.2} CPUs busy.", count(rate.value), busy.value));
    }
    if let Some(elsewhere) = state.elsewhere {
        sentences.push(format!(
            "Softirqs of the network in other programs and in idle time took {} per {unit} on the CPUs that it may use: what they did for {program} is part of that.",
            time(elsewhere.value)
        ));
    }
    blocks.extend(Block::sentences(sentences));
    blocks
}

/// Where the CPU time goes, as far as the receipt bears it; `None` without one.
fn composition(program: &str, state: &State) -> Option<String> {
    let shares = state.sampled(Work::Own).zip(state.sampled(Work::Network));
    let shares = shares.map(|(own, network)| format!("{} in {program}'s own code, {} for the network", percent(own), percent(network)));
    Some(match (state.footing?, shares) {
        (Footing::Hold, Some(shares)) => format!("It goes where the samples fell: {shares}."),
        (Footing::NoRecords, Some(shares)) => format!("The samples that were taken fell so: {shares}."),
        (Footing::TooFew { samples }, _) => {
            format!("Where it goes is open: there are {} samples of {} that this takes.", whole(samples), whole(LEAST_SAMPLES))
        }
        (Footing::Off, _) => "Where it goes is open: the sums do not add up.".to_owned(),
        (_, None) => return None,
    })
}

/// Everything to know before believing the figures.
pub fn doubts(state: &State) -> Vec<Block> {
    let doubts = state.doubts().iter().map(|doubt| Finding {
        text: capital(&doubt.to_string()),
        remedy: capital(doubt.remedy_of_program()),
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

#[cfg(test)]
mod tests {
    use analysis::attached::{State, Work, WorkRow};
    use analysis::studies::receipt::ReceiptOutcome;
    use attribution::{Footing, ratio};

    use super::{answer, short};

    /// A program whose CPU time clocks gave, and samples of 42 % own code and 84 % network.
    fn state(footing: Option<Footing>) -> State {
        let of = |value: f64| ratio(&[(value, 1.0), (value, 1.0)]).figure();
        let row = |work, share| WorkRow { work, share: of(share), ns: of(share) };
        State {
            cpu: Some(of(12_000.0)),
            outcome: ReceiptOutcome::Absent { reason: "no samples were taken".to_owned() },
            footing,
            work: vec![row(Work::Network, 0.84), row(Work::Own, 0.42)],
            ..State::default()
        }
    }

    #[test]
    fn what_is_said_of_a_program_is_what_its_figures_bear() {
        let few = Footing::TooFew { samples: 34 };
        let cases = [
            (None, "There is no receipt: no samples were taken.", "12.0 µs a request"),
            (Some(Footing::Off), "Where it goes is open: the sums do not add up.", "12.0 µs a request"),
            (Some(few), "there are 34 samples of 5,000", "12.0 µs a request"),
            (Some(Footing::NoRecords), "33 % in redis's own code", "67 % network"),
            (Some(Footing::Hold), "33 % in redis's own code, 67 %", "67 % network"),
        ];
        for (footing, sentence, line) in cases {
            let state = state(footing);
            let blocks = format!("{:?}", answer("redis", &state));
            assert!(blocks.contains(sentence) && blocks.contains("A request takes 12.0 µs of CPU time"), "{blocks}");
            assert!(!blocks.contains("84 %"), "{blocks}");
            assert!(short("redis", &state).contains(line), "{}", short("redis", &state));
        }
    }
}
