//! Sizes at which a stack is known to change its ways.

/// A size up to which one way holds, and what it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// Its name: `MTU`, `page`.
    pub name: &'static str,
    /// The largest size in bytes on its lower side.
    pub last: u64,
}

/// The thresholds of every link: the page of every architecture this tool is
/// usually run on, and GSO_LEGACY_MAX_SIZE of the kernel's
/// include/linux/netdevice.h.
pub const FIXED: [Threshold; 2] = [Threshold { name: "page", last: 4096 }, Threshold { name: "GSO limit", last: 65_536 }];

/// The name of the first threshold that lies between two neighbouring sizes,
/// where they are near: no more than a factor of two apart. A wider gap could
/// hold many causes.
pub fn between(after: u64, before: u64, thresholds: &[Threshold]) -> Option<&'static str> {
    let near = before <= after.saturating_mul(2);
    let found = thresholds.iter().find(|threshold| (after..before).contains(&threshold.last));
    found.filter(|_| near).map(|threshold| threshold.name)
}
