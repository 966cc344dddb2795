//! `perf_event_open`: samples and counters.

use std::io;

use crate::perf::{self, Attributes};
use crate::sampler::PERIOD;

/// Event that is sampled or counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Samples by a timer of the kernel, on a CPU clock. Needs no hardware.
    CpuClock,
    /// Cycles, counted by the processor.
    Cycles,
}

/// Processes that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The program's own code.
    User,
    /// The kernel's too, with the kernel's chain of callers.
    Kernel,
}

/// The calling thread, for [`perf::open`].
const THIS_THREAD: u32 = 0;

/// Opens `event` for the calling thread and closes it again, without ever
/// starting it.
///
/// # Errors
/// The system's answer, such as EACCES (`kernel.perf_event_paranoid`) or ENOENT
/// (no such counter on this machine).
pub fn open(event: Event, scope: Scope) -> io::Result<()> {
    let (kind, config) = match event {
        Event::CpuClock => (perf::TYPE_SOFTWARE, perf::SOFTWARE_CPU_CLOCK),
        Event::Cycles => (perf::TYPE_HARDWARE, perf::HARDWARE_CYCLES),
    };
    let (period, sample) = match (event, scope) {
        (Event::CpuClock, Scope::User) => (PERIOD, perf::SAMPLE_IP),
        (Event::CpuClock, Scope::Kernel) => (PERIOD, perf::SAMPLE_IP | perf::SAMPLE_CALLCHAIN),
        _ => (0, 0),
    };
    let scope = match scope {
        Scope::User => perf::EXCLUDE_KERNEL | perf::EXCLUDE_HYPERVISOR,
        Scope::Kernel => perf::EXCLUDE_USER_CALLCHAIN,
    };
    let flags = perf::DISABLED | scope;
    perf::open(Attributes { kind, config, period, sample, flags, ..Attributes::default() }, Some(THIS_THREAD), None, None).map(drop)
}

#[cfg(test)]
mod tests {
    use super::{Event, Scope, open};

    #[test]
    fn every_event_has_an_answer() {
        for event in [Event::CpuClock, Event::Cycles] {
            for scope in [Scope::User, Scope::Kernel] {
                if let Err(error) = open(event, scope) {
                    assert!(error.raw_os_error().is_some(), "{error}");
                }
            }
        }
    }
}
