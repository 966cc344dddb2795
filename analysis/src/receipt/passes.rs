//! What a receipt is made from: the trials of one end of one cell, by the pass
//! that they were measured in.

use model::profile::{CallCounts, HardwareCounts, Profile, Waits};
use model::{Bytes, Nanos, Role};

/// A trial in which nothing but clocks was read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CleanPass {
    /// The block it belongs to.
    pub block: u32,
    /// Elapsed time of the measured part.
    pub wall: Nanos,
    /// CPU time of the end in it.
    pub cpu: Nanos,
    /// The part of `cpu` that kernel threads spent for the end: it was on no CPU
    /// meanwhile, so this is part of its waits as well.
    pub beside: Nanos,
    /// Messages in it; of a TCP receiver bytes over message size.
    pub messages: f64,
}

/// A trial with the sampler on.
#[derive(Debug, Clone, PartialEq)]
pub struct TimePass {
    /// The block it belongs to.
    pub block: u32,
    /// What was sampled.
    pub profile: Profile,
    /// What the processor's counters moved by, where it has any.
    pub counters: Option<HardwareCounts>,
    /// What the samples are to add up to, in the unit of the profile's period:
    /// ns of CPU time of the sampled tasks, or the cycles that they ran.
    pub on_cpu: u64,
    /// Whether `on_cpu` was itself told from samples, for want of a count that
    /// is apart from them: then nothing can be held against it.
    pub calibrated: bool,
    /// CPU time of the end, of the same kind as [`CleanPass::cpu`].
    pub cpu: Nanos,
    /// Messages in it.
    pub messages: f64,
}

/// A trial with scheduler tracepoints on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaitPass {
    /// Where time went that no sample shows.
    pub waits: Waits,
    /// Elapsed time of the measured part.
    pub wall: Nanos,
    /// CPU time of the end in it, of the same kind as [`CleanPass::cpu`].
    pub cpu: Nanos,
    /// As in [`CleanPass::beside`].
    pub beside: Nanos,
    /// Messages in it.
    pub messages: f64,
}

/// A trial with counters on.
#[derive(Debug, Clone, PartialEq)]
pub struct CountPass {
    /// Exact calls.
    pub counts: CallCounts,
    /// Messages in it.
    pub messages: f64,
}

/// All trials of one end of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Passes {
    /// Which end.
    pub role: Role,
    /// Size of its messages.
    pub size: Bytes,
    /// With nothing on; at least one.
    pub clean: Vec<CleanPass>,
    /// With the sampler on; at least one.
    pub time: Vec<TimePass>,
    /// With scheduler tracepoints on.
    pub waits: Vec<WaitPass>,
    /// With counters on.
    pub counts: Vec<CountPass>,
}
