//! The answer of a program that is observed: what a request costs it, and where that goes.

use attribution::{Footing, Receipt};

use super::next::{self, Next};
use super::notation::{amount, duration, plural, signed, time, time_in, verb};
use super::receipt::{REACHES, SAMPLES, reach, wide};
use super::{Answer, Direction, Grade, Invalid, InvalidFigure, Part};
use crate::attached::{Attached, Change, PerSend, State, Verdict, Work};
use crate::studies::receipt::ReceiptOutcome;

/// The answer of an attached run.
pub fn attached(attached: &Attached) -> Answer {
    let program = &attached.run.program;
    let question = format!("attach {program}");
    let Some(state) = attached.states.first() else {
        return Answer::new(question, "Nothing was observed.", Grade::Open, "no window was observed");
    };
    let (mut grade, mut reason) = grade(state);
    let unit = state.unit();
    if let Some(why) = state.per_send.filter(|_| attached.change.is_none()) {
        grade = if grade == Grade::Settled { Grade::Rough } else { grade };
        let why = match why {
            PerSend::Client => "it is a client as well".to_owned(),
            PerSend::Several(sends) | PerSend::AtLeast(sends) => {
                let cost = state.cpu.map_or_else(String::new, |cpu| format!(", {}", time(sends * cpu.value)));
                let bound = if matches!(why, PerSend::AtLeast(_)) { "at least " } else { "" };
                format!("a request takes {bound}{sends:.1} sends{cost}")
            }
        };
        reason = format!("{why}: count requests by --requests; {reason}");
    }
    let answer = match (state.cpu, &attached.change) {
        (_, Some(change)) => of_change(change, question),
        (Some(cpu), None) => {
            let headline = format!("A {unit} costs {program} {} of CPU{}.", time_in(cpu.value, cpu.interval), composition(state));
            let network = state.sampled(Work::Network).map_or_else(String::new, |share| format!(", {} % network", amount(share)));
            let brief = format!("{}{network}", time(cpu.value));
            let part = Part { interval: cpu.interval, ..Part::figure(program, None, None, cpu.value) };
            Answer { parts: vec![part], brief, ..Answer::new(question, headline, grade, reason) }
        }
        (None, None) => {
            let why = if let ReceiptOutcome::Absent { reason } = &state.outcome {
                reason.trim_end_matches('.')
            } else {
                "no request was counted"
            };
            let headline = format!("No request of {program} was counted: {why}.");
            Answer { brief: "no receipt".to_owned(), ..Answer::new(question, headline, Grade::Open, reason) }
        }
    };
    let off = state.footing == Some(Footing::Off);
    let invalid = off.then(|| Invalid {
        figure: InvalidFigure::Named("the rows".to_owned()),
        reason: "they do not add up to the CPU time".to_owned(),
        remedy: format!("The CPU time of a {unit} stays good."),
    });
    let next = (answer.grade != Grade::Settled).then(|| longer(attached, state));
    Answer { do_not_use: invalid.into_iter().collect(), next, ..answer }
}

fn grade(state: &State) -> (Grade, String) {
    let samples = state.receipt().map_or(0, |receipt: &Receipt| receipt.sampling.samples);
    let Some(reach) = state.cpu.as_ref().and_then(reach) else {
        return (Grade::Open, "no interval of the CPU time".to_owned());
    };
    let known = format!("CPU within ±{} %", amount(reach));
    match state.footing {
        _ if reach > REACHES[1] => (Grade::Open, format!("{known}; rough needs ±{} %", amount(REACHES[1]))),
        None => (Grade::Open, format!("where it goes is not known; {known}")),
        Some(Footing::Off) => (Grade::Open, format!("the rows do not add up, so where it goes is not known; {known}")),
        Some(Footing::TooFew { .. }) if samples < SAMPLES[0] => {
            (Grade::Open, format!("{known}; {} {} too few for rows", plural(samples, "sample"), verb(samples, "is", "are")))
        }
        Some(Footing::TooFew { .. }) => (
            Grade::Rough,
            format!("{known}; {} {} too few to check the sum of the rows", plural(samples, "sample"), verb(samples, "is", "are")),
        ),
        Some(Footing::NoRecords) => (Grade::Rough, format!("{known}; rows are shares of what was sampled")),
        _ if reach > REACHES[0] => (Grade::Rough, wide(&known)),
        _ => (Grade::Settled, format!("{known}; rows add up")),
    }
}

/// `: 65 % network, 21 % its own code`.
fn composition(state: &State) -> String {
    let share = |work: Work, words: &str| state.sampled(work).map(|share| format!("{} % {words}", amount(share)));
    let all: Vec<String> = [share(Work::Network, "network"), share(Work::Own, "its own code")].into_iter().flatten().collect();
    if all.is_empty() { String::new() } else { format!(": {}", all.join(", ")) }
}

fn of_change(change: &Change, question: String) -> Answer {
    let [baseline, candidate] = &change.names;
    let value = change.ratio.map_or_else(|| change.layers.cpu.ns[1] / change.layers.cpu.ns[0] - 1.0, |ratio| ratio.value - 1.0);
    let ends = change.share();
    let within = ends.map_or_else(String::new, |[low, high]| format!(" ({} to {})", signed(low), signed(high)));
    let (direction, headline) = match change.verdict {
        Verdict::Worse => (Direction::Worse, format!("{candidate} costs {} % more CPU a request than {baseline}{within}.", amount(value))),
        Verdict::Better => {
            (Direction::Better, format!("{candidate} costs {} % less CPU a request than {baseline}{within}.", amount(value)))
        }
        Verdict::Equivalent => (
            Direction::Same,
            format!("{candidate} and {baseline} cost the same within {} %: {} %{within}.", amount(change.threshold), signed(value)),
        ),
        Verdict::Inconclusive => {
            (Direction::Open, format!("Open: CPU a request {} %{within}, {candidate} against {baseline}.", signed(value)))
        }
    };
    let grade = if direction == Direction::Open { Grade::Open } else { Grade::Settled };
    let reason = change.sends.map_or_else(
        || lies(direction, ends, change.threshold),
        |[a, b]| {
            format!("a request takes {a:.1} sends in {baseline}, {b:.1} in {candidate}, and CPU is per send: count requests by --requests")
        },
    );
    let part = Part { against: Some(baseline.clone()), interval: ends, direction, ..Part::figure(candidate, None, None, value) };
    let brief = format!("CPU {} %", signed(value));
    Answer { parts: vec![part], brief, ..Answer::new(question, headline, grade, reason) }
}

/// Where the interval of a change lies, which is the reason for the grade.
fn lies(direction: Direction, ends: Option<[f64; 2]>, threshold: f64) -> String {
    let at = match (direction, ends) {
        (Direction::Same, _) => format!("lies within ±{} %", amount(threshold)),
        (Direction::Open, Some([low, high])) if low <= 0.0 && high >= 0.0 => "holds 0".to_owned(),
        (Direction::Open, Some(_)) => format!("excludes 0, and no change beyond ±{} % is shown", amount(threshold)),
        (_, Some(_)) => "excludes 0".to_owned(),
        (_, None) => return "no interval of the CPU time".to_owned(),
    };
    format!("the interval of the CPU of a request {at}")
}

/// The next step: a longer observation.
fn longer(attached: &Attached, state: &State) -> Next {
    let run = &attached.run;
    let windows: u64 = attached.states.iter().flat_map(|state| &state.windows).map(|(_, count)| u64::from(*count)).sum();
    let seconds = run.window.as_secs_f64() * windows as f64;
    let reach = state.cpu.as_ref().and_then(reach).unwrap_or(1.0);
    let times = match state.footing {
        Some(Footing::TooFew { samples }) => attribution::longer(samples) as f64,
        _ => (reach / next::WANTED).powi(2).clamp(2.0, 10.0),
    };
    let wanted = (seconds * times).ceil().max(1.0);
    let time_of_all = wanted as u64;
    if wanted > next::LONGEST {
        return Next::advice(format!("To narrow it takes {}: observe it while it answers more requests.", duration(wanted)));
    }
    // `pid 4711`, `unit nginx`, `cgroup /x`; of a command its words are not kept.
    match run.target.split_once(' ').filter(|(kind, _)| ["pid", "unit", "cgroup"].contains(kind)) {
        Some((kind, name)) => {
            let requests = if run.counts_sends() { String::new() } else { format!(" --requests {}", next::quoted(&run.requests)) };
            Next::command("narrow it", format!("nettoll attach --{kind} {}{requests} -t {time_of_all}s", next::quoted(name)), Some(wanted))
        }
        None => Next::advice(format!("To narrow it, observe the command again for -t {time_of_all}s.")),
    }
}
