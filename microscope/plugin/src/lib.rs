// SPDX-License-Identifier: GPL-2.0-or-later
//! A plugin of QEMU that counts exactly what a guest executes between markers:
//! instructions, loads, stores and calls, by function and by call path, message by
//! message; and the cache lines that each message touches.
//!
//! ```text
//! symbols file -> Symbols -+
//! QEMU translates code ----+-> instrument (decode) -> counters in memory, events
//! QEMU executes it -> events -> Stack (call paths) -> Region (messages) -> output file
//! ```
//!
//! It has no library below it but Rust's. QEMU loads it, nettoll only carries it
//! and reads what it writes; `microscope/src/output.rs` describes that file.

// Only the parts without QEMU are in the tests: a test program has no QEMU to link with.
#![cfg_attr(test, allow(dead_code))]

mod counters;
mod decode;
mod lines;
mod region;
mod stack;
mod symbols;

#[cfg(not(test))]
mod instrument;
#[cfg(not(test))]
mod options;
#[cfg(not(test))]
mod qemu;
#[cfg(not(test))]
mod state;
