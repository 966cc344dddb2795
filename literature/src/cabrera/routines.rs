//! Tables 5 and 7: seconds and calls of the kernel's routines on TCP's send path.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::read::csv::RoutineRow;

/// Messages of each test in the tables.
const MESSAGES: f64 = 10_000.0;

/// A routine whose dearest size costs more than this times its cheapest varies with size.
const VARIES: f64 = 1.5;

/// One routine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Routine {
    /// Its name.
    pub name: String,
    /// µs per message at each size of [`Routines::sizes`].
    pub us_per_message: Vec<Option<f64>>,
    /// Calls per message at each size.
    pub calls_per_message: Vec<Option<f64>>,
    /// Sum of µs over the sizes.
    pub total_us: f64,
    /// True where it varies with size.
    pub varies: bool,
}

/// All routines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Routines {
    /// Bytes of a message, rising.
    pub sizes: Vec<u64>,
    /// Costliest over all sizes first.
    pub rows: Vec<Routine>,
    /// Sum of all routines, in µs per message, at each size.
    pub sum_us: Vec<f64>,
    /// Routines by how far they move between 1,023 and 1,024 B, with the
    /// difference in µs, the farthest first.
    pub movers: Vec<(String, f64)>,
}

impl Routines {
    /// From rows of both tables; either may be empty.
    pub fn from_rows(seconds: &[RoutineRow], calls: &[RoutineRow]) -> Self {
        let sizes: Vec<u64> = seconds.iter().chain(calls).map(|row| row.bytes).collect::<BTreeSet<_>>().into_iter().collect();
        let by = |rows: &[RoutineRow]| -> BTreeMap<(String, u64), f64> {
            rows.iter().map(|row| ((row.routine.clone(), row.bytes), row.figure / MESSAGES)).collect()
        };
        let (time, count) = (by(seconds), by(calls));
        let names: BTreeSet<&str> = seconds.iter().chain(calls).map(|row| row.routine.as_str()).collect();
        let row = |name: &str| {
            let at = |map: &BTreeMap<(String, u64), f64>, factor: f64| -> Vec<Option<f64>> {
                sizes.iter().map(|size| map.get(&(name.to_owned(), *size)).map(|figure| figure * factor)).collect()
            };
            let us_per_message = at(&time, 1e6);
            let known = || us_per_message.iter().flatten().copied();
            let (least, most) = (known().fold(f64::INFINITY, f64::min), known().fold(0.0, f64::max));
            let total_us = known().sum();
            Routine { name: name.to_owned(), calls_per_message: at(&count, 1.0), total_us, varies: most > least * VARIES, us_per_message }
        };
        let mut rows: Vec<Routine> = names.into_iter().map(row).collect();
        rows.sort_by(|a, b| b.total_us.total_cmp(&a.total_us));
        let sum_us = (0..sizes.len()).map(|place| rows.iter().filter_map(|row| row.us_per_message[place]).sum()).collect();
        let mut routines = Self { sizes, rows, sum_us, movers: Vec::new() };
        routines.movers = routines.movers_between(1_023, 1_024);
        routines
    }

    fn movers_between(&self, a: u64, b: u64) -> Vec<(String, f64)> {
        let place = |size: u64| self.sizes.iter().position(|known| *known == size);
        let (Some(a), Some(b)) = (place(a), place(b)) else { return Vec::new() };
        let moved = |row: &Routine| Some((row.name.clone(), row.us_per_message[a]? - row.us_per_message[b]?));
        let mut movers: Vec<(String, f64)> = self.rows.iter().filter_map(moved).collect();
        movers.sort_by(|x, y| y.1.abs().total_cmp(&x.1.abs()));
        movers
    }
}

/// Routines that one table has and the other has not.
pub fn inconsistencies(routines: &Routines) -> Vec<String> {
    let without = |of: fn(&Routine) -> &Vec<Option<f64>>| -> Vec<&str> {
        routines.rows.iter().filter(|row| of(row).iter().all(Option::is_none)).map(|row| row.name.as_str()).collect()
    };
    let (calls, seconds) = (without(|row| &row.calls_per_message), without(|row| &row.us_per_message));
    let both = calls.len() < routines.rows.len() && seconds.len() < routines.rows.len();
    let words =
        |names: Vec<&str>, what: &str| (both && !names.is_empty()).then(|| format!("the table of {what} lacks {}", names.join(", ")));
    [words(calls, "calls"), words(seconds, "seconds")].into_iter().flatten().collect()
}
