//! A sampling timer that strikes with the tick, the timer interrupt that a CPU has anyway.
//!
//! A CPU that goes idle stops its tick, and starts it again when it wakes. A timer that is due before the tick
//! spares it the programming of its clock for that, which on a virtual machine is an exit to the host: ends that
//! sleep often woke 4 µs sooner with one, slept more often, and took 1.2 to 1.3 times their CPU time. A timer that is due
//! just after the tick changes nothing of that: the tick still comes first. Where a CPU is busy both strike in one interrupt
//! (`hrtimer_interrupt()` runs whatever is due), so that the sample shows what the tick has interrupted, and not what
//! the tick sets off. A CPU that stays idle, and so has no tick, wakes for the sample.
//!
//! The price is the rate: 100 to 1,000 samples a second, by the kernel's `CONFIG_HZ`.

use std::io;
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::time::{ClockId, clock_getres, clock_gettime};

use crate::perf;
use crate::system::{bind_this_thread, monotonic};

/// Ticks that are looked at to tell whether they are due at whole periods.
const TICKS: usize = 6;
/// What is seen of the earliest of them is at most this much late, in ns; 10 to 30 µs on a virtual machine.
const LATEST: u64 = 100_000;
/// Ticks are never further apart, in ns: ten times as far as those of a kernel with 100 a second.
const MOST_APART: u64 = 100_000_000;
/// The most attempts to set a timer to the tick, which others on the CPU or the hypervisor spoil.
const ATTEMPTS: u64 = 20;
/// The longest that a call may take by which a timer is set, in ns: nobody knows when in the call it was. On a virtual machine
/// calls took 1.5 to 10 µs. Each attempt that fails adds [`RELAXED`].
const LONGEST_CALL: u64 = 4_000;
const RELAXED: u64 = 600;
/// How long after the tick the timer may be due, in ns: the tick must not be over, which on a virtual machine it
/// was after 10 to 30 µs. Where it is over sooner calls are shorter, and the timer is due sooner.
const MOST_AFTER: u64 = 9_000;
/// A sleep may last this much longer than asked for; what is left is waited for awake.
const SLACK: Duration = Duration::from_micros(200);

/// Returns the distance of two ticks in ns: the resolution of the clock that they move.
///
/// # Errors
/// The system's answer; ERANGE where it is no such distance.
pub fn period() -> io::Result<u64> {
    let period = Duration::from(clock_getres(ClockId::CLOCK_MONOTONIC_COARSE)?).as_nanos();
    u64::try_from(period).ok().filter(|period| (1..=MOST_APART).contains(period)).ok_or_else(|| Errno::ERANGE.into())
}

/// Returns whether ticks are due at whole numbers of their period, as they are since Linux 6.4 (`tick_init_jiffy_update()`):
/// when those of earlier kernels are due cannot be told exactly enough. Takes some ticks.
///
/// # Errors
/// The system's answer; ETIMEDOUT where no tick comes.
pub(super) fn is_at_whole_periods() -> io::Result<bool> {
    let period = period()?;
    let coarse = || clock_gettime(ClockId::CLOCK_MONOTONIC_COARSE);
    let mut earliest = period;
    for _ in 0..TICKS {
        let (before, begun) = (coarse()?, monotonic().get());
        while coarse()? == before {
            if monotonic().get() - begun > MOST_APART {
                return Err(Errno::ETIMEDOUT.into());
            }
        }
        earliest = earliest.min(monotonic().get() % period);
        thread::sleep(Duration::from_nanos(period / 2));
    }
    Ok(earliest < LATEST)
}

/// Has the timer of a running event of `cpu` be due just after the tick of that CPU, every `period` ns, which hold the
/// tick's a whole number of times. Returns a time at which it is due. Takes three to sixty ticks.
///
/// # Errors
/// The system's answer; ETIMEDOUT where no attempt was exact enough.
pub(super) fn align(event: BorrowedFd, cpu: u32, period: u64) -> io::Result<u64> {
    // On the CPU itself, for a call that another one has to answer takes as long as that likes. A thread of
    // its own may be bound without moving anybody.
    thread::scope(|scope| scope.spawn(|| align_here(event, cpu, period)).join()).unwrap_or(Err(Errno::ETIMEDOUT.into()))
}

fn align_here(event: BorrowedFd, cpu: u32, period: u64) -> io::Result<u64> {
    bind_this_thread(cpu)?;
    let tick = self::period()?;
    for failed in 0..ATTEMPTS {
        let set = attempt(event, tick, period)?;
        let is_exact = |set: &Call| set.took < LONGEST_CALL + failed * RELAXED && set.time % tick < MOST_AFTER;
        if let Some(set) = set.filter(is_exact) {
            return Ok(set.time);
        }
    }
    Err(Errno::ETIMEDOUT.into())
}

/// Sets the timer once. Stopped and started again it is due when what was left of its period is over: so
/// all is done in the middle of a tick, for a call at the tick's own time takes as long as the tick. Returns a time at which it
/// is due, and how long the longest of the calls took; `None` where it may have struck meanwhile, which begins another period.
fn attempt(event: BorrowedFd, tick: u64, period: u64) -> io::Result<Option<Call>> {
    let next = |time: u64| time - time % tick + tick;
    perf::disable(event)?;
    perf::set_period(event, period)?;
    let middle = next(monotonic().get()) + tick / 2;
    let started = Call::at(middle, || perf::enable(event))?;
    let stopped = Call::at(middle + tick / 4, || perf::disable(event))?;
    let left = (started.time + period).saturating_sub(stopped.time);
    if left < tick / 4 {
        return Ok(None);
    }
    // After the tick, by about as much as is not known of the calls' times.
    let again = next(stopped.time) + (tick - left % tick) + stopped.took / 2;
    let set = Call::at(again, || perf::enable(event))?;
    Ok(Some(Call { time: set.time + left, took: started.took.max(stopped.took).max(set.took) }))
}

/// A call to the kernel.
struct Call {
    /// Time of its middle, in ns.
    time: u64,
    /// Its length, in ns.
    took: u64,
}

impl Call {
    /// Makes a call at a time.
    fn at(time: u64, call: impl Fn() -> io::Result<()>) -> io::Result<Self> {
        let now = || monotonic().get();
        if let Some(long) = Duration::from_nanos(time.saturating_sub(now())).checked_sub(SLACK) {
            thread::sleep(long);
        }
        while now() < time {}
        let before = now();
        call()?;
        let after = now();
        Ok(Self { time: u64::midpoint(before, after), took: after - before })
    }
}
