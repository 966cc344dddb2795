//! Workloads: what a mix of sizes is predicted to cost, next to what it cost.
//!
//! ```text
//! WorkloadStudy, Origin -> Document -> terminal | html
//! ```

use analysis::result::Estimate;
use analysis::workload::{FigureRow, Quantity, ShareOfTime, Source, Touching, WorkloadResult, WorkloadSeries, WorkloadStudy};
use model::Role;
use serde::Serialize;

use crate::document::{Block, Cell, Document, Kind, Masthead, Rows, Section, Shown};
use crate::number::{self, NOTHING};
use crate::{json, words};

/// A mean that is further from the mix's own than this is explained.
const NOTEWORTHY: f64 = 0.05;

/// Key to the tables.
const LEGEND: &str = "Predicted from the lines of the cost model, or from the medians of the sizes themselves. The ratio is measured over \
                      predicted, with its bootstrap interval over blocks: 1 is a prediction that came true.";

/// The runs that the figures are from.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Origin<'a> {
    /// The run that measured single sizes.
    pub sizes: &'a str,
    /// The run that measured mixes; `None`: none was measured.
    pub mixes: Option<&'a str>,
}

/// The comparison as JSON, indented. A figure that is not a number is `null`.
pub fn json(study: &WorkloadStudy, origin: Origin) -> String {
    #[derive(Serialize)]
    struct Whole<'a> {
        runs: Origin<'a>,
        #[serde(flatten)]
        study: &'a WorkloadStudy,
    }
    json::pretty(&Whole { runs: origin, study })
}

/// The comparison.
pub fn document(study: &WorkloadStudy, origin: Origin) -> Document {
    let title = if study.same_run.is_some() { "Workloads, predicted and measured" } else { "Workloads, predicted" };
    let masthead = Masthead::of("", title, [source(study, origin)]);
    let legend = Section::named("summary", "How to read it", [Block::Aside(LEGEND.into())]);
    let sections = std::iter::once(legend).chain(study.workloads.iter().enumerate().map(workload));
    Document { data: vec![("analysis", json::compact(study))], ..Document::of(masthead, sections) }
}

/// The runs in words, and what follows from their times.
fn source(study: &WorkloadStudy, origin: Origin) -> String {
    let sizes = format!("Sizes: {} ({}).", origin.sizes, words::plural(study.blocks as u64, "block"));
    match (study.same_run, origin.mixes) {
        (Some(_), Some(mixes)) if !study.is_measured() => {
            format!("{sizes} Mixes: {mixes}, of which no trial can be used: `nettoll report {mixes}` says why.")
        }
        (Some(true), _) => format!("{sizes} Mixes: in the same blocks, so that the machine's drift hit both alike."),
        (Some(false), Some(mixes)) => format!(
            "{sizes} Mixes: {mixes}, at another time: whatever the machine did otherwise then is in the ratios. --measure measures both in the \
             same blocks."
        ),
        _ => format!("{sizes} No mix was measured."),
    }
}

/// One workload: `W1: Facebook's key-value store`, with its sizes.
fn workload((place, result): (usize, &WorkloadResult)) -> Section {
    let colon = if result.title.is_empty() { String::new() } else { format!(": {}", result.title) };
    let (mean, largest) = (number::significant(result.mean_bytes, 4), number::whole(result.largest_bytes));
    let mut blocks: Vec<Block> = result.series.iter().flat_map(series).collect();
    if blocks.is_empty() {
        blocks.push(Block::Paragraph("No series of this run can send it.".into()));
    }
    let title = format!("{}{colon}; mean {mean} B, largest {largest} B", result.workload);
    Section::new(format!("workload-{place}"), title, blocks)
}

fn series(series: &WorkloadSeries) -> Vec<Block> {
    let name = series.series.as_str();
    let estimates = Kind::Estimates(Shown::Margin);
    let table = Rows::of(&series.figures)
        .words("", |row| quantity(row.quantity))
        .column(("Predicted", 8, ["", "predicted"]), estimates, |row| figure(row.quantity, Some(&row.predicted)))
        .words(("From", 1, ["", "from"]), |row| source_name(row.source))
        .column(("Measured", 8, ["", "measured"]), estimates, |row| figure(row.quantity, row.measured.as_ref()))
        .figures(("Ratio", 8, ["", "ratio"]), |row| row.ratio.map(|ratio| format!("{:.3}", ratio.value)))
        .words(("Interval", 7, ["", ""]), range)
        .table()
        .titled(name);
    std::iter::once(table.into()).chain(Block::sentences(notes(series))).collect()
}

/// The source of a prediction.
const fn source_name(source: Source) -> &'static str {
    match source {
        Source::Model => "model",
        Source::Sizes => "sizes",
    }
}

/// The interval of measured over predicted.
fn range(row: &FigureRow) -> String {
    let ends = |ratio: &Estimate| ratio.interval.map_or("no interval".to_owned(), |ends| format!("{:.3} to {:.3}", ends.low, ends.high));
    row.ratio.as_ref().map_or_else(String::new, ends)
}

/// The name of a quantity in a table.
const fn quantity(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::SenderCpu => "CPU per message, sender",
        Quantity::ReceiverCpu => "CPU per message, receiver",
        Quantity::MessagesPerS => "Messages a second",
        Quantity::Frames => "Frames per message",
        Quantity::ReceiverWakeups => "Wake-ups per message",
    }
}

fn figure(of: Quantity, estimate: Option<&Estimate>) -> Cell {
    let write: fn(f64) -> String = match of {
        Quantity::SenderCpu | Quantity::ReceiverCpu => number::time,
        Quantity::MessagesPerS => number::count,
        Quantity::Frames | Quantity::ReceiverWakeups => |value| number::significant(value, 3),
    };
    Cell::estimate(estimate, write)
}

/// Sentences that a reader of a series has to know.
fn notes(series: &WorkloadSeries) -> Vec<String> {
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

/// The reasons for having no model; one for both ends is said once.
fn no_model(series: &WorkloadSeries) -> Vec<String> {
    let sentence = |ends: &str, reason: &str| {
        format!("No cost model of the CPU time of {ends}: {reason}. So it is predicted from the sizes themselves.")
    };
    match series.no_model.as_slice() {
        // Said at more length below.
        _ if series.nagle => Vec::new(),
        [one, other] if one.reason == other.reason => vec![sentence("either end", &one.reason)],
        some => some.iter().map(|none| sentence(end(none.role), &none.reason)).collect(),
    }
}

/// The reason for a mix to cost something else than its sizes say, where small messages are joined.
fn nagle(series: &WorkloadSeries) -> Option<String> {
    if !series.nagle {
        return None;
    }
    let reason = "With Nagle's algorithm the cost of a message is not its own: a small one waits until what is outstanding is acknowledged, and \
                  goes out joined with those that came meanwhile. Messages of one size are joined with their like, those of a mix with \
                  others, so that the sizes do not predict the mix; there is no cost model, and the medians of the sizes stand in for it.";
    let frames = series.figures.iter().find(|row| row.quantity == Quantity::Frames);
    let seen = frames.and_then(|row| Some((row.predicted.value, row.measured?.value))).map(|(predicted, measured)| {
        let of = |value| number::significant(value, 3);
        format!(" It shows in the frames: {} per message predicted, {} measured.", of(predicted), of(measured))
    });
    Some(format!("{reason}{}", seen.unwrap_or_default()))
}

fn sent(series: &WorkloadSeries) -> Option<String> {
    let sent = series.sent.filter(|sent| sent.messages > 0)?;
    let off = sent.mean_bytes / series.mean_bytes - 1.0;
    let why = match off.abs() > NOTEWORTHY {
        true => "; trials end in the middle of it, and its few largest messages hold many of its bytes",
        false => "",
    };
    Some(format!(
        "Sent in {}: {} messages of {} B in the mean, {} from the mix's own{why}. It is predicted for the mean sent.",
        words::plural(sent.trials as u64, "trial"),
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
        "Share of the CPU time of {} that touches data, by receipt: predicted {}{left_out}, measured {}.",
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
