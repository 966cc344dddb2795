//! Columns of the tables, a row each: text and screen, the help and the order of rows are made from them.

use analysis::top::{CpuRow, Cpus, Rate, Row};

use crate::interval::is_wide;
use crate::number::{NOTHING, count, tight, time};
use analysis::answer::notation::digits;

/// Orders of rows by who pays, the largest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    /// CPUs.
    #[default]
    Cpus,
    /// Messages a second.
    Messages,
    /// Bytes a second.
    Bytes,
    /// CPU time of a message.
    PerMessage,
    /// Wait for a CPU.
    Wait,
}

impl Sort {
    /// All, in the order in which a key goes through them.
    pub const ALL: [Self; 5] = [Self::Cpus, Self::Messages, Self::Bytes, Self::PerMessage, Self::Wait];

    /// Its name in the line of keys.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpus => "CPUs",
            Self::Messages => "msg/s",
            Self::Bytes => "B/s",
            Self::PerMessage => "µs/msg",
            Self::Wait => "wait",
        }
    }

    /// The figure that is compared.
    pub fn value(self, row: &Row) -> Option<f64> {
        match self {
            Self::Cpus => Some(row.all.cpus),
            Self::Messages => row.message_rate(),
            Self::Bytes => row.byte_rate(),
            Self::PerMessage => row.per_message().map(|time| time.rate),
            Self::Wait => row.wait_ns,
        }
    }
}

/// Orders of CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CpuSort {
    /// The network's part, the largest first.
    #[default]
    Network,
    /// Softirqs, likewise.
    Softirq,
    /// `ksoftirqd`, likewise.
    Ksoftirqd,
    /// All work, likewise.
    Busy,
    /// By number.
    Number,
}

impl CpuSort {
    /// All, in the order in which a key goes through them.
    pub const ALL: [Self; 5] = [Self::Network, Self::Softirq, Self::Ksoftirqd, Self::Busy, Self::Number];

    /// Its name in the line of keys.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Softirq => "softirq",
            Self::Ksoftirqd => "ksoftirqd",
            Self::Busy => "busy",
            Self::Number => "number",
        }
    }

    /// The figure that is compared.
    pub fn value(self, row: &CpuRow) -> f64 {
        match self {
            Self::Network => row.network,
            Self::Softirq => row.softirq,
            Self::Ksoftirqd => row.ksoftirqd,
            Self::Busy => row.busy,
            Self::Number => -f64::from(row.cpu),
        }
    }
}

/// One column of figures. The name of the row stands behind all of them.
#[derive(Debug)]
pub struct Column<R: 'static, S: 'static> {
    /// Its title.
    pub head: &'static str,
    /// Columns of the terminal that it takes, without the space before it.
    pub width: usize,
    /// The narrowest screen that has it.
    pub from: usize,
    /// The widest screen that has it: a wider one has its parts.
    pub until: usize,
    /// The order in which its figures fall.
    pub sort: Option<S>,
    /// For help.
    pub meaning: &'static str,
    /// Its figure.
    pub write: fn(&R) -> String,
}

/// A column that every screen has.
const fn column<R, S>(head: &'static str, width: usize, meaning: &'static str, write: fn(&R) -> String) -> Column<R, S> {
    Column { head, width, from: 0, until: ANY, sort: None, meaning, write }
}

impl<R, S: Copy> Column<R, S> {
    /// The same on screens of these widths alone.
    const fn on(self, from: usize, until: usize) -> Self {
        Self { from, until, ..self }
    }

    /// The same whose figures fall in an order.
    const fn by(self, sort: S) -> Self {
        Self { sort: Some(sort), ..self }
    }

    /// Returns whether a screen of this width has it.
    pub const fn is_on(&self, width: usize) -> bool {
        self.from <= width && width <= self.until
    }
}

/// No screen is too wide.
const ANY: usize = usize::MAX;
/// The width from which both directions stand apart.
pub const WIDE: usize = 120;

/// The columns of units, processes and interrupted tasks.
pub const COLUMNS: &[Column<Row, Sort>] = &[
    column("CPUs", 6, "network work for the row, in CPUs' worth: seconds of CPU time a second", |row: &Row| cpus_of(&row.all))
        .by(Sort::Cpus),
    column("±", 5, "half of its 95 % interval", |row: &Row| half(&row.all)),
    column("call", 5, "the part in its system calls", |row: &Row| cpus(row.call)).on(54, ANY),
    column("soft", 5, "the part in softirqs for it, in any task's time", |row: &Row| cpus(row.softirq)).on(54, ANY),
    column("msg/s", 6, "messages sent and received a second", |row: &Row| rate(row.message_rate())).on(72, WIDE - 1).by(Sort::Messages),
    column("B/s", 6, "their bytes a second; k, M, G are 1,000 each", |row: &Row| rate(row.byte_rate())).on(76, WIDE - 1).by(Sort::Bytes),
    column("µs/msg", 7, "network work of a message, in µs", |row: &Row| micros(row.per_message().map(|time| time.rate)))
        .on(64, ANY)
        .by(Sort::PerMessage),
    column("call µs", 7, "the part of a message in calls, in µs", |row: &Row| micros(of_message(row, row.call))).on(WIDE, ANY),
    column("soft µs", 7, "the part of a message in softirqs, in µs", |row: &Row| micros(of_message(row, row.softirq))).on(WIDE, ANY),
    column("out/s", 6, "messages sent a second", |row: &Row| rate(direction(row.messages, 0))).on(WIDE, ANY).by(Sort::Messages),
    column("in/s", 6, "messages received a second", |row: &Row| rate(direction(row.messages, 1))).on(WIDE, ANY).by(Sort::Messages),
    column("out B/s", 7, "bytes sent a second", |row: &Row| rate(direction(row.bytes, 0))).on(WIDE, ANY).by(Sort::Bytes),
    column("in B/s", 7, "bytes received a second", |row: &Row| rate(direction(row.bytes, 1))).on(WIDE, ANY).by(Sort::Bytes),
    // At fewer columns it would cut off names of units.
    column("conns", 5, "TCP connections of its processes", |row: &Row| whole(row.connections)).on(128, ANY),
    column("call %", 6, "its network calls, as a part of all CPU time of its processes", |row: &Row| share(row.call, row.busy))
        .on(WIDE, ANY),
    column("wait µs", 8, "mean wait of its processes for a CPU, each time they are to run", |row: &Row| micros(row.wait_ns))
        .on(80, ANY)
        .by(Sort::Wait),
];

/// The columns of CPUs where they are sampled.
pub const CPU_COLUMNS: &[Column<CpuRow, CpuSort>] = &[
    CPU,
    column("network", 8, "network work there, 1 being all of the CPU", |row: &CpuRow| cpus(row.network)).by(CpuSort::Network),
    SOFTIRQ,
    column("ksoftirqd", 10, "the part in the thread to which the kernel leaves softirqs when there are many", |row: &CpuRow| {
        cpus(row.ksoftirqd)
    })
    .on(54, ANY)
    .by(CpuSort::Ksoftirqd),
    BUSY,
];

/// The columns of CPUs where `/proc/stat` is all there is.
pub const UNSAMPLED_CPU_COLUMNS: &[Column<CpuRow, CpuSort>] =
    &[CPU, Column { meaning: "softirqs of all kinds, 1 being all of the CPU", ..SOFTIRQ }, BUSY];

const CPU: Column<CpuRow, CpuSort> = column("CPU", 5, "its number", |row: &CpuRow| row.cpu.to_string()).by(CpuSort::Number);
/// CPU time in softirqs.
const SOFTIRQ: Column<CpuRow, CpuSort> =
    column("softirq", 8, "the part in softirqs", |row: &CpuRow| cpus(row.softirq)).by(CpuSort::Softirq);
const BUSY: Column<CpuRow, CpuSort> = column("busy", 6, "all work there", |row: &CpuRow| cpus(row.busy)).by(CpuSort::Busy);

/// CPUs' worth in three digits.
pub fn cpus(value: f64) -> String {
    match value {
        0.0 => NOTHING.to_owned(),
        value if value > 0.0 && value < 0.000_5 => "<.001".to_owned(),
        value => digits(value),
    }
}

/// The same where nothing is a figure too.
pub fn sum(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { cpus(value) }
}

/// An estimate, with a mark where the ends of its interval are more than a factor of two apart.
pub fn cpus_of(all: &Cpus) -> String {
    match () {
        () if all.cpus == 0.0 && all.high > 0.0 => format!("<{}", digits(all.high)),
        () if is_wide(all.cpus, all.low, all.high) => cpus(all.cpus) + "?",
        () => cpus(all.cpus),
    }
}

/// Half of an interval: its farther end.
pub fn reach(all: &Cpus) -> f64 {
    (all.high - all.cpus).max(all.cpus - all.low)
}

fn half(all: &Cpus) -> String {
    if all.cpus == 0.0 { String::new() } else { cpus(reach(all)) }
}

fn rate(rate: Option<f64>) -> String {
    rate.map_or(NOTHING.to_owned(), |rate| tight(&count(rate)))
}

/// A number of things, whole as far as there is room.
fn whole(number: Option<u64>) -> String {
    match number {
        Some(few) if few < 100_000 => few.to_string(),
        many => rate(many.map(|many| many as f64)),
    }
}

fn direction(rates: Option<[Rate; 2]>, place: usize) -> Option<f64> {
    rates.and_then(|rates| rates.get(place).map(|rate| rate.rate))
}

fn of_message(row: &Row, part: f64) -> Option<f64> {
    row.message_rate().filter(|rate| *rate > 0.0).map(|rate| part / rate * 1e9)
}

/// A time in µs without its unit; a long one with another.
fn micros(ns: Option<f64>) -> String {
    const MOST: f64 = 9_999_500.0;
    match ns {
        Some(ns) if ns.abs() < MOST => digits(ns / 1e3),
        Some(ns) => tight(&time(ns)),
        None => NOTHING.to_owned(),
    }
}

fn share(part: f64, all: f64) -> String {
    if all > 0.0 { digits((part / all).min(1.0) * 100.0) } else { NOTHING.to_owned() }
}
