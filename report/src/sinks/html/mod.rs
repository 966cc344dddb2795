//! A document as one page that holds everything: text, figures, script, data.
//!
//! It opens from a disk or a mail without a server or a network; its own
//! content security policy forbids it to fetch anything. Text is escaped by
//! `maud`, data by [`crate::json`].

pub mod chart;
mod heat;
pub mod page;

use maud::{Markup, PreEscaped, html};

use self::chart::{Shape, flame, forest};
use self::page::{Frame, data, document, figure, framed, part, scrolling};
use crate::document::{
    Block, Cell, Column, Document, Estimated, Figure, Finding, Kind, Masthead, Place, Section, Shown, Span, Table, Text, Tone, Trust,
};
use crate::json::for_script;
use crate::number::NOTHING;
use crate::words::{capital, plural};

/// The whole page.
pub fn render(page: &Document) -> String {
    let is_summary = |section: &&Section| section.id == "summary";
    // What the link at the top of the page skips to.
    let id = (!page.sections.iter().any(|section| is_summary(&section))).then_some("summary");
    let content = html! {
        (masthead(&page.masthead, &page.places))
        main id=[id] { @for one in page.sections.iter().filter(|one| is_for_page(one)) { (section(one)) } }
    };
    let figures: Vec<&Figure> = page.sections.iter().flat_map(Section::figures).collect();
    let held = html! {
        (data("chart-data", &figures))
        @for (id, json) in &page.data { script type="application/json" id=(id) { (PreEscaped(for_script(json))) } }
    };
    document(&page.title, &content, &html! { "Written by nettoll " (page.tool) "." }, &held)
}

fn is_for_page(section: &Section) -> bool {
    !section.title.is_empty() || section.blocks.iter().any(has_markup)
}

fn has_markup(block: &Block) -> bool {
    match block {
        Block::Terminal(_) | Block::Brief(_) | Block::Compact(..) | Block::Gap => false,
        Block::Full(all) => all.iter().any(has_markup),
        _ => true,
    }
}

fn masthead(head: &Masthead, places: &[Place]) -> Markup {
    if head.brand.is_empty() {
        return html! { header { h1 { (head.heading) } @if !head.source.is_empty() { p { (head.source) } } } };
    }
    html! {
        header .masthead {
            div .inner {
                p .brand { "nettoll" span { " · " (head.brand) } }
                h1 { (head.heading) }
                @if let Some(one) = &head.trust { (trust(one)) }
                @if let Some(text) = &head.red { a .red href="#receipt" { strong { "Red: " (text) "." } } }
                @if !head.source.is_empty() {
                    p .meta { @if !head.started.is_empty() { time { (head.started) } " · " } (head.source) }
                }
            }
        }
        @if !places.is_empty() {
            nav aria-label="Parts of this page" {
                div {
                    @for (place, name, count) in places {
                        a href={ "#" (place) } { (name) @if let Some(count) = count { " " span .count { (count) } } }
                    }
                }
            }
        }
    }
}

/// Trust in the figures: what was found, what to do, and the way to every warning.
fn trust(one: &Trust) -> Markup {
    let content = html! {
        span { strong { (one.text) } @if !one.remedy.is_empty() { " → " (one.remedy) } }
        @if one.warnings > 0 { span .count { (plural(one.warnings as u64, "warning")) } }
    };
    if one.warnings == 0 {
        return html! { p .callout.trust .good[one.tone == Tone::Good] .against[one.tone == Tone::Bad] { (content) } };
    }
    html! { a .callout.trust .against[one.tone == Tone::Bad] href="#doubts" { (content) } }
}

/// A section.
fn section(section: &Section) -> Markup {
    let content = blocks("", &section.blocks);
    if section.title.is_empty() {
        html! { section { (content) } }
    } else {
        part(&section.id, &section.title, &content)
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
        Block::Piece(piece) => html! {
            article .series .(piece.style)[!piece.style.is_empty()] id=[(!piece.id.is_empty()).then_some(piece.id)] {
                h3 { (words(&piece.heading)) }
                (blocks(&piece.heading.plain(), &piece.blocks))
            }
        },
        Block::Conclusion(tone, text) => {
            html! { p .callout .good[*tone == Tone::Good] .against[*tone == Tone::Bad] { span { (text) } } }
        }
        Block::Warnings(all) => html! { ol .findings { @for text in all { li { p .text { (text) } } } } },
        Block::Map(map) => heat::map(map),
        Block::Sentences(all) | Block::Answers(all) => html! { ul { @for text in all { li { (words(text)) } } } },
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
        Block::Key(text) => html! { p .lead .legend { (text) } },
        Block::Table(one) => titled(heading, one),
        Block::Figures(all) => html! {
            div .charts {
                @for (place, one) in all.iter().enumerate() {
                    (figure(one, if all.len() % 2 == 1 && place + 1 == all.len() { Shape::Wide } else { Shape::Column }))
                }
            }
        },
        Block::Hero(one) => html! { div .charts.hero { (figure(one, Shape::Flat)) } },
        Block::Forest(one) => framed(&Frame {
            id: &one.id,
            title: &one.title,
            choices: Vec::new(),
            choose: "",
            key: forest::key(one),
            drawings: forest::drawings(one),
            caption: &one.caption,
            alone: true,
        }),
        Block::Flame(one) => html! {
            (framed(&Frame {
                id: &one.id,
                title: &one.title,
                choices: (one.choices.iter().enumerate())
                    .map(|(place, choice)| (place.to_string(), choice.name.clone(), place == one.first.0))
                    .collect(),
                choose: "Message size",
                key: flame::key(one),
                drawings: flame::svg(one),
                caption: &flame::caption(one),
                alone: true,
            }))
            (data(&format!("data-{}", one.id), one))
        },
        Block::Headlines(all) => html! {
            div .headlines {
                @for one in all {
                    article .headline .missed[one.missed] title=(one.hint) {
                        h3 { (one.heading) }
                        p { span .value { (one.value) } " " span .margin { (one.margin) } }
                        p .what { (one.what) @if one.missed { " · less well known than asked" } }
                    }
                }
            }
        },
        Block::Prose(all) => html! {
            div .prose-grid {
                @for one in all { article .prose { h3 { (one.heading) } ul { @for text in &one.sentences { li { (words(text)) } } } } }
            }
        },
        Block::Terms(style, all) => {
            html! { dl class=(style) { @for (term, meaning) in all { div { dt { (term) } dd { (meaning) } } } } }
        }
        Block::Markup(markup) => html! { (PreEscaped(markup)) },
        Block::Save => html! {
            div .buttons {
                button type="button" data-save="json" { "Save as JSON" }
                button type="button" data-save="csv" { "Save as CSV" }
            }
        },
        Block::Details(summary, all) => html! { details { summary { (summary) } (blocks(heading, all)) } },
        Block::Page(all) | Block::Full(all) => blocks(heading, all),
        Block::Terminal(_) | Block::Brief(_) | Block::Compact(..) | Block::Gap => html! {},
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
                Span::Margin(text) => span .margin { (text) },
                Span::Share(text) => span .share { (text) },
                Span::Link(place, text) => a href={ "#" (place) } { (text) },
            }
        }
    }
}

/// A table with its title. In a piece it is a figure of the heading; elsewhere the title is a heading itself.
fn titled(heading: &str, one: &Table) -> Markup {
    let (label, caption) = match (heading, one.label.as_str()) {
        ("", "") => (one.title.clone(), ""),
        (heading, "") => (format!("{heading}: {}", one.title), one.title.as_str()),
        (_, label) => (label.to_owned(), one.caption.as_str()),
    };
    let in_piece = !heading.is_empty() && !one.title.is_empty();
    html! {
        @if in_piece { p .table-title { (one.title) } } @else if !one.title.is_empty() { h3 { (one.title) } }
        (scrolling(&label, &table(one, caption, in_piece)))
    }
}

/// The class of a column's cells. That of words and figures is said where `marked`, or where it is not empty.
fn class(column: &Column, marked: bool) -> Option<&'static str> {
    let of_kind = if column.kind == Kind::Words { "words" } else { "" };
    column.style.map(|[_, cells]| cells).or_else(|| Some(of_kind).filter(|class| marked || !class.is_empty()))
}

/// Writes a table; where `marked`, the heads of words are marked as well.
fn table(table: &Table, caption: &str, marked: bool) -> Markup {
    let style = if table.style.is_empty() && marked { "every verdicts" } else { table.style };
    let columns: Vec<(&Column, &str)> = table.columns.iter().filter_map(|column| Some((column, column.head.page.as_deref()?))).collect();
    let whole = [(0, String::new())];
    let groups = if table.groups.is_empty() { whole.as_slice() } else { table.groups.as_slice() };
    let ends = groups.iter().skip(1).map(|(start, _)| *start).chain([table.rows()]);
    html! {
        table class=[(!style.is_empty()).then_some(style)] {
            @if !caption.is_empty() { caption .hidden { (caption) } }
            thead { tr { @for (place, (column, head)) in columns.iter().enumerate() {
                @let own = if marked && place > 0 { class(column, marked) } else { marked.then_some("") };
                th class=[column.style.map(|[head, _]| head).or(own)] scope="col" {
                    (head) @if !column.note.is_empty() { small { (column.note) } }
                }
            } } }
            @for ((start, name), end) in groups.iter().zip(ends) {
                tbody {
                    @if !name.is_empty() { tr .group { th colspan=(columns.len()) scope="rowgroup" { (name) } } }
                    @for place in *start..end { (row(table, &columns, place, marked)) }
                }
            }
        }
    }
}

fn row(table: &Table, columns: &[(&Column, &str)], row: usize, marked: bool) -> Markup {
    let cell = |place: usize| columns.get(place).and_then(|(column, _)| column.cells.get(row)).unwrap_or(&Cell::Nothing);
    let style = table.row_styles.get(row);
    html! {
        tr class=[style] {
            @for (place, (column, _)) in columns.iter().enumerate() {
                @let [below, right] = reach(cell(place));
                @match cell(place) {
                    Cell::Covered => {},
                    cell if place == 0 => th scope="row" rowspan=[below] { (content(cell, column.kind)) },
                    cell => td class=[class(column, marked)] colspan=[right] rowspan=[below] title=[hint(cell)] {
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

/// Explanation for who points at a cell.
fn hint(cell: &Cell) -> Option<&str> {
    if let Cell::Hinted(_, hint) = cell { Some(hint) } else { None }
}

fn content(cell: &Cell, kind: Kind) -> Markup {
    match (cell, kind) {
        (Cell::Nothing, Kind::Estimates(Shown::Margin | Shown::All, _)) => html! { span .faint { (NOTHING) } },
        (Cell::Nothing, _) => html! { (NOTHING) },
        (Cell::Text(text) | Cell::Hinted(text, _) | Cell::Tall(_, text) | Cell::Wide(_, text), _) => words(text),
        (Cell::Estimate(one), Kind::Estimates(shown, _)) => estimate(one, shown),
        (Cell::Estimate(one), _) => estimate(one, Shown::Joined),
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
        Shown::Joined => html! { (one.value) " " (one.margin) },
        Shown::Ends => html! { (one.ends) },
        Shown::Margin => html! { span title={ (one.ends) ", n = " (one.n) } { (one.value) " " span .margin { (one.margin) } } },
        Shown::All => html! { (one.value) small { (one.ends) } @if one.known { small { "n = " (one.n) } } },
    }
}
