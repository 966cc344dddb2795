//! What speaks for and against the figures: warnings and checks.

use analysis::result::{Analysis, Balance, Finding};
use maud::{Markup, html};

use super::{part, scrolling};
use crate::number;
use crate::words::{balance, capital, plural, run};

/// Every warning, then the checks of the whole run.
pub fn section(analysis: &Analysis) -> Markup {
    let content = html! {
        @if analysis.findings.is_empty() && analysis.trials == 0 {
            p .lead { "No trial was measured: there was nothing to doubt." }
        } @else if analysis.findings.is_empty() {
            p .lead { "No warnings." }
        } @else {
            p .lead { (plural(analysis.findings.len() as u64, "warning")) ": what is wrong or missing first, then by how much of how many trials is in question." }
            ol .findings { @for finding in &analysis.findings { (warning(finding)) } }
        }
        @if let Some(test) = analysis.roles() {
            h3 { "Are both directions alike?" }
            p { (balance::roles(analysis, test)) }
        }
        @if let Some(datagrams) = analysis.datagrams() {
            h3 { "Where did the datagrams go?" }
            p { (balance::datagrams(datagrams)) }
            (scrolling("Where the datagrams went", &balance_table(datagrams)))
        }
    };
    part("doubts", "Doubts and checks", &content)
}

fn warning(finding: &Finding) -> Markup {
    html! {
        li {
            p .text { (capital(&finding.text)) }
            p .remedy { (finding.remedy) }
            p .concerns { (run::concerns(finding)) }
        }
    }
}

fn balance_table(balance: &Balance) -> Markup {
    let row = |name: &str, count: String, share: f64| {
        html! { tr { th scope="row" { (name) } td { (count) } td { (number::percent(share)) } } }
    };
    let sent = balance.sent as f64;
    html! {
        table .narrow {
            caption .hidden { "Datagrams of all UDP trials" }
            thead { tr { th scope="col" { "Datagrams" } th scope="col" { "Count" } th scope="col" { "Share" } } }
            tbody {
                (row("Sent", number::whole(balance.sent), balance.sent as f64 / sent))
                (row("Received", number::whole(balance.received), balance.received as f64 / sent))
                @for (name, count) in &balance.dropped { (row(name, number::whole(*count), *count as f64 / sent)) }
                (row("Unaccounted for", number::signed(balance.unaccounted), balance.unaccounted as f64 / sent))
            }
        }
    }
}
