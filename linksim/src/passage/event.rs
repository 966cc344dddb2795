//! What is to happen, in its order.

use std::cmp::Ordering;

use super::{End, Waiting};

pub(super) enum What<T> {
    /// A host has done its part: the frame waits for the wire.
    Ready(End, Waiting<T>),
    /// A medium may be used again.
    Free(usize),
    /// A frame has come to an end of the wire.
    Arrive(End, T),
    /// The host there has done its part.
    Deliver(End, T),
}

/// Something that happens at a time; of the same time, in the order of their making.
pub(super) struct Event<T> {
    pub at: u64,
    pub order: u64,
    pub what: What<T>,
}

impl<T> Ord for Event<T> {
    /// The earliest is the greatest: that is what a heap gives first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl<T> PartialOrd for Event<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Event<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Event<T> {}
