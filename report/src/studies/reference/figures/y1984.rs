//! 1984: figures 2 to 17 and tables 3 to 8 over message size, count and load.

use literature::ReferenceAnalysis;
use literature::cabrera::SLOPES;
use literature::cabrera::loads::{LoadCurve, ROUND_TRIPS};
use literature::cabrera::routines::Routine;
use literature::claims::evidence::{Curve, Figure as Measured};
use literature::sweep::{SeriesResult, SizeResult};
use model::order::Order;

use super::{DRAWING, Item, figure, linear_numbers, linear_sizes, of_today, twice};
use crate::document::figure::{Figure, Panel, Scale, Trace};
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

/// Shares of the unloaded throughput that loads of today leave, a line a load over sizes; marks of
/// table 3 where the sender is loaded.
fn left(analysis: &ReferenceAnalysis, today: &[Curve], id: &str, title: &str, end: &str, protocol: &str) -> Option<Figure> {
    let curves: Vec<&Curve> = today.iter().filter(|curve| curve.quantity == "left" && has(curve, end) && has(curve, protocol)).collect();
    let size = |curve: &Curve| curve.labels.iter().find_map(|label| label.parse::<f64>().ok());
    let mut units: Vec<f64> = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0)).collect();
    units.order_by(f64::total_cmp);
    units.dedup();
    let line = |(place, units): (usize, &f64)| {
        let mut points: Vec<(f64, Measured)> =
            curves.iter().filter_map(|curve| Some((size(curve)?, curve.points.iter().find(|point| point.0 == *units)?.1))).collect();
        points.order_by(|a, b| a.0.total_cmp(&b.0));
        let curve = Curve { name: format!("L{units}"), points, ..(*curves.first()?).clone() };
        Some(of_today(&curve, place, 1.0, number::percent))
    };
    let mut traces: Vec<Trace> = units.iter().enumerate().filter_map(line).collect();
    let marks = traces.len();
    let then = analysis.loads.iter().filter(|curve| end == "sender" && curve.of != ROUND_TRIPS && curve.protocol == protocol);
    traces.extend(then.enumerate().map(|(place, curve)| {
        let none = curve.points.first().map_or(f64::NAN, |point| point[1]);
        let points =
            curve.points.iter().skip(1).map(|[load, ms]| (1.0, none / ms, format!("1 B, load {load}"), number::percent(none / ms)));
        Trace { hollow: true, ..Trace::points(&format!("then, {}", curve.machine), marks + place, points) }
    }));
    let hollow = if traces.len() > marks { " Hollow: then, one byte at loads 1 to 4, by table 3." } else { "" };
    let caption = &format!("Share of the throughput without load.{hollow}");
    let panel = Panel { joined: true, ..Panel::of("share left", "%").on(Scale::Linear) };
    (marks > 0).then(|| figure(format!("f1984-{id}-today"), title, caption, Some(linear_sizes(MOST)), panel, traces))
}

/// Times of a one-byte message over those without load, today.
fn times_today(today: &[Curve]) -> Option<Table> {
    let curves: Vec<&Curve> = today.iter().filter(|curve| curve.quantity == "left" && has(curve, "sender") && has(curve, "1")).collect();
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
    Some(rows.table().titled("Today: times of a one-byte message without load"))
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

fn counts() -> Figure {
    let one = |(place, (bytes, rate)): (usize, &(u64, f64))| {
        let points = [4_000.0, 6_000.0, 9_000.0]
            .map(|count| (count, *rate, format!("{} messages", number::whole(count as u64)), format!("{rate:.0} datagrams/s")));
        Trace::points(&format!("{} B", number::whole(*bytes)), place, points)
    };
    let caption = "Datagrams a second by the slopes of section 3.4, from 4,000 messages on.";
    let axis = linear_numbers("messages a test", 500.0, 9_000.0);
    figure(
        "f1984-2".into(),
        "Figure 2",
        caption,
        Some(axis),
        Panel::of("datagrams/s", "").on(Scale::Linear),
        SLOPES.iter().enumerate().map(one).collect(),
    )
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

pub fn items(analysis: &ReferenceAnalysis, today: &[Curve]) -> Vec<Item> {
    let appendix = "appendix B; the pairs of the 3 Mbit Ethernet and with Arpa and Kim are not carried: give their tables with --table.";
    let left = |id: &str, title: &str, end: &str, protocol: &str| left(analysis, today, id, title, end, protocol);
    vec![
        Item::new(
            "Figure 2",
            "datagrams a second by the number of messages",
            "slopes that the text states, and a drawing without numbers.",
            &["c84-01", "c84-03"],
        )
        .drawn([counts()]),
        Item::new("Figure 3", "standard deviation of datagrams a second by the number of messages", DRAWING, &["c84-02"]),
        Item::new(
            "Figures 4 and 5",
            "throughput over message size, TCP and UDP",
            appendix,
            &["c84-12", "c84-13", "c84-14", "c84-16", "c84-11"],
        )
        .drawn(
            [
                with_today(sizes(analysis, 4, "Figure 4: TCP", &["B1", "B3"], Of::Rate), today, &["tcp"], Of::Rate),
                with_today(sizes(analysis, 5, "Figure 5: UDP", &["B2", "B4", "B5"], Of::Rate), today, &["udp"], Of::Rate),
            ]
            .into_iter()
            .flatten(),
        ),
        Item::new(
            "Figures 6 and 7",
            "time of a message over its size, TCP and UDP",
            appendix,
            &["c84-04", "c84-05", "c84-17", "c84-18", "c84-19", "c84-20", "c84-08"],
        )
        .drawn(
            [
                with_today(sizes(analysis, 6, "Figure 6: TCP", &["B1", "B3"], Of::Time), today, &["tcp"], Of::Time),
                with_today(sizes(analysis, 7, "Figure 7: UDP", &["B2", "B4", "B5"], Of::Time), today, &["udp"], Of::Time),
            ]
            .into_iter()
            .flatten(),
        ),
        Item::new(
            "Figure 8",
            "TCP and UDP over both Ethernets, VAX 11/750",
            "appendix B, tables 1 and 2; those of the 3 Mbit Ethernet are not carried.",
            &["c84-06", "c84-07", "c84-09", "c84-10"],
        )
        .drawn(with_today(sizes(analysis, 8, "Figure 8", &["B1", "B2"], Of::Rate), today, &["tcp", "udp"], Of::Rate)),
        Item::new(
            "Figures 9 and 10",
            "throughput over message size with a loaded sender, TCP and UDP",
            "appendix B without load, table 3 at one byte; the curves were published as drawings only.",
            &["c84-24", "c84-25"],
        )
        .drawn([
            loaded(analysis, 9, "Figure 9: TCP", &["B1", "B3"], "tcp", Of::Rate),
            loaded(analysis, 10, "Figure 10: UDP", &["B2", "B4"], "udp", Of::Rate),
        ])
        .and_drawn([left("9", "Figure 9 today: TCP", "sender", "tcp"), left("10", "Figure 10 today: UDP", "sender", "udp")]),
        Item::new("Figures 11 and 12", "time of a message with a loaded sender, TCP and UDP", "as figures 9 and 10.", &[]).drawn([
            loaded(analysis, 11, "Figure 11: TCP", &["B1", "B3"], "tcp", Of::Time),
            loaded(analysis, 12, "Figure 12: UDP", &["B2", "B4"], "udp", Of::Time),
        ]),
        Item::new("Table 3", "time of a one-byte message by load at the sender", "complete.", &["c84-22", "c84-23"])
            .tabled([by_load(analysis, false)].into_iter().chain(times_today(today))),
        Item::new("Table 4", "round trip of one byte by load", "complete.", &["c84-26"]).tabled([by_load(analysis, true)]),
        Item::new(
            "Figures 13, 14 and 15",
            "throughput and time with a loaded receiver",
            "appendix B without load; the curves with load were published as drawings only, and the loss of UDP not at all.",
            &["c84-28", "c84-29"],
        )
        .drawn([
            sizes(analysis, 13, "Figure 13: TCP, load 0", &["B1", "B3"], Of::Rate),
            sizes(analysis, 14, "Figure 14: UDP at its sender, load 0", &["B2", "B4"], Of::Rate),
            sizes(analysis, 15, "Figure 15: time, load 0", &["B1", "B3", "B2", "B4"], Of::Time),
        ])
        .and_drawn([left("13", "Figure 13 today: TCP", "receiver", "tcp"), left("14", "Figure 14 today: UDP", "receiver", "udp")]),
        Item::new("Figure 16", "TCP with loads of 0 and 1 at each end: L0-L0, L0-L1, L1-L0, L1-L1", DRAWING, &["c84-30"])
            .and_drawn([left("16", "Figure 16 today: both ends loaded", "both", "tcp")]),
        Item::new(
            "Figure 17",
            "TCP over message size next to three pairs of other hosts",
            "appendix B, table 3 without load, and 40 % that the text states.",
            &["c84-31", "c84-32"],
        )
        .drawn([ether(analysis)])
        .and_drawn([left("17", "Figure 17 today: pairs of 750 kbit/s", "ether", "tcp")]),
        Item::new(
            "Table 5",
            "µs of a TCP message by routine and size",
            "complete: seconds for 10,000 messages.",
            &["c84-33", "c84-34", "c84-35", "c84-36", "c84-37", "c84-38", "c84-15", "c84-21"],
        )
        .tabled(routines(analysis, |row| &row.us_per_message, 0)),
        Item::new(
            "Table 7",
            "calls of a TCP message by routine and size",
            "complete: calls for 10,000 messages.",
            &["c84-27", "c84-39", "c84-40"],
        )
        .tabled(routines(analysis, |row| &row.calls_per_message, 2)),
        Item::new(
            "Tables 6 and 8",
            "the same of UDP",
            "nettoll does not carry them: give them with --table.",
            &["c84-41", "c84-42", "c84-43", "c84-44", "c84-45"],
        ),
    ]
}
