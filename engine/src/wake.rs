//! The signal that gets a traffic thread out of a blocking call, and timers that send it.

use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use model::Nanos;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use crate::part::Part;

/// A signal that nothing else here uses. It gets a traffic thread out of a
/// blocking call when a part of the trial ends.
pub const WAKE_UP: Signal = Signal::SIGUSR1;

/// Does nothing, but for a timer that has a part: marks it.
extern "C" fn mark_part(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel hands over the information on the signal. Timers that send this one are alarms alone, with no
    // address or that of a part that stays for good; another process of the same user may forge one, and may do more.
    let part = unsafe {
        match (*info).si_code {
            libc::SI_TIMER => (*info).si_value().sival_ptr.cast::<AtomicU8>().as_ref(),
            _ => None,
        }
    };
    if let Some(part) = part {
        let _ = part.compare_exchange(Part::Measure as u8, Part::Marked as u8, Ordering::SeqCst, Ordering::SeqCst);
    }
}

/// Makes the signal harmless: it interrupts calls, and does nothing else unless it is that of an [`Alarm::of_part`].
///
/// # Errors
/// A refusal of the system.
pub fn prepare() -> nix::Result<()> {
    // Without SA_RESTART, so that a blocked call returns EINTR.
    let action = SigAction::new(SigHandler::SigAction(mark_part), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler changes an atomic at most; it is async-signal-safe.
    unsafe { sigaction(WAKE_UP, &action) }.map(drop)
}

/// A timer that interrupts the blocking calls of the thread that made it. What it
/// interrupts is a wait; a call that moves data is not cut short by a handler that has run
/// before it.
#[derive(Debug)]
pub struct Alarm(libc::timer_t);

// SAFETY: a timer is a number of the process's; every thread may delete it.
unsafe impl Send for Alarm {}
// SAFETY: every thread may set it; the kernel orders the calls.
unsafe impl Sync for Alarm {}

impl Alarm {
    /// Wakes the calling thread every `interval`, until it is dropped: the time limit of calls on
    /// descriptors that have none of their own, such as pipes.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn every(interval: Duration) -> io::Result<Self> {
        let alarm = Self::of_this_thread(ptr::null())?;
        alarm.set(0, interval, interval)?;
        Ok(alarm)
    }

    /// Marks a part of the calling thread's, if messages are measured in it then: see [`Self::set_at`].
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn of_part(part: &'static AtomicU8) -> io::Result<Self> {
        Self::of_this_thread(part)
    }

    /// Goes off once, at a time of the monotonic clock: at once where that has passed.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn set_at(&self, time: Nanos) -> io::Result<()> {
        self.set(libc::TIMER_ABSTIME, time.into(), Duration::ZERO)
    }

    fn of_this_thread(part: *const AtomicU8) -> io::Result<Self> {
        prepare()?;
        // SAFETY: zeros are a valid event, of which the fields that matter are set.
        let mut event: libc::sigevent = unsafe { mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = WAKE_UP as libc::c_int;
        event.sigev_notify_thread_id = nix::unistd::gettid().as_raw();
        event.sigev_value.sival_ptr = part.cast_mut().cast();
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: both outlive the call, which writes the timer.
        match unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) } {
            0 => Ok(Self(timer)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn set(&self, flags: libc::c_int, first: Duration, interval: Duration) -> io::Result<()> {
        let [it_value, it_interval] =
            [first, interval].map(|time| libc::timespec { tv_sec: time.as_secs() as libc::time_t, tv_nsec: time.subsec_nanos().into() });
        let times = libc::itimerspec { it_interval, it_value };
        // SAFETY: the timer exists, and the times outlive the call.
        match unsafe { libc::timer_settime(self.0, flags, &raw const times, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // SAFETY: the timer exists and is deleted once.
        unsafe { libc::timer_delete(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};
    use std::time::Duration;

    use super::Alarm;

    #[test]
    fn a_call_that_would_wait_for_ever_ends() {
        let (mut reader, _writer) = io::pipe().unwrap();
        let _alarm = Alarm::every(Duration::from_millis(5)).unwrap();
        for _ in 0..3 {
            assert_eq!(reader.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::Interrupted);
        }
    }
}
