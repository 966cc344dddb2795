//! Counts of one message, and how messages differ.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use model::sorting::Order;
use serde::{Deserialize, Serialize};

/// What was executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts {
    /// Instructions; a repeated string instruction is one.
    pub instructions: u64,
    /// Data reads: loads of any width, those of `ret` and `pop` included.
    pub reads: u64,
    /// Data writes: stores likewise.
    pub writes: u64,
    /// Function calls, jumps to another function's start included.
    pub calls: u64,
    /// Reads and writes of repeated string instructions, which are in the others too: an
    /// access a byte, or more bytes, as the processor model has it.
    pub repeated: u64,
    /// Bytes that reads and writes moved; 0 where they were not counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Counts {
    /// True where nothing was executed.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Each count by the same operation.
    fn with(self, other: Self, operation: fn(u64, u64) -> u64) -> Self {
        Self {
            instructions: operation(self.instructions, other.instructions),
            reads: operation(self.reads, other.reads),
            writes: operation(self.writes, other.writes),
            calls: operation(self.calls, other.calls),
            repeated: operation(self.repeated, other.repeated),
            bytes: operation(self.bytes, other.bytes),
        }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.with(other, u64::saturating_sub)
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

/// How a count differs between messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// The least of any message.
    pub least: u64,
    /// The median: of an even number, the lower of the two in the middle.
    pub median: u64,
    /// The most of any message.
    pub most: u64,
}

/// The spread of a count; zeros of no message.
pub fn spread(counts: impl IntoIterator<Item = u64>) -> Spread {
    let mut counts: Vec<u64> = counts.into_iter().collect();
    counts.order();
    let at = |place: usize| counts.get(place).copied().unwrap_or(0);
    Spread { least: at(0), median: at(counts.len().saturating_sub(1) / 2), most: at(counts.len().saturating_sub(1)) }
}

#[cfg(test)]
mod tests {
    use super::{Counts, spread};

    #[test]
    fn the_median_is_a_count_that_was() {
        let of = |counts: &[u64]| {
            let found = spread(counts.iter().copied());
            [found.least, found.median, found.most]
        };
        assert_eq!(of(&[]), [0, 0, 0]);
        assert_eq!(of(&[7]), [7, 7, 7]);
        assert_eq!(of(&[9, 1, 5, 2]), [1, 2, 9]);
    }

    #[test]
    fn counts_add_up() {
        let one = Counts { instructions: 3, reads: 2, writes: 1, calls: 1, repeated: 0, bytes: 24 };
        assert_eq!([one; 3].into_iter().sum::<Counts>(), Counts { instructions: 9, reads: 6, writes: 3, calls: 3, repeated: 0, bytes: 72 });
        assert!((one - one).is_zero());
    }
}
