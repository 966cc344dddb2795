//! The cost model: coefficients at a glance, then in sentences.

use analysis::result::{CostModel, Fit, FitOutcome, Piece, Term, TermEstimate};
use maud::{Markup, html};

use super::{part, scrolling};
use crate::series::Group;
use crate::words::{capital, cost};
use crate::{interval, number};

/// The section with the sentences; empty without models.
pub fn section(groups: &[Group]) -> Markup {
    let modelled: Vec<&Group> = groups.iter().filter(|group| !group.models.is_empty()).collect();
    if modelled.is_empty() {
        return html! {};
    }
    let content = html! {
        p .lead { "So many nanoseconds for a message as such and so many for each byte of it: a straight line through the measured sizes, several where one would not do, none where it would mislead." }
        div .prose-grid {
            @for group in &modelled {
                article .prose {
                    h3 { (group.name) }
                    ul { @for sentence in cost::sentences(group) { li { (emphasised(&sentence)) } } }
                }
            }
        }
    };
    part("cost", "What a message costs", &content)
}

/// All coefficients side by side; empty without models.
pub fn coefficients(groups: &[Group]) -> Markup {
    let modelled: Vec<&Group> = groups.iter().filter(|group| !group.models.is_empty()).collect();
    html! {
        @if !modelled.is_empty() {
            article .series #coefficients {
                h3 { "Cost model" }
                (scrolling("Coefficients of the cost models", &table(&modelled)))
            }
        }
    }
}

/// The sentence with its costs in bold and what stands in parentheses set back.
fn emphasised(sentence: &str) -> Markup {
    let mut rest = sentence;
    let mut pieces = Vec::new();
    while let Some((before, inside, after)) = parenthesis(rest) {
        pieces.push(bold(before));
        pieces.push(html! { span .faint { "(" (inside) ")" } });
        rest = after;
    }
    pieces.push(bold(rest));
    html! { @for piece in pieces { (piece) } }
}

fn parenthesis(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('(')?;
    let (inside, after) = rest.split_once(')')?;
    Some((before, inside, after))
}

/// Numbers of nanoseconds in bold.
fn bold(text: &str) -> Markup {
    let mut parts = text.split(" ns");
    let first = parts.next().unwrap_or_default();
    html! {
        @let (words, number) = last_word(first);
        @if text.contains(" ns") { (words) strong { (number) "\u{a0}ns" } } @else { (text) }
        @for (place, part) in parts.clone().enumerate() {
            @let (words, number) = last_word(part);
            @if place + 1 < parts.clone().count() { (words) strong { (number) "\u{a0}ns" } } @else { (part) }
        }
    }
}

/// Text up to its last word, with the space, and that word.
fn last_word(text: &str) -> (&str, &str) {
    text.rfind(' ').map_or(("", text), |place| text.split_at(place + 1))
}

fn table(groups: &[&Group]) -> Markup {
    html! {
        table {
            caption .hidden { "Coefficients of the cost models" }
            thead {
                tr {
                    th scope="col" { "Of" } th scope="col" { "Sizes" } th scope="col" { "Per message" } th scope="col" { "Per byte" }
                    th scope="col" { "Other terms" } th scope="col" { "r²" }
                }
            }
            @for group in groups {
                tbody {
                    tr .group { th colspan="6" scope="rowgroup" { (group.name) } }
                    @for model in &group.models { (rows(model)) }
                }
            }
        }
    }
}

fn rows(model: &CostModel) -> Markup {
    html! {
        @match &model.outcome {
            FitOutcome::NotALine { .. } => tr {
                th scope="row" { (capital(cost::name(model.quantity))) }
                td .words colspan="5" { "Not a line; why: " a href="#cost" { "What a message costs" } }
            },
            FitOutcome::Fitted(fit) => @for (place, piece) in fit.pieces.iter().enumerate() {
                tr {
                    @if place == 0 {
                        th scope="row" rowspan=(fit.pieces.len()) { (capital(cost::name(model.quantity))) }
                    }
                    td .words { (sizes(piece, fit, place)) }
                    td { (coefficient(piece, Term::Message)) }
                    td { (coefficient(piece, Term::Byte)) }
                    td .words { (others(piece)) }
                    @if place == 0 { td rowspan=(fit.pieces.len()) { (cost::r_squared(fit.r_squared)) } }
                }
            },
        }
    }
}

fn sizes(piece: &Piece, fit: &Fit, place: usize) -> Markup {
    let threshold = place.checked_sub(1).and_then(|before| fit.breakpoints.get(before)).map(cost::threshold);
    html! {
        (number::whole(piece.from.get())) "–" (number::whole(piece.to.get())) " B"
        @if let Some(threshold) = threshold { small { (threshold) } }
    }
}

fn coefficient(piece: &Piece, term: Term) -> Markup {
    html! {
        @match piece.terms.iter().find(|entry| entry.term == term) {
            None => (number::NOTHING),
            Some(entry) if entry.is_shown() => (figure(entry)),
            Some(entry) => {
                span .faint { "none shown" }
                @if let Some(most) = cost::at_most(entry) { small { (most) } }
            },
        }
    }
}

fn others(piece: &Piece) -> Markup {
    let others = piece.terms.iter().filter(|entry| !matches!(entry.term, Term::Message | Term::Byte) && entry.is_shown());
    html! { @for entry in others { div { "per " (cost::term(entry.term)) ": " (figure(entry)) } } }
}

fn figure(entry: &TermEstimate) -> Markup {
    html! {
        (interval::nanoseconds(&entry.estimate).0) " ns" small { (cost::ends(&entry.estimate)) }
        @if let Some(range) = cost::counted(entry) { small { (range) } }
    }
}
