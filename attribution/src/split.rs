//! Sending, receiving and acknowledging apart, as Kim, Sung and Lee 1997 have
//! them, and the rates that follow.

use model::Bytes;
use serde::Serialize;

use super::attributes::Direction;
use super::figure::Figure;
use super::ratio::product;
use super::row::{Basis, Row};
use super::tally::Tally;

/// The work of an end by the way of the message it was for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Split {
    /// One row a direction; `None` is work that has none, such as entering the
    /// kernel.
    pub directions: Vec<Row<Option<Direction>>>,
    /// What one processor could sustain if it did nothing but this end's work.
    pub bound: Bound,
    /// The same without the work of acknowledgements.
    pub bound_without_acknowledgement: Bound,
}

/// A rate that processing alone would allow: one processor, no wait, the other
/// end and the link not in the way. Derived, not measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// CPU time per message behind it, in ns.
    pub ns: Figure,
    /// Messages per second: 1e9 / ns.
    pub messages_per_s: f64,
    /// Its interval, which is that of the CPU time turned over; without an
    /// upper end where the time may be 0.
    pub interval: Option<[Option<f64>; 2]>,
    /// Payload bits per second.
    pub bits_per_s: f64,
}

impl Bound {
    /// The rate at `ns` per message of `size`.
    pub fn of(ns: Figure, size: Bytes) -> Self {
        let rate = |ns: f64| (ns > 0.0).then(|| 1e9 / ns);
        let messages_per_s = rate(ns.value).unwrap_or(0.0);
        let interval = ns.interval.map(|[low, high]| [rate(high), rate(low)]);
        Self { ns, messages_per_s, interval, bits_per_s: messages_per_s * 8.0 * size.get() as f64 }
    }
}

impl Split {
    /// Splits what passes counted.
    pub fn of(basis: &Basis, tallies: &[Tally], size: Bytes) -> Self {
        let directions = basis.rows(&tallies.iter().map(|tally| &tally.directions).collect::<Vec<_>>());
        let acknowledging: Vec<u64> = tallies.iter().map(|tally| tally.acknowledging.get(&true).copied().unwrap_or(0)).collect();
        let share = basis.row((), &acknowledging).share;
        // What was not sampled stays in both: nobody knows whose it was.
        let mut rest = share.scaled(-1.0);
        rest.value += 1.0;
        rest.interval = rest.interval.map(|[low, high]| [low + 1.0, high + 1.0]);
        Self { directions, bound: Bound::of(basis.clean, size), bound_without_acknowledgement: Bound::of(product(rest, basis.clean), size) }
    }
}
