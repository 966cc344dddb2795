//! The passes that a receipt is made from: the trials of one end of one cell, by the pass
//! that they were measured in.

use model::profile::{Account, CallCounts, Profile, SampleSource, Waits};
use model::wakeups::WakeupCost;
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
    pub kernel_threads: Nanos,
    /// Messages in it; of a TCP receiver bytes over message size.
    pub messages: f64,
}

/// A trial with the sampler on.
#[derive(Debug, Clone, PartialEq)]
pub struct TimePass {
    /// The block it belongs to.
    pub block: u32,
    /// The samples.
    pub profile: Profile,
    /// Figures that the sampler's recording has next to its samples, of all tasks that were sampled.
    pub account: Option<Account>,
    /// Share of the host's CPU time that the hypervisor took meanwhile, 0 to 1.
    pub stolen: f64,
    /// CPU time of the end by its clock, of the same kind as [`CleanPass::cpu`].
    pub cpu: Nanos,
    /// Messages in it.
    pub messages: f64,
    /// Wake-ups in it, and what the host's probe says that one is billed; `None` without a probe.
    pub wakeups: Option<(u64, WakeupCost)>,
}

impl TimePass {
    /// A pass by the samples of its end and, where its CPU time has their work in it, those of kernel threads.
    pub fn new(block: u32, own: &Profile, threads: Option<&Profile>, stolen: f64, cpu: Nanos, messages: f64) -> Self {
        let mut profile = own.clone();
        if let Some(threads) = threads {
            profile.lost = profile.lost.saturating_add(threads.lost);
            profile.throttled = profile.throttled.saturating_add(threads.throttled);
            profile.broken = profile.broken.saturating_add(threads.broken);
            profile.account = profile.account.zip(threads.account).map(|(own, threads)| own.and(threads));
        }
        Self { block, account: profile.account, profile, stolen, cpu, messages, wakeups: None }
    }

    /// Time for which the sampled tasks had a CPU, by the records of switches; `None` without them.
    pub fn on_cpu(&self) -> Option<Nanos> {
        self.account?.on_cpu
    }

    /// The sum that so many samples should reach, in the unit of the profile's period: ns on a CPU, or the cycles
    /// that the event counted. `None` where neither is known.
    pub fn due(&self, samples: u64) -> Option<u64> {
        match self.profile.source {
            SampleSource::CpuClock | SampleSource::TaskClock => self.on_cpu().map(Nanos::get),
            SampleSource::Cycles => self.account?.counted_with(samples),
        }
    }
}

/// A trial with scheduler tracepoints on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaitPass {
    /// Time that no sample shows.
    pub waits: Waits,
    /// Elapsed time of the measured part.
    pub wall: Nanos,
    /// CPU time of the end in it, of the same kind as [`CleanPass::cpu`].
    pub cpu: Nanos,
    /// As in [`CleanPass::kernel_threads`].
    pub kernel_threads: Nanos,
    /// As in [`TimePass::stolen`].
    pub stolen: f64,
    /// Messages in it.
    pub messages: f64,
}

impl WaitPass {
    /// Time that stands in both accounts: the tracepoints say that the end was
    /// still on its way to a CPU, and its clock runs already. No more than the wait.
    pub fn billed_twice(&self) -> Nanos {
        let both = self.cpu.since(self.kernel_threads) + self.waits.runnable + self.waits.blocked;
        both.since(self.wall).min(self.waits.runnable)
    }
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
    /// The end.
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
    /// With the sampler on and off in turn.
    pub sampled: SampledSlices,
}

/// Trials in which the sampler of the end was on in some slices and off in others.
#[derive(Debug, Clone, PartialEq)]
pub enum SampledSlices {
    /// The logarithm of CPU time per message with the sampler on over that with it off, by trial.
    Shifts(Vec<f64>),
    /// There are too few, for this reason: words that follow "because".
    Absent(String),
}

impl Default for SampledSlices {
    fn default() -> Self {
        Self::Shifts(Vec::new())
    }
}
