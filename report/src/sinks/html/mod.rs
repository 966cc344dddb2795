//! A document as one page that holds everything: text, figures, script, data.
//!
//! It opens from a disk or a mail without a server or a network; its own
//! content security policy forbids it to fetch anything. Text is escaped by
//! `maud`, data by [`crate::json`].

pub mod chart;
mod heat;
pub mod page;

use analysis::answer::{Answer, Grade};
use maud::{Markup, html};
use model::printable::{Keep, printable};

use self::chart::{Shape, breakdown, flame, forest, ribbon, waterfall};
use self::page::{Frame, data, document, figure, framed, packed, part, scrolling};
use crate::document::{
    Block, Cell, Chart, Column, Document, Entry, Estimated, Figure, Finding, Kind, Masthead, Picture, RowKind, Section, Shown, Span, Table,
    Text, Tone, Waterfalls, waterfall::Waterfall,
};
use crate::json;
use crate::number::NOTHING;
use crate::words::{capital, plural};

/// Digits of what is drawn.
const DIGITS: usize = 6;
/// Meanings of more letters than these stand side by side in wider columns.
const LONG_MEANING: usize = 80;

/// The whole page.
pub fn render(page: &Document) -> String {
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
    document(title, &content, &html! { "Written by nettoll " (page.tool) "." }, &held)
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
        h1 { (one.headline) }
        p .grade .invalid[one.grade == Grade::DoNotUse] {
            span aria-hidden="true" { (mark) } " " (one.grade_line())
            @if let Some(command) = one.command() { " " code { (command) } }
            @if warnings > 0 { " " a href="#doubts" { (plural(warnings as u64, "warning")) } }
        }
        @for invalid in one.do_not_use.iter().filter(|_| one.grade != Grade::DoNotUse) {
            p .invalid { strong { "Do not use " (invalid.figure) ":" } " " (invalid.reason) ". " (invalid.remedy) }
        }
    }
}

/// A picture of one message as a file of its own.
pub fn picture_alone(one: &Waterfall) -> String {
    printable(&waterfall::svg(one, None).into_string(), Keep::Lines).into_owned() + "\n"
}

fn section(section: &Section) -> Markup {
    let content = blocks("", &section.blocks);
    let title = if section.title.is_empty() { &section.name } else { &section.title };
    if title.is_empty() {
        html! { section { (content) } }
    } else {
        part(&section.id, title, &section.finding, &content)
    }
}

fn blocks(heading: &str, all: &[Block]) -> Markup {
    html! { @for one in all { (block(heading, one)) } }
}

fn block(heading: &str, block: &Block) -> Markup {
    match block {
        Block::Lead(text) => html! { p .lead { (words(text)) } },
        Block::Paragraph(text) => html! { p { (words(text)) } },
        Block::Aside(text) => html! { p .faint { (words(text)) } },
        Block::Heading(text) if heading.is_empty() => html! { h3 { (words(text)) } },
        Block::Heading(text) => html! { h4 { (words(text)) } },
        Block::Piece(heading, all) => html! {
            article .series {
                h3 { (words(heading)) }
                (blocks(&heading.plain(), all))
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
        Block::Table(one) => titled(heading, one),
        Block::Picture(one) => picture(one),
        Block::Facts(all) => {
            let long = all.iter().any(|(_, meaning)| meaning.chars().count() > LONG_MEANING);
            let style = if long { "guide" } else { "facts" };
            html! { dl class=(style) { @for (term, meaning) in all { div { dt { (term) } dd { (meaning) } } } } }
        }
        Block::At(_, summary, all) if summary.is_empty() => blocks(heading, all),
        Block::At(_, summary, all) => html! { details { summary { (summary) } (blocks(heading, all)) } },
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
                Span::Plain(text) => (text),
                Span::Strong(text) => strong { (text) },
                Span::Faint(text) => span .faint { (text) },
                Span::Small(text) => small { (text) },
                Span::Link(place, text) => a href={ "#" (place) } { (text) },
            }
        }
    }
}

/// A table with its title. In a piece it is a figure of the heading; elsewhere the title is a heading itself.
fn titled(heading: &str, one: &Table) -> Markup {
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
        (scrolling(&label, &table(one, caption, in_piece)))
    }
}

/// The classes of a column's head and of its cells. Those of words and figures are said where
/// `marked`, or where they are not empty.
fn classes(column: &Column, marked: bool) -> [Option<String>; 2] {
    if column.edge || !column.bad.is_empty() {
        let edge = if column.edge { "edge" } else { "" };
        let bad = if column.bad.is_empty() { "" } else { " bad" };
        return [Some(format!("{edge}{bad}")), Some(edge.to_owned())];
    }
    let of_kind = if column.kind == Kind::Words { "words" } else { "" };
    let cells = Some(of_kind.to_owned()).filter(|class| marked || !class.is_empty());
    [cells.clone().filter(|_| marked), cells]
}

/// The class of the first column, which names the rows.
fn name_class(column: &Column) -> Option<String> {
    (column.kind == Kind::Words).then(|| "words".to_owned())
}

/// Writes a table; where `marked`, the heads of words are marked as well.
fn table(table: &Table, caption: &str, marked: bool) -> Markup {
    let style = match table.style {
        "" if marked => "every verdicts",
        style => style,
    };
    let whole = [(0, String::new())];
    let groups = if table.groups.is_empty() { whole.as_slice() } else { table.groups.as_slice() };
    let ends = groups.iter().skip(1).map(|(start, _)| *start).chain([table.rows()]);
    html! {
        table class=[(!style.is_empty()).then_some(style)] {
            @if !caption.is_empty() { caption .hidden { (caption) } }
            thead { tr { @for (place, column) in table.columns.iter().enumerate() {
                @let class = if place == 0 { name_class(column) } else { classes(column, marked)[0].clone() };
                th class=[class] scope="col" {
                    (column.head.line) @if !column.bad.is_empty() { small { (column.bad) } }
                }
            } } }
            @for ((start, name), end) in groups.iter().zip(ends) {
                tbody {
                    @if !name.is_empty() { tr .group { th colspan=(table.columns.len()) scope="rowgroup" { (name) } } }
                    @for place in *start..end { (row(table, place, marked)) }
                }
            }
        }
    }
}

fn row(table: &Table, row: usize, marked: bool) -> Markup {
    let style = match table.row_kinds.get(row).copied().unwrap_or_default() {
        RowKind::Plain => None,
        RowKind::Part => Some("part"),
        RowKind::Sum => Some("sum"),
        RowKind::Differs => Some("differ"),
    };
    html! {
        tr class=[style] {
            @for (place, column) in table.columns.iter().enumerate() {
                @let cell = column.cells.get(row).unwrap_or(&Cell::Nothing);
                @let [below, right] = reach(cell);
                @match cell {
                    Cell::Covered => {},
                    cell if place == 0 => th class=[name_class(column)] scope="row" rowspan=[below] { (content(cell, column.kind)) },
                    cell => td class=[&classes(column, marked)[1]] colspan=[right] rowspan=[below] title=[hint(cell)] style=[shade(cell)] {
                        (content(cell, column.kind))
                    },
                }
            }
        }
    }
}

/// Rows and columns that a cell reaches over, where that is said.
const fn reach(cell: &Cell) -> [Option<usize>; 2] {
    match cell {
        Cell::Tall(rows, _) => [Some(*rows), None],
        Cell::Wide(columns, _) => [None, Some(*columns)],
        _ => [None, None],
    }
}

/// The ground of a shaded cell.
fn shade(cell: &Cell) -> Option<String> {
    let Cell::Shaded(_, share) = cell else { return None };
    let share = share.clamp(0.0, 1.0) * 60.0;
    Some(format!("background:color-mix(in srgb,var(--s1) {share:.0}%,var(--card))"))
}

/// Explanation for a reader who points at a cell.
fn hint(cell: &Cell) -> Option<&str> {
    match cell {
        Cell::Hinted(_, hint) => Some(hint),
        Cell::Entry(Entry { title, .. }) => Some(title.as_str()).filter(|title| !title.is_empty()),
        _ => None,
    }
}

fn content(cell: &Cell, kind: Kind) -> Markup {
    match (cell, kind) {
        (Cell::Nothing, Kind::Estimates(Shown::Margin | Shown::All)) => html! { span .faint { (NOTHING) } },
        (Cell::Nothing, _) => html! { (NOTHING) },
        (Cell::Text(text) | Cell::Hinted(text, _) | Cell::Shaded(text, _) | Cell::Tall(_, text) | Cell::Wide(_, text), _) => words(text),
        (Cell::Estimate(one), Kind::Estimates(shown)) => estimate(one, shown),
        (Cell::Estimate(one), _) => estimate(one, Shown::Margin),
        (Cell::Entry(Entry { value, margin, share, calls, .. }), _) => html! {
            (value)
            @if !margin.is_empty() { " " span .margin { (margin) } }
            @if !share.is_empty() { span .share { (share) } }
            @if !calls.is_empty() { small { (calls) } }
        },
        (Cell::Stack(lines), _) => {
            html! { @for (place, line) in lines.iter().enumerate() { @if place == 0 { (line) } @else { small { (line) } } } }
        }
        (Cell::Lines(lines), _) => html! { @for line in lines { div { (words(line)) } } },
        (Cell::Covered, _) => html! {},
    }
}

fn estimate(one: &Estimated, shown: Shown) -> Markup {
    match shown {
        Shown::Value => html! { (one.value) },
        Shown::Ends => html! { (one.ends) },
        Shown::Margin => html! { span title={ (one.ends) ", n = " (one.n) } { (one.value) " " span .margin { (one.margin) } } },
        Shown::All => html! { (one.value) small { (one.ends) } @if one.known { small { "n = " (one.n) } } },
    }
}
