//! The passes of a receipt: what is switched on next to the messages.

use crate::choice::choice;

choice! {
    /// Observation that runs during a trial. A study without a receipt has clean
    /// trials alone; of one with it, each cell is run in every pass of every
    /// block, side by side in random order, and never are two switched on at once.
    Pass, "a pass" {
        /// Nothing: whose times are believed.
        Clean = "clean",
        /// A sampler of call chains.
        Time = "time",
        /// Scheduler tracepoints alone: where a thread is while it is on no CPU.
        Wait = "wait",
        /// Counters of calls and events.
        Count = "count",
        /// Call chains at tracepoints, from which calls of further functions are
        /// told. It costs some twelve times the message, so it has trials of its own.
        Witness = "witness",
    }
}

impl Pass {
    /// Returns whether nothing is switched on.
    pub fn is_clean(&self) -> bool {
        *self == Self::Clean
    }

    /// The pass of a trial that does not say.
    pub const fn usual() -> Self {
        Self::Clean
    }
}
