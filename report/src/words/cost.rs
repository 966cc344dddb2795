//! The cost models of a series, in sentences.

use std::collections::BTreeMap;

use analysis::result::{Breakpoint, Estimate, Fit, FitOutcome, Piece, Quantity, Term, TermEstimate};

use super::{capital, list};
use crate::series::Group;
use crate::{interval, number};

/// One sentence for each quantity, and one for what holds for several.
pub fn sentences(group: &Group) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for model in &group.models {
        match &model.outcome {
            FitOutcome::Fitted(fit) => sentences.push(fitted(model.quantity, fit)),
            FitOutcome::NotALine { .. } => {}
        }
    }
    sentences.extend(refusals(group));
    sentences.extend(collinear(group));
    sentences
}

/// What a model explains.
pub const fn name(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Elapsed => "elapsed time",
        Quantity::SenderCpu => "CPU of the sender",
        Quantity::ReceiverCpu => "CPU of the receiver",
    }
}

/// What a cost is counted by.
pub const fn term(term: Term) -> &'static str {
    match term {
        Term::Message => "message",
        Term::Byte => "byte",
        Term::FullSegment => "full segment",
        Term::Frame => "frame",
        Term::Wakeup => "wake-up of the receiver",
    }
}

/// What lies at a break of the line: `MTU: fragments`.
pub fn threshold(point: &Breakpoint) -> String {
    match point.name.as_deref() {
        Some("MTU") => "MTU: fragments".to_owned(),
        Some("MSS") => "MSS: several segments".to_owned(),
        Some(other) => other.to_owned(),
        None => "no known threshold".to_owned(),
    }
}

/// The share by which the model misses at worst.
pub fn worst(fit: &Fit) -> Option<f64> {
    let known = fit.points.iter().map(|point| point.residual.abs()).filter(|share| share.is_finite());
    known.max_by(f64::total_cmp)
}

/// `1,900 to 1,960`, or why there is no interval.
pub fn ends(estimate: &Estimate) -> String {
    match interval::nanoseconds(estimate).1 {
        Some((low, high)) => format!("{low} to {high}"),
        None => format!("no interval, n = {}", estimate.n),
    }
}

fn fitted(quantity: Quantity, fit: &Fit) -> String {
    let (subject, of) = match quantity {
        Quantity::Elapsed => ("A message takes", "elapsed time"),
        Quantity::SenderCpu => ("It costs the sender", "CPU"),
        Quantity::ReceiverCpu => ("It costs the receiver", "CPU"),
    };
    let mut text = format!("{subject} ");
    for (place, piece) in fit.pieces.iter().enumerate() {
        match place.checked_sub(1).and_then(|before| fit.breakpoints.get(before)) {
            None => text += &format!("{} of {of}{}", terms(piece), extent(piece, fit)),
            Some(point) => text += &format!("; from {} B on ({}) {}", number::whole(point.before.get()), threshold(point), terms(piece)),
        }
    }
    let miss = worst(fit).map_or(String::new(), |share| format!(", residuals within {}", number::percent(share)));
    text + &format!(". r²\u{a0}{}{miss}.", r_squared(fit.r_squared))
}

/// Cut, not rounded: 0.9999 must not read as a perfect fit.
pub fn r_squared(value: f64) -> String {
    if value.is_finite() { format!("{:.3}", (value * 1e3).floor() / 1e3) } else { number::NOTHING.to_owned() }
}

fn terms(piece: &Piece) -> String {
    // The derived sum is said beside the coefficient that it is made of.
    let segment = piece.terms.iter().find(|entry| entry.term == Term::FullSegment);
    let of_byte = segment.map_or(String::new(), |entry| format!("; {} ns a full segment", interval::nanoseconds(&entry.estimate).0));
    let (shown, not): (Vec<&TermEstimate>, Vec<&TermEstimate>) =
        piece.terms.iter().filter(|entry| entry.term != Term::FullSegment).partition(|entry| entry.is_shown());
    let more = |entry: &TermEstimate| match entry.term {
        Term::Byte => of_byte.clone(),
        _ => counted(entry).map_or(String::new(), |range| format!("; {range}")),
    };
    let phrases: Vec<String> = shown.into_iter().map(|entry| phrase(entry, &more(entry))).collect();
    not.into_iter().fold(phrases.join(" plus "), |text, entry| format!("{text} and {}", not_shown(entry)))
}

/// What is said of a cost that may be nothing: never a figure below 0.
pub fn not_shown(entry: &TermEstimate) -> String {
    let bound = at_most(entry).map_or(String::new(), |most| format!(" ({most})"));
    format!("no cost per {} shown{bound}", term(entry.term))
}

/// The upper end of a cost that may be nothing, if it is above 0.
pub fn at_most(entry: &TermEstimate) -> Option<String> {
    let most = entry.estimate.interval.map(|interval| interval.high).filter(|most| *most > 0.0)?;
    Some(format!("at most {} ns", number::significant(most, 2)))
}

/// How many of a term's unit a message had.
pub fn counted(entry: &TermEstimate) -> Option<String> {
    let [least, most] = entry.counted?;
    Some(format!("{} to {} of them per message", number::significant(least, 2), number::significant(most, 2)))
}

fn phrase(entry: &TermEstimate, more: &str) -> String {
    let per = if entry.term == Term::Message { String::new() } else { format!(" per {}", term(entry.term)) };
    format!("{} ns{per} ({}{more})", interval::nanoseconds(&entry.estimate).0, ends(&entry.estimate))
}

fn extent(piece: &Piece, fit: &Fit) -> String {
    if fit.pieces.len() > 1 {
        format!(" up to {} B", number::whole(piece.to.get()))
    } else {
        format!(", from {} to {} B", number::whole(piece.from.get()), number::whole(piece.to.get()))
    }
}

/// Why there is no line, said once for all quantities with the same reason.
fn refusals(group: &Group) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for model in &group.models {
        let FitOutcome::NotALine { reason } = &model.outcome else { continue };
        let name = name(model.quantity).to_owned();
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, quantities)) => quantities.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    let sentence =
        |(reason, quantities): (&str, Vec<String>)| format!("No line is fitted to the {}. {}", list(&quantities), stop(&capital(reason)));
    reasons.into_iter().map(sentence).collect()
}

/// One sentence for each stretch of sizes in which bytes and frames are one.
fn collinear(group: &Group) -> Vec<String> {
    let mut said: BTreeMap<(u64, u64), (usize, usize, f64)> = BTreeMap::new();
    for model in &group.models {
        let FitOutcome::Fitted(fit) = &model.outcome else { continue };
        for (place, piece) in fit.pieces.iter().enumerate() {
            if let Some(correlation) = piece.collinearity.filter(|correlation| correlation.is_finite()) {
                let entry = said.entry((piece.from.get(), piece.to.get())).or_insert((place, fit.pieces.len(), correlation));
                entry.2 = entry.2.max(correlation);
            }
        }
    }
    let sentence = |((from, to), (place, pieces, correlation)): ((u64, u64), (usize, usize, f64))| {
        let sizes = match (place, pieces) {
            (0, 1) => "Over these sizes".to_owned(),
            (0, _) => format!("Up to {} B", number::whole(to)),
            (place, pieces) if place + 1 == pieces => format!("From {} B on", number::whole(from)),
            _ => format!("From {} to {} B", number::whole(from), number::whole(to)),
        };
        format!(
            "{sizes} bytes and frames rise together (correlation {}), so the figure per byte holds a byte's share of its frame.",
            number::significant(correlation, 3)
        )
    };
    said.into_iter().map(sentence).collect()
}

fn stop(text: &str) -> String {
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}
