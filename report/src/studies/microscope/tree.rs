//! Call trees: what each function with everything that it called executed.

use attribution::exact::{Measured, Region};

use super::change::PATH;
use super::words::{by_scenario, standing};
use crate::document::{Block, Kind, Level, Table};
use crate::number::{percent, whole};

/// Paths of a smaller share of the message are not part of the answer.
const LEAST_SHARE: f64 = 0.01;

/// The tree of each scenario's message.
pub fn of(one: &Measured) -> Vec<Block> {
    let regions = by_scenario(one).into_iter().filter_map(|(_, regions)| standing(&regions));
    regions.map(|region| table(region).into()).collect()
}

fn table(region: &Region) -> Table {
    let (inclusive, depths) = (region.tree.inclusive(), region.tree.depths());
    let all = region.total.instructions.max(1) as f64;
    let (mut rows, mut row_levels) = (Vec::new(), Vec::new());
    // A caller comes before what it calls, but not always right before.
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); depths.len()];
    let mut next: Vec<usize> = Vec::new();
    for (place, node) in region.tree.nodes().iter().enumerate() {
        match node.parent {
            Some(parent) => children[parent].push(place),
            None => next.push(place),
        }
    }
    next.reverse();
    while let Some(place) = next.pop() {
        let share = inclusive[place].instructions as f64 / all;
        row_levels.push(if share < LEAST_SHARE { Level::Usual } else { Level::Answer });
        let node = &region.tree.nodes()[place];
        // Paths of a message are more than 30 calls deep: two columns a call are wider than a terminal.
        let name = format!("{}{}", " ".repeat(depths[place]), node.function);
        let counts = &inclusive[place];
        rows.push(vec![whole(counts.instructions), percent(share), whole(node.own.instructions), name]);
        next.extend(children[place].iter().rev());
    }
    let heads = vec!["instructions", "share", "own", "call path"];
    let mut table = Table::of_figures(format!("{}: each function with all that it calls", region.name), heads, rows);
    for (column, kind) in table.columns.iter_mut().zip([Kind::Figures, Kind::Figures, Kind::Figures, Kind::Words]) {
        column.kind = kind;
    }
    // Deep in the tree the place gives way before the name.
    table.columns.last_mut().into_iter().for_each(|column| column.cut = Some(PATH));
    Table { row_levels, ..table }
}
