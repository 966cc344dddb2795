// SPDX-License-Identifier: GPL-2.0-or-later
//! What is counted, and where each counter is.

/// Counters of a function, of a path, or of everything.
pub const KINDS: usize = 6;

/// Instructions executed. A repeated string instruction is one.
pub const INSTRUCTIONS: usize = 0;
/// Loads of any width, those of `ret`, `pop` and repeated instructions included.
pub const LOADS: usize = 1;
/// Stores likewise.
pub const STORES: usize = 2;
/// Executions of a function's first instruction.
pub const CALLS: usize = 3;
/// Loads and stores of repeated string instructions, which are in the others too.
pub const REPEATED: usize = 4;
/// Bytes of all loads and stores; only where these are called back for.
pub const BYTES: usize = 5;

/// One of each counter.
pub type Counts = [u64; KINDS];

/// Most functions that can have counters: what a boot and a plan execute, not what a
/// kernel has. Those beyond share the last place.
pub const MOST_FUNCTIONS: usize = 1 << 15;

/// Words of all counters: those of everything first, then those of each function.
pub const WORDS: usize = KINDS * (MOST_FUNCTIONS + 1);

/// Place of a function's first counter.
pub const fn of_function(place: usize) -> usize {
    KINDS * (1 + if place < MOST_FUNCTIONS { place } else { MOST_FUNCTIONS - 1 })
}

/// What counters moved by.
pub fn moved(now: &Counts, before: &Counts) -> Counts {
    std::array::from_fn(|kind| now[kind].wrapping_sub(before[kind]))
}

/// Adds counts to others.
pub fn add(to: &mut Counts, more: &Counts) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to = to.wrapping_add(*more));
}
