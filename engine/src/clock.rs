//! The clocks that an endpoint reads.

use model::Nanos;
use nix::time::{ClockId, clock_gettime};

/// This host's monotonic clock.
#[inline]
pub fn monotonic() -> Nanos {
    read(ClockId::CLOCK_MONOTONIC)
}

/// CPU time of the process.
pub fn process_cpu() -> Nanos {
    read(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of the calling thread.
pub fn thread_cpu() -> Nanos {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// Any clock; zero when it is gone.
#[inline]
pub fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock).unwrap_or_else(|_| std::time::Duration::ZERO.into());
    Nanos::new(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}
