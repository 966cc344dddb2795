//! Socket buffers: goodput over the sender's and the receiver's (after Jacobson,
//! 1988). Any plan that varies one of them gets it, whatever else it varies.
//!
//! ```text
//! Trial -> Buffers: what each trial says of its buffers
//!             -> maps: cells that differ in buffers alone -> levels, knee, notches, model
//! ```

mod gather;
mod level;
mod map;
mod notch;
mod predict;
mod result;
#[cfg(test)]
mod tests;

pub(crate) use gather::Buffers;
pub use result::*;
