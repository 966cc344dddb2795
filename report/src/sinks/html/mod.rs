//! A document as one page that holds everything: text, figures, script, data.
//!
//! It opens from a disk or a mail without a server or a network; its own
//! content security policy forbids it to fetch anything. Text is escaped by
//! `maud`, data by [`crate::json`].

pub mod chart;
mod heat;
pub mod page;
mod table;

use analysis::answer::{Answer, Grade};
use maud::{Markup, html};
use model::printable::{Keep, printable};

use self::chart::{Shape, breakdown, flame, forest, ribbon, waterfall};
use self::page::{Frame, data, document, figure, framed, packed, part, scrolling};
use self::table::{table, unbroken};
use crate::document::{
    Block, Chart, Document, Figure, Finding, Masthead, Picture, Section, Span, Table, Text, Tone, Waterfalls, charts::Waterfall,
};
use crate::json;
use crate::words::{capital, plural};

/// Digits of what is drawn.
const DIGITS: usize = 6;
/// Letters of a command's word that a narrow screen has room for.
const LONGEST_WORD: usize = 36;
/// Meanings of more letters than these stand side by side in wider columns.
const LONG_MEANING: usize = 80;

/// The whole page, written by a version of nettoll.
pub fn render(page: &Document, tool: &str) -> String {
    // What the link at the top of the page skips to.
    let id = page.sections.iter().all(|section| section.id != "summary").then_some("summary");
    let has = |name: &str| page.data.iter().any(|(known, _)| *known == name);
    let content = html! {
        (masthead(&page.masthead))
        main id=[id] {
            @for one in page.sections.iter().filter(|one| !one.blocks.is_empty()) { (section(one)) }
            @if has("analysis") && has("csv") {
                section .buttons {
                    button type="button" data-save="json" { "Save as JSON" }
                    button type="button" data-save="csv" { "Save as CSV" }
                }
            }
        }
    };
    let figures: Vec<&Figure> = page.sections.iter().flat_map(Section::figures).collect();
    let held = html! {
        (packed("chart-data", &json::rounded(&figures, DIGITS)))
        @for (id, json) in &page.data { (packed(id, json)) }
    };
    let title = if page.title.is_empty() { &page.masthead.heading } else { &page.title };
    document(title, &content, &html! { "Written by nettoll " (tool) "." }, &held)
}

fn masthead(head: &Masthead) -> Markup {
    let lines = head.lines.join(" · ");
    if head.brand.is_empty() {
        return html! { header { h1 { (head.heading) } @if !lines.is_empty() { p { (lines) } } } };
    }
    html! {
        header .masthead {
            div .inner {
                p .brand { "nettoll" span { " · " (head.brand) @if !lines.is_empty() { " · " (lines) } } }
                @match &head.answer {
                    Some(one) => { (answer(one, head.warnings)) p .meta { (head.heading) } }
                    None => h1 { (head.heading) }
                }
            }
        }
    }
}

/// The answer, its grade, the next command, and figures that are not to be used.
fn answer(one: &Answer, warnings: usize) -> Markup {
    let mark = match one.grade {
        Grade::Settled => "●",
        Grade::Rough => "◐",
        Grade::Open => "○",
        Grade::DoNotUse => "■",
    };
    html! {
        h1 { (unbroken(&one.headline)) }
        p .grade .invalid[one.grade == Grade::DoNotUse] {
            span aria-hidden="true" { (mark) } " " (unbroken(&one.grade_line()))
            @if warnings > 0 { " " a href="#doubts" { (plural(warnings as u64, "warning")) } }
        }
        @for invalid in one.do_not_use.iter().filter(|_| one.grade != Grade::DoNotUse) {
            p .invalid { strong { "Do not use " (invalid.figure) ":" } " " (invalid.reason) ". " (invalid.remedy) }
        }
        @if let Some(next) = one.next_line() {
            p .next { (unbroken(&next)) @if let Some(command) = one.command() { code { (self::command(command)) } } }
        }
    }
}

/// A command whose words do not break, but where one is wider than a narrow screen.
fn command(text: &str) -> Markup {
    html! {
        @for (place, word) in text.split(' ').enumerate() {
            @if place > 0 { " " }
            @if word.chars().count() <= LONGEST_WORD { span .whole { (word) } } @else { (word) }
        }
    }
}

/// A picture of one message as a file of its own.
pub fn picture_alone(one: &Waterfall) -> String {
    printable(&waterfall::svg(one, None).into_string(), Keep::Lines).into_owned() + "\n"
}

fn section(section: &Section) -> Markup {
    let content = blocks("", !section.finding.is_empty(), &section.blocks);
    let title = if section.title.is_empty() { &section.name } else { &section.title };
    if title.is_empty() {
        html! { section { (content) } }
    } else {
        part(&section.id, title, &section.finding, &content)
    }
}

/// Blocks below a heading, or in a fold, where tables have less room.
fn blocks(heading: &str, in_fold: bool, all: &[Block]) -> Markup {
    html! { @for one in all { (block(heading, in_fold, one)) } }
}

fn block(heading: &str, in_fold: bool, block: &Block) -> Markup {
    match block {
        Block::Lead(text) => html! { p .lead { (words(text)) } },
        Block::Paragraph(text) => html! { p { (words(text)) } },
        Block::Aside(text) => html! { p .faint { (words(text)) } },
        Block::Heading(text) if heading.is_empty() => html! { h3 { (words(text)) } },
        Block::Heading(text) => html! { h4 { (words(text)) } },
        Block::Piece(heading, all) => html! {
            article .series {
                h3 { (words(heading)) }
                (blocks(&heading.plain(), true, all))
            }
        },
        Block::Conclusion(tone, text) => {
            html! { p .conclusion .good[*tone == Tone::Good] .against[*tone == Tone::Bad] { span { (text) } } }
        }
        Block::Warnings(all) => html! { ol .findings { @for text in all { li { p .text { (text) } } } } },
        Block::Map(map) => heat::map(map),
        Block::Sentences(all) => html! { ul { @for text in all { li { (words(text)) } } } },
        Block::Findings(all) => html! { ol .findings { @for one in all { (finding(one)) } } },
        Block::Statements(all) => html! {
            ul { @for one in all { li id=(one.id) { (words(&one.text)) small { (one.rule) } } } }
        },
        Block::Alert(alert) => html! {
            div .red role="alert" {
                p { strong { "Red: " (alert.text) "." } }
                ul { @for reason in &alert.reasons { li { (reason) } } }
                @for remedy in &alert.remedies { p { "→ " (remedy) "." } }
            }
        },
        Block::Table(one) => titled(heading, in_fold, one),
        Block::Picture(one) => picture(one),
        Block::Facts(all) => {
            let long = all.iter().any(|(_, meaning)| meaning.chars().count() > LONG_MEANING);
            let style = if long { "guide" } else { "facts" };
            html! { dl class=(style) { @for (term, meaning) in all { div { dt { (term) } dd { (meaning) } } } } }
        }
        Block::At(_, summary, all) if summary.is_empty() => blocks(heading, in_fold, all),
        Block::At(_, summary, all) => html! { details { summary { (summary) } (blocks(heading, true, all)) } },
    }
}

fn chart(chart: &Chart, shape: Shape) -> Markup {
    let around = |id: &str, title: &str, caption: &str, drawings: Markup| {
        let (choices, alone) = (Vec::new(), shape == Shape::Wide);
        framed(&Frame { id, title, choices, choose: "", aside: true, key: html! {}, drawings, caption, alone })
    };
    match chart {
        Chart::Figure(one) => figure(one, shape),
        Chart::Forest(one) => around(&one.id, &one.title, &one.caption, forest::drawings(one, shape)),
        Chart::Ribbon(one) => around(&one.id, &one.title, &one.caption, ribbon::drawings(one, shape)),
        Chart::Breakdown(one) => around(&one.id, &one.title, &one.caption, breakdown::drawings(one)),
    }
}

fn picture(picture: &Picture) -> Markup {
    match picture {
        Picture::Charts(all) => html! {
            div .charts {
                @for (place, one) in all.iter().enumerate() {
                    (chart(one, if all.len() % 2 == 1 && place + 1 == all.len() { Shape::Wide } else { Shape::Column }))
                }
            }
        },
        Picture::Flame(one) => html! {
            (framed(&Frame {
                id: &one.id,
                title: &one.title,
                choices: (one.choices.iter().enumerate())
                    .map(|(place, choice)| (place.to_string(), choice.name.clone(), place == one.first.0))
                    .collect(),
                choose: "Message size",
                aside: false,
                key: flame::key(one),
                drawings: flame::svg(one),
                caption: &flame::caption(one),
                alone: true,
            }))
            (data(&format!("data-{}", one.id), one))
        },
        Picture::Waterfalls(Waterfalls { id, title, all }) => framed(&Frame {
            id,
            title,
            choices: all.iter().map(|(name, words, shown, _)| (name.clone(), words.clone(), *shown)).collect(),
            choose: "Message size",
            aside: false,
            key: html! {},
            drawings: html! { @for (name, _, shown, one) in all { (waterfall::svg(one, Some((name, *shown)))) (waterfall::narrow(one, (name, *shown))) } },
            caption: "",
            alone: true,
        }),
    }
}

fn finding(finding: &Finding) -> Markup {
    html! {
        li {
            p .text { (capital(&finding.text)) }
            @if !finding.remedy.is_empty() { p .remedy { (finding.remedy) } }
            @if !finding.concerns.is_empty() { p .concerns { (finding.concerns) } }
        }
    }
}

fn words(text: &Text) -> Markup {
    html! {
        @for span in &text.0 {
            @match span {
                Span::Plain(text) => (unbroken(text)),
                Span::Strong(text) => strong { (unbroken(text)) },
                Span::Faint(text) => span .faint { (unbroken(text)) },
                Span::Small(text) => small { (unbroken(text)) },
                Span::Link(place, text) => a href={ "#" (place) } { (text) },
                Span::Place(name) => span id=(name) {},
            }
        }
    }
}

/// A table with its title. In a piece it is a figure of the heading; elsewhere the title is a heading itself.
fn titled(heading: &str, in_fold: bool, one: &Table) -> Markup {
    let first = one.columns.first().map_or("", |column| column.head.line.as_str());
    let title = if one.title.is_empty() { first } else { one.title.as_str() };
    let (label, caption) = match (heading, one.label.as_str()) {
        ("", "") => (title.to_owned(), ""),
        (heading, "") => (format!("{heading}: {title}"), title),
        (_, label) => (label.to_owned(), one.caption.as_str()),
    };
    let in_piece = !heading.is_empty() && !one.title.is_empty();
    html! {
        @if in_piece { p .table-title { (one.title) } } @else if !one.title.is_empty() { h3 { (one.title) } }
        (scrolling(&label, &table(one, caption, in_piece, in_fold)))
    }
}
