//! One page that holds everything: text, charts, script, data.
//!
//! It opens from a disk or a mail without a server or a network; its own
//! content security policy forbids it to fetch anything. Text is escaped by
//! `maud`, data by [`crate::json`].

mod cost;
mod doubts;
mod figures;
mod guide;
mod setup;
mod summary;
mod tables;

use analysis::result::Analysis;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::chart::{self, Chart};
use crate::series::{Group, groups};
use crate::{csv, json};

const STYLE: &str =
    concat!(include_str!("../../assets/page.css"), include_str!("../../assets/parts.css"), include_str!("../../assets/print.css"));
const SCRIPT: &str = include_str!("../../assets/report.js");
const PLOTLY: &str = include_str!("../../assets/vendor/plotly/plotly-basic.min.js");

/// Nothing from anywhere else; what stands in the page itself may run.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'";

/// The whole page.
pub fn render(analysis: &Analysis) -> String {
    let groups = groups(analysis);
    let charts = chart::all(&groups);
    let page = html! {
        (DOCTYPE)
        html lang="en-GB" {
            (head(analysis))
            body {
                a .skip href="#summary" { "Skip to the summary" }
                (summary::masthead(analysis, !charts.is_empty()))
                main { (sections(analysis, &groups, &charts)) }
                footer {
                    p { "Written by nettoll " (analysis.run.tool) ". This page needs neither network nor server. Charts: plotly.js (MIT)." }
                }
                (data("chart-data", &charts))
                (data("analysis", analysis))
                (data("csv", &csv::render(analysis)))
                script { (PreEscaped(PLOTLY)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn head(analysis: &Analysis) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (analysis.run.plan.title) " · nettoll" }
            style { (PreEscaped(STYLE)) }
        }
    }
}

fn sections(analysis: &Analysis, groups: &[Group], charts: &[Chart]) -> Markup {
    html! {
        (summary::section(analysis, groups))
        (cost::section(groups))
        (figures::section(charts))
        (tables::section(groups))
        (doubts::section(analysis))
        (setup::section(analysis))
        (guide::section(analysis))
    }
}

/// Data that the script reads, and that can be taken out of the page again.
fn data(id: &str, value: &impl serde::Serialize) -> Markup {
    html! { script type="application/json" id=(id) { (PreEscaped(json::for_script(value))) } }
}

/// A part of the page with its title.
fn part(id: &str, title: &str, content: &Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (title) }
            (content)
        }
    }
}

/// A table that scrolls by itself on a narrow screen.
fn scrolling(label: &str, table: &Markup) -> Markup {
    html! { div .scroll role="region" tabindex="0" aria-label=(label) { (table) } }
}
