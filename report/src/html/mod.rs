//! One page that holds everything: text, charts, script, data.
//!
//! It opens from a disk or a mail without a server or a network; its own
//! content security policy forbids it to fetch anything. Text is escaped by
//! `maud`, data by [`crate::json`].

mod cost;
mod doubts;
pub(crate) mod figures;
mod guide;
mod setup;
mod summary;
mod tables;

use analysis::result::Analysis;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::chart::{self, Chart};
use crate::document::Section;
use crate::receipt::{self, Flames};
use crate::series::{self, Group, groups};
use crate::{csv, json, sinks, studies};

const STYLE: &str =
    concat!(include_str!("../../assets/page.css"), include_str!("../../assets/parts.css"), include_str!("../../assets/print.css"));
const SCRIPT: &str = include_str!("../../assets/report.js");
const PLOTLY: &str = include_str!("../../assets/vendor/plotly/plotly-basic.min.js");

/// Nothing from anywhere else; what stands in the page itself may run.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'";

/// The whole page, without flame graphs.
pub fn render(analysis: &Analysis) -> String {
    render_with(analysis, &Flames::default())
}

/// The whole page.
pub fn render_with(analysis: &Analysis, flames: &Flames) -> String {
    let groups = groups(analysis);
    let mut charts = chart::all(&groups);
    let areas = analysis.receipt().map_or_else(Vec::new, receipt::chart::all);
    let studies = studies::all(analysis);
    let content = html! {
        (summary::masthead(analysis, !charts.is_empty(), &studies))
        main {
            (sections(
                analysis,
                &groups,
                &charts,
                &studies,
                &receipt::html::section(analysis.receipt(), &areas, flames),
            ))
        }
    };
    charts.extend(areas);
    charts.extend(studies.into_iter().flat_map(Section::figures));
    let footer = html! { "Written by nettoll " (analysis.run.tool) "." };
    document(
        &analysis.run.plan.title,
        &content,
        &footer,
        &html! {
            (data("chart-data", &charts))
            (data("analysis", &receipt::held::of(analysis)))
            (data("csv", &csv::render(analysis)))
        },
    )
}

/// A page of its own: head, what it shows, what the scripts read.
pub(crate) fn document(title: &str, content: &Markup, footer: &Markup, held: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en-GB" {
            (head(title))
            body {
                a .skip href="#summary" { "Skip to the summary" }
                (content)
                footer {
                    p { (footer) " This page needs neither network nor server. Charts: plotly.js (MIT)." }
                }
                (held)
                script { (PreEscaped(PLOTLY)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) " · nettoll" }
            style { (PreEscaped(STYLE)) }
        }
    }
}

fn sections(analysis: &Analysis, groups: &[Group], charts: &[Chart], studies: &[Section], receipt: &Markup) -> Markup {
    html! {
        (summary::section(analysis, groups))
        @for section in studies { (sinks::html::section(section)) }
        (cost::section(groups))
        (figures::section(charts))
        (receipt)
        (tables::section(groups, &series::variants(analysis)))
        (doubts::section(analysis))
        (setup::section(analysis))
        (guide::section(analysis))
    }
}

/// Data that the script reads, and that can be taken out of the page again.
pub(crate) fn data(id: &str, value: &impl serde::Serialize) -> Markup {
    html! { script type="application/json" id=(id) { (PreEscaped(json::for_script(&json::compact(value)))) } }
}

/// A part of the page with its title.
pub(crate) fn part(id: &str, title: &str, content: &Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (title) }
            (content)
        }
    }
}

/// A table that scrolls by itself on a narrow screen.
pub(crate) fn scrolling(label: &str, table: &Markup) -> Markup {
    html! { div .scroll role="region" tabindex="0" aria-label=(label) { (table) } }
}
