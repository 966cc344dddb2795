//! The clocks of this host.

use model::Nanos;
use nix::sys::time::TimeVal;
use nix::time::{ClockId, clock_gettime};

/// This host's monotonic clock, on which messages, samples and events are stamped.
#[inline]
pub fn monotonic() -> Nanos {
    read(ClockId::CLOCK_MONOTONIC)
}

/// CPU time of the process.
#[inline]
pub fn process_cpu() -> Nanos {
    read(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of the calling thread.
#[inline]
pub fn thread_cpu() -> Nanos {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// Milliseconds since 1970 (UTC), by which runs and trials are dated; zero before.
pub fn unix_ms() -> u64 {
    read(ClockId::CLOCK_REALTIME).get() / 1_000_000
}

/// Any clock; zero when it is gone, as that of a process that has ended. The clocks of this process and of time never are.
#[inline]
pub fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock).unwrap_or_else(|_| std::time::Duration::ZERO.into());
    Nanos::new(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// A time of the kernel's, such as one of getrusage(2).
pub const fn of_timeval(time: TimeVal) -> Nanos {
    Nanos::new((time.tv_sec() as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_usec() as u64 * 1_000))
}

/// Looks at the monotonic clock until `time` has passed.
#[inline(always)]
pub fn spin_for(time: Nanos) {
    let end = monotonic() + time;
    while monotonic() < end {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::{monotonic, process_cpu, thread_cpu};

    #[test]
    fn a_clock_does_not_go_back() {
        for clock in [monotonic, process_cpu, thread_cpu] {
            let first = clock();
            assert!(first.get() > 0 && first <= clock());
        }
    }
}
