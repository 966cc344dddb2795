//! Sentences about a program.

use analysis::attached::{Attached, State, Work};
use analysis::studies::receipt::ReceiptOutcome;
use attribution::{Footing, LEAST_SAMPLES, longer};
use model::Nanos;
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
        (Some(cpu), Some(network)) => format!("{program}: {} a request, {} network", time(cpu.value), percent(network)),
        (Some(cpu), None) => format!("{program}: {} a request", time(cpu.value)),
        (None, _) => format!("{program}: no receipt"),
    }
}

/// The answer.
pub fn answer(program: &str, state: &State) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let ReceiptOutcome::Absent { reason } = &state.outcome {
        blocks.push(Block::Conclusion(Tone::Bad, format!("There is no receipt: {reason}.")));
    }
    let mut sentences = Vec::new();
    if let Some(cpu) = state.cpu {
        sentences.push(format!("A request takes {} of CPU time ({} at 95 %).", time(cpu.value), figure::range(&cpu, time)));
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
        sentences.push(format!("It answered {} requests/s and kept {:.2} CPUs busy.", count(rate.value), busy.value));
    }
    if let Some(elsewhere) = state.elsewhere {
        sentences.push(format!(
            "Softirqs of the network in other programs and in idle time took {} per request on the CPUs that it may use: what they did for {program} is part of that.",
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

/// The word on how the sums of the receipts stand: of the one in most doubt. Windows have this length.
pub fn trust(states: &[State], window: Nanos) -> (Tone, String, String) {
    let rank = |footing: Option<Footing>| match footing {
        None => 0,
        Some(Footing::Off) => 1,
        Some(Footing::TooFew { .. }) => 2,
        Some(Footing::NoRecords) => 3,
        Some(Footing::Hold) => 4,
    };
    match states.iter().map(|state| state.footing).min_by_key(|footing| rank(*footing)).flatten() {
        None => (Tone::Bad, "There is no receipt".to_owned(), String::new()),
        Some(Footing::Off) => (Tone::Bad, "The sums do not add up: do not use the rows".to_owned(), String::new()),
        Some(Footing::TooFew { samples }) => (Tone::Open, format!("Too few samples: {} of {}", whole(samples), whole(LEAST_SAMPLES)), {
            let windows: u64 = states.iter().flat_map(|state| &state.windows).map(|(_, count)| u64::from(*count)).sum();
            let seconds = (window.as_secs_f64() * windows as f64 * longer(samples) as f64).ceil().max(1.0);
            format!("`-t {seconds:.0}s` would be enough for its sums at this load")
        }),
        Some(Footing::NoRecords) => {
            (Tone::Open, "The samples were compared with no time".to_owned(), "read the rows as shares of what was sampled".to_owned())
        }
        Some(Footing::Hold) => (Tone::Good, "The receipt adds up".to_owned(), String::new()),
    }
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
    use model::Nanos;
    use model::attach::Look;

    use super::{answer, short, trust};
    use crate::document::Tone;

    /// A program whose CPU time clocks told, and samples of 42 % own code and 84 % network.
    const WINDOW: Nanos = Nanos::from_millis(500);

    #[test]
    fn too_few_samples_come_with_the_time_that_would_be_enough() {
        // 100 of 2,500 in 10 s: 25 times as long.
        let state = State { windows: vec![(Look::Clean, 10), (Look::Time, 10)], ..state(Some(Footing::TooFew { samples: 100 })) };
        assert!(trust(&[state], WINDOW).2.contains("`-t 250s`"));
    }

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
            (None, Tone::Bad, "There is no receipt", "There is no receipt: no samples were taken.", "12.0 µs a request"),
            (Some(Footing::Off), Tone::Bad, "do not use the rows", "Where it goes is open: the sums do not add up.", "12.0 µs a request"),
            (Some(few), Tone::Open, "Too few samples: 34 of 5,000", "there are 34 samples of 5,000", "12.0 µs a request"),
            (Some(Footing::NoRecords), Tone::Open, "compared with no time", "33 % in redis's own code", "67 % network"),
            (Some(Footing::Hold), Tone::Good, "The receipt adds up", "33 % in redis's own code, 67 %", "67 % network"),
        ];
        for (footing, tone, word, sentence, line) in cases {
            let state = state(footing);
            let (found, text, remedy) = trust(std::slice::from_ref(&state), WINDOW);
            assert!(found == tone && text.contains(word), "{footing:?}: {text}");
            assert_eq!(text.contains("adds up"), footing == Some(Footing::Hold));
            assert_eq!(remedy.is_empty(), tone != Tone::Open);
            let blocks = format!("{:?}", answer("redis", &state));
            assert!(blocks.contains(sentence) && blocks.contains("A request takes 12.0 µs of CPU time"), "{blocks}");
            assert!(!blocks.contains("84 %"), "{blocks}");
            assert!(short("redis", &state).contains(line), "{}", short("redis", &state));
        }
    }

    #[test]
    fn of_two_arms_the_one_in_most_doubt_is_said() {
        let both = [Some(Footing::Hold), Some(Footing::TooFew { samples: 3 })].map(state);
        assert!(trust(&both, WINDOW).1.contains("3 of 5,000"));
        assert_eq!(trust(&[state(Some(Footing::Hold)), state(None)], WINDOW).1, "There is no receipt");
    }
}
