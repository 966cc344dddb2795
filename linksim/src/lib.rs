//! Emulated links: frames and their cost, the limit of a link, and a wire between
//! two hosts as a discrete-event model. The relay, reports and the analysis of a trial use the
//! same rules. Nothing here reads a clock, a socket or a file.
//!
//! ```text
//! frame:    payload -> packets -> byte times on Ethernet
//! limit:    frames counted on a link -> the most goodput that they allow
//! emulator: frames handed to a wire -> when each arrives  (the relay's rules)
//! transfer: two TCP hosts over such a wire -> goodput     (a discrete-event model)
//! ```
#![forbid(unsafe_code)]

pub mod emulator;
pub mod frame;
pub mod limit;
pub mod transfer;

#[cfg(test)]
mod tests;
