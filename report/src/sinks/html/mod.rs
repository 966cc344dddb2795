//! A document as one page that holds everything: text, figures, script, data.
//!
//! It opens from a disk or a mail without a server or a network; its own
//! content security policy forbids it to fetch anything. Text is escaped by
//! `maud`, data by [`crate::json`].

mod heat;

use maud::{Markup, PreEscaped, html};

use crate::document::{Block, Cell, Column, Document, Estimated, Finding, Kind, Section, Shown, Span, Table, Text, Tone};
use crate::html::figures::figure;
use crate::html::{document, part, scrolling};
use crate::json::for_script;
use crate::number::NOTHING;
use crate::words::capital;

/// The whole page.
pub fn render(page: &Document) -> String {
    let is_summary = |section: &Section| section.id == "summary";
    // What the link at the top of the page skips to.
    let id = (!page.sections.iter().any(is_summary)).then_some("summary");
    let content = html! {
        header .masthead { div .inner { p .brand { "nettoll" span { " · " (page.brand) } } h1 { (page.heading) } } }
        main id=[id] { @for one in &page.sections { (section(one)) } }
    };
    let held = html! { @for (id, json) in &page.data { script type="application/json" id=(id) { (PreEscaped(for_script(json))) } } };
    document(&page.title, &content, &html! { "Written by nettoll " (page.tool) "." }, &held)
}

/// A section.
pub fn section(section: &Section) -> Markup {
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
        Block::Table(one) => titled(heading, one),
        Block::Figures(all) => html! { div .charts { @for one in all { (figure(one)) } } },
        Block::Details(summary, all) => html! { details { summary { (summary) } (blocks(heading, all)) } },
        Block::Page(all) => blocks(heading, all),
        Block::Terminal(_) | Block::Gap => html! {},
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

/// The class of a column's cells; empty of figures.
fn class(column: &Column) -> &'static str {
    if column.kind == Kind::Words { "words" } else { "" }
}

/// Where `marked`, words are told apart from figures up to their heads.
fn table(table: &Table, caption: &str, marked: bool) -> Markup {
    let style = if table.style.is_empty() && marked { "every verdicts" } else { table.style };
    let columns: Vec<(&Column, &str)> = table.columns.iter().filter_map(|column| Some((column, column.head.page.as_deref()?))).collect();
    let ends = table.groups.iter().skip(1).map(|(start, _)| *start).chain([table.rows()]);
    let whole = [(0, String::new())];
    let groups = if table.groups.is_empty() { whole.as_slice() } else { table.groups.as_slice() };
    let ends: Vec<usize> = if table.groups.is_empty() { vec![table.rows()] } else { ends.collect() };
    html! {
        table class=[(!style.is_empty()).then_some(style)] {
            @if !caption.is_empty() { caption .hidden { (caption) } }
            thead { tr { @for (place, (column, head)) in columns.iter().enumerate() {
                th class=[marked.then(|| if place > 0 { class(column) } else { "" })] scope="col" { (head) }
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
    let reaches = |place: usize| {
        let right = (place + 1..columns.len()).take_while(|right| matches!(cell(*right), Cell::Left)).count() + 1;
        let below = columns[place].0.cells.iter().skip(row + 1).take_while(|below| matches!(below, Cell::Above)).count() + 1;
        [right, below].map(|reach| (reach > 1).then_some(reach))
    };
    let style = table.row_styles.get(row).filter(|style| !style.is_empty());
    html! {
        tr class=[style] {
            @for (place, (column, _)) in columns.iter().enumerate() {
                @let [right, below] = reaches(place);
                @match cell(place) {
                    Cell::Above | Cell::Left => {},
                    cell if place == 0 => th scope="row" rowspan=[below] { (content(cell, column.kind)) },
                    cell => td class=[Some(class(column)).filter(|class| marked || !class.is_empty())] colspan=[right] rowspan=[below] { (content(cell, column.kind)) },
                }
            }
        }
    }
}

fn content(cell: &Cell, kind: Kind) -> Markup {
    match (cell, kind) {
        (Cell::Nothing, Kind::Estimates(Shown::Margin | Shown::All, _)) => html! { span .faint { (NOTHING) } },
        (Cell::Nothing, _) => html! { (NOTHING) },
        (Cell::Text(text), _) => words(text),
        (Cell::Estimate(one), Kind::Estimates(shown, _)) => estimate(one, shown),
        (Cell::Estimate(one), _) => estimate(one, Shown::Joined),
        (Cell::Stack(lines), _) => {
            html! { @for (place, line) in lines.iter().enumerate() { @if place == 0 { (line) } @else { small { (line) } } } }
        }
        (Cell::Above | Cell::Left, _) => html! {},
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
