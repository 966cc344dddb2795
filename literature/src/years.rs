//! What a message and a byte cost by year: figures of the papers, as `reference/years.csv` has them.

use serde::{Deserialize, Serialize};

use crate::comparison::Comparison;
use crate::read::ReadError;
use crate::shape::SOCKETS;
use crate::sweep::SeriesResult;

/// The link whose time is that of the hosts alone.
const LOOPBACK: &str = "loopback";

const YEARS: &str = include_str!("../../reference/years.csv");

/// Costs of one stack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Year {
    /// The year.
    pub year: u16,
    /// The machine.
    pub machine: String,
    /// Kernel and transport.
    pub stack: String,
    /// The link.
    pub link: String,
    /// What is timed.
    pub what: String,
    /// ns per message; `None` where there is no line.
    pub ns_per_message: Option<f64>,
    /// ns per byte; of one size an upper bound.
    pub ns_per_byte: Option<f64>,
    /// Sizes behind it, in bytes: `1-512`, or one.
    pub sizes: String,
    /// How it was found.
    pub source: String,
    /// It is of UDP over the kernel's sockets.
    #[serde(skip)]
    pub udp_sockets: bool,
}

impl Year {
    /// The least and the most size behind it.
    pub fn span(&self) -> Option<[f64; 2]> {
        let (from, to) = self.sizes.split_once('-').unwrap_or((&self.sizes, &self.sizes));
        Some([from.parse().ok()?, to.parse().ok()?])
    }

    /// True where it is a line; else it is an upper bound at one size.
    pub const fn is_line(&self) -> bool {
        self.ns_per_message.is_some() && self.ns_per_byte.is_some()
    }
}

/// All stacks, by year.
///
/// # Errors
/// None that a user can meet: the table is part of the program, and read by its tests.
pub fn all() -> Result<Vec<Year>, ReadError> {
    let bad = |error: csv::Error| ReadError::NotARow { line: 0, reason: error.to_string() };
    let of_table = |one: Year| Year { udp_sockets: one.stack.contains("UDP") && !one.stack.contains("STREAMS"), ..one };
    csv::Reader::from_reader(YEARS.as_bytes()).deserialize().map(|one| one.map(of_table)).collect::<Result<_, _>>().map_err(bad)
}

/// Where and when a run of today was measured.
#[derive(Debug, Clone, Copy)]
pub struct PresentRun<'a> {
    /// The year.
    pub year: u16,
    /// The kernel, such as `Linux 6.18`.
    pub kernel: &'a str,
}

impl PresentRun<'_> {
    /// Costs of the series of a run that have a cost of a message: those whose line's interval is above 0. The first
    /// piece of a line with steps, as of the papers.
    pub fn costs(&self, run: &Comparison) -> Vec<Year> {
        let row = |series: &SeriesResult| {
            let (piece, link) = (series.cost.as_ref()?.pieces.first()?, series.link.as_ref()?);
            let shown = piece.message_ns.residual_bootstrap.is_some_and(|[low, _]| low > 0.0);
            shown.then(|| Year {
                year: self.year,
                machine: "this machine".to_owned(),
                stack: format!("{} {}", self.kernel, series.name),
                link: link.clone(),
                what: "elapsed at the receiver".to_owned(),
                ns_per_message: Some(piece.message_ns.value),
                ns_per_byte: Some(piece.byte_ns.value),
                sizes: format!("{}-{}", piece.from, piece.to),
                source: run.label.clone(),
                udp_sockets: !series.tcp && series.implementation.as_deref().is_none_or(|name| name == SOCKETS),
            })
        };
        run.series.iter().filter_map(row).collect()
    }
}

/// How fast a cost fell between two years.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fall {
    /// First and last year.
    pub years: [u16; 2],
    /// The stacks of these years, each with its link.
    pub stacks: [String; 2],
    /// The first cost over the last.
    pub factor: f64,
    /// Years in which it halved.
    pub halved_in: f64,
}

impl Fall {
    /// The fall from the cost of one stack to that of another; `None` where it did not fall.
    fn between(stacks: [&Year; 2], [from, to]: [f64; 2]) -> Option<Self> {
        let factor = from / to;
        let years = stacks.map(|one| one.year);
        let halved_in = f64::from(years[1].saturating_sub(years[0])) / factor.log2();
        let stacks = stacks.map(|one| format!("{} {} over {}", one.year, one.stack, one.link));
        (factor > 1.0 && halved_in.is_finite()).then_some(Self { years, stacks, factor, halved_in })
    }
}

/// UDP over sockets with a line, one of each year: over loopback where there is one, else the first.
pub fn of_udp_sockets(all: &[Year]) -> Vec<&Year> {
    let mut found: Vec<&Year> = Vec::new();
    for one in all.iter().filter(|one| one.is_line() && one.udp_sockets) {
        match found.iter_mut().find(|other| other.year == one.year) {
            Some(other) if other.link != LOOPBACK && one.link == LOOPBACK => *other = one,
            Some(_) => {}
            None => found.push(one),
        }
    }
    found
}

/// Falls of the cost of a message and of a byte by UDP over sockets, from the first to the last year that has a line
/// over loopback, where no wire sets the time.
pub fn falls(all: &[Year]) -> [Option<Fall>; 2] {
    let udp = of_udp_sockets(all);
    let ends = udp.first().copied().zip(udp.iter().rfind(|one| one.link == LOOPBACK).copied());
    let fall = |of: fn(&Year) -> Option<f64>| {
        let (first, last) = ends?;
        Fall::between([first, last], [of(first)?, of(last)?])
    };
    [fall(|one| one.ns_per_message), fall(|one| one.ns_per_byte)]
}

#[cfg(test)]
mod tests {
    use super::{all, falls};

    #[test]
    fn costs_fell_by_so_much_from_1984_to_2007() {
        let all = all().unwrap();
        assert!(all.is_sorted_by_key(|one| one.year) && all.iter().all(|one| one.year <= 2007));
        let [message, byte] = falls(&all).map(Option::unwrap);
        assert!(message.stacks[0].contains("1984 ") && message.stacks[1].contains("over loopback"), "{:?}", message.stacks);
        assert_eq!((message.years, message.factor.round(), format!("{:.1}", message.halved_in)), ([1984, 2007], 438.0, "2.6".to_owned()));
        assert!((byte.factor - 15_520.0).abs() < 1.0 && format!("{:.1}", byte.halved_in) == "1.7");
        let hollow: Vec<u16> = all.iter().filter(|one| !one.is_line()).map(|one| one.year).collect();
        assert_eq!(hollow, [1988, 1988, 1993, 1997, 1997]);
    }
}
