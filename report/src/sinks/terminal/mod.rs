//! A document in a terminal: what a page folds away is left out, and columns
//! that do not fit, the least wanted first.

mod page;
pub mod table;
mod wrap;

pub use page::{Page, Style};

use self::table::{Column, Measured, total};
use crate::document::{Block, Cell, Document, HeatMap, Kind, Level, Masthead, Section, Shown, Table, Tone, Trust};
use crate::interval;
use crate::number::{NOTHING, tight};
use crate::words::{capital, plural};
use model::order::Order;

/// The whole document; ends with a newline.
pub fn render(document: &Document, style: Style) -> String {
    let mut page = Page::with_precision(style, document.precision);
    self::document(&mut page, document);
    page.finish()
}

/// Everything, by the rank of the sections.
pub fn document(page: &mut Page, document: &Document) {
    masthead(page, &document.masthead);
    let mut ranked: Vec<&Section> = document.sections.iter().collect();
    ranked.order_by_key(|one| one.rank);
    ranked.into_iter().for_each(|one| section(page, one));
}

/// Writes the head of the report.
fn masthead(page: &mut Page, masthead: &Masthead) {
    if !masthead.heading.is_empty() {
        page.heading(&masthead.heading);
    }
    masthead.trust.iter().for_each(|one| trust(page, one));
    if !masthead.about.is_empty() && page.is_verbose() {
        page.text(&masthead.about);
    }
    masthead.red.iter().for_each(|text| page.warning(&format!("RED: {text}.")));
    let lines = if page.is_verbose() { masthead.lines.len() } else { 1 };
    masthead.lines.iter().take(lines).for_each(|line| page.faint(line, 0));
}

/// Writes how far the figures can be trusted, and what to do.
fn trust(page: &mut Page, trust: &Trust) {
    let more = match (trust.warnings, page.is_verbose()) {
        (0, _) | (_, true) => String::new(),
        (count, false) => format!(" ({}: -v)", plural(count as u64, "warning")),
    };
    let text = format!("{}{more}", trust.text);
    match trust.tone {
        Tone::Bad => page.warning(&text),
        Tone::Open | Tone::Good => page.text(&text),
    }
    if !trust.remedy.is_empty() {
        page.plain(&format!("→ {}", trust.remedy), 0, 2);
    }
}

/// One section.
fn section(page: &mut Page, section: &Section) {
    if !section.blocks.iter().any(|block| is_shown(page, block)) {
        return;
    }
    if section.headed {
        page.gap();
        page.heading(&section.title);
    }
    blocks(page, &section.blocks);
}

/// Blocks, one below the other; answers come last.
pub fn blocks(page: &mut Page, all: &[Block]) {
    let (answers, others): (Vec<&Block>, Vec<&Block>) = all.iter().partition(|one| matches!(one, Block::Answers(_)));
    others.into_iter().chain(answers).for_each(|one| block(page, one));
}

/// Tells if a page prints anything of a block.
fn is_shown(page: &Page, block: &Block) -> bool {
    match block {
        Block::Full(all) => page.is_verbose() && all.iter().any(|one| is_shown(page, one)),
        Block::Brief(all) => !page.is_verbose() && all.iter().any(|one| is_shown(page, one)),
        Block::Terminal(all) => all.iter().any(|one| is_shown(page, one)),
        Block::Figures(_)
        | Block::Hero(_)
        | Block::Forest(_)
        | Block::Flame(_)
        | Block::Headlines(_)
        | Block::Markup(..)
        | Block::Details(..)
        | Block::Page(_) => false,
        Block::Save | Block::Key(_) | Block::Gap => false,
        _ => true,
    }
}

fn block(page: &mut Page, block: &Block) {
    match block {
        Block::Lead(text) | Block::Aside(text) => page.faint(&text.plain(), 0),
        Block::Paragraph(text) => page.text(&text.plain()),
        Block::Heading(text) => {
            page.gap();
            page.heading(&text.plain());
        }
        Block::Piece(piece) => {
            page.gap();
            page.heading(&piece.heading.plain());
            blocks(page, &piece.blocks);
        }
        Block::Conclusion(Tone::Bad, text) => page.warning(text),
        Block::Conclusion(Tone::Good | Tone::Open, text) => page.text(text),
        Block::Warnings(all) => all.iter().for_each(|text| page.warning(&format!("- {text}"))),
        Block::Sentences(all) => all.iter().for_each(|text| page.item(&text.plain())),
        Block::Answers(all) => {
            page.gap();
            all.iter().for_each(|text| page.item(&text.plain()));
        }
        Block::Map(one) => map(page, one),
        Block::Findings(all) => {
            for finding in all {
                page.item(&capital(&finding.text));
                if !finding.concerns.is_empty() {
                    page.faint(&finding.concerns, 2);
                }
                if !finding.remedy.is_empty() {
                    page.plain(&format!("→ {}", finding.remedy), 2, 4);
                }
            }
        }
        Block::Statements(all) => {
            for (place, one) in all.iter().enumerate() {
                page.item(&one.text.plain());
                // Once for all statements of a kind.
                if all.iter().take(place).all(|other| other.rule != one.rule) {
                    page.faint(&one.rule, 2);
                }
            }
        }
        Block::Alert(alert) => {
            page.warning(&format!("RED: {}.", alert.text));
            alert.reasons.iter().for_each(|reason| page.labelled_warning("- ", reason, 2));
            alert.remedies.iter().for_each(|remedy| page.plain(&format!("→ {remedy}"), 0, 2));
        }
        Block::Table(one) => {
            if !one.title.is_empty() {
                page.gap();
                page.text(&one.title);
            }
            page.table(columns(one, page.precision()));
        }
        Block::Prose(all) => {
            for one in all {
                page.text(&one.heading);
                one.sentences.iter().for_each(|text| page.item(&text.plain()));
            }
        }
        Block::Terms(_, all) => all.iter().for_each(|(term, meaning)| page.legend(term, meaning)),
        Block::Terminal(all) => blocks(page, all),
        Block::Full(all) if page.is_verbose() => blocks(page, all),
        Block::Brief(all) if !page.is_verbose() => blocks(page, all),
        Block::Compact(name, table) => {
            page.gap();
            page.named_table(name, columns(table, page.precision()));
        }
        Block::Gap => page.gap(),
        Block::Full(_)
        | Block::Brief(_)
        | Block::Figures(_)
        | Block::Hero(_)
        | Block::Forest(_)
        | Block::Flame(_)
        | Block::Headlines(_)
        | Block::Markup(..)
        | Block::Details(..)
        | Block::Page(_)
        | Block::Save
        | Block::Key(_) => {}
    }
}

/// Width of a square: three digits and a star.
const SQUARE: usize = 4;

/// Width of a row's name.
const NAME: usize = 8;

/// A heat map in figures, in as many pieces as it takes.
fn map(page: &mut Page, map: &HeatMap) {
    let right = |text: &str, width: usize| format!("{text:>width$}");
    let room = (page.width() - NAME) / SQUARE;
    for first in (0..map.columns.len()).step_by(room) {
        let shown = first..map.columns.len().min(first + room);
        let head = shown.clone().map(|place| right(&map.columns[place].name, SQUARE - 1) + " ").collect::<String>();
        let row = |(row, level): (usize, &Level)| {
            let text = |column: usize| match map.squares.iter().find(|square| (square.row, square.column) == (row, column)) {
                Some(square) => right(&format!("{:.0}", square.share * 100.0), SQUARE - 1) + if square.marked { "*" } else { " " },
                None => right(NOTHING, SQUARE - 1) + " ",
            };
            right(&level.name, NAME - 2) + "  " + &shown.clone().map(text).collect::<String>()
        };
        let lines = [map.corner.to_owned(), format!("{:NAME$}{head}", "")];
        page.table(vec![Column::words(9, lines, map.rows.iter().enumerate().map(row).collect())]);
    }
}

/// Room that all columns of a table take.
pub fn width(table: &Table) -> usize {
    total(&columns(table, None))
}

/// The columns that a terminal has of a table; figures known less well than `precision`
/// have a star, and are set back.
fn columns(table: &Table, precision: Option<f64>) -> Vec<Column> {
    let column = |(place, column): (usize, &crate::document::Column)| {
        let lines = column.head.terminal.clone()?;
        // Names and verdicts stay; of the rest the later ones go first.
        let rank = column.head.rank.unwrap_or(if column.kind == Kind::Words { 20 } else { 19 - place.min(18) as u8 });
        let shortened = |text: String| if column.tight { tight(&text) } else { text };
        let texts = || column.cells.iter().map(|cell| shortened(text(cell, column.kind))).collect();
        Some(match column.kind {
            Kind::Words => Column::words(rank, lines, texts()).with_cut(column.cut),
            Kind::Estimates(_, Shown::Margin) => {
                let missed = |reach: Option<f64>| reach.zip(precision).is_some_and(|(reach, precision)| reach > precision);
                let measured = |cell: &Cell| match cell {
                    Cell::Estimate(one) if one.reach.is_some_and(|reach| reach > interval::WIDE) => {
                        Measured::Range(format!("{}{}", one.range, if missed(one.reach) { "*" } else { "" }))
                    }
                    Cell::Estimate(one) => {
                        let mark = if missed(one.reach) { "*" } else { "" };
                        Measured::Margin(shortened(one.value.clone()), format!("{}{mark}", one.margin))
                    }
                    other => Measured::Margin(super::words(other), String::new()),
                };
                let faint = column.cells.iter().map(|cell| matches!(cell, Cell::Estimate(one) if missed(one.reach)));
                Column::measured(rank, lines, &column.cells.iter().map(measured).collect::<Vec<_>>(), faint.collect())
            }
            Kind::Figures | Kind::Estimates(..) => Column::figures(rank, lines, texts()),
        })
    };
    table.columns.iter().enumerate().filter_map(column).collect()
}

fn text(cell: &Cell, kind: Kind) -> String {
    match (cell, kind) {
        (Cell::Estimate(estimate), Kind::Estimates(_, Shown::Value)) => estimate.value.clone(),
        (Cell::Estimate(estimate), Kind::Estimates(_, Shown::Ends)) => estimate.ends.clone(),
        (Cell::Stack(lines), _) => lines.first().cloned().unwrap_or_default(),
        _ => super::words(cell),
    }
}
