//! The rows that a table shows: of the view's kind, in its order, the small ones in one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use analysis::top::{CpuRow, Cpus, Rate, Row, RowKind, Snapshot};
use attribution::{Category, Layer};
use model::sorting::Order;

use super::columns::{CpuSort, Sort, reach};

/// Identity of a row while figures change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Id {
    /// A unit, a process or another row of those tables.
    Row(RowKind, String, Option<u32>),
    /// The rows below their own ±.
    Others,
    /// A CPU.
    Cpu(u32),
    /// A layer, or a kind of work in it.
    Work(Layer, Option<Category>),
}

/// A row of units or processes.
#[derive(Debug)]
pub struct TableRow<'a> {
    /// Its figures.
    pub row: Cow<'a, Row>,
    /// Number of rows in it, where it has several.
    pub others: Option<usize>,
}

impl TableRow<'_> {
    /// Its identity.
    pub fn id(&self) -> Id {
        match self.others {
            Some(_) => Id::Others,
            None => Id::Row(self.row.kind, self.row.name.clone(), self.row.pid),
        }
    }
}

/// A table of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Owners by unit.
    Units,
    /// Owners by process.
    Processes,
    /// Processes in whose time the work ran.
    Interrupted,
}

/// The rows of a table that are shown.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'v> {
    /// The table.
    pub table: Table,
    /// Of this unit alone.
    pub unit: Option<&'v str>,
    /// Rows below their own ± one by one.
    pub all: bool,
    /// Their order.
    pub sort: Sort,
}

/// The rows of units, processes or interrupted tasks.
pub fn payers<'a>(snapshot: &'a Snapshot, selection: &Selection<'_>) -> Vec<TableRow<'a>> {
    let all = match selection.table {
        Table::Units => &snapshot.units,
        Table::Processes => &snapshot.processes,
        Table::Interrupted => &snapshot.interrupted,
    };
    let in_unit = |row: &&Row| selection.unit.is_none() || row.unit.as_deref() == selection.unit;
    let all: Vec<&Row> = all.iter().filter(in_unit).collect();
    let is_small = |row: &Row| row.all.cpus < reach(&row.all);
    let small = all.iter().filter(|row| is_small(row)).count();
    let folds = small > 1 && !selection.all;
    let mut rows: Vec<TableRow<'_>> =
        all.iter().filter(|row| !folds || !is_small(row)).map(|row| TableRow { row: Cow::Borrowed(*row), others: None }).collect();
    let value = |shown: &TableRow<'_>| selection.sort.value(&shown.row).unwrap_or(f64::NEG_INFINITY);
    dearest(&mut rows, value);
    if folds {
        let others: Vec<&Row> = all.into_iter().filter(|row| is_small(row)).collect();
        rows.push(TableRow { row: Cow::Owned(merged(&others)), others: Some(others.len()) });
    }
    rows
}

/// The sum of rows, with the interval of the sum of independent counts.
fn merged(rows: &[&Row]) -> Row {
    let sum = |value: fn(&Row) -> f64| rows.iter().map(|row| value(row)).sum::<f64>();
    let hypot = |value: fn(&Row) -> f64| rows.iter().map(|row| value(row).powi(2)).sum::<f64>().sqrt();
    let rates = |value: fn(&Row) -> Option<[Rate; 2]>| {
        rows.iter()
            .filter_map(|row| value(row))
            .reduce(|a, b| [0, 1].map(|place| Rate { rate: a[place].rate + b[place].rate, half: a[place].half.hypot(b[place].half) }))
    };
    let mut parts = BTreeMap::new();
    rows.iter().flat_map(|row| &row.parts).for_each(|(key, cpus)| *parts.entry(*key).or_insert(0.0) += cpus);
    let cpus = sum(|row| row.all.cpus);
    let half = hypot(|row| reach(&row.all));
    Row {
        kind: RowKind::Unowned,
        name: "others".to_owned(),
        pid: None,
        unit: None,
        processes: 0,
        samples: rows.iter().map(|row| row.samples).sum(),
        all: Cpus { cpus, low: (cpus - half).max(0.0), high: cpus + half },
        call: sum(|row| row.call),
        softirq: sum(|row| row.softirq),
        softirq_met: sum(|row| row.softirq_met),
        busy: sum(|row| row.busy),
        messages: rates(|row| row.messages),
        bytes: rates(|row| row.bytes),
        drops: rows.iter().filter_map(|row| row.drops).reduce(|a, b| a + b),
        wait_ns: None,
        connections: rows.iter().filter_map(|row| row.connections).reduce(|a, b| a + b),
        parts,
    }
}

/// The order of CPUs: without samples by a figure that `/proc/stat` has.
pub fn cpu_sort(snapshot: &Snapshot, sort: CpuSort) -> CpuSort {
    match sort {
        CpuSort::Network | CpuSort::Ksoftirqd if snapshot.network.is_none() => CpuSort::Softirq,
        sort => sort,
    }
}

/// CPUs in an order.
pub fn cpus(snapshot: &Snapshot, sort: CpuSort) -> Vec<&CpuRow> {
    let sort = cpu_sort(snapshot, sort);
    let mut rows: Vec<&CpuRow> = snapshot.per_cpu.iter().collect();
    dearest(&mut rows, |row| sort.value(row));
    rows
}

/// Work of a layer, or of one kind in it, in CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// The layer.
    pub layer: Layer,
    /// The kind; `None`: all of the layer.
    pub category: Option<Category>,
    /// CPUs' worth.
    pub cpus: f64,
}

/// Layers with their kinds of work behind each, the dearest first: of all rows, or of a unit.
pub fn work(snapshot: &Snapshot, unit: Option<&str>) -> Vec<Work> {
    let mut layers: BTreeMap<Layer, BTreeMap<Category, f64>> = BTreeMap::new();
    for row in snapshot.units.iter().filter(|row| unit.is_none_or(|unit| row.kind == RowKind::Unit && row.name == unit)) {
        for ((layer, category), cpus) in &row.parts {
            *layers.entry(*layer).or_default().entry(*category).or_insert(0.0) += cpus;
        }
    }
    let mut layers: Vec<(Work, Vec<Work>)> = layers
        .into_iter()
        .map(|(layer, kinds)| {
            let all = Work { layer, category: None, cpus: kinds.values().sum() };
            let mut kinds: Vec<Work> = kinds.into_iter().map(|(category, cpus)| Work { category: Some(category), cpus, ..all }).collect();
            dearest(&mut kinds, |work| work.cpus);
            (all, kinds)
        })
        .collect();
    dearest(&mut layers, |(all, _)| all.cpus);
    layers.into_iter().flat_map(|(all, kinds)| [all].into_iter().chain(kinds)).collect()
}

/// Puts the largest first.
pub fn dearest<T>(rows: &mut [T], value: impl Fn(&T) -> f64) {
    rows.order_by(|a, b| value(b).total_cmp(&value(a)));
}

/// The last names of paths, each with as much of the path before it as sets it apart from the others.
pub fn short<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, &'a str> {
    const MOST_NAMES: usize = 6;
    let mut names = BTreeMap::new();
    let mut left: Vec<&str> = paths.collect();
    for count in 1..=MOST_NAMES {
        let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
        left.iter().for_each(|path| *seen.entry(tail(path, count)).or_insert(0) += 1);
        left.retain(|path| {
            let is_last = count == MOST_NAMES || seen.get(tail(path, count)) == Some(&1);
            if is_last {
                names.insert(*path, if count == MOST_NAMES { path } else { tail(path, count) });
            }
            !is_last
        });
    }
    names
}

/// The last names of a path; all of it where it has no more.
pub fn tail(path: &str, names: usize) -> &str {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rmatch_indices('/').nth(names - 1) {
        Some((place, _)) if !trimmed.is_empty() => &trimmed[place + 1..],
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::{short, tail};

    #[test]
    fn a_unit_has_its_last_name_and_as_much_more_as_sets_it_apart() {
        assert_eq!(
            [tail("/a/b.service", 1), tail("/a/b.service", 2), tail("/", 1), tail("", 1), tail("a/", 1)],
            ["b.service", "a/b.service", "/", "", "a/"]
        );
        let paths = ["/system.slice/nginx.service", "/pod1/web", "/pod2/web", "/web"];
        let names = short(paths.into_iter());
        assert_eq!(paths.map(|path| names[path]), ["nginx.service", "pod1/web", "pod2/web", "/web"]);
    }
}
