//! A document in a terminal: the answer, or with it what stands behind it. Columns that do
//! not fit go, the least wanted first; pictures and every figure are left to a page.

mod page;
mod table;
mod wrap;

use analysis::answer::Grade;
use model::printable::{Keep, printable};
use unicode_width::UnicodeWidthStr;

use self::page::Page;
pub use self::page::Style;
pub(crate) use self::page::in_ascii;
use self::table::{Column, Figure};
pub(crate) use self::wrap::wrap;
use crate::document::{Block, Cell, Document, Entry, HeatMap, Kind, Masthead, RowKind, Shown, Step, Table, Tone};
use crate::interval;
use crate::number::{NOTHING, tight};
use crate::words::capital;

/// The whole document; ends with a newline.
pub fn render(document: &Document, style: Style) -> String {
    let mut page = Page::new(style);
    masthead(&mut page, &document.masthead);
    for section in &document.sections {
        if !section.blocks.iter().any(|block| is_shown(&page, block)) {
            continue;
        }
        page.gap();
        if !section.title.is_empty() {
            page.heading(&section.title);
        }
        blocks(&mut page, &section.blocks);
    }
    origin(&mut page, &document.masthead);
    page.finish()
}

/// Writes the head of the report: the answer, its grade and the next command.
fn masthead(page: &mut Page, masthead: &Masthead) {
    match &masthead.answer {
        Some(answer) => {
            page.heading(&answer.headline);
            let grade = answer.grade_line();
            if answer.grade == Grade::DoNotUse {
                page.red(&grade)
            } else {
                page.text(&grade)
            }
            for one in answer.do_not_use.iter().filter(|_| answer.grade != Grade::DoNotUse) {
                page.red(&format!("Do not use {}: {}.", one.figure, one.reason));
            }
            if let Some(next) = answer.next_line() {
                page.text(&next);
            }
            if let Some(command) = answer.command() {
                page.command(command);
            }
        }
        None if !masthead.heading.is_empty() => page.heading(&masthead.heading),
        None => {}
    }
    if page.is_verbose() && masthead.answer.is_some() {
        page.gap();
        page.heading(&masthead.heading);
    }
    if !masthead.about.is_empty() && page.is_verbose() {
        page.text(&masthead.about);
    }
    if page.is_verbose() || masthead.answer.is_none() {
        masthead.lines.iter().for_each(|line| page.faint(line, 0));
    }
}

/// Writes what the figures are of, below them, and what there is beyond them.
fn origin(page: &mut Page, masthead: &Masthead) {
    if page.is_verbose() || masthead.answer.is_none() {
        return;
    }
    let more = match masthead.warnings {
        0 => "more figures".to_owned(),
        1 => "1 kind of warning and more figures".to_owned(),
        kinds => format!("{kinds} kinds of warning and more figures"),
    };
    if let Some(line) = masthead.lines.first() {
        page.after_block();
        let ended = if masthead.ended.is_empty() { String::new() } else { format!(" {}", masthead.ended) };
        page.faint(&format!("{line}.{ended} -v adds {more}."), 0);
    }
}

/// Blocks, one below the other.
fn blocks(page: &mut Page, all: &[Block]) {
    all.iter().for_each(|one| block(page, one));
}

/// Tells if a page prints anything of a block.
fn is_shown(page: &Page, block: &Block) -> bool {
    match block {
        Block::At(level, _, all) => *level <= page.level() && all.iter().any(|one| is_shown(page, one)),
        Block::Piece(_, all) => all.iter().any(|one| is_shown(page, one)),
        Block::Table(table) => table.columns.iter().any(|column| column.level <= page.level()),
        Block::Picture(_) => false,
        _ => true,
    }
}

fn block(page: &mut Page, block: &Block) {
    if !is_shown(page, block) {
        return;
    }
    match block {
        Block::Lead(text) => {
            page.apart();
            page.faint(&text.plain(), 0);
            page.end_block();
        }
        Block::Aside(text) => page.faint(&text.plain(), 0),
        Block::Paragraph(text) => {
            page.after_block();
            page.text(&text.plain());
        }
        Block::Heading(text) => {
            page.gap();
            page.heading(&text.plain());
        }
        Block::Piece(heading, all) => {
            page.gap();
            let shown: Vec<&Block> = all.iter().filter(|one| is_shown(page, one)).collect();
            let heading = heading.plain();
            // The heading names a table that follows at once.
            let rest = match shown.first() {
                Some(Block::Table(one)) if one.title.is_empty() => {
                    page.table(&heading, columns(page, one));
                    &shown[1..]
                }
                _ => {
                    page.heading(&heading);
                    &shown[..]
                }
            };
            rest.iter().for_each(|one| self::block(page, one));
        }
        Block::Conclusion(tone, text) => {
            page.apart();
            if *tone == Tone::Bad { page.warning(text) } else { page.text(text) }
        }
        Block::Warnings(all) => all.iter().for_each(|text| page.marked_warning(text)),
        Block::Sentences(all) => all.iter().for_each(|text| page.item(&text.plain())),
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
            page.apart();
            page.warning(&format!("RED: {}.", alert.text));
            alert.reasons.iter().for_each(|reason| page.marked_warning(reason));
            alert.remedies.iter().for_each(|remedy| page.plain(&format!("→ {remedy}"), 0, 2));
        }
        Block::Table(one) => page.table(&one.title, columns(page, one)),
        Block::Facts(all) => page.facts(all),
        Block::At(_, _, all) => blocks(page, all),
        Block::Picture(_) => {}
    }
}

/// Least width of a square, three digits and a mark, and of one in a frame.
const SQUARE: usize = 4;
const FRAMED: usize = 5;

/// Least width of a row's name, with the gap behind it.
const LEAST_NAME: usize = 8;

/// A heat map in figures, of the rows and columns that a page has, in as many pieces as it takes.
fn map(page: &mut Page, map: &HeatMap) {
    let right = |text: &str, width: usize| format!("{text:>width$}");
    let longest = |steps: &[Step], of: fn(&Step) -> &String| steps.iter().map(|step| of(step).width()).max().unwrap_or(0);
    let details = [&map.rows, &map.columns].map(|steps| longest(steps, |step| &step.detail));
    let detail = if details[0] > 0 { details[0] + 2 } else { 0 };
    let name = (longest(&map.rows, |step| &step.name) + 2 + detail).max(LEAST_NAME);
    let level = page.level();
    let shown = |step: &Step| step.level <= level;
    let columns: Vec<usize> = (0..map.columns.len()).filter(|place| shown(&map.columns[*place])).collect();
    let widest = columns.iter().map(|place| &map.columns[*place]).map(|step| step.name.width().max(step.detail.width())).max();
    let is_framed = map.squares.iter().any(|square| square.framed);
    let square = (if is_framed { FRAMED } else { SQUARE }).max(widest.unwrap_or(0) + 1);
    let room = (page.width().saturating_sub(name) / square).max(1);
    for piece in columns.chunks(room) {
        let head = |of: fn(&Step) -> &String| {
            let texts = piece.iter().map(|place| right(of(&map.columns[*place]), square - 1) + " ");
            format!("{:name$}{}", "", texts.collect::<String>())
        };
        let row = |(row, level): (usize, &Step)| {
            let text = |column: &usize| match map.squares.iter().find(|square| (square.row, square.column) == (row, *column)) {
                Some(found) => {
                    let figure = format!("{:.0}", found.share * 100.0);
                    let figure = if found.framed { format!("[{figure}") } else { figure };
                    let mark = if found.framed {
                        "]"
                    } else if found.marked {
                        "*"
                    } else {
                        " "
                    };
                    right(&figure, square - 1) + mark
                }
                None => right(NOTHING, square - 1) + " ",
            };
            let detail = if detail > 0 { right(&level.detail, detail) } else { String::new() };
            right(&format!("{}{detail}", level.name), name - 2) + "  " + &piece.iter().map(text).collect::<String>()
        };
        let lines = [map.corner.to_owned(), head(|step| &step.name)];
        let rows = map.rows.iter().enumerate().filter(|(_, step)| shown(step)).map(row);
        let details = (details[1] > 0).then(|| head(|step| &step.detail));
        page.table("", vec![Column::words(9, lines, details.into_iter().chain(rows).collect())]);
    }
}

/// The columns and rows that a page has of a table; figures whose interval is wide have a mark.
fn columns(page: &Page, table: &Table) -> Vec<Column> {
    let rows: Vec<usize> =
        (0..table.rows()).filter(|row| table.row_levels.get(*row).copied().unwrap_or_default() <= page.level()).collect();
    let column = |(place, column): (usize, &crate::document::Column)| {
        // Names and verdicts stay; of the rest the later ones go first.
        let rank = column.head.rank.unwrap_or(if column.kind == Kind::Words { 20 } else { 19 - place.min(18) as u8 });
        let shortened = |text: String| if column.tight { tight(&text) } else { text };
        let cells = || rows.iter().map(|row| column.cells.get(*row).unwrap_or(&Cell::Nothing));
        if column.kind == Kind::Words {
            let part = |row: &usize| table.row_kinds.get(*row) == Some(&RowKind::Part) && place == 0;
            let indent = rows.iter().map(|row| if part(row) { "  " } else { "" });
            let words = indent.zip(cells()).map(|(indent, cell)| format!("{indent}{}", shortened(text(cell, Shown::Margin)))).collect();
            return Column::words(rank, column.head.short.clone(), words).with(column.cut, column.edge);
        }
        let shown = if let Kind::Estimates(shown) = column.kind { shown } else { Shown::Margin };
        let mut head = column.head.short.clone();
        if !column.bad.is_empty() {
            head[0].insert_str(0, "RED ");
        }
        let has_estimates = matches!(column.kind, Kind::Estimates(_));
        let figure = |cell: &Cell| match cell {
            Cell::Estimate(one) if shown == Shown::Margin && one.reach.is_some_and(|reach| reach > interval::WIDE) => {
                Figure::Whole(format!("{}{}", one.range, one.mark))
            }
            Cell::Estimate(one) if shown == Shown::Margin => {
                Figure::Parts([shortened(one.value.clone()), format!("{}{}", one.margin, one.mark), String::new()])
            }
            Cell::Entry(Entry { value, margin, share, calls, .. }) => {
                let last = if calls.is_empty() { share.clone() } else { tight(calls) };
                Figure::Parts([value.clone(), margin.clone(), last])
            }
            Cell::Nothing if has_estimates && shown == Shown::Margin => Figure::Parts([NOTHING.to_owned(), String::new(), String::new()]),
            cell => Figure::Whole(shortened(text(cell, shown))),
        };
        let figures: Vec<Figure> = cells().map(figure).collect();
        Column::figures(rank, head, &figures).with(column.cut, column.edge)
    };
    table.columns.iter().filter(|column| column.level <= page.level()).enumerate().map(column).collect()
}

/// The words of a cell. What is cut must have been cleaned: half a sequence is none any more.
fn text(cell: &Cell, shown: Shown) -> String {
    let text = match (cell, shown) {
        (Cell::Estimate(estimate), Shown::Value) => estimate.value.clone(),
        (Cell::Estimate(estimate), Shown::Ends) => estimate.ends.clone(),
        (Cell::Stack(lines), _) => lines.first().cloned().unwrap_or_default(),
        _ => super::words(cell),
    };
    printable(&text, Keep::Nothing).into_owned()
}
