//! Settings of a sampler.

use model::Nanos;
use model::profile::SampleSource;

use super::ring;

/// The usual distance of two samples, in ns of CPU time.
pub const PERIOD: u64 = model::plan::receipt::PERIOD.get();

/// The shortest distance that the kernel keeps, in ns; it stretches shorter
/// ones, and throttles them.
const FLOOR: u64 = 10_000;

/// More than a sample takes: 48 bytes and 8 for each frame of a chain, of which
/// a send over loopback has 11 on average and 45 at most.
const SAMPLE_BYTES: u64 = 512;

/// Processes that are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The main thread of a process, and every thread that it starts from now on.
    Process(u32),
    /// One thread, such as `ksoftirqd` of a CPU.
    Thread(u32),
    /// Whatever runs on one CPU, and its idle time: the timer runs on across switches, which
    /// a timer of one task does not. User code is told apart as the process has it.
    Cpu {
        /// The CPU.
        cpu: u32,
        /// The process.
        process: u32,
    },
}

/// Target and resolution of a sampler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The target.
    pub target: Target,
    /// Clock that spaces samples; `None` takes cycles where the machine counts
    /// them, and the CPU clock otherwise.
    pub source: Option<SampleSource>,
    /// Distance of two samples by the CPU clock, in ns; at least 10,000. By cycles about as
    /// long, at 3 GHz.
    pub period: u64,
    /// The longest time from start to finish: sizes the rings.
    pub longest: Nanos,
    /// The CPU that the traffic thread is bound to: the rings of the others
    /// need room for the main thread only. `None` when it may run anywhere.
    pub cpu: Option<u32>,
    /// Number of samplers that are open at once and share the memory for rings.
    pub samplers: usize,
}

impl Settings {
    /// The usual settings for a target that is sampled for at most `longest`.
    pub const fn new(target: Target, longest: Nanos) -> Self {
        Self { target, source: None, period: PERIOD, longest, cpu: None, samplers: 1 }
    }

    /// The period of the CPU clock, which the kernel would stretch if it were shorter.
    pub(super) const fn clock_period(&self) -> u64 {
        if self.period > FLOOR { self.period } else { FLOOR }
    }

    /// The period in cycles of a counter.
    pub(super) const fn cycles(&self) -> u64 {
        self.clock_period() * 3
    }

    /// Bytes for a ring: a power of two of at least [`ring::LEAST`].
    pub(super) fn ring_bytes(&self, cpu: Option<u32>, cpus: usize) -> usize {
        if self.cpu.is_some() && cpu.is_some() && self.cpu != cpu {
            return ring::LEAST;
        }
        let samples = self.longest.get() / self.clock_period();
        let wanted = usize::try_from(samples.saturating_mul(SAMPLE_BYTES)).unwrap_or(usize::MAX);
        let busy = if self.cpu.is_some() { 1 } else { cpus.max(1) };
        ring::bytes(wanted, busy * self.samplers.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::ring::{ALL, LEAST, MOST};
    use super::{Settings, Target};
    use model::Nanos;
    use proptest::prelude::{any, proptest};

    fn settings(longest: u64, cpu: Option<u32>) -> Settings {
        Settings { cpu, ..Settings::new(Target::Process(1), Nanos::new(longest)) }
    }

    #[test]
    fn a_second_fits_in_eight_mebibytes_and_idle_cpus_need_little() {
        let bound = settings(1_000_000_000, Some(1));
        assert_eq!(bound.ring_bytes(Some(1), 2), 8 << 20);
        assert_eq!(bound.ring_bytes(Some(0), 2), LEAST);
        assert_eq!(settings(1_000_000_000, None).ring_bytes(Some(0), 2), 8 << 20);
    }

    proptest! {
        #[test]
        fn rings_are_powers_of_two_and_bounded(longest in any::<u64>(), cpus in 1..8192_usize, samplers in 1..64_usize) {
            let free = Settings { samplers, ..settings(longest, None) };
            let bytes = free.ring_bytes(Some(0), cpus);
            assert!(bytes.is_power_of_two() && (LEAST..=MOST).contains(&bytes));
            assert!(bytes == LEAST || bytes * cpus * samplers <= ALL);
        }
    }
}
