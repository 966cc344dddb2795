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

use serde::Serialize;

/// A line through fewer sizes could not show that it is none.
pub const LEAST_SIZES: usize = 4;

/// A model that is right to within 2 % is right: no breakpoint and no term is
/// worth its words below that, however quiet the machine.
pub const LEAST_NOISE: f64 = 0.02;

/// A size up to which one way holds, and what it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// Its name: `MTU`, `page`.
    pub name: &'static str,
    /// The largest size in bytes on its lower side.
    pub last: u64,
}

impl Threshold {
    /// The thresholds of every link: the page of every architecture this tool is
    /// usually run on, and GSO_LEGACY_MAX_SIZE of the kernel's
    /// include/linux/netdevice.h.
    pub const FIXED: [Self; 2] = [Self { name: "page", last: 4096 }, Self { name: "GSO limit", last: 65_536 }];

    /// The name of the first threshold that lies between two neighbouring sizes,
    /// where they are near: no more than a factor of two apart. A wider gap could
    /// hold many causes.
    pub fn between(after: u64, before: u64, thresholds: &[Self]) -> Option<&'static str> {
        let near = before <= after.saturating_mul(2);
        let found = thresholds.iter().find(|threshold| (after..before).contains(&threshold.last));
        found.filter(|_| near).map(|threshold| threshold.name)
    }
}

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
