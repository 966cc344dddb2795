//! 1984: figures 2 to 17 and tables 3 to 8 over message size, count and load.

use literature::ReferenceAnalysis;
use literature::cabrera::SLOPES;
use literature::cabrera::loads::{LoadCurve, ROUND_TRIPS};
use literature::cabrera::routines::Routine;
use literature::claims::evidence::{Curve, Figure as Measured};
use literature::sweep::{SeriesResult, SizeResult};
use model::sorting::Order;

use super::{DRAWING, Item, figure, linear_numbers, linear_sizes, of_today, of_today_over, twice};
use crate::document::figure::{Figure, Panel, Scale, SizeAxis, Trace};
use crate::document::{Rows, Table};
use crate::number;

/// The paper's conclusion in our words.
pub const CONCLUSION: &str = "the buffer scheme, more than the protocol, sets the price of a message. Copying dominates TCP and the checksum UDP; \
load on a host costs far more than load on the wire.";

/// The largest size of appendix B.
const MOST: u64 = 2_032;

/// What a figure over sizes draws.
#[derive(Clone, Copy)]
enum Of {
    Rate,
    Time,
}

impl Of {
    fn panel(self) -> Panel {
        match self {
            Self::Rate => Panel::of("throughput", "bit/s").on(Scale::Linear),
            Self::Time => Panel::of("time per message", "s").on(Scale::Linear),
        }
    }

    fn point(self, size: &SizeResult) -> (f64, f64, String, String) {
        let label = format!("{} B", number::whole(size.message_bytes));
        match self {
            Self::Rate => (size.message_bytes as f64, size.goodput_bit_per_s, label, number::bits(size.goodput_bit_per_s)),
            Self::Time => (size.message_bytes as f64, size.time_per_message_ns * 1e-9, label, number::time(size.time_per_message_ns)),
        }
    }

    /// A one-byte message, by its time in ms.
    fn of_byte(self, ms: f64) -> (f64, String) {
        match self {
            Self::Rate => (8e3 / ms, number::bits(8e3 / ms)),
            Self::Time => (ms * 1e-3, number::time(ms * 1e6)),
        }
    }
}

/// Lines of tables of appendix B.
fn lines(analysis: &ReferenceAnalysis, tables: &[&str], of: Of) -> Vec<Trace> {
    let series = |table: &&str| analysis.series.iter().find(|one| one.name.split(' ').next() == Some(*table));
    let line = |(place, one): (usize, &SeriesResult)| {
        let name = format!("{}, {}", one.name, one.group.split(", ").last().unwrap_or_default());
        Trace::points(&name, place, one.sizes.iter().map(|size| of.point(size)))
    };
    tables.iter().filter_map(series).enumerate().map(line).collect()
}

fn sizes(analysis: &ReferenceAnalysis, id: u8, title: &str, tables: &[&str], of: Of) -> Figure {
    figure(format!("f1984-{id}"), title, "", Some(linear_sizes(MOST)), of.panel(), lines(analysis, tables, of))
}

/// The same, with what runs of today measured of these protocols.
fn with_today(then: Figure, today: &[Curve], protocols: &[&str], of: Of) -> Vec<Figure> {
    let (quantity, scale) = match of {
        Of::Rate => ("rate", 1.0),
        Of::Time => ("time", 1e-3),
    };
    let wanted = |curve: &&Curve| curve.quantity == quantity && protocols.iter().any(|protocol| has(curve, protocol));
    let first = then.traces.len();
    let write = |height: f64| match of {
        Of::Rate => number::bits(height),
        Of::Time => number::time(height * 1e9),
    };
    let traces = today.iter().filter(wanted).enumerate().map(|(place, curve)| of_today(curve, first + place, scale, write));
    twice(then, traces.collect())
}

fn has(curve: &Curve, label: &str) -> bool {
    curve.labels.iter().any(|known| known == label)
}

/// What loads of today leave, a line a load over sizes.
struct Left<'a> {
    /// Name of the chart in the page, and its title.
    id: &'static str,
    title: &'static str,
    /// What is left: of what arrives (`left`), or of what the sender sends (`sent-left`).
    quantity: &'static str,
    /// The loaded end.
    end: &'a str,
    protocol: &'a str,
    /// Over the throughput, or the time, without load.
    of: Of,
}

/// The most units of load in 1984.
const MOST_UNITS: f64 = 4.0;

impl Left<'_> {
    fn curves<'t>(&self, today: &'t [Curve]) -> Vec<&'t Curve> {
        today.iter().filter(|curve| curve.quantity == self.quantity && has(curve, self.end) && has(curve, self.protocol)).collect()
    }

    /// Of a share of the throughput: itself, or how many times as long a message takes.
    fn over(&self, left: Measured) -> Measured {
        match self.of {
            Of::Rate => left,
            Of::Time => Measured::within(1.0 / left.value, [1.0 / left.high, 1.0 / left.low]),
        }
    }

    fn write(&self) -> fn(f64) -> String {
        match self.of {
            Of::Rate => number::percent,
            Of::Time => |times| format!("{} times", number::significant(times, 3)),
        }
    }

    /// Sizes and figures at so many units.
    fn line(&self, curves: &[&Curve], units: f64, name: String) -> Option<Curve> {
        let size = |curve: &Curve| curve.labels.iter().find_map(|label| label.parse::<f64>().ok());
        let at = |curve: &&Curve| Some((size(curve)?, self.over(curve.points.iter().find(|point| point.0 == units)?.1)));
        let mut points: Vec<(f64, Measured)> = curves.iter().filter_map(at).collect();
        points.order_by(|a, b| a.0.total_cmp(&b.0));
        Some(Curve { name, points, ..(*curves.first()?).clone() })
    }

    /// Marks of table 3, where the sender is loaded.
    fn then(&self, analysis: &ReferenceAnalysis, first: usize) -> Vec<Trace> {
        let wanted = |curve: &&LoadCurve| self.end == "sender" && curve.of != ROUND_TRIPS && curve.protocol == self.protocol;
        let marks = |(place, curve): (usize, &LoadCurve)| {
            let none = curve.points.first().map_or(f64::NAN, |point| point[1]);
            let points = curve.points.iter().skip(1).map(|[load, ms]| {
                let height = self.over(Measured::exact(none / ms)).value;
                (1.0, height, format!("1 B, load {load}"), self.write()(height))
            });
            Trace { apart: true, hollow: true, ..Trace::points(&format!("then, {}", curve.machine), first + place, points) }
        };
        analysis.loads.iter().filter(wanted).enumerate().map(marks).collect()
    }

    fn drawn(&self, analysis: &ReferenceAnalysis, today: &[Curve]) -> Option<Figure> {
        let curves = self.curves(today);
        let mut units: Vec<f64> = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0)).collect();
        units.order_by(f64::total_cmp);
        units.dedup();
        units.retain(|units| *units <= MOST_UNITS);
        let lines = units.iter().filter_map(|units| self.line(&curves, *units, format!("L{units}")));
        let traces: Vec<Trace> = lines.enumerate().map(|(place, curve)| of_today(&curve, place, 1.0, self.write())).collect();
        self.figure(traces, |first| self.then(analysis, first))
    }

    fn figure(&self, mut traces: Vec<Trace>, then: impl Fn(usize) -> Vec<Trace>) -> Option<Figure> {
        let count = traces.len();
        traces.extend(then(count));
        let marks = if traces.len() > count { " Marks: one byte at loads 1 to 4, by table 3." } else { "" };
        let sent = if self.quantity == SENT { "At the sender, as in 1984. " } else { "" };
        let (of, panel) = match self.of {
            Of::Rate => ("Share of the throughput without load.", Panel { joined: true, ..Panel::of("share left", "%") }),
            Of::Time => ("Times of the time without load.", Panel::of("times as long", "")),
        };
        let caption = format!("{sent}{of}{marks}");
        let id = format!("f1984-{}-today", self.id);
        (count > 0).then(|| figure(id, self.title, &caption, Some(linear_sizes(MOST)), panel.on(Scale::Linear), traces))
    }
}

/// Quantities of what loads leave.
const RECEIVED: &str = "left";
const SENT: &str = "sent-left";

/// TCP with one unit at either end, and at both: figure 16.
fn one_unit(today: &[Curve]) -> Option<Figure> {
    let ends = [("sender", "L1-L0, sender loaded"), ("receiver", "L0-L1, receiver loaded"), ("both", "L1-L1, both loaded")];
    let left = |end| Left { id: "16", title: "Figure 16 today: one unit of load", quantity: RECEIVED, end, protocol: "tcp", of: Of::Rate };
    let line = |(end, name): &(&'static str, &str)| left(end).line(&left(end).curves(today), 1.0, (*name).to_owned());
    let lines = ends.iter().filter_map(line).filter(|curve| !curve.points.is_empty());
    let traces = lines.enumerate().map(|(place, curve)| of_today(&curve, place, 1.0, number::percent)).collect();
    left("both").figure(traces, |_| Vec::new())
}

/// Times of a one-byte message, or of its round trip, over those without load, today.
fn times_today(today: &[Curve], quantity: &str, of: &str) -> Option<Table> {
    let curves: Vec<&Curve> = today.iter().filter(|curve| curve.quantity == quantity && has(curve, "sender") && has(curve, "1")).collect();
    let loads: Vec<f64> = curves.first()?.points.iter().map(|point| point.0).collect();
    let mut rows = Rows::of(&loads).figures("Units of load", |load| number::whole(*load as u64));
    for curve in curves {
        let at = |load: &f64| curve.points.iter().find(|point| point.0 == *load).map(|point| point.1);
        let head = if has(curve, "tcp") { "TCP" } else { "UDP" };
        rows = rows.figures(head, move |load| {
            let left = at(load)?;
            let ends = if left.high.is_finite() { format!(" ({:.2} to {:.2})", 1.0 / left.high, 1.0 / left.low) } else { String::new() };
            Some(format!("{:.2}{ends}", 1.0 / left.value))
        });
    }
    Some(rows.table().titled(format!("Today: times of a one-byte {of} without load")))
}

/// Lines without load, and a mark at one byte for each load of table 3.
fn loaded(analysis: &ReferenceAnalysis, id: u8, title: &str, tables: &[&str], protocol: &str, of: Of) -> Figure {
    let mut traces = lines(analysis, tables, of);
    traces.iter_mut().for_each(|trace| trace.name.insert_str(0, "L0, "));
    let curves: Vec<&LoadCurve> = analysis.loads.iter().filter(|curve| curve.of != ROUND_TRIPS && curve.protocol == protocol).collect();
    for load in 1..=4_u8 {
        let marks = curves.iter().filter_map(|curve| {
            let [_, ms] = *curve.points.iter().find(|point| point[0] == f64::from(load))?;
            let (height, words) = of.of_byte(ms);
            Some((1.0, height, format!("1 B, {}", curve.machine), words))
        });
        traces.push(Trace::points(&format!("L{load}, one byte"), traces.len(), marks));
    }
    let caption = "Lines: no load. Marks at 1 B: one to four units of load, by table 3.";
    figure(format!("f1984-{id}"), title, caption, Some(linear_sizes(MOST)), of.panel(), traces)
}

/// Datagrams a second over the number of messages: slopes of then, and tests of today.
fn counts(today: &[Curve]) -> Vec<Figure> {
    let one = |(place, (bytes, rate)): (usize, &(u64, f64))| {
        let points = [4_000.0, 6_000.0, 9_000.0]
            .map(|count| (count, *rate, format!("{} messages", number::whole(count as u64)), format!("{rate:.0} datagrams/s")));
        Trace::points(&format!("{} B", number::whole(*bytes)), place, points)
    };
    let caption = "Datagrams a second by the slopes of section 3.4, from 4,000 messages on.";
    let panel = Panel::of("datagrams/s", "").on(Scale::Linear);
    let then = figure("f1984-2".into(), "Figure 2", caption, Some(by_count()), panel, SLOPES.iter().enumerate().map(one).collect());
    let rate = |(at, ms): &(f64, Measured)| {
        let over = |ms: f64| at * 1e3 / ms;
        (*at, Measured::within(over(ms.value), [over(ms.high), over(ms.low)]))
    };
    let rates = |curve: &Curve| Curve { points: curve.points.iter().map(rate).collect(), ..curve.clone() };
    let first = then.traces.len();
    let trace = |(place, curve): (usize, &Curve)| of_today_over("messages", &rates(curve), first + place, 1.0, datagrams);
    twice(then, datagrams_of(today, "total").enumerate().map(trace).collect())
}

/// Spread of today's trials over the number of messages: figure 3.
fn spreads(today: &[Curve]) -> Option<Figure> {
    let trace = |(place, curve): (usize, &Curve)| of_today_over("messages", curve, place, 1.0, number::percent);
    let traces: Vec<Trace> = datagrams_of(today, "spread").enumerate().map(trace).collect();
    let caption = "Standard deviation of trials as a share of their rate; 1984 drew it in datagrams a second.";
    let panel = Panel { joined: true, ..Panel::of("standard deviation", "%").on(Scale::Linear) };
    (!traces.is_empty()).then(|| figure("f1984-3-today".into(), "Figure 3 today", caption, Some(by_count()), panel, traces))
}

fn by_count() -> SizeAxis {
    linear_numbers("messages a test", 500.0, 9_000.0)
}

fn datagrams(rate: f64) -> String {
    format!("{} datagrams/s", number::count(rate))
}

fn datagrams_of<'a>(today: &'a [Curve], quantity: &'static str) -> impl Iterator<Item = &'a Curve> {
    today.iter().filter(move |curve| curve.quantity == quantity && has(curve, "udp"))
}

/// Figure 17: without load, and 40 % less as the text has it.
fn ether(analysis: &ReferenceAnalysis) -> Figure {
    const LEFT: f64 = 0.6;
    let mut traces = lines(analysis, &["B3"], Of::Rate);
    if let Some(series) = analysis.series.iter().find(|one| one.name.starts_with("B3")) {
        let less = series.sizes.iter().map(|size| (size.message_bytes as f64, Some(size.goodput_bit_per_s * LEFT)));
        traces.push(Trace { legend: true, ..Trace::line("three pairs: 40 % less, as stated", 1, less) });
    }
    let caption = "Dotted: 40 % less at every size, as the text has it of three pairs.";
    figure("f1984-17".into(), "Figure 17", caption, Some(linear_sizes(MOST)), Of::Rate.panel(), traces)
}

fn by_load(analysis: &ReferenceAnalysis, trips: bool) -> Table {
    let curves: Vec<&LoadCurve> = analysis.loads.iter().filter(|curve| (curve.of == ROUND_TRIPS) == trips).collect();
    let loads: Vec<f64> = curves.first().map_or_else(Vec::new, |curve| curve.points.iter().map(|point| point[0]).collect());
    let mut rows = Rows::of(&loads).figures("Units of load", |load| number::whole(*load as u64));
    for curve in curves {
        let head = format!("{} {}, ms", curve.machine, curve.protocol.to_uppercase());
        let at = |load: &f64| curve.points.iter().find(|point| point[0] == *load).map(|point| point[1]);
        let none = at(&0.0);
        rows = rows.figures(head.as_str(), move |load| {
            let ms = at(load)?;
            Some(none.map_or_else(|| format!("{ms:.1}"), |none| format!("{ms:.1} ({:.2} times)", ms / none)))
        });
    }
    rows.table()
}

type Figures = fn(&Routine) -> &Vec<Option<f64>>;

/// A routine a row; the dearest of each size stand out.
fn routines(analysis: &ReferenceAnalysis, of: Figures, digits: usize) -> Option<Table> {
    let all = analysis.routines.as_ref()?;
    let mut rows = Rows::of(&all.rows).words("Routine", |row| row.name.as_str());
    for (place, size) in all.sizes.iter().enumerate() {
        let head = format!("{} B", number::whole(*size));
        rows = rows.figures(head.as_str(), move |row| of(row).get(place).copied().flatten().map(|value| format!("{value:.digits$}")));
    }
    Some(rows.table())
}

const APPENDIX: &str =
    "appendix B; the pairs of the 3 Mbit Ethernet and with Arpa and Kim are not carried: give their tables with --table.";
const LOADED_SENDER: &str = "appendix B without load, table 3 at one byte; the curves were published as drawings only.";
const LOADED_RECEIVER: &str =
    "appendix B without load; the curves with load were published as drawings only, and the loss of UDP not at all.";

/// Commands that measure the counterparts of today.
const SIZES: &str = "study cabrera1984";
const REPETITIONS: &str = "study repetitions";
const HOST_LOAD: &str = "study host-load";

/// Why the routines of 1984 have no counterpart.
const OTHER_ROUTINES: &str =
    "no chart. Its kernel has none of these routines, so that no row of then and today can share a line. The costs of today's own by";

/// Without tests of appendix B: figures 2 and 3.
fn repeated(today: &[Curve]) -> [Item; 2] {
    [
        Item::new(
            "Figure 2",
            "datagrams a second over the number of messages",
            "slopes that the text states, and a drawing without numbers.",
            &["c84-01", "c84-03"],
        )
        .drawn(counts(today))
        .measured_by(REPETITIONS),
        Item::new("Figure 3", "standard deviation of datagrams a second over the number of messages", DRAWING, &["c84-02"])
            .drawn(spreads(today))
            .measured_by(REPETITIONS),
    ]
}

/// Without load: figures 4 to 8.
fn unloaded(analysis: &ReferenceAnalysis, today: &[Curve]) -> [Item; 5] {
    let drawn = |id: u8, title: &str, tables: &[&str], protocols: &[&str], of: Of| {
        with_today(sizes(analysis, id, title, tables, of), today, protocols, of)
    };
    [
        Item::new("Figure 4", "throughput over message size, TCP", APPENDIX, &["c84-14", "c84-16"]).drawn(drawn(
            4,
            "Figure 4: TCP",
            &["B1", "B3"],
            &["tcp"],
            Of::Rate,
        )),
        Item::new("Figure 5", "throughput over message size, UDP", APPENDIX, &["c84-12", "c84-13", "c84-11"]).drawn(drawn(
            5,
            "Figure 5: UDP",
            &["B2", "B4", "B5"],
            &["udp"],
            Of::Rate,
        )),
        Item::new("Figure 6", "time of a message over its size, TCP", APPENDIX, &["c84-04", "c84-05", "c84-17", "c84-19", "c84-20"])
            .drawn(drawn(6, "Figure 6: TCP", &["B1", "B3"], &["tcp"], Of::Time)),
        Item::new("Figure 7", "time of a message over its size, UDP", APPENDIX, &["c84-18", "c84-08"]).drawn(drawn(
            7,
            "Figure 7: UDP",
            &["B2", "B4", "B5"],
            &["udp"],
            Of::Time,
        )),
        Item::new(
            "Figure 8",
            "throughput of TCP and UDP over both Ethernets, VAX 11/750",
            "appendix B, tables 1 and 2; those of the 3 Mbit Ethernet are not carried: give them with --table.",
            &["c84-06", "c84-07", "c84-09", "c84-10"],
        )
        .drawn(drawn(8, "Figure 8", &["B1", "B2"], &["tcp", "udp"], Of::Rate)),
    ]
    .map(|item| item.measured_by(SIZES))
}

/// With a loaded sender: figures 9 to 12, tables 3 and 4.
fn sender(analysis: &ReferenceAnalysis, today: &[Curve]) -> [Item; 6] {
    let tables = |protocol: &str| if protocol == "tcp" { ["B1", "B3"] } else { ["B2", "B4"] };
    let left = |id, title, protocol, of| Left { id, title, quantity: RECEIVED, end: "sender", protocol, of }.drawn(analysis, today);
    let then = |id: u8, title: &str, protocol: &str, of: Of| loaded(analysis, id, title, &tables(protocol), protocol, of);
    [
        Item::new("Figure 9", "throughput over message size with a loaded sender, TCP", LOADED_SENDER, &["c84-24", "c84-25"])
            .drawn([then(9, "Figure 9: TCP", "tcp", Of::Rate)].into_iter().chain(left("9", "Figure 9 today: TCP", "tcp", Of::Rate))),
        Item::new("Figure 10", "throughput over message size with a loaded sender, UDP", LOADED_SENDER, &["c84-25"])
            .drawn([then(10, "Figure 10: UDP", "udp", Of::Rate)].into_iter().chain(left("10", "Figure 10 today: UDP", "udp", Of::Rate))),
        Item::new("Figure 11", "time of a message with a loaded sender, TCP", LOADED_SENDER, &[])
            .drawn([then(11, "Figure 11: TCP", "tcp", Of::Time)].into_iter().chain(left("11", "Figure 11 today: TCP", "tcp", Of::Time))),
        Item::new("Figure 12", "time of a message with a loaded sender, UDP", LOADED_SENDER, &[])
            .drawn([then(12, "Figure 12: UDP", "udp", Of::Time)].into_iter().chain(left("12", "Figure 12 today: UDP", "udp", Of::Time))),
        Item::new("Table 3", "time of a one-byte message by load at the sender", "complete.", &["c84-22", "c84-23"])
            .tabled([by_load(analysis, false)])
            .tabled_today(times_today(today, RECEIVED, "message")),
        Item::new("Table 4", "round trip of one byte by load at the sender", "complete.", &["c84-26"])
            .tabled([by_load(analysis, true)])
            .tabled_today(times_today(today, "trips-left", "round trip")),
    ]
    .map(|item| item.measured_by(HOST_LOAD))
}

/// With a loaded receiver, and with both ends loaded: figures 13 to 16.
fn receiver(analysis: &ReferenceAnalysis, today: &[Curve]) -> [Item; 4] {
    let left = |id, title, quantity, protocol, of| Left { id, title, quantity, end: "receiver", protocol, of }.drawn(analysis, today);
    let then = |id: u8, title: &str, tables: &[&str], of: Of| sizes(analysis, id, title, tables, of);
    let of_time = [
        left("15", "Figure 15 today: TCP", RECEIVED, "tcp", Of::Time),
        left("15-udp", "Figure 15 today: UDP at its sender", SENT, "udp", Of::Time),
    ];
    // 1984 drew what the sender sent. What arrives is another quantity, and has a chart of its own.
    let of_udp = [
        left("14", "Figure 14 today: UDP at its sender", SENT, "udp", Of::Rate),
        left("14-received", "Not in 1984: UDP that arrives, today", RECEIVED, "udp", Of::Rate),
    ];
    [
        Item::new("Figure 13", "throughput with a loaded receiver, TCP", LOADED_RECEIVER, &["c84-28"]).drawn(
            [then(13, "Figure 13: TCP, load 0", &["B1", "B3"], Of::Rate)].into_iter().chain(left(
                "13",
                "Figure 13 today: TCP",
                RECEIVED,
                "tcp",
                Of::Rate,
            )),
        ),
        Item::new("Figure 14", "throughput at the sender with a loaded receiver, UDP", LOADED_RECEIVER, &["c84-29"]).drawn(
            [then(14, "Figure 14: UDP at its sender, load 0", &["B2", "B4"], Of::Rate)].into_iter().chain(of_udp.into_iter().flatten()),
        ),
        Item::new("Figure 15", "time of a message with a loaded receiver, TCP and UDP", LOADED_RECEIVER, &[])
            .drawn([then(15, "Figure 15: load 0", &["B1", "B3", "B2", "B4"], Of::Time)].into_iter().chain(of_time.into_iter().flatten())),
        Item::new("Figure 16", "TCP with loads of 0 and 1 at each end: L0-L0, L0-L1, L1-L0, L1-L1", DRAWING, &["c84-30"])
            .drawn(one_unit(today)),
    ]
    .map(|item| item.measured_by(HOST_LOAD))
}

/// Tables 5 to 8: what each routine costs, and how often it is called.
fn by_routine(analysis: &ReferenceAnalysis) -> [Item; 4] {
    const CALLS: &str = "study receipt --test TCP_STREAM --size 1,112,1023,1024,1025";
    const CALLS_UDP: &str = "study receipt --test UDP_STREAM --size 1,112,1023,1024,1025";
    const NOT_CARRIED: &str = "nettoll does not carry it: give it with --table.";
    [
        Item::new(
            "Table 5",
            "µs of a TCP message by routine and size",
            "complete: seconds for 10,000 messages.",
            &["c84-33", "c84-34", "c84-35", "c84-36", "c84-37", "c84-38", "c84-15", "c84-21"],
        )
        .tabled(routines(analysis, |row| &row.us_per_message, 0))
        .without(OTHER_ROUTINES, CALLS),
        Item::new("Table 6", "µs of a UDP message by routine and size", NOT_CARRIED, &["c84-41", "c84-42", "c84-43", "c84-44"])
            .without(OTHER_ROUTINES, CALLS_UDP),
        Item::new(
            "Table 7",
            "calls of a TCP message by routine and size",
            "complete: calls for 10,000 messages.",
            &["c84-27", "c84-39", "c84-40"],
        )
        .tabled(routines(analysis, |row| &row.calls_per_message, 2))
        .without(OTHER_ROUTINES, CALLS),
        Item::new("Table 8", "calls of a UDP message by routine and size", NOT_CARRIED, &["c84-45"]).without(OTHER_ROUTINES, CALLS_UDP),
    ]
}

pub fn items(analysis: &ReferenceAnalysis, today: &[Curve]) -> Vec<Item> {
    let ether_today =
        Left { id: "17", title: "Figure 17 today: pairs of 750 kbit/s", quantity: RECEIVED, end: "ether", protocol: "tcp", of: Of::Rate };
    let ether = Item::new(
        "Figure 17",
        "TCP over message size next to three pairs of other hosts",
        "appendix B, table 3 without load, and 40 % that the text states.",
        &["c84-31", "c84-32"],
    )
    .drawn([ether(analysis)].into_iter().chain(ether_today.drawn(analysis, today)))
    .measured_by("study link-load --blocks 6");
    let first = repeated(today).into_iter().chain(unloaded(analysis, today)).chain(sender(analysis, today));
    first.chain(receiver(analysis, today)).chain([ether]).chain(by_routine(analysis)).collect()
}
