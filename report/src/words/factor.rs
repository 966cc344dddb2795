//! Why some factors leave figures out, and what others mean.

use model::{Cell, Pacing};

/// Of cells in which both ends send.
pub const BOTH_WAYS: &str = "goodput back to the sender; nothing says which way an end's CPU time went, so CPU per message is left out";

/// Of cells whose datagrams are stamped.
pub const STAMPS: &str = "how much longer than the shortest of its trial a datagram took: it needs no common clock";

/// Of cells whose sender spins.
pub const SPINS: &str = "a sender that spins until a message's time has come has no CPU per message: the time is the waiting's";

/// Whether the sender of a cell spins.
pub fn spins(cell: &Cell) -> bool {
    cell.rate.is_some() && cell.pacing == Pacing::Spin
}
