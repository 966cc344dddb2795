//! CSV for analysis: one row for each cell and metric, one column for each factor.
//!
//! A row has, in this order: [`CSV_FORMAT`], the run and where it was measured, the cell (its place in the
//! plan, its series in words, a column for every factor, the arm), the metric with
//! its unit, and the figure with its interval. `docs/format.md` lists the columns
//! and the metrics, `docs/analysis.md` shows how to read them.
//!
//! Quantities are plain numbers in bytes, nanoseconds, bits or messages per second;
//! what does not apply, is not known or is not a number is empty. Text that a
//! spreadsheet would take for a formula stands behind an apostrophe.

use std::fmt;

use analysis::result::buffers::BufferCell;
use analysis::result::fleet::{Change, HostChange, Square};
use analysis::result::receipt::CellReceipt;
use analysis::result::{Analysis, ArmVerdict, CellResult, Estimate, Latency, Metric};
use analysis::table::TrialTable;
use analysis::verdict::MetricComparison;
use attribution::{Figure, Receipt, Row};
use model::cell::Value;
use model::host::HostFacts;
use model::plan::{Factor, Group, Link, Member};
use model::woven::{SAMPLED, Slice};
use model::{Cell, OfferedRate, Run};

use crate::{interval, origin};

/// Version of the table, in its first column. Tables without the column are version 1.
pub const CSV_FORMAT: u32 = 1;

/// Confidence of every interval of a receipt.
const CONFIDENCE: f64 = 0.95;

/// A column and its meaning.
type Column = (&'static str, &'static str);

/// Columns of a table that name the run and the cell, before those of the factors.
const FIRST: [Column; 9] = [
    ("format", "Version of the table."),
    ("run", "Name of the run."),
    ("started", "Time at which the run began, in UTC."),
    ("nettoll", "Version of nettoll that measured it."),
    ("kernel", "Kernel release of the hosts."),
    ("cpu", "CPU model of the hosts."),
    ("machine", "Hardware of the hosts, by which `nettoll history` distinguishes machines."),
    ("cell", "Index of the cell in the plan, from 0."),
    ("series", "Name of the cell without its message size."),
];

/// Columns after those of the factors.
const LAST: [Column; 9] = [
    ("arm", "Name of the arm; empty without arms."),
    ("metric", "Name of the metric."),
    ("unit", "Its unit: `ns`, `bit/s`, `1/s`, `B` (bytes), `share` (1 is all), `ratio` or `count`."),
    ("value", "The figure; empty when it is not a number."),
    ("low", "Lower end of its interval; empty when there is none."),
    ("high", "Upper end of its interval; empty when there is none."),
    ("confidence", "Confidence that the interval attains, 0 to 1."),
    (
        "method",
        "Method of the interval: `order_statistics`, `block_bootstrap`, `randomisation`, `welch`, `student`, `simulated`, or `lower_bound`.",
    ),
    ("n", "Trials (or blocks, or transactions) behind the figure."),
];

/// A column that holds a part of a factor as a plain number or word, or what is no factor.
type Part = (Column, fn(&Cell) -> Field);

/// Columns of parts, after those of the factors.
const PARTS: [Part; 6] = [
    (("rate_unit", "Unit of the rate: `bit/s` or `1/s` (messages)."), |cell| {
        Field::from(cell.rate.map(|rate| if matches!(rate, OfferedRate::Bits(_)) { "bit/s" } else { "1/s" }))
    }),
    (("load_sender", "Units of host load at the sender."), |cell| Field::from(cell.conditions.load.sender)),
    (("load_receiver", "Units of host load at the receiver."), |cell| Field::from(cell.conditions.load.receiver)),
    (("link_load_pairs", "Pairs of other hosts on the link."), |cell| Field::from(cell.conditions.link_load.pairs)),
    (("link_load_rate", "Bits per second of each pair; empty if unlimited."), |cell| {
        Field::from(cell.conditions.link_load.rate.map(model::BitRate::get))
    }),
    (("mix", "Name of the mix of sizes; empty where all messages have one size."), |cell| {
        Field::from(cell.mix.as_ref().map(|mix| mix.name.as_str()))
    }),
];

/// One field of a table as it is written; empty where it is unknown, without meaning, or not a number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Field(pub(super) String);

impl From<f64> for Field {
    fn from(number: f64) -> Self {
        Self(if number.is_finite() { number.to_string() } else { String::new() })
    }
}

impl From<u64> for Field {
    fn from(number: u64) -> Self {
        Self(number.to_string())
    }
}

impl From<u32> for Field {
    fn from(number: u32) -> Self {
        Self(number.to_string())
    }
}

impl From<bool> for Field {
    fn from(flag: bool) -> Self {
        Self(flag.to_string())
    }
}

impl From<&str> for Field {
    fn from(words: &str) -> Self {
        // What spreadsheets take for the start of a formula.
        let is_formula = words.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
        Self(if is_formula { format!("'{words}") } else { words.to_owned() })
    }
}

impl<T: Into<Self>> From<Option<T>> for Field {
    fn from(field: Option<T>) -> Self {
        field.map_or_else(Self::default, Into::into)
    }
}

/// A table as it is written: names first, lines that end with `\n`.
pub(crate) struct Sheet(csv::Writer<Vec<u8>>);

impl Sheet {
    /// Starts a table with the names of its columns.
    pub(crate) fn new(names: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let mut table = csv::Writer::from_writer(Vec::new());
        // Writing to memory does not fail, and every row has as many fields as the header.
        let _ = table.write_record(names);
        Self(table)
    }

    /// Starts rows that follow those of another table.
    pub(crate) fn of_rows() -> Self {
        Self(csv::Writer::from_writer(Vec::new()))
    }

    /// Adds a row with a field for every column.
    pub(crate) fn row<'a>(&mut self, fields: impl IntoIterator<Item = &'a Field>) {
        let _ = self.0.write_record(fields.into_iter().map(|field| &field.0));
    }

    /// Returns the table.
    pub(crate) fn finish(self) -> String {
        self.0.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }
}

/// Returns the names of all columns in their order, each with its meaning.
pub fn columns() -> impl Iterator<Item = (String, &'static str)> {
    let named = |(name, meaning): Column| (name.to_owned(), meaning);
    let factors = Factor::ALL.iter().map(|factor| (factor.column(), factor.meaning()));
    FIRST
        .into_iter()
        .map(named)
        .chain(factors)
        .chain(PARTS.into_iter().map(move |(column, _)| named(column)))
        .chain(LAST.into_iter().map(named))
}

/// Returns the table of an analysis, with a line of names first.
pub fn render(analysis: &Analysis) -> String {
    let mut sheet = Sheet::new(columns().map(|(name, _)| name));
    for part in [of_cells, of_studies, of_fleet, of_buffers, of_verdicts, of_receipts] {
        for (key, rows) in part(analysis) {
            let first = key.fields(analysis);
            for (metric, figures) in rows {
                sheet.row(first.iter().chain(&figures.fields(&metric)));
            }
        }
    }
    sheet.finish()
}

/// The cell that rows are of.
struct Key<'a> {
    /// Its place in the plan; `None` of a cell that the plan lacks.
    place: Option<usize>,
    /// The cell as run.
    cell: &'a Cell,
    /// The arm; `None` of a study without arms.
    arm: Option<&'a str>,
}

/// Rows of one cell: metric and figures of each.
type Rows<'a> = (Key<'a>, Vec<(String, Figures)>);

impl Key<'_> {
    fn fields(&self, analysis: &Analysis) -> Vec<Field> {
        self.of_run(&analysis.run, &analysis.hosts)
    }

    fn of_run(&self, run: &Run, hosts: &[HostFacts]) -> Vec<Field> {
        let origin = origin::facts(run, hosts).map(|(_, fact)| Field::from(fact.as_str()));
        let first = std::iter::once(Field::from(CSV_FORMAT))
            .chain(origin)
            .chain([Field::from(self.place.map(|place| place as u64)), Field::from(self.cell.series().to_string().as_str())]);
        let factors = Factor::ALL.iter().map(|factor| level(*factor, self.cell, &run.plan.link));
        let parts = PARTS.iter().map(|(_, value)| value(self.cell));
        first.chain(factors).chain(parts).chain([Field::from(self.arm)]).collect()
    }
}

/// Rows of a piece of [`trials`].
pub(crate) const PIECE: usize = 1_000;

/// Columns of a trial between those of its cell and its metrics.
const OF_TRIAL: [Column; 3] = [
    ("block", "Block that the trial belongs to, from 0."),
    ("swapped", "Whether the hosts' roles were exchanged."),
    ("disturbed", "Whether something on the machine disturbed it."),
];

/// Returns the names of the columns of [`trials`].
pub fn trial_columns() -> impl Iterator<Item = String> {
    let cell = columns().map(|(name, _)| name).take_while(|name| name != "metric");
    let of_trial = OF_TRIAL.into_iter().map(|(name, _)| name.to_owned());
    cell.chain(of_trial).chain(Metric::ALL.iter().map(|metric| metric.name().to_owned()))
}

/// Tells `out` the trials of a run as a table: a row for each that was measured, a column for
/// each metric, and where `names` is set a line of their names first. It comes in pieces of whole
/// lines: a run may have a million trials. A median over the trials of a cell is the figure of
/// [`render`].
///
/// # Errors
/// The first of `out`.
pub fn trials<E>(
    run: &Run,
    hosts: &[HostFacts],
    table: &TrialTable,
    names: bool,
    mut out: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    if names {
        out(&Sheet::new(trial_columns()).finish())?;
    }
    for (arm, name) in table.arm_names().into_iter().enumerate() {
        for (place, cell) in table.arm(arm).iter().enumerate() {
            let first = Key { place: Some(place), cell: &cell.cell, arm: name }.of_run(run, hosts);
            for some in cell.figures.chunks(PIECE) {
                let mut sheet = Sheet::of_rows();
                for trial in some {
                    let of_trial = [Field::from(trial.block), Field::from(trial.swapped), Field::from(trial.disturbed)];
                    let metrics: Vec<Field> = Metric::ALL.iter().map(|metric| Field::from(trial.get(*metric))).collect();
                    sheet.row(first.iter().chain(&of_trial).chain(&metrics));
                }
                out(&sheet.finish())?;
            }
        }
    }
    Ok(())
}

/// Tells `out` the instances of a woven group as a table: a row for each slice of each member, in the order of time,
/// and where `names` is set a line of their names first. `place` is the group's in the plan.
///
/// # Errors
/// The first of `out`.
pub fn slices<'a, E>(
    (run, hosts): (&Run, &[HostFacts]),
    place: usize,
    group: &Group,
    instances: impl IntoIterator<Item = (u32, &'a [Slice])>,
    names: bool,
    mut out: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    if names {
        out(&Sheet::new(slice_columns()).finish())?;
    }
    let member = |(state, member): (usize, &Member)| {
        let cell = &run.plan.cells[member.cell];
        let as_run = run.plan.cell_in(cell, member.arm).unwrap_or_else(|_| cell.clone());
        let arm = run.plan.arms.get(member.arm).map(|arm| arm.name.clone());
        // The ends of a receipt are those of one arm, of which one or none is sampled.
        let sampled = run.plan.receipt.and_then(|_| {
            let role = SAMPLED.get(state)?;
            Some(role.map_or_else(|| "not sampled".to_owned(), |role| format!("{role} sampled")))
        });
        let arm = arm.into_iter().chain(sampled).reduce(|arm, state| format!("{arm}, {state}"));
        Key { place: Some(member.cell), cell: &as_run, arm: arm.as_deref() }.of_run(run, hosts)
    };
    let members: Vec<Vec<Field>> = group.members.iter().enumerate().map(member).collect();
    for (instance, slices) in instances {
        let mut sheet = Sheet::of_rows();
        for slice in slices {
            let Some(first) = members.get(slice.arm as usize) else { continue };
            let numbers: Vec<Field> = slice.numbers().into_iter().skip(1).map(Field::from).collect();
            sheet.row(first.iter().chain(&[Field::from(place as u32), Field::from(instance)]).chain(&numbers));
        }
        out(&sheet.finish())?;
    }
    Ok(())
}

/// Returns the names of the columns of [`slices`]: the arm has its name in place of its number.
fn slice_columns() -> impl Iterator<Item = String> {
    let cell = columns().map(|(name, _)| name).take_while(|name| name != "metric");
    cell.chain(["group", "instance"].into_iter().chain(Slice::FIELDS.into_iter().skip(1)).map(str::to_owned))
}

/// The level of a factor in a cell; what the cell leaves to the link is the link's.
pub(crate) fn level(factor: Factor, cell: &Cell, link: &Link) -> Field {
    let of_link = || match factor {
        Factor::Link => Some(Value::Text(link.kind.to_string())),
        _ => factor.offload().and_then(|offload| link.offloads.get(&offload).copied()).map(Value::Switch),
    };
    match factor.value(cell).or_else(of_link) {
        None => Field::default(),
        Some(Value::Number(number)) => number.into(),
        Some(Value::Switch(on)) => on.into(),
        Some(Value::Text(text)) => text.as_str().into(),
    }
}

/// Returns what a fleet says of its hosts and of each direction of its pairs.
fn of_fleet(analysis: &Analysis) -> Vec<Rows<'_>> {
    let Some(fleet) = analysis.fleet() else { return Vec::new() };
    let mut all = Vec::new();
    for figure in &fleet.figures {
        let Some(key) = analysis.cells.iter().position(|cell| cell.cell == figure.cell).and_then(|place| key(analysis, place, None)) else {
            continue;
        };
        let name = |host: usize| fleet.hosts[host].name.as_str();
        let ratio = |role: &str, host: usize, change: &Change| {
            let interval = change.interval.map(|ends| (ends.map(|end| 1.0 + end), CONFIDENCE, "simulated"));
            let figures = Figures { value: 1.0 + change.change, interval, lower_bound: false, n: change.n };
            (format!("{role}_{}_{}_ratio", name(host), figure.metric), figures)
        };
        let of_host = |host: &HostChange| {
            [("host", &host.both), ("sender", &host.sender), ("receiver", &host.receiver)]
                .map(|(role, change)| ratio(role, host.host, change))
        };
        let of_pair = |square: &Square| {
            let figures = Figures { value: square.value, interval: None, lower_bound: false, n: square.n };
            (format!("from_{}_to_{}_{}", name(square.sender), name(square.receiver), figure.metric), figures)
        };
        all.push((key, figure.hosts.iter().flat_map(of_host).chain(figure.matrix.iter().map(of_pair)).collect()));
    }
    all
}

/// Returns the metrics of every cell, arm by arm.
fn of_cells(analysis: &Analysis) -> Vec<Rows<'_>> {
    let arms = analysis
        .arms()
        .iter()
        .flat_map(|arm| arm.cells.iter().enumerate().map(move |(place, cell)| (place, cell, Some(arm.name.as_str()))));
    let base = analysis.cells.iter().enumerate().map(|(place, cell)| (place, cell, baseline(analysis)));
    base.chain(arms).map(|(place, cell, arm)| (Key { place: Some(place), cell: &cell.cell, arm }, metrics(cell))).collect()
}

/// The arm that [`Analysis::cells`] are of; `None` of a study without arms.
fn baseline(analysis: &Analysis) -> Option<&str> {
    analysis.run.plan.arms.first().map(|arm| arm.name.as_str())
}

/// Returns the key of a cell of the plan in an arm; `None` where the analysis lacks it.
fn key<'a>(analysis: &'a Analysis, place: usize, arm: Option<&'a str>) -> Option<Key<'a>> {
    let cells = analysis.arms().iter().find(|known| arm == Some(known.name.as_str())).map_or(&analysis.cells, |known| &known.cells);
    Some(Key { place: Some(place), cell: &cells.get(place)?.cell, arm })
}

/// Returns what levels and counts add to their cells.
fn of_studies(analysis: &Analysis) -> Vec<Rows<'_>> {
    let mut rows = Vec::new();
    let mut add = |place: usize, metric: String, estimate: Estimate| {
        rows.extend(key(analysis, place, baseline(analysis)).map(|key| (key, vec![(metric, Figures::from(estimate))])));
    };
    for factor in analysis.levels().into_iter().flat_map(|study| &study.factors) {
        for level in factor.series.iter().flat_map(|series| series.levels.iter().skip(1)) {
            for (compared, figure) in &level.figures {
                let kind = if compared.is_difference() { "difference" } else { "ratio" };
                let name = format!("{}_{}_{kind}", factor.factor.column(), compared.name());
                let known = level.cells.iter().zip(&figure.by_size).filter_map(|(place, figure)| Some(((*place)?, figure.against_base?)));
                known.for_each(|(place, estimate)| add(place, name.clone(), estimate));
            }
        }
    }
    for count in analysis.repetitions().into_iter().flat_map(|study| &study.series).flat_map(|series| &series.counts) {
        let figures = [("total_ns", count.total_ns), ("spread_share", count.spread)];
        figures.into_iter().for_each(|(metric, figure)| figure.into_iter().for_each(|figure| add(count.cell, metric.to_owned(), figure)));
    }
    rows
}

fn metrics(cell: &CellResult) -> Vec<(String, Figures)> {
    let known = Metric::ALL.iter().filter_map(|metric| Some((metric.name().to_owned(), Figures::from(*cell.metrics.get(metric)?))));
    let times = [
        ("round_trip", &cell.latency),
        ("uncorrected", &cell.uncorrected),
        ("lateness", &cell.lateness),
        ("beyond_least", &cell.beyond_least),
    ];
    known.chain(times.into_iter().flat_map(|(name, times)| times.iter().flat_map(|times| latency(name, times)))).collect()
}

/// Returns what a map of buffers says of its cells beyond their metrics.
fn of_buffers(analysis: &Analysis) -> Vec<Rows<'_>> {
    let figures = |cell: &BufferCell, n: usize| {
        let plain = |value: f64| Estimate { value, interval: None, n };
        let known = [
            ("segments_in_flight", cell.in_flight.map(plain)),
            ("segments_per_ack", cell.segments_per_ack.map(plain)),
            ("wire_bit_per_s", cell.wire_bit_per_s.map(plain)),
            ("model_bit_per_s", cell.predicted.map(|model| plain(model.bit_per_s))),
            ("goodput_over_model", cell.predicted.map(|model| model.ratio)),
        ];
        known.into_iter().filter_map(|(name, figure)| Some((name.to_owned(), Figures::from(figure?)))).collect()
    };
    let row = |(place, cell): (usize, &CellResult)| {
        let known = analysis.buffers().iter().find_map(|map| map.place_of(&cell.cell).map(|place| &map.cells[place]))?;
        Some((key(analysis, place, baseline(analysis))?, figures(known, cell.trials)))
    };
    analysis.cells.iter().enumerate().filter_map(row).collect()
}

/// Returns the ratio of every arm to the baseline, cell by cell.
fn of_verdicts(analysis: &Analysis) -> Vec<Rows<'_>> {
    let row = |verdict: &ArmVerdict, place: usize| {
        let ratio = |metric: &MetricComparison| {
            let ratio = metric.comparison.cells.get(place)?.ratio?;
            Some((format!("{}_over_baseline", metric.metric), Figures::from(ratio)))
        };
        verdict.compared.metrics.iter().filter_map(ratio).collect::<Vec<_>>()
    };
    let places = 0..analysis.cells.len();
    let rows = analysis.verdicts().iter().flat_map(|verdict| places.clone().map(move |place| (verdict, place)));
    rows.filter_map(|(verdict, place)| Some((key(analysis, place, Some(&verdict.candidate))?, row(verdict, place)))).collect()
}

fn latency(name: &str, latency: &Latency) -> Vec<(String, Figures)> {
    let mut rows: Vec<_> = latency
        .percentiles
        .iter()
        .map(|entry| {
            let figures = Figures::from(entry.estimate);
            let figures = if entry.at_least { Figures { lower_bound: true, ..figures } } else { figures };
            (format!("merged_{name}_p{}_ns", entry.percent.to_string().replace('.', "_")), figures)
        })
        .collect();
    let counted = if matches!(name, "round_trip" | "uncorrected") { "transactions" } else { "messages" };
    let missing = (latency.missing > 0).then_some(("missing", latency.missing));
    for (what, value) in
        [("min_ns", latency.min_ns), ("max_ns", latency.max_ns), (counted, latency.transactions)].into_iter().chain(missing)
    {
        let n = usize::try_from(latency.transactions).unwrap_or(usize::MAX);
        rows.push((format!("merged_{name}_{what}"), Figures::from(Estimate { value: value as f64, interval: None, n })));
    }
    rows
}

/// A figure as a row has it.
struct Figures {
    value: f64,
    /// Low and high end, confidence and method.
    interval: Option<([f64; 2], f64, &'static str)>,
    /// The value is a lower bound.
    lower_bound: bool,
    n: usize,
}

impl From<Estimate> for Figures {
    fn from(estimate: Estimate) -> Self {
        let interval = estimate.interval.map(|ends| ([ends.low, ends.high], ends.confidence, interval::method_name(ends.method)));
        Self { value: estimate.value, interval, lower_bound: false, n: estimate.n }
    }
}

impl Figures {
    /// Returns the fields from the metric on.
    fn fields(&self, metric: &str) -> [Field; 8] {
        let bound = self.lower_bound.then_some(self.value);
        [
            metric.into(),
            unit(metric).into(),
            self.value.into(),
            self.interval.map(|(ends, ..)| ends[0]).or(bound).into(),
            self.interval.map(|(ends, ..)| ends[1]).into(),
            self.interval.map(|(_, confidence, _)| confidence).into(),
            self.interval.map(|(.., method)| method).or(bound.map(|_| "lower_bound")).into(),
            (self.n as u64).into(),
        ]
    }
}

/// The unit of a metric, which the end of its name tells.
pub(crate) fn unit(metric: &str) -> &'static str {
    let ends = [
        ("_bit_per_s", "bit/s"),
        ("_per_s", "1/s"),
        ("_ns", "ns"),
        ("_bytes", "B"),
        ("_share", "share"),
        ("_difference", "share"),
        ("_ratio", "ratio"),
        ("_over_baseline", "ratio"),
        ("_over_model", "ratio"),
    ];
    ends.into_iter().find(|(end, _)| metric.ends_with(end)).map_or("count", |(_, unit)| unit)
}

/// Returns what the receipts of every cell say: `sender_category_data-movement_ns`,
/// `receiver_layer_tcp_ns`, `sender_charged_ns`, ...
fn of_receipts(analysis: &Analysis) -> Vec<Rows<'_>> {
    let row = |receipts: &'_ CellReceipt| -> Vec<(String, Figures)> { receipts.receipts().flat_map(of_receipt).collect() };
    let cells = analysis.receipt().into_iter().flat_map(|study| &study.cells);
    let keyed = cells.map(|receipts| {
        let arm = receipts.arm.as_deref();
        let place = analysis.run.plan.cells.iter().position(|cell| *cell == receipts.cell);
        let known = place.and_then(|place| key(analysis, place, arm));
        (known.unwrap_or(Key { place, cell: &receipts.cell, arm }), row(receipts))
    });
    keyed.collect()
}

fn of_receipt(receipt: &Receipt) -> Vec<(String, Figures)> {
    let figure = |what: &str, figure: &Figure| {
        let interval = figure.interval.map(|ends| (ends, CONFIDENCE, "student"));
        (format!("{}_{what}_ns", receipt.role), Figures { value: figure.value, interval, lower_bound: false, n: receipt.sampling.passes })
    };
    let mut rows: Vec<(String, Figures)> = Vec::new();
    rows.extend(kind("category", &receipt.rows.categories).map(|(key, ns)| figure(&key, &ns)));
    rows.extend(kind("layer", &receipt.rows.layers).map(|(key, ns)| figure(&key, &ns)));
    let known = [
        ("touching_payload", Some(receipt.rows.touching.ns)),
        ("receipt_cpu", Some(receipt.cpu)),
        ("unsampled", receipt.off_cpu.unsampled),
        ("charged", receipt.off_cpu.charged),
        ("runnable", receipt.off_cpu.runnable),
        ("blocked", receipt.off_cpu.blocked),
        ("receipt_wall", Some(receipt.wall)),
    ];
    rows.extend(known.into_iter().filter_map(|(what, ns)| Some(figure(what, &ns?))));
    rows
}

fn kind<'a, K: fmt::Display>(kind: &'a str, rows: &'a [Row<K>]) -> impl Iterator<Item = (String, Figure)> + 'a {
    rows.iter().map(move |row| (format!("{kind}_{}", row.key), row.ns))
}
