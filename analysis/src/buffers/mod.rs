//! Socket buffers: goodput over the sender's and the receiver's (after Jacobson,
//! 1988). Any plan that varies one of them gets it, whatever else it varies.
//!
//! ```text
//! TrialRecord -> Gatherer: what each trial says of its buffers
//!             -> maps: cells that differ in buffers alone -> levels, knee, notches, model
//! ```

mod gather;
mod level;
mod map;
mod notch;
mod predict;
#[cfg(test)]
mod tests;

pub use gather::Gatherer;
pub(crate) use map::Context;
