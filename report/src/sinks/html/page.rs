//! Parts of every page: head, sections, scripts and their data.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::document::Figure;
use crate::json;

const STYLE: &str =
    concat!(include_str!("../../../assets/page.css"), include_str!("../../../assets/parts.css"), include_str!("../../../assets/print.css"));
const SCRIPT: &str = include_str!("../../../assets/report.js");
const PLOTLY: &str = include_str!("../../../assets/vendor/plotly/plotly-basic.min.js");

/// Nothing from anywhere else; what stands in the page itself may run.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'";

/// A page of its own: head, what it shows, what the scripts read.
pub fn document(title: &str, content: &Markup, footer: &Markup, held: &Markup) -> String {
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

/// Data that the script reads, and that can be taken out of the page again.
pub fn data(id: &str, value: &impl serde::Serialize) -> Markup {
    html! { script type="application/json" id=(id) { (PreEscaped(json::for_script(&json::compact(value)))) } }
}

/// A part of the page with its title.
pub fn part(id: &str, title: &str, content: &Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (title) }
            (content)
        }
    }
}

/// A table that scrolls by itself on a narrow screen.
pub fn scrolling(label: &str, table: &Markup) -> Markup {
    html! { div .scroll role="region" tabindex="0" aria-label=(label) { (table) } }
}

/// One chart's place, with its title, its legend and its caption.
pub fn figure(chart: &Figure) -> Markup {
    html! {
        figure id={ "figure-" (chart.id) } {
            div .figure-head {
                h3 { (chart.title) }
                button .quiet type="button" data-picture=(chart.id) aria-label={ "Save a picture of the chart: " (chart.title) } { "PNG" }
                @if let Some(sizes) = &chart.sizes {
                    div .switch role="group" aria-label={ "Size axis of the chart: " (chart.title) } {
                        button type="button" data-chart=(chart.id) data-axis="linear" aria-pressed=(!sizes.log) { "linear" }
                        button type="button" data-chart=(chart.id) data-axis="log" aria-pressed=(sizes.log) { "log" }
                    }
                }
            }
            div .key id={ "key-" (chart.id) } role="group" aria-label={ "Series of the chart: " (chart.title) } {}
            div .plot id={ "chart-" (chart.id) } role="img" aria-label=(chart.alt) {}
            figcaption { (chart.caption) }
        }
    }
}
