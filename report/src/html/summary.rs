//! The top of the page: what was run, and the answers in short.

use analysis::result::{Analysis, CellResult, Estimate, Metric};
use maud::{Markup, html};

use super::part;
use crate::document::Section;
use crate::series::{Group, limit, metric, percentile};
use crate::words::{capital, plural, run};
use crate::{clock, interval, number};

/// Title, where and when, and the way around the page.
pub fn masthead(analysis: &Analysis, charts: bool, studies: &[Section]) -> Markup {
    let run = &analysis.run;
    html! {
        header .masthead {
            div .inner {
                p .brand { "nettoll" span { " · " (run.plan.name) } }
                h1 { (run.plan.title) }
                @if let Some(text) = run::disturbed(analysis) { p .callout.disturbed { span { (text) } } }
                @if let Some(text) = analysis.receipt().and_then(crate::receipt::red) {
                    a .red href="#receipt" { strong { "Red: " (text) "." } }
                }
                @if !run.plan.description.is_empty() { p .about { (run.plan.description) } }
                p .meta {
                    time { (clock::utc(run.started_ms)) }
                    " · " (run::link(&run.plan))
                    @if let Some(host) = analysis.hosts.first() { " · " (run::host(host)) }
                }
                nav aria-label="Parts of this page" {
                    a href="#summary" { "Summary" }
                    @for section in studies.iter().filter(|section| section.rank == 1) { a href={ "#" (section.id) } { (section.title) } }
                    @if !analysis.buffers().is_empty() { a href="#buffers" { "Socket buffers" } }
                    @if analysis.published().is_some() { a href="#published" { "Published" } }
                    @if !analysis.models().is_empty() { a href="#cost" { "Cost" } }
                    @if !analysis.verdicts().is_empty() { a href="#arms" { "Arms" } }
                    @if charts { a href="#charts" { "Charts" } }
                    @if analysis.receipt().is_some() { a href="#receipt" { "Receipt" } }
                    a href="#tables" { "Tables" }
                    a href="#doubts" { "Doubts" @if !analysis.findings.is_empty() { " " span .count { (analysis.findings.len()) } } }
                    a href="#setup" { "Setup" }
                    a href="#guide" { "How to read it" }
                }
            }
        }
    }
}

/// One card a series, how the run ended, and the gravest doubt.
pub fn section(analysis: &Analysis, groups: &[Group]) -> Markup {
    let content = html! {
        p .lead { (run::ended(analysis)) " " (run::precision(analysis)) }
        (gravest(analysis))
        div .cards { @for group in groups { (card(group)) } }
    };
    part("summary", "In short", &content)
}

fn gravest(analysis: &Analysis) -> Markup {
    html! {
        @if let Some(first) = analysis.findings.first() {
            a .callout href="#doubts" {
                strong { (plural(analysis.findings.len() as u64, "warning")) }
                span { "First: " (first.text) }
            }
        } @else if analysis.trials > 0 {
            p .callout.good { strong { "No warnings" } span { "Nothing was found that speaks against these figures." } }
        }
    }
}

fn card(group: &Group) -> Markup {
    let smallest = group.cells.iter().copied().filter(|cell| !cell.metrics.is_empty()).min_by_key(|cell| cell.cell.size);
    html! {
        article .card {
            h3 { (group.name) }
            @match smallest {
                None => p .faint { "No trial of this series was measured." },
                Some(cell) if group.test.is_stream() => (stream(group, cell)),
                Some(cell) => (round_trip(cell)),
            }
        }
    }
}

fn stream(group: &Group, cell: &CellResult) -> Markup {
    let best = group.cells.iter().filter_map(|cell| Some((metric(cell, Metric::GoodputBitPerS)?, cell)));
    let best = best.max_by(|a, b| a.0.value.total_cmp(&b.0.value));
    html! {
        (big(metric(cell, Metric::TimePerMessageNs), number::time, &format!("elapsed per {} B message", cell.cell.size.get())))
        dl {
            (fact("Messages/s", metric(cell, Metric::MessagesPerS), number::count))
            (fact("Sender CPU", metric(cell, Metric::SenderCpuPerMessageNs), number::time))
            (fact("Receiver CPU", metric(cell, Metric::ReceiverCpuPerMessageNs), number::time))
            @if let Some((goodput, cell)) = best {
                (fact(&format!("Goodput at {}", cell.cell.size), Some(goodput), number::bits))
            }
        }
    }
}

fn round_trip(cell: &CellResult) -> Markup {
    let trip = |percent| percentile(cell.latency.as_ref(), percent);
    let median = trip(50.0).or(metric(cell, Metric::RoundTripP50Ns));
    html! {
        (big(median, number::time, &format!("median round trip of {} B", cell.cell.size.get())))
        dl {
            (fact("99th percentile", trip(99.0), number::time))
            (fact("Transactions/s", metric(cell, Metric::MessagesPerS), number::count))
            (fact("Sender CPU", metric(cell, Metric::SenderCpuPerMessageNs), number::time))
            (fact("Receiver CPU", metric(cell, Metric::ReceiverCpuPerMessageNs), number::time))
        }
    }
}

fn big(estimate: Option<&Estimate>, write: fn(f64) -> String, what: &str) -> Markup {
    html! {
        p .big {
            @match estimate {
                None => { span .value { (number::NOTHING) } },
                Some(estimate) => {
                    span .value { (write(estimate.value)) }
                    span .margin { (interval::plus_minus(estimate)) }
                },
            }
        }
        p .what { (what) }
    }
}

fn fact(name: &str, estimate: Option<&Estimate>, write: fn(f64) -> String) -> Markup {
    html! {
        @if let Some(estimate) = estimate {
            div {
                dt { (name) }
                dd title=(interval::range(estimate, write)) { (write(estimate.value)) " " span .margin { (interval::plus_minus(estimate)) } }
            }
        }
    }
}

/// What kept a cell from being faster, for a table.
pub fn limit_words(cell: &CellResult) -> String {
    capital(limit(cell.limit))
}
