//! The passes that a receipt is made from: the trials of one end of one cell, by the pass
//! that they were measured in.

use model::profile::{Account, CallCounts, Profile, SampleSource, Waits};
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
    /// The sum that samples should reach, in the unit of the profile's period: ns between
    /// the sampled tasks' coming to a CPU and leaving it, or the cycles that they ran.
    pub on_cpu: u64,
    /// True where `on_cpu` was itself told from samples, for want of a count that
    /// is apart from them: then nothing can be compared with it.
    pub calibrated: bool,
    /// Figures that the sampler's recording has next to its samples; `None` of earlier versions,
    /// whose `on_cpu` is the CPU time.
    pub account: Option<Account>,
    /// Share of the host's CPU time that the hypervisor took meanwhile, 0 to 1.
    pub stolen: f64,
    /// CPU time of the end, of the same kind as [`CleanPass::cpu`].
    pub cpu: Nanos,
    /// Messages in it.
    pub messages: f64,
}

impl TimePass {
    /// Time in which the sampled tasks had a CPU, by the records of switches as it would have been had taking the
    /// samples changed nothing, or by the count of the task's own clock. `None` where the clock of CPUs was a task's own
    /// timer: what arming it again at each switch costs lies on both sides of the records.
    pub fn ran(&self) -> Option<Nanos> {
        let account = self.account?;
        let ran = match self.profile.source {
            SampleSource::TaskClock => account.counted.map(|_| Nanos::new(self.on_cpu)),
            SampleSource::Cycles => account.on_cpu,
            SampleSource::CpuClock => account.due().filter(|_| account.others.is_some()),
        };
        // No tick may have met an end that is nearly idle.
        ran.filter(|ran| ran.get() > 0 || account.with_tick)
    }

    /// The CPU time in the unit of `on_cpu`: what rows are shares of.
    pub fn whole(&self) -> f64 {
        match self.ran() {
            Some(ran) if ran.get() == self.on_cpu => self.unwatched().get() as f64,
            Some(ran) => self.on_cpu as f64 * self.unwatched().get() as f64 / ran.get() as f64,
            None => self.on_cpu as f64,
        }
    }

    /// The CPU time had taking the samples changed nothing, as far as that is known.
    pub fn unwatched(&self) -> Nanos {
        let whole_cpus = |account: &Account| self.profile.source == SampleSource::CpuClock && account.others.is_some();
        self.account.filter(whole_cpus).map_or(self.cpu, |account| account.unwatched(self.cpu))
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

/// No switch takes longer than this between the wake-up of a thread and its first
/// instruction: what is charged for longer is no switch, and must not be taken for one.
const LONGEST_CHARGE: u64 = 10_000;

impl WaitPass {
    /// Time that stands in both accounts: the tracepoints say that the end was
    /// still on its way to a CPU, and the scheduler charges it as CPU time already.
    ///
    /// A thread that is woken onto an idle CPU is charged from when it was picked,
    /// by a clock that may not be read again since its wake-up
    /// (`rq_clock_skip_update` in `wakeup_preempt`, kernel/sched/core.c), and others'
    /// programs at the tracepoint of the switch run before ours. Measured: 3 to
    /// 4.5 µs a wake-up on a virtual machine. It is what the two accounts
    /// together have beyond the elapsed time; no more than the wait before the
    /// switches, and [`LONGEST_CHARGE`] for each of them, so that waits that were
    /// counted twice still show.
    pub fn charged(&self) -> Nanos {
        let both = self.cpu.since(self.kernel_threads) + self.waits.runnable + self.waits.blocked;
        let most = Nanos::new(self.waits.switches.saturating_mul(LONGEST_CHARGE));
        both.since(self.wall).min(self.waits.runnable).min(most)
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
}

#[cfg(test)]
mod tests {
    use super::WaitPass;
    use model::Nanos;
    use model::profile::Waits;

    /// 100 µs with ten switches.
    fn charged(cpu: u64, runnable: u64, blocked: u64) -> u64 {
        let nanos = Nanos::new;
        let waits = Waits { runnable: nanos(runnable), blocked: nanos(blocked), switches: 10, switching: None };
        WaitPass { waits, wall: nanos(100_000), cpu: nanos(cpu), kernel_threads: nanos(0), stolen: 0.0, messages: 10.0 }.charged().get()
    }

    #[test]
    fn what_both_accounts_have_is_taken_once() {
        assert_eq!(charged(40_000, 50_000, 10_000), 0, "they meet");
        assert_eq!(charged(40_000, 70_000, 2_000), 12_000);
        assert_eq!(charged(40_000, 0, 70_000), 0, "what slept was on no way to a CPU");
    }

    #[test]
    fn waits_that_are_missing_or_counted_twice_still_show() {
        assert_eq!(charged(40_000, 0, 10_000), 0);
        assert_eq!(charged(100_000, 180_000, 20_000), 100_000, "no more than 10 µs a switch");
    }
}
