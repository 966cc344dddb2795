//! Tables 5 and 7: seconds and calls of the kernel's routines on TCP's send path.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::read::csv::RoutineRow;
use crate::statement::{Ruling, Statement};

/// Messages of each test in the tables.
const MESSAGES: f64 = 10_000.0;

/// A routine whose dearest size costs more than this times its cheapest varies with size.
const VARIES: f64 = 1.5;

/// Routines that move data from one place to another.
const COPYING: [&str; 4] = ["m_copy", "uiomove", "Copyin", "if_wubaput"];
/// Routines that sum.
const SUMMING: [&str; 2] = ["tcp_cksum", "in_cksum"];

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

    fn sum_at(&self, size: u64) -> Option<f64> {
        self.sum_us.get(self.sizes.iter().position(|known| *known == size)?).copied()
    }

    fn row(&self, name: &str) -> Option<&Routine> {
        self.rows.iter().find(|row| row.name == name)
    }

    fn of_names(&self, names: &[&str], size: u64) -> Option<f64> {
        let place = self.sizes.iter().position(|known| *known == size)?;
        names.iter().map(|name| self.row(name)?.us_per_message[place]).sum()
    }
}

const ABOUT: &str = "TCP send path, VAX 11/750";

/// The paper's statements on its routines, with their rulings.
pub fn statements(routines: &Routines) -> Vec<Statement> {
    let all = [
        movers(routines),
        costliest(routines),
        dearer(routines),
        buffers(routines),
        segments(routines),
        copying(routines),
        constant(routines),
    ];
    all.into_iter().flatten().collect()
}

/// True where the first names are these, in this order.
fn in_order(id: &str, says: &str, found: &[(String, f64)], names: &[&str]) -> Option<Statement> {
    let first = found.get(..names.len())?;
    let holds = first.iter().map(|(name, _)| name.as_str()).eq(names.iter().copied());
    let words: Vec<String> = first.iter().map(|(name, us)| format!("{name} {us:.0} µs")).collect();
    let statement = Statement::decided(id, ABOUT, says, holds);
    Some(statement.found(words.join(", "), first.iter().map(|(_, us)| *us)).rule("they are the first, in this order"))
}

fn movers(routines: &Routines) -> Option<Statement> {
    let says = "between 1,023 and 1,024 B those routines move most that handle buffers: m_copy, sosend, if_wubaput, uiomove";
    in_order("movers", says, &routines.movers, &["m_copy", "sosend", "if_wubaput", "uiomove"])
}

fn costliest(routines: &Routines) -> Option<Statement> {
    let found: Vec<(String, f64)> = routines.rows.iter().map(|row| (row.name.clone(), row.total_us)).collect();
    let says = "over all sizes these cost most: m_copy, sosend, tcp_cksum, if_wubaput, tcp_output";
    in_order("costliest", says, &found, &["m_copy", "sosend", "tcp_cksum", "if_wubaput", "tcp_output"])
}

/// 1,023 bytes cost 60 % more than 1,024.
fn dearer(routines: &Routines) -> Option<Statement> {
    const STATED: f64 = 60.0;
    let (less, page) = (routines.sum_at(1_023)?, routines.sum_at(1_024)?);
    let excess = (less / page - 1.0) * 100.0;
    // What both sizes would have to cost besides for the statement to hold.
    let rest = (less - (1.0 + STATED / 100.0) * page) / (STATED / 100.0);
    let ruling = match excess - STATED {
        apart if apart.abs() <= 5.0 => Ruling::Confirmed,
        apart if apart > 0.0 => Ruling::NotDecidable,
        _ => Ruling::NotConfirmed,
    };
    let found = format!(
        "the rows sum to {less:.0} and {page:.0} µs per message: {excess:.0} % more; what they leave out would have to cost {rest:.0} µs at both sizes for 60 %"
    );
    let statement = Statement::ruled("dearer", ABOUT, "a message of 1,023 B costs 60 % more than one of 1,024 B", ruling);
    let statement = statement.found(found, [excess, rest]);
    Some(statement.rule("confirmed within 5 points; as the rows are not the whole kernel, more leaves it undecided and less refutes it"))
}

/// The buffer scheme: a buffer a call of uiomove.
fn buffers(routines: &Routines) -> Option<Statement> {
    let uiomove = routines.row("uiomove")?;
    let calls = |size: u64| uiomove.calls_per_message[routines.sizes.iter().position(|known| *known == size)?];
    let counts = [calls(112)?, calls(113)?, calls(1_023)?, calls(1_024)?];
    let holds = counts.map(f64::round) == [1.0, 2.0, 10.0, 1.0];
    let found = format!(
        "uiomove is called {:.1} times at 112 B, {:.1} at 113, {:.1} at 1,023 and {:.1} at 1,024 B",
        counts[0], counts[1], counts[2], counts[3]
    );
    let statement = Statement::decided(
        "buffers",
        ABOUT,
        "the buffer scheme explains the jumps: 112 bytes a buffer, and a page at once from 1,024 B on",
        holds,
    );
    Some(statement.found(found, counts).rule("one call a buffer: ⌈bytes / 112⌉ below 1,024 B and one at it, to the nearest whole call"))
}

/// Segments hold 1,024 bytes.
fn segments(routines: &Routines) -> Option<Statement> {
    let output = routines.row("ip_output")?;
    let calls = |size: u64| output.calls_per_message[routines.sizes.iter().position(|known| *known == size)?];
    let (one, two) = (calls(1_024)?, calls(1_025)?);
    let statement =
        Statement::decided("segments", ABOUT, "a message beyond 1,024 B takes two segments", one.round() == 1.0 && two.round() == 2.0);
    let statement = statement.found(format!("ip_output is called {one:.2} times a message at 1,024 B and {two:.2} at 1,025 B"), [one, two]);
    Some(statement.rule("one packet a message at 1,024 B and two at 1,025 B, to the nearest whole packet"))
}

/// Copying dominates TCP.
fn copying(routines: &Routines) -> Option<Statement> {
    let sizes: Vec<u64> = routines.sizes.iter().copied().filter(|size| *size >= 1_000).collect();
    let shares: Option<Vec<(u64, f64, f64)>> = sizes
        .iter()
        .map(|size| {
            let sum = routines.sum_at(*size)?;
            Some((*size, routines.of_names(&COPYING, *size)? / sum * 100.0, routines.of_names(&SUMMING, *size)? / sum * 100.0))
        })
        .collect();
    let shares = shares.filter(|shares| !shares.is_empty())?;
    let found: Vec<String> =
        shares.iter().map(|(size, copying, summing)| format!("{size} B: {copying:.0} %, checksums {summing:.0} %")).collect();
    let statement =
        Statement::decided("copying", ABOUT, "copying dominates TCP", shares.iter().all(|(_, copying, summing)| copying > summing));
    let statement = statement
        .found(format!("{} of all rows: {}", COPYING.join(" + "), found.join("; ")), shares.iter().map(|(_, copying, _)| *copying));
    Some(statement.rule("what copies costs more than what sums at every size of 1,000 B and more"))
}

/// Rows that are constant.
fn constant(routines: &Routines) -> Option<Statement> {
    let names: Vec<&str> = routines.rows.iter().filter(|row| !row.varies).map(|row| row.name.as_str()).collect();
    let holds = ["syscall", "write", "tcp_usrreq"].iter().all(|name| names.contains(name));
    (!routines.rows.is_empty()).then(|| {
        Statement::decided(
            "constant",
            ABOUT,
            "what serves the call as such costs the same at every size: syscall, write, tcp_usrreq",
            holds,
        )
        .found(format!("{} of {} rows do: {}", names.len(), routines.rows.len(), names.join(", ")), [names.len() as f64])
        .rule(format!("the dearest size of each costs no more than {VARIES} times its cheapest"))
    })
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
