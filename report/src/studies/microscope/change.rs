//! What changed between two kernels.

use attribution::exact::{Change, ExactDiff, Measured, RegionDiff, Spread};

use super::flames;
use super::tables::NAME;
use crate::document::{Block, Cut, Document, Head, Keeps, Kind, Level, Masthead, Section, Table};
use crate::number::{change, signed, whole};
use crate::studies::receipt::MOST_FLAMES;

/// Rows of the tables of layers and of functions that are the answer.
const MOST_LAYERS: usize = 6;
const MOST_FUNCTIONS: usize = 5;
/// Calls at the end of a path that name it.
const TAIL: usize = 3;

/// The end of a path: two calls of usual names.
pub const PATH: Cut = Cut { least: 24, keeps: Keeps::End };

/// A comparison, with flame graphs of its sides where they are given.
pub fn document(diff: &ExactDiff, sides: Option<[&[Measured]; 2]>) -> Document {
    let title = format!("What a message executes: {} against {}", diff.after, diff.before);
    let line = format!("{} and {} seeds; a row is shown where the ranges of both sides lie apart", diff.seeds[0], diff.seeds[1]);
    let mut sections: Vec<Section> = diff.regions.iter().map(|region| section(diff, region, sides)).collect();
    if let [_, others @ ..] = sections.as_mut_slice() {
        // A terminal has room for the tables of one message, and for the answer of each.
        others.iter_mut().for_each(|section| {
            let tables = section.blocks.split_off(section.blocks.len().min(1));
            section.blocks.push(Block::usual(tables));
        });
    }
    Document::of(Masthead::of("microscope diff", title, [line]), sections)
}

fn section(diff: &ExactDiff, region: &RegionDiff, sides: Option<[&[Measured]; 2]>) -> Section {
    let total = &region.total;
    let answer = if total.counts() {
        let share = total.difference() as f64 / total.before.median.max(1) as f64;
        format!(
            "{}: {} instructions a message, {} on {} ({}).",
            region.name,
            more(total.difference()),
            whole(total.after.median),
            diff.after,
            change(share)
        )
    } else {
        format!("{}: no change beyond what seeds move ({} and {} instructions).", region.name, range(total.before), range(total.after))
    };
    let mut blocks = vec![Block::Paragraph(answer.into())];
    if let Some(first) = region.functions.first() {
        let (name, by) = (&first.function.key, more(first.function.difference()));
        blocks.push(Block::Paragraph(format!("Most in {name}: {by}, at the end of {}.", tail(&first.path)).into()));
        blocks.push(Block::usual([Block::Paragraph(format!("The whole path: {}.", first.path.join(" > ")).into())]));
    }
    let room = MOST_FLAMES / diff.regions.len();
    blocks.extend(sides.and_then(|sides| flames::difference(region, sides, room)));
    let layers = region.layers.iter().map(|change| row(change.key.to_string(), change, String::new())).collect();
    blocks.extend(table("By layer", "layer", layers, MOST_LAYERS));
    let functions = region.functions.iter().map(|change| row(change.function.key.clone(), &change.function, tail(&change.path))).collect();
    blocks.extend(Block::folded("By function", table("By function", "function", functions, MOST_FUNCTIONS)));
    let only = |change: &Change<Vec<String>>| row(change.key[change.key.len().saturating_sub(2)..].join(" > "), change, tail(&change.key));
    let rows = region.paths.iter().map(only).collect();
    let paths = table("Call paths that one side alone has, with all that they call", "function", rows, 0);
    blocks.extend(Block::behind("Call paths that one side alone has", paths));
    Section::new(region.name.clone(), region.name.clone(), blocks)
}

/// The end of a path, its outermost function first.
fn tail(path: &[String]) -> String {
    path[path.len().saturating_sub(TAIL)..].join(" > ")
}

fn range(range: Spread) -> String {
    if range.least == range.most { whole(range.median) } else { format!("{}–{}", whole(range.least), whole(range.most)) }
}

/// A difference with its sign.
fn more(difference: i64) -> String {
    if difference > 0 { format!("+{}", signed(difference)) } else { signed(difference) }
}

fn row<K>(name: String, one: &Change<K>, path: String) -> Vec<String> {
    vec![name, range(one.before), range(one.after), more(one.difference()), path]
}

fn table(title: &str, key: &str, rows: Vec<Vec<String>>, most: usize) -> Option<Block> {
    let has_paths = rows.first()?.last().is_some_and(|path| !path.is_empty());
    // Figures come first: where there is no room for a path, it goes.
    let heads = [key, "before", "after", "change"].map(Head::from).into_iter().chain([Head::ranked("end of the path", 0)]).collect();
    let row_levels = (0..rows.len()).map(|row| if row < most { Level::Answer } else { Level::Usual }).collect();
    let mut table = Table { row_levels, ..Table::of_figures(title, heads, rows) };
    table.columns[0].cut = Some(NAME);
    let path = &mut table.columns[4];
    // Paths are long.
    (path.kind, path.cut, path.level) = (Kind::Words, Some(PATH), Level::Usual);
    table.columns.truncate(if has_paths { 5 } else { 4 });
    Some(table.into())
}
