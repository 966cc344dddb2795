//! Cost models: coefficients at a glance, and in sentences.

use std::collections::BTreeMap;

use analysis::group_by;
use analysis::result::{Breakpoint, CostModel, Estimate, Fit, FitOutcome, Piece, Quantity, Term, TermEstimate};

use crate::document::{Block, Cell, Kind, Section, Span, Table, Text};
use crate::series::Group;
use crate::words::{capital, list};
use crate::{interval, number};

/// Name of the section.
pub const ID: &str = "cost";

/// The models in sentences, then all coefficients next to each other; `None` without any.
pub fn section(groups: &[Group]) -> Option<Section> {
    let modelled: Vec<&Group> = groups.iter().filter(|group| !group.models.is_empty()).collect();
    let lead = "A fixed cost per message plus a cost per byte: one line through the measured sizes, several with breakpoints, or none where a line would mislead.";
    let said =
        modelled.iter().map(|group| Block::piece(&*group.name, Block::sentences(sentences(group).iter().map(|text| emphasised(text)))));
    let coefficients = Block::everything("Coefficients of the cost models", [coefficients(&modelled)]);
    let blocks = std::iter::once(Block::Lead(lead.into())).chain(said).chain(coefficients);
    (!modelled.is_empty()).then(|| Section::new(ID, "Cost of a message", [Block::usual(blocks)]).led("Cost").folded(found(&modelled)))
}

/// How many of the quantities are a line.
fn found(groups: &[&Group]) -> String {
    let all = || groups.iter().flat_map(|group| &group.models);
    let fitted = all().filter(|model| matches!(model.outcome, FitOutcome::Fitted(_))).count();
    format!("Cost per message and per byte: {fitted} of {} curves are straight lines", all().count())
}

fn coefficients(groups: &[&Group]) -> Block {
    let (mut names, mut all) = (Vec::new(), Vec::new());
    for group in groups {
        names.push((all.len(), group.name.as_str().into()));
        all.extend(group.models.iter().flat_map(|model| rows(model)).map(Vec::from));
    }
    let heads = vec!["Of", "Sizes", "Per message", "Per byte", "Other terms", "r²"];
    let mut table = Table { groups: names, ..Table::of_rows(heads, all, Kind::Figures) };
    [1, 4].into_iter().for_each(|place| table.columns[place].kind = Kind::Words);
    table.labelled("Coefficients of the cost models", "Coefficients of the cost models").styled("coefficients").into()
}

fn rows(model: &CostModel) -> Vec<[Cell; 6]> {
    let name = capital(name(model.quantity));
    match &model.outcome {
        FitOutcome::NotALine { .. } => {
            let why = Text::from("Not a line; why: ").and(Span::Link(ID.into(), "Cost of a message".to_owned()));
            vec![[name.into(), Cell::Wide(5, why), Cell::Covered, Cell::Covered, Cell::Covered, Cell::Covered]]
        }
        FitOutcome::Fitted(fit) => {
            let tall = |place: usize, text: &str| if place == 0 { Cell::Tall(fit.pieces.len(), text.into()) } else { Cell::Covered };
            let row = |(place, piece): (usize, &Piece)| {
                [
                    tall(place, &name),
                    sizes(piece, fit, place).into(),
                    coefficient(piece, Term::Message),
                    coefficient(piece, Term::Byte),
                    others(piece),
                    tall(place, &r_squared(fit.r_squared)),
                ]
            };
            fit.pieces.iter().enumerate().map(row).collect()
        }
    }
}

fn sizes(piece: &Piece, fit: &Fit, place: usize) -> Text {
    let threshold = place.checked_sub(1).and_then(|before| fit.breakpoints.get(before)).map(threshold);
    let text = Text::from(format!("{}–{} B", number::whole(piece.from.get()), number::whole(piece.to.get())));
    threshold.into_iter().fold(text, |text, threshold| text.and(Span::Small(threshold)))
}

fn coefficient(piece: &Piece, term: Term) -> Cell {
    match piece.terms.iter().find(|entry| entry.term == term) {
        None => Cell::Nothing,
        Some(entry) if entry.is_shown() => figure(String::new(), entry).into(),
        Some(entry) => {
            let text = Text::default().and(Span::Faint("none shown".to_owned()));
            at_most(entry).into_iter().fold(text, |text, most| text.and(Span::Small(most))).into()
        }
    }
}

fn others(piece: &Piece) -> Cell {
    let others = piece.terms.iter().filter(|entry| !matches!(entry.term, Term::Message | Term::Byte) && entry.is_shown());
    Cell::Lines(others.map(|entry| figure(format!("per {}: ", term(entry.term)), entry)).collect())
}

fn figure(before: String, entry: &TermEstimate) -> Text {
    let text = Text::from(format!("{before}{} ns", interval::nanoseconds(&entry.estimate).0)).and(Span::Small(ends(&entry.estimate)));
    counted(entry).into_iter().fold(text, |text, range| text.and(Span::Small(range)))
}

/// The sentence with its costs in bold and what stands in parentheses set back.
fn emphasised(sentence: &str) -> Text {
    let mut text = Text::default();
    let mut rest = sentence;
    while let Some((before, (inside, after))) = rest.split_once('(').and_then(|(before, rest)| Some((before, rest.split_once(')')?))) {
        text = bold(text, before).and(Span::Faint(format!("({inside})")));
        rest = after;
    }
    bold(text, rest)
}

/// Numbers of nanoseconds in bold.
fn bold(mut text: Text, mut rest: &str) -> Text {
    while let Some((before, after)) = rest.split_once(" ns") {
        let (words, number) = before.rfind(' ').map_or(("", before), |place| before.split_at(place + 1));
        text = text.and(Span::Plain(words.to_owned())).and(Span::Strong(format!("{number}\u{a0}ns")));
        rest = after;
    }
    text.and(Span::Plain(rest.to_owned()))
}

/// One sentence for each quantity, and one for what holds for several.
fn sentences(group: &Group) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for model in &group.models {
        if let FitOutcome::Fitted(fit) = &model.outcome {
            sentences.push(fitted(model.quantity, fit));
        }
    }
    sentences.extend(refusals(group));
    sentences.extend(collinear(group));
    sentences
}

/// Name of a model's quantity.
pub const fn name(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Elapsed => "elapsed time",
        Quantity::SenderCpu => "CPU of the sender",
        Quantity::ReceiverCpu => "CPU of the receiver",
    }
}

/// Name of the unit of a cost.
pub const fn term(term: Term) -> &'static str {
    match term {
        Term::Message => "message",
        Term::Byte => "byte",
        Term::FullSegment => "full segment",
        Term::Frame => "frame",
        Term::Wakeup => "wake-up of the receiver",
    }
}

/// Threshold at a break of the line: `MTU: fragments`.
pub fn threshold(point: &Breakpoint) -> String {
    match point.name.as_deref() {
        Some("MTU") => "MTU: fragments".to_owned(),
        Some("MSS") => "MSS: several segments".to_owned(),
        Some(other) => other.to_owned(),
        None => "no known threshold".to_owned(),
    }
}

/// The share by which the model misses at worst.
fn worst(fit: &Fit) -> Option<f64> {
    let known = fit.points.iter().map(|point| point.residual.abs()).filter(|share| share.is_finite());
    known.max_by(f64::total_cmp)
}

/// `1,900 to 1,960`, or why there is no interval.
fn ends(estimate: &Estimate) -> String {
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
    // The derived sum is said next to the coefficient that it is made of.
    let segment = piece.terms.iter().find(|entry| entry.term == Term::FullSegment);
    let of_byte = segment.map_or(String::new(), |entry| format!("; {} ns a full segment", interval::nanoseconds(&entry.estimate).0));
    let (shown, not): (Vec<&TermEstimate>, Vec<&TermEstimate>) =
        piece.terms.iter().filter(|entry| entry.term != Term::FullSegment).partition(|entry| entry.is_shown());
    let more = |entry: &TermEstimate| match entry.term {
        Term::Byte => of_byte.clone(),
        _ => counted(entry).map_or(String::new(), |range| format!("; {range}")),
    };
    let phrases: Vec<String> = shown.into_iter().map(|entry| phrase(entry, &more(entry))).collect();
    let shown = Some(phrases.join(" plus ")).filter(|text| !text.is_empty());
    shown.into_iter().chain(not.into_iter().map(not_shown)).collect::<Vec<_>>().join(" and ")
}

/// Sentence about a cost that may be nothing: never a figure below 0.
fn not_shown(entry: &TermEstimate) -> String {
    let bound = at_most(entry).map_or(String::new(), |most| format!(" ({most})"));
    format!("no cost per {} shown{bound}", term(entry.term))
}

/// The upper end of a cost that may be nothing, if it is above 0.
fn at_most(entry: &TermEstimate) -> Option<String> {
    let most = entry.estimate.interval.map(|interval| interval.high).filter(|most| *most > 0.0)?;
    Some(format!("at most {} ns", number::significant(most, 2)))
}

/// Number of a term's units per message.
fn counted(entry: &TermEstimate) -> Option<String> {
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

/// Reasons for no line, each once for all its quantities.
fn refusals(group: &Group) -> Vec<String> {
    let refused = group.models.iter().filter_map(|model| match &model.outcome {
        FitOutcome::NotALine { reason } => Some((reason.as_str(), name(model.quantity).to_owned())),
        FitOutcome::Fitted(_) => None,
    });
    let sentence = |(reason, members): (&str, Vec<(&str, String)>)| {
        let quantities: Vec<String> = members.into_iter().map(|(_, quantity)| quantity).collect();
        format!("No line is fitted to the {}. {}", list(&quantities), stop(&capital(reason)))
    };
    group_by(refused, |(reason, _)| *reason).into_iter().map(sentence).collect()
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
