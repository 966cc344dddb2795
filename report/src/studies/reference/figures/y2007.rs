//! 2007: the four charts of each machine and kernel.

use literature::ReferenceAnalysis;
use literature::claims::evidence::{Curve, Figure as Point};

use super::{Item, WHEN, of_today};
use crate::document::Figure;
use crate::document::figure::{Panel, Scale, Ticks, Trace};
use crate::number;
use crate::studies::reference::{Machine, chart, machines};

/// The paper's conclusion in our words.
pub const CONCLUSION: &str = "a STREAMS stack of its own beats sockets at every size, by up to 40 %; a provider over sockets does so too. Its own \
tables show the second one slower at every size.";

/// A machine and kernel: four figures of the paper.
struct Place {
    name: &'static str,
    /// The table of its figures: nettoll carries it, or the paper has none.
    table: Table,
    claims: &'static [&'static str],
}

enum Table {
    Carried(u8),
    NotCarried(u8),
    NeverPublished,
}

const fn place(name: &'static str, table: Table, claims: &'static [&'static str]) -> Place {
    Place { name, table, claims }
}

/// Machines in the order of the paper. A claim of several stands with the first.
const PLACES: [Place; 9] = [
    place(
        "porky, Fedora Core 6",
        Table::Carried(1),
        &["b07-01", "b07-06", "b07-07", "b07-09", "b07-10", "b07-11", "b07-12", "b07-15", "b07-16"],
    ),
    place("porky, CentOS 4", Table::Carried(2), &["b07-02"]),
    place("porky, SuSE 10.0 OSS", Table::Carried(3), &["b07-03"]),
    place("porky, Ubuntu 6.10", Table::Carried(4), &["b07-04", "b07-08"]),
    place("porky, Ubuntu 7.04", Table::NeverPublished, &["b07-23"]),
    place("pumbah, RedHat 7.2", Table::NotCarried(5), &["b07-21", "b07-22"]),
    place("daisy, Fedora Core 6 x86_64", Table::Carried(6), &["b07-05", "b07-13", "b07-14"]),
    place("daisy, CentOS 5.0 x86_64", Table::NeverPublished, &[]),
    place("mspiggy, SuSE 10.0 OSS", Table::NotCarried(7), &[]),
];

/// The first of the figures, and the figures of a machine.
const FIRST: usize = 4;
const CHARTS: [(&str, &str); 4] = [
    ("performance", "Flat where a message costs the same whatever its size; it falls where bytes begin to cost."),
    ("delay", "Dotted: the robust line, whose start is the cost of a message and whose slope the cost of a byte."),
    ("throughput", "On logarithmic axes straight as long as a power law holds, bending towards saturation."),
    ("improvement", "Messages per second over those of sockets."),
];

/// Curves of today for each of the charts: the quantity, the factor to its unit, and what its zero is.
const TODAY: [(&str, f64, f64); 4] = [("messages-per-s", 1.0, 0.0), ("time", 1e-3, 0.0), ("rate", 1.0, 0.0), ("ratio", 1.0, 1.0)];

impl Place {
    /// Its figures, `at` machines after the first, and its table.
    fn title(&self, at: usize) -> String {
        let first = FIRST + CHARTS.len() * at;
        let figures = format!("Figures {first} to {}", first + CHARTS.len() - 1);
        match self.table {
            Table::Carried(table) | Table::NotCarried(table) => format!("{figures}, Table {table}"),
            Table::NeverPublished => figures,
        }
    }

    const fn then(&self) -> &'static str {
        match self.table {
            Table::Carried(_) => "nettoll carries the table.",
            Table::NotCarried(_) => "nettoll does not carry the table: give it with `--table`, and its claims are ruled.",
            Table::NeverPublished => "drawings only: the paper has no table of them. Give one of your own with `--table`.",
        }
    }

    fn item(&self, at: usize, machine: Option<(usize, &Machine)>, today: &[Curve]) -> Item {
        let first = FIRST + CHARTS.len() * at;
        let then = machine.map_or_else(Vec::new, |(place, machine)| chart::of_machine(machine, place));
        let drawn = then.into_iter().zip(CHARTS).enumerate().map(|(chart, (figure, (name, caption)))| {
            let title = format!("Figure {}: {name}", first + chart);
            let place = figure.traces.len();
            let traces = figure.traces.into_iter().chain(of_chart(today, chart, place)).collect();
            let alt = format!("{title}, {}. {caption}", self.name);
            in_its_form(Figure { title: title.into(), caption: caption.to_owned(), alt, traces, ..figure }, chart)
        });
        let numbers: Vec<String> = CHARTS.iter().enumerate().map(|(chart, (name, _))| format!("{}: {name}", first + chart)).collect();
        Item::new(self.title(at), self.name, self.then(), self.claims)
            .drawn(drawn)
            .noted(machine.is_none().then(|| format!("Figure {}.", numbers.join("; "))))
            .same_as((machine.is_none() && of_chart(today, 0, 0).next().is_some()).then(|| PLACES[0].title(0)))
            .measured_by("study bidulock2007")
    }
}

/// Axes as the paper has them: sizes are logarithmic but for the delay, and heights for the throughput alone.
fn in_its_form(figure: Figure, chart: usize) -> Figure {
    let linear = chart == 1;
    let at: Vec<f64> = (0..=12).map(|power| 4_f64.powi(power)).collect();
    let sizes = figure.sizes.map(|mut axis| {
        axis.log = !linear;
        match linear {
            true => axis.log_ticks = Ticks::default(),
            false => {
                axis.linear_ticks = Ticks::default();
                axis.log_ticks = Ticks { text: at.iter().map(|size| number::size(*size as u64)).collect(), at };
            }
        }
        axis
    });
    let scale = if chart == 2 { Scale::Log } else { Scale::Linear };
    let panels = figure.panels.into_iter().map(|panel: Panel| panel.on(scale)).collect();
    Figure { sizes, panels, ..figure }
}

/// Curves of today over loopback for a chart; the place of the first among all.
fn of_chart(today: &[Curve], chart: usize, first: usize) -> impl Iterator<Item = Trace> {
    let (quantity, scale, zero) = TODAY[chart];
    let has = |curve: &Curve, label: &str| curve.labels.iter().any(|known| known == label);
    let wanted = move |curve: &&Curve| curve.quantity == quantity && has(curve, "udp") && has(curve, "loopback");
    let trace = move |(place, curve): (usize, &Curve)| {
        let less = |(at, of): &(f64, Point)| (*at, Point::within(of.value - zero, [of.low - zero, of.high - zero]));
        let curve = Curve { name: short(&curve.name), points: curve.points.iter().map(less).collect(), ..curve.clone() };
        // Its figures are read in the charts of today.
        Trace { hover: Vec::new(), ..of_today(&curve, first + place, scale, |_| String::new()) }
    };
    today.iter().filter(wanted).enumerate().map(trace)
}

/// `UDP_STREAM (tpi-streams, sndbuf=131071)` without what all have.
fn short(name: &str) -> String {
    let inside = name.split_once('(').map_or("", |(_, inside)| inside.trim_end_matches(')'));
    let own: Vec<&str> = inside.split(", ").filter(|word| !word.is_empty() && !word.contains('=')).collect();
    if own.is_empty() { "sockets".to_owned() } else { own.join(", ") }
}

pub fn items(analysis: &ReferenceAnalysis, today: &[Curve]) -> Vec<Item> {
    let own = machines(&analysis.series);
    let of_table = |place: &Place| {
        let Table::Carried(table) = place.table else { return None };
        own.iter().enumerate().find(|(_, machine)| machine.name.starts_with(&format!("table {table}, ")))
    };
    let item = |(at, place): (usize, &Place)| place.item(at, of_table(place), today);
    let compared = analysis.comparisons.iter().flat_map(|one| machines(&one.series)).enumerate();
    let charts = compared.flat_map(|(place, machine)| {
        let charts = chart::of_machine(&machine, own.len() + place).into_iter().enumerate();
        charts.map(|(chart, one)| in_its_form(of_when(one, &machine), chart)).collect::<Vec<_>>()
    });
    let all = Item::new("Figures 4 to 39", "every series that is compared, in the same charts", "tables 1 to 4 and 6.", &[])
        .drawn(charts)
        .measured_by("study bidulock2007");
    let all = (!analysis.comparisons.is_empty()).then_some(all);
    PLACES.iter().enumerate().map(item).chain(all).collect()
}

/// Curves of a machine of today, or of a table that a user gave, say so.
fn of_when(figure: Figure, machine: &Machine) -> Figure {
    let Some(when) = WHEN.iter().find(|when| machine.name.starts_with(*when)) else { return figure };
    let one = |trace: Trace| Trace { name: format!("{when}, {}", trace.name), ..trace };
    Figure { traces: figure.traces.into_iter().map(one).collect(), ..figure }
}
