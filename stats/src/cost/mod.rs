//! The line t = a + b·bytes + c·frames + w·wake-ups through medians by size, in
//! one or more pieces.
//!
//! ```text
//! Points -> search: terms, breakpoints -> robust: coefficients of each piece
//! ```

pub mod design;
pub mod linear;
pub mod robust;
pub mod search;
pub mod threshold;

use serde::Serialize;

/// A line through fewer sizes could not show that it is none.
pub const LEAST_SIZES: usize = 4;

/// A model that is right to within 2 % is right: no breakpoint and no term is
/// worth its words below that, however quiet the machine.
pub const LEAST_NOISE: f64 = 0.02;

/// The unit that a cost is counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Term {
    /// Once a message: the intercept.
    Message,
    /// A byte of payload; where bytes and frames are collinear, with the share of
    /// the frame that carries it.
    Byte,
    /// A full segment: `Byte` times the largest payload of a frame. Derived.
    FullSegment,
    /// A frame, as counted per message.
    Frame,
    /// A wake-up of the receiver, as counted per message.
    Wakeup,
}
