//! The rows of a series' tables.

use analysis::result::receipt::{Column, EndReceipt, ReceiptStudy, SeriesReceipt, SizeRow};
use attribution::{Bound, Figure, FunctionRow, Growth, Path, Receipt, Shape, SizeCell};

use super::{figure, words};
use crate::document::Entry;
use crate::number;

/// One row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// Its name.
    pub label: String,
    /// A part of a row above it.
    pub part: bool,
    /// A sum of others.
    pub sum: bool,
    /// A routine.
    pub is_routine: bool,
    /// Mark of its dependence on the size; empty: none is shown.
    pub mark: &'static str,
    /// The same of the calls of a routine.
    pub calls_mark: &'static str,
    /// One a column of the series; `None` where there is no figure.
    pub cells: Vec<Option<Entry>>,
    /// Its share of the CPU time, column by column; empty of what has none.
    pub shares: Vec<f64>,
}

impl Line {
    fn new(label: impl Into<String>, cells: Vec<Option<Entry>>) -> Self {
        Self { label: label.into(), cells, ..Self::default() }
    }

    fn of<K>(label: String, row: &SizeRow<K>) -> Self {
        let cells = row.cells.iter().map(|cell| Some(time(&cell.ns, Some(cell.share)))).collect();
        Self { mark: mark(row.growth), shares: row.cells.iter().map(|cell| cell.share).collect(), ..Self::new(label, cells) }
    }

    /// Returns whether it has at least this share at any size, or no share at all.
    pub fn is_at_least(&self, least: f64) -> bool {
        self.shares.is_empty() || self.shares.iter().any(|share| *share >= least)
    }

    /// Returns whether any column has anything.
    pub fn any(&self) -> bool {
        self.cells.iter().any(Option::is_some)
    }
}

/// ns per message, with its share of the CPU time.
fn time(figure: &Figure, share: Option<f64>) -> Entry {
    let title = format!("{} ns at 95 %", figure::time_range(figure, figure::ns));
    let share = share.map_or(String::new(), figure::share);
    Entry { value: figure::ns(figure.value), margin: figure::plus_minus(figure), share, title, ..Entry::default() }
}

fn plain(value: String) -> Entry {
    Entry { value, ..Entry::default() }
}

/// Categories, their part that touches payload, and their sum.
pub fn categories(series: &SeriesReceipt) -> Vec<Line> {
    let mut lines: Vec<Line> = series.categories.rows.iter().map(|row| Line::of(row.key.to_string(), row)).collect();
    lines.extend(whole(series));
    lines.push(Line { part: true, ..Line::of("touches payload".into(), &series.touching) });
    let growing = series.categories.growing.iter().zip(&series.columns);
    // The sum of no rows is -0.
    let growing = growing.map(|(ns, column)| (ns + 0.0, column.cpu.value));
    let growing = growing.map(|(ns, cpu)| Some(Entry { share: figure::share(ns / cpu), ..plain(figure::ns(ns)) }));
    lines.push(Line { part: true, ..Line::new("in rows that grow (↑)", growing.collect()) });
    lines
}

/// Layers, each with what it did for whom and where.
pub fn layers(series: &SeriesReceipt) -> Vec<Line> {
    let one = |row: &SizeRow<attribution::Layer>| {
        let paths = of_layer(series, row);
        let mut layer = Line::of(row.key.to_string(), row);
        if let [only] = paths.as_slice() {
            layer.label = format!("{}: {}", row.key, words::path(&only.key));
            return vec![layer];
        }
        let parts = paths.iter().map(|path| Line { part: true, ..Line::of(words::path(&path.key), path) });
        std::iter::once(layer).chain(parts).collect()
    };
    series.layers.rows.iter().flat_map(one).chain(whole(series)).collect()
}

/// Layers without their parts, and their sum.
pub fn layer_sums(series: &SeriesReceipt) -> Vec<Line> {
    series.layers.rows.iter().map(|row| Line::of(row.key.to_string(), row)).chain(whole(series)).collect()
}

/// The sum of some layers, in one row.
pub fn sum_of_layers(series: &SeriesReceipt, layers: &[attribution::Layer]) -> Line {
    let rows: Vec<_> = series.layers.rows.iter().filter(|row| layers.contains(&row.key)).collect();
    let of = |place: usize| {
        let cells = rows.iter().filter_map(|row| row.cells.get(place));
        let (ns, share) = cells.fold((0.0, 0.0), |(ns, share), cell| (ns + cell.ns.value, share + cell.share));
        Entry { share: figure::share(share), ..plain(figure::ns(ns)) }
    };
    Line::new("other rows", (0..series.columns.len()).map(|place| Some(of(place))).collect())
}

/// The work by the way of the message.
pub fn directions(series: &SeriesReceipt) -> Vec<Line> {
    let mut lines: Vec<Line> = series.directions.rows.iter().map(|row| Line::of(words::direction(row.key).into(), row)).collect();
    let bound = |of: fn(&Column) -> &Bound| series.columns.iter().map(|column| Some(rate(of(column)))).collect::<Vec<_>>();
    lines.push(Line::new("most messages/s", bound(|column| &column.bound)));
    lines.push(Line { part: true, ..Line::new("not acknowledging", bound(|column| &column.bound_without_acknowledgement)) });
    lines
}

fn rate(bound: &Bound) -> Entry {
    let ends = bound.interval.map(|ends| ends.map(|end| end.map_or("no limit".to_owned(), number::count)));
    let title =
        ends.map_or("no interval".to_owned(), |[low, high]| format!("{low} to {high} messages/s, {}", number::bits(bound.bits_per_s)));
    Entry { value: number::tight(&number::count(bound.messages_per_s)), margin: figure::plus_minus(&bound.ns), title, ..Entry::default() }
}

/// Whether the CPU time that no sample shows is a row of a series: where it is a hundredth of it at some size.
pub fn shows_unsampled(series: &SeriesReceipt) -> bool {
    series.columns.iter().any(|column| column.unsampled.is_some_and(|ns| ns.value >= 0.01 * column.cpu.value))
}

/// The CPU time that is in no row, and the whole.
fn whole(series: &SeriesReceipt) -> Vec<Line> {
    let unseen = |label: &str, of: fn(&Column) -> Option<Figure>| {
        let entry = |column: &Column| of(column).map(|ns| time(&ns, Some(ns.value / column.cpu.value)));
        Line::new(label, series.columns.iter().map(entry).collect())
    };
    let mut lines: Vec<Line> = Vec::new();
    lines.extend(shows_unsampled(series).then(|| unseen(figure::UNSAMPLED, |column| column.unsampled)));
    lines.push(unseen(figure::BILLED, |column| column.charged));
    let cpu = series.columns.iter().map(|column| Some(Entry { share: "100%".into(), ..time(&column.cpu, None) }));
    lines.push(Line { sum: true, ..Line::new("CPU time", cpu.collect()) });
    lines
}

/// The sums that can fail, and the figures next to them.
pub fn sums(study: &ReceiptStudy, series: &SeriesReceipt) -> Vec<Line> {
    let ends: Vec<&EndReceipt> = series.columns.iter().map(|column| study.cells[column.cell].end(series.role)).collect();
    let row = |label: &str, of: &dyn Fn(&Receipt) -> Option<Entry>| {
        Line::new(label, ends.iter().map(|end| end.outcome.receipt().and_then(of)).collect())
    };
    let ratio = |value: f64| plain(figure::ratio(value));
    let mut lines = vec![
        row(figure::BILLED, &|receipt| receipt.off_cpu.charged.map(|ns| time(&ns, Some(ns.value / receipt.cpu.value)))),
        row("ready, no CPU", &|receipt| receipt.off_cpu.runnable.map(|ns| time(&ns, None))),
        row("asleep", &|receipt| receipt.off_cpu.blocked.map(|ns| time(&ns, None))),
        Line { sum: true, ..row("wall time", &|receipt| Some(time(&receipt.wall, None))) },
        row("CPU+waits / wall", &|receipt| receipt.closure.wall.map(ratio)),
        row("... of wait passes", &|receipt| receipt.closure.own.map(ratio)),
        row("sampled / on-CPU", &|receipt| receipt.closure.sampler.map(|sampler| ratio(sampler.value))),
        row("billed / probe", &|receipt| receipt.closure.billed.map(|billed| ratio(billed.ratio.value))),
        row("idle softirq, in no row", &|receipt| receipt.off_cpu.idle_softirq.map(|ns| time(&ns, None))),
        row("others on its CPUs", &|receipt| match receipt.off_cpu.others_unknown {
            true => Some(plain("unknown".to_owned())),
            false => receipt.off_cpu.others.map(|share| plain(figure::share(share))),
        }),
        row(figure::SAMPLED, &|receipt| observer(receipt, true)),
        row("time pass / clean pass", &|receipt| observer(receipt, false)),
        row("samples", &|receipt| Some(plain(number::whole(receipt.sampling.samples)))),
    ];
    let unsampled = |end: &&EndReceipt| end.unsampled_threads_ns.map(|ns| plain(figure::ns(ns)));
    lines.push(Line::new("ksoftirqd, in no row", ends.iter().map(unsampled).collect()));
    lines.retain(Line::any);
    lines
}

/// The cost of sampling an end, by slices or by passes.
pub fn observers(study: &ReceiptStudy, series: &SeriesReceipt) -> Line {
    let receipt = |column: &Column| study.cells[column.cell].end(series.role).outcome.receipt();
    let entry = |column: &Column| receipt(column)?.observer.as_ref().map(|observer| of_estimate(&observer.ratio));
    Line::new(figure::SAMPLED, series.columns.iter().map(entry).collect())
}

/// The same, if it is by slices, or if it is by passes.
fn observer(receipt: &Receipt, by_slices: bool) -> Option<Entry> {
    receipt.observer.as_ref().filter(|observer| observer.no_slices.is_none() == by_slices).map(|observer| of_estimate(&observer.ratio))
}

fn of_estimate(estimate: &analysis::result::Estimate) -> Entry {
    let title = crate::interval::range(estimate, figure::ratio);
    Entry { value: figure::ratio(estimate.value), margin: crate::interval::plus_minus(estimate), title, ..Entry::default() }
}

/// Routines, each with its calls below its time.
pub fn routines(rows: &[FunctionRow]) -> Vec<Line> {
    let cell = |cell: &SizeCell| {
        let calls = cell.calls.map_or("-".to_owned(), |calls| figure::calls(calls.value));
        let entry = time(&cell.ns, None);
        Some(Entry { margin: if cell.ns.value == 0.0 { String::new() } else { entry.margin }, calls, ..entry })
    };
    let line = |row: &FunctionRow| Line {
        is_routine: true,
        mark: mark(row.time),
        calls_mark: mark(row.calls),
        shares: row.cells.iter().map(|cell| cell.share).collect(),
        ..Line::new(row.function.as_str(), row.cells.iter().map(cell).collect())
    };
    rows.iter().map(line).collect()
}

/// The mark of a row that depends on the size.
const fn mark(growth: Option<Growth>) -> &'static str {
    match growth {
        Some(Growth { shape: Shape::Grows, .. }) => "↑",
        Some(Growth { shape: Shape::Falls, .. }) => "↓",
        Some(Growth { shape: Shape::Varies, .. }) => "~",
        Some(Growth { shape: Shape::NotShown, .. }) | None => "",
    }
}

/// The paths of one layer, the costliest first.
fn of_layer<'a>(series: &'a SeriesReceipt, row: &SizeRow<attribution::Layer>) -> Vec<&'a SizeRow<Path>> {
    series.paths.rows.iter().filter(|path| path.key.layer == row.key).collect()
}
