//! Parts of every page: head, sections, scripts and their data.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use model::printable::{Keep, printable};

use super::chart::{self, Shape};
use crate::document::Figure;
use crate::json;

const STYLE: &str = concat!(
    include_str!("../../../assets/chart.css"),
    include_str!("../../../assets/toll.css"),
    include_str!("../../../assets/flame.css"),
    include_str!("../../../assets/page.css"),
    include_str!("../../../assets/parts.css"),
    include_str!("../../../assets/print.css"),
);
const SCRIPT: &str = concat!(include_str!("../../../assets/report.js"), include_str!("../../../assets/flame.js"));

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
                    p { (footer) " This page needs neither network nor server." }
                }
                (held)
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    // Foreign names stand in it: what steers a terminal steers a reader too.
    printable(&page.into_string(), Keep::Lines).into_owned()
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

/// Data that the script reads.
pub fn data(id: &str, value: &impl serde::Serialize) -> Markup {
    html! { script type="application/json" id=(id) { (PreEscaped(json::for_script(&json::compact(value)))) } }
}

/// JSON that nothing in the page draws, and that can be taken out of it again: in gzip, as base64.
pub fn packed(id: &str, json: &str) -> Markup {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let bytes = packer.write_all(json::for_script(json).as_bytes()).and_then(|()| packer.finish()).unwrap_or_default();
    html! { script type="application/gzip;base64" id=(id) { (STANDARD.encode(bytes)) } }
}

/// A part of the page with its title; a folded one below its finding.
pub fn part(id: &str, title: &str, finding: &str, content: &Markup) -> Markup {
    if !finding.is_empty() {
        return html! { details .fold id=(id) { summary { (finding) } (content) } };
    }
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

/// A chart with its title and its caption.
pub fn figure(figure: &Figure, shape: Shape) -> Markup {
    let choice = |name: &str, log: bool| (name.to_owned(), name.to_owned(), log);
    framed(&Frame {
        id: &figure.id,
        title: &figure.title,
        choices: figure
            .sizes
            .iter()
            .flat_map(|sizes| sizes.axes().into_iter().map(|log| choice(if log { "log" } else { "linear" }, sizes.log == log)))
            .collect(),
        choose: "Horizontal axis",
        aside: true,
        key: chart::key(figure),
        drawings: chart::drawings(figure, shape),
        caption: &figure.caption,
        alone: shape == Shape::Wide,
    })
}

/// A drawing in the page: what stands around it.
pub struct Frame<'a> {
    /// Name of its element.
    pub id: &'a str,
    /// Title.
    pub title: &'a str,
    /// Drawings that are chosen from: the name of each, how it is called, and whether it is shown.
    pub choices: Vec<(String, String, bool)>,
    /// What is chosen.
    pub choose: &'a str,
    /// Its buttons are seen where it is pointed at.
    pub aside: bool,
    /// Names of its colours; empty where the drawing names them itself.
    pub key: Markup,
    /// The drawings.
    pub drawings: Markup,
    /// Caption.
    pub caption: &'a str,
    /// As wide as the page.
    pub alone: bool,
}

/// A drawing with its frame.
pub fn framed(frame: &Frame) -> Markup {
    let Frame { id, title, choices, choose, aside, key, drawings, caption, alone } = frame;
    html! {
        figure .alone[*alone] id={ "figure-" (id) } {
            div .figure-head {
                h3 { (title) }
                div .tools .aside[*aside] {
                    @if choices.len() > 1 {
                        div .switch role="group" aria-label={ (choose) " of: " (title) } {
                            @for (name, text, shown) in choices {
                                button type="button" data-chart=(id) data-axis=(name) aria-pressed=(shown) { (text) }
                            }
                        }
                    }
                    @for kind in ["SVG", "PNG"] {
                        button .quiet type="button" data-picture=(id) data-kind=(kind) aria-label={ "Save as " (kind) ": " (title) } { (kind) }
                    }
                }
            }
            @if !caption.is_empty() { figcaption { (caption) } }
            @if !key.0.is_empty() { div .key id={ "key-" (id) } role="group" aria-label={ "Colours of: " (title) } { (key) } }
            div .plot id={ "chart-" (id) } tabindex="0" role="group" aria-roledescription="chart"
                aria-label={ (title) ": arrow keys go from mark to mark" } { (drawings) }
        }
    }
}
