//! The passes of a receipt: what is switched on next to the messages.

use crate::Role;
use crate::choice::choice;

choice! {
    /// Observation that runs during a trial. A study without a receipt has clean
    /// trials alone; of one with it, each cell is run in every pass of every
    /// block, side by side in random order, and never are two switched on at once.
    Pass, "a pass" {
        /// Nothing is switched on: its times are the result.
        Clean = "clean",
        /// A sampler of call chains of the sender.
        Time = "time",
        /// A sampler of call chains of the receiver. The timer on an end's CPU also delays the end that
        /// wakes it, so only one end is sampled.
        TimeReceiver = "time-receiver",
        /// Scheduler tracepoints alone: where a thread is while it is on no CPU.
        Wait = "wait",
        /// Counters of calls and events.
        Count = "count",
    }
}

impl Pass {
    /// Returns whether nothing is switched on.
    pub fn is_clean(&self) -> bool {
        *self == Self::Clean
    }

    /// Returns whether call chains are sampled.
    pub const fn samples(self) -> bool {
        matches!(self, Self::Time | Self::TimeReceiver)
    }

    /// Returns whether this end is watched.
    pub fn watches(self, role: Role) -> bool {
        match self {
            Self::Clean => false,
            Self::Time => role == Role::Sender,
            Self::TimeReceiver => role == Role::Receiver,
            Self::Wait | Self::Count => true,
        }
    }

    /// The pass of a trial that does not say.
    pub const fn usual() -> Self {
        Self::Clean
    }
}
