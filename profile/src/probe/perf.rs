//! `perf_event_open`: samples and counters.

use std::io;

use crate::perf::{self, Attributes};
use crate::sampler::PERIOD;

/// Event that is sampled or counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Samples of the program's own code by a timer of the kernel, on a CPU clock. Needs no hardware.
    UserSamples,
    /// The same of the kernel too, with its chain of callers.
    KernelSamples,
    /// Cycles of the program's own code, counted by the processor.
    Cycles,
}

/// The calling thread, for [`perf::open`].
const THIS_THREAD: u32 = 0;

/// Opens `event` for the calling thread and closes it again, without ever
/// starting it.
///
/// # Errors
/// The system's answer, such as EACCES (`kernel.perf_event_paranoid`) or ENOENT
/// (no such counter on this machine).
pub fn open(event: Event) -> io::Result<()> {
    const USER: u64 = perf::EXCLUDE_KERNEL | perf::EXCLUDE_HYPERVISOR;
    const CHAINS: u64 = perf::SAMPLE_IP | perf::SAMPLE_CALLCHAIN;
    let (kind, config, period, sample, scope) = match event {
        Event::UserSamples => (perf::TYPE_SOFTWARE, perf::SOFTWARE_CPU_CLOCK, PERIOD, perf::SAMPLE_IP, USER),
        Event::KernelSamples => (perf::TYPE_SOFTWARE, perf::SOFTWARE_CPU_CLOCK, PERIOD, CHAINS, perf::EXCLUDE_USER_CALLCHAIN),
        Event::Cycles => (perf::TYPE_HARDWARE, perf::HARDWARE_CYCLES, 0, 0, USER),
    };
    let flags = perf::DISABLED | scope;
    perf::open(Attributes { kind, config, period, sample, flags, ..Attributes::default() }, Some(THIS_THREAD), None, None).map(drop)
}
