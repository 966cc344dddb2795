//! 2007: the four charts of each machine and kernel.

use literature::ReferenceAnalysis;

use super::{Item, WHEN};
use crate::document::Figure;
use crate::document::figure::Trace;
use crate::studies::reference::{Machine, chart, machines};

/// The paper's conclusion in our words.
pub const CONCLUSION: &str = "a STREAMS stack of its own beats sockets at every size, by up to 40 %; a provider over sockets does so too. Its own \
tables show the second one slower at every size.";

/// Charts in the paper's order: name, what it shows, claims.
const CHARTS: [(&str, &str, &[&str]); 4] = [
    (
        "Performance",
        "messages a second over the logarithm of the size",
        &["b07-01", "b07-02", "b07-03", "b07-04", "b07-05", "b07-16", "b07-21", "b07-23"],
    ),
    (
        "Delay",
        "time of a message over its size: the line's start is the message, its slope the byte",
        &["b07-10", "b07-11", "b07-12", "b07-22"],
    ),
    ("Throughput", "bit/s over size, both logarithmic", &["b07-15"]),
    ("Improvement", "percent over sockets", &["b07-06", "b07-07", "b07-08", "b07-09", "b07-13", "b07-14"]),
];

pub fn items(analysis: &ReferenceAnalysis) -> Vec<Item> {
    let compared = analysis.comparisons.iter().flat_map(|one| machines(&one.series));
    let machines: Vec<Machine> = machines(&analysis.series).into_iter().chain(compared).collect();
    let mut charts: Vec<Vec<_>> = machines
        .iter()
        .enumerate()
        .map(|(place, machine)| chart::of_machine(machine, place).into_iter().map(|one| of_when(one, machine)).collect())
        .collect();
    let then = "tables 1 to 4 and 6: porky under Fedora Core 6, CentOS 4, SuSE 10 and Ubuntu 6.10, daisy under Fedora Core 6 x86_64. Tables 5 and 7 are \
                not carried: give them with --table.";
    let item = |(name, shows, claims): (&'static str, &'static str, &'static [&'static str])| {
        let figures = charts.iter_mut().filter_map(|all| (!all.is_empty()).then(|| all.remove(0))).collect::<Vec<_>>();
        Item::new(name, shows, then, claims).drawn(figures)
    };
    CHARTS.into_iter().map(item).collect()
}

/// Curves of a machine of today, or of a table that a user gave, say so.
fn of_when(figure: Figure, machine: &Machine) -> Figure {
    let Some(when) = WHEN.iter().find(|when| machine.name.starts_with(*when)) else { return figure };
    let one = |trace: Trace| Trace { name: format!("{when}, {}", trace.name), ..trace };
    Figure { traces: figure.traces.into_iter().map(one).collect(), ..figure }
}
