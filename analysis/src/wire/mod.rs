//! What a wire lets through: frames and their cost, the limit of a link, and a
//! model of a wire between two hosts.
//!
//! ```text
//! frame:    payload -> packets -> byte times on Ethernet
//! limit:    frames counted on a link -> the most goodput that they leave room for
//! passage:  frames handed to a wire -> when each arrives  (the relay's rules)
//! transfer: two TCP hosts over such a wire -> goodput     (a discrete-event model)
//! ```

pub mod frame;
pub mod limit;
pub mod passage;
pub mod transfer;

#[cfg(test)]
mod tests;
