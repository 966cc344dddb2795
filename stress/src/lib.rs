//! nettoll under stress: processes killed at any moment, thousands of trials
//! back to back, an agent besieged by strangers. It drives the built program
//! from outside and needs no quiet machine, so that what measures speed
//! (`bench`, which runs both) stays apart from what breaks things.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)]

pub mod bars;
pub mod endure;
pub mod kills;
pub mod siege;
pub mod soak;
