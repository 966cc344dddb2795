//! Exact counts of events and calls, by the best way that the kernel allows.
//!
//! | what | how | tier |
//! |---|---|---|
//! | functions | a BPF program at each one's entry ([`CallCounter`]) | fentry |
//! | tracepoints | a BPF program at each ([`CallCounter`]) | tracepoint |
//! | functions, where the first is refused | call chains at tracepoints, against a curated table ([`StackCounter`]) | witness |
//!
//! Everything is counted from the opening to the taking of the counts, so the
//! figures are of a whole trial: hold them against the whole trial's messages.
//! Counting costs some 20 to 60 ns for each event, keeping chains more than ten
//! times as much: never count in a pass whose time is measured, and take chains in
//! a pass of their own.

mod calls;
mod stacks;
pub mod table;

pub use calls::CallCounter;
pub use stacks::StackCounter;
pub use table::{STACK_RULES, StackRule, TRACEPOINTS};
