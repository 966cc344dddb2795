//! A watched machine: from samples to rows of who pays for the network stack.
//!
//! ```text
//! Bucket (about 1 s) -> Tally (samples counted by CPU, task, owner, layer, kind) -> Snapshot (10 s of them)
//!                                                                                        -> Counters (all of them)
//! ```

mod advice;
mod cause;
mod counters;
mod network;
mod owners;
mod recorded;
mod share;
mod snapshot;
mod tally;
mod window;

pub use advice::{Chance, UnitAdvice, advice};
pub use counters::{Counters, SampleCounters, UnitCounters, WorkContext};
pub use recorded::{
    LEAST_PARTS, MOST_PARTS, Recorded, RecordingsCompared, Series, Shift, UnitChange, UnitOutcome, UnitStep, UnitToll, recorded,
};
pub use snapshot::{Cause, CpuRow, Cpus, FORMAT, InterruptedUnit, Network, Own, Rate, Row, RowKind, Samples, Snapshot};
pub use window::{Machine, STRETCHES};

#[cfg(test)]
mod tests;
