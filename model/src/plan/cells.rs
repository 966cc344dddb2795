//! From the levels that were written to the cells that they cross to.

use std::collections::{BTreeMap, HashSet};

use super::error::PlanError;
use crate::cell::{Cell, Factor, Level, LevelError};
use crate::quantity::Bytes;
use crate::sorting::Order;
use crate::traffic::Test;

/// The most cells that all tables of a study cross to: a plan of a few lines
/// must not fill the memory.
const MOST: usize = 100_000;

/// Levels given on the command line in place of a factor's own.
pub type Override = (Factor, Vec<Level>);

/// A table of cells: the levels of its factors, which are crossed.
pub type Levels = BTreeMap<Factor, Vec<Level>>;

/// The cells that tables cross to. Where arms choose the way of sending (`arms_send`), a way of receiving that was
/// asked for stays written in its cell, though it is the usual one of the cell's own: an arm's may have another.
pub(super) fn resolve_cells(tables: &[Levels], overrides: &[Override], arms_send: bool) -> Result<Vec<Cell>, PlanError> {
    let mut tables = tables.to_vec();
    for (factor, levels) in overrides {
        if *factor == Factor::Test {
            tables = only_tests(&tables, levels);
        } else {
            tables.iter_mut().for_each(|table| _ = table.insert(*factor, levels.clone()));
        }
        // One end has several hosts: the one that is asked for, not the one that a table has.
        if let Some(other) = other_end(*factor).filter(|other| !overrides.iter().any(|(factor, _)| factor == other)) {
            tables.iter_mut().for_each(|table| _ = table.remove(&other));
        }
    }
    let mut cells = Vec::new();
    let mut seen = HashSet::new();
    let mut all = 0;
    for table in &tables {
        let crossed = cross(table, arms_send)?;
        all += crossed.len();
        if all > MOST {
            return Err(PlanError::TooManyCells(MOST));
        }
        for cell in crossed {
            if seen.insert(cell.clone()) {
                cells.push(cell);
            }
        }
    }
    if cells.is_empty() { Err(PlanError::NoCells) } else { Ok(cells) }
}

/// The factor of the hosts of the other end.
const fn other_end(factor: Factor) -> Option<Factor> {
    match factor {
        Factor::Senders => Some(Factor::Receivers),
        Factor::Receivers => Some(Factor::Senders),
        _ => None,
    }
}

/// The tests of a table.
pub(super) fn tests(table: &Levels) -> impl Iterator<Item = Test> {
    let test = |level: &Level| if let Level::Test(test) = level { Some(*test) } else { None };
    table.get(&Factor::Test).into_iter().flatten().filter_map(test)
}

/// The tables that have these tests, for each test alone. A test that no table
/// has takes the levels of the first table with one of its kind.
fn only_tests(tables: &[Levels], levels: &[Level]) -> Vec<Levels> {
    let mut chosen = Vec::new();
    for level in levels {
        let &Level::Test(test) = level else { continue };
        let having = |like: &dyn Fn(Test) -> bool| tables.iter().filter(|table| tests(table).any(like)).collect::<Vec<_>>();
        let mut kin = having(&|other| other == test);
        for like in [
            &(|other: Test| (other.protocol(), other.is_stream()) == (test.protocol(), test.is_stream())) as &dyn Fn(Test) -> bool,
            &|other| other.is_stream() == test.is_stream(),
            &|_| true,
        ] {
            if kin.is_empty() {
                kin = having(like).into_iter().take(1).collect();
            }
        }
        chosen.extend(kin.into_iter().map(|table| {
            let mut table = table.clone();
            table.insert(Factor::Test, vec![level.clone()]);
            table
        }));
    }
    chosen
}

/// Crosses every level with every other; the size varies fastest.
fn cross(table: &Levels, arms_send: bool) -> Result<Vec<Cell>, PlanError> {
    for (factor, name) in [(Factor::Test, "test"), (Factor::Size, "size")] {
        if !table.contains_key(&factor) {
            return Err(LevelError { factor, reason: format!("a table of cells names at least one {name}") }.into());
        }
    }
    let mut rows: Vec<Vec<&Level>> = vec![Vec::new()];
    for levels in Factor::in_crossing_order().iter().filter_map(|factor| table.get(factor)) {
        if rows.len().saturating_mul(levels.len()) > MOST {
            return Err(PlanError::TooManyCells(MOST));
        }
        rows = rows.iter().flat_map(|row| levels.iter().map(|level| [row.as_slice(), &[level]].concat())).collect();
    }
    rows.into_iter().map(|row| Ok(cell(row, arms_send)?)).collect()
}

/// The cell of some levels, one of each factor. They are applied in the order of
/// the factors, those that may follow from others last.
fn cell(mut levels: Vec<&Level>, arms_send: bool) -> Result<Cell, LevelError> {
    levels.order();
    let (derived, given): (Vec<&Level>, Vec<&Level>) = levels.into_iter().partition(|level| level.is_derived());
    let levels = [given, derived].concat();
    let asked = levels.iter().find_map(|level| match level {
        Level::Receive(receive) => Some(*receive),
        Level::Api(ways) => ways.receiver,
        _ => None,
    });
    let mut cell = Cell::plain(Test::TcpStream, Bytes::new(1)).with(levels)?;
    if arms_send && cell.receive.is_none() {
        cell.receive = asked;
    }
    Ok(cell)
}
