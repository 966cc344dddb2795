//! Sentences and figures that text and page share.

use analysis::result::Estimate;
use analysis::workload::{FigureRow, Quantity, SeriesResult, ShareOfTime, Source, Touching, WorkloadResult, WorkloadStudy};
use model::Role;

use super::From;
use crate::interval;
use crate::number::{self, NOTHING};

/// A mean that is further from the mix's own than this is explained.
const NOTEWORTHY: f64 = 0.05;

/// What a quantity is called in a table.
pub const fn quantity(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::SenderCpu => "CPU per message, sender",
        Quantity::ReceiverCpu => "CPU per message, receiver",
        Quantity::MessagesPerS => "Messages a second",
        Quantity::Frames => "Frames per message",
        Quantity::ReceiverWakeups => "Wake-ups per message",
    }
}

/// A figure of it.
fn figure(of: Quantity, value: f64) -> String {
    match of {
        Quantity::SenderCpu | Quantity::ReceiverCpu => number::time(value),
        Quantity::MessagesPerS => number::count(value),
        Quantity::Frames | Quantity::ReceiverWakeups => number::significant(value, 3),
    }
}

/// Figure and `±`.
pub fn estimate(of: Quantity, estimate: Option<&Estimate>) -> (String, String) {
    estimate.map_or_else(
        || (NOTHING.to_owned(), String::new()),
        |estimate| (figure(of, estimate.value), number::tight(&interval::plus_minus(estimate))),
    )
}

/// Measured over foretold, and where it lies.
pub fn ratio(row: &FigureRow) -> (String, String) {
    let Some(ratio) = &row.ratio else { return (NOTHING.to_owned(), String::new()) };
    let range = ratio.interval.map_or("no interval".to_owned(), |ends| format!("{:.3} to {:.3}", ends.low, ends.high));
    (format!("{:.3}", ratio.value), range)
}

/// What a prediction is from.
pub const fn source(source: Source) -> &'static str {
    match source {
        Source::Model => "model",
        Source::Sizes => "sizes",
    }
}

/// What is shown, in a line.
pub const fn title(study: &WorkloadStudy) -> &'static str {
    if study.same_run.is_some() { "Workloads, foretold and measured" } else { "Workloads, foretold" }
}

/// Where the figures are from, and what that means.
pub fn origin(study: &WorkloadStudy, runs: From) -> String {
    let sizes = format!("Sizes: {} ({}).", runs.sizes, crate::words::plural(study.blocks as u64, "block"));
    match (study.same_run, runs.mixes) {
        (Some(true), _) => format!("{sizes} Mixes: in the same blocks, so that the machine's drift hit both alike."),
        (Some(false), Some(mixes)) => format!(
            "{sizes} Mixes: {mixes}, at another time: whatever the machine did otherwise then is in the ratios. --measure measures both in the \
             same blocks."
        ),
        _ => format!("{sizes} No mix was measured."),
    }
}

/// What a reader of the table has to know.
pub const LEGEND: &str = "Foretold from the lines of the cost model, or from the medians of the sizes themselves. The ratio is measured over \
                          foretold, with its bootstrap interval over blocks: 1 is a prediction that came true.";

/// `W1: Facebook's key-value store`, with its sizes.
pub fn workload(result: &WorkloadResult) -> String {
    let colon = if result.title.is_empty() { String::new() } else { format!(": {}", result.title) };
    format!(
        "{}{colon}; mean {} B, largest {} B",
        result.workload,
        number::significant(result.mean_bytes, 4),
        number::whole(result.largest_bytes)
    )
}

/// What has to be known of a series.
pub fn notes(series: &SeriesResult) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(cut) = series.cut {
        notes.push(format!(
            "{} of the messages, which hold {} of the bytes, are larger than the largest datagram, {} B: they are left out, and the shares \
             of the others raised to make up for them (mean {} B).",
            number::percent(cut.messages),
            number::percent(cut.bytes),
            number::whole(cut.limit),
            number::significant(series.mean_bytes, 4)
        ));
    }
    if series.beyond.messages > 0.0 {
        notes.push(format!(
            "{} of the messages, which hold {} of the bytes, are larger than the largest size measured, {} B: the line through the two \
             largest is drawn on to them.",
            number::percent(series.beyond.messages),
            number::percent(series.beyond.bytes),
            number::whole(series.measured_sizes[1])
        ));
    }
    notes.extend(no_model(series));
    notes.extend(nagle(series));
    notes.extend(sent(series));
    notes.extend(series.touching.iter().map(touching));
    notes
}

/// Why there is no model; one reason for both ends is said once.
fn no_model(series: &SeriesResult) -> Vec<String> {
    let sentence =
        |ends: &str, reason: &str| format!("No cost model of the CPU time of {ends}: {reason}. So the sizes themselves foretell it.");
    match series.no_model.as_slice() {
        // Said at more length below.
        _ if series.nagle => Vec::new(),
        [one, other] if one.reason == other.reason => vec![sentence("either end", &one.reason)],
        some => some.iter().map(|none| sentence(end(none.role), &none.reason)).collect(),
    }
}

/// Why the mix costs something else than its sizes say, where small messages are joined.
fn nagle(series: &SeriesResult) -> Option<String> {
    if !series.nagle {
        return None;
    }
    let reason = "With Nagle's algorithm the cost of a message is not its own: a small one waits until what is outstanding is acknowledged, and \
                  goes out joined with those that came meanwhile. Messages of one size are joined with their like, those of a mix with \
                  others, so that the sizes do not foretell the mix; there is no cost model, and the medians of the sizes stand in for it.";
    let frames = series.figures.iter().find(|row| row.quantity == Quantity::Frames);
    let seen = frames.and_then(|row| Some((row.predicted.value, row.measured?.value))).map(|(foretold, measured)| {
        let of = |value| number::significant(value, 3);
        format!(" It shows in the frames: {} per message foretold, {} measured.", of(foretold), of(measured))
    });
    Some(format!("{reason}{}", seen.unwrap_or_default()))
}

fn sent(series: &SeriesResult) -> Option<String> {
    let sent = series.sent.filter(|sent| sent.messages > 0)?;
    let off = sent.mean_bytes / series.mean_bytes - 1.0;
    let why = match off.abs() > NOTEWORTHY {
        true => "; trials end in the middle of it, and its few largest messages hold many of its bytes",
        false => "",
    };
    Some(format!(
        "Sent in {}: {} messages of {} B in the mean, {} from the mix's own{why}. It is foretold for the mean sent.",
        crate::words::plural(sent.trials as u64, "trial"),
        number::count(sent.messages as f64),
        number::significant(sent.mean_bytes, 4),
        number::change(off)
    ))
}

fn touching(touching: &Touching) -> String {
    let share = |share: Option<ShareOfTime>| {
        share.map_or(NOTHING.to_owned(), |share| {
            let range = share
                .interval
                .map_or("no interval".to_owned(), |[low, high]| format!("{} to {}", number::percent(low.max(0.0)), number::percent(high)));
            format!("{} ({range})", number::percent(share.value))
        })
    };
    let left_out = match touching.left_out > 0.0 {
        true => format!(", without the {} of messages beyond the sizes with receipts", number::percent(touching.left_out)),
        false => String::new(),
    };
    format!(
        "Share of the CPU time of {} that touches data, by receipt: foretold {}{left_out}, measured {}.",
        end(touching.role),
        share(touching.predicted),
        share(touching.measured)
    )
}

const fn end(role: Role) -> &'static str {
    match role {
        Role::Sender => "the sender",
        Role::Receiver => "the receiver",
    }
}
