//! The signal that gets a traffic thread out of a blocking call.

use std::io;
use std::mem;
use std::time::Duration;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// A signal that nothing else here uses. It gets a traffic thread out of a
/// blocking call when a part of the trial ends.
pub const WAKE_UP: Signal = Signal::SIGUSR1;

extern "C" fn do_nothing(_: libc::c_int) {}

/// Makes the signal harmless: it interrupts calls and does nothing else.
///
/// # Errors
/// A refusal of the system.
pub fn prepare() -> nix::Result<()> {
    // Without SA_RESTART, so that a blocked call returns EINTR.
    let action = SigAction::new(SigHandler::Handler(do_nothing), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler is an empty function; it is async-signal-safe.
    unsafe { sigaction(WAKE_UP, &action) }.map(drop)
}

/// Interrupts the blocking calls of the thread that made it, again and again: the time
/// limit of calls on descriptors that have none of their own, such as pipes. What it
/// interrupts is a wait; a call that moves data is not cut short by a handler that has run
/// before it.
#[derive(Debug)]
pub struct Alarm(libc::timer_t);

// SAFETY: a timer is a number of the process's; every thread may delete it.
unsafe impl Send for Alarm {}

impl Alarm {
    /// Wakes the calling thread every `interval`, until it is dropped.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn every(interval: Duration) -> io::Result<Self> {
        prepare()?;
        // SAFETY: zeros are a valid event, of which the fields that matter are set.
        let mut event: libc::sigevent = unsafe { mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = WAKE_UP as libc::c_int;
        event.sigev_notify_thread_id = nix::unistd::gettid().as_raw();
        let mut timer: libc::timer_t = std::ptr::null_mut();
        // SAFETY: both outlive the call, which writes the timer.
        if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let alarm = Self(timer);
        let each = libc::timespec { tv_sec: interval.as_secs() as libc::time_t, tv_nsec: interval.subsec_nanos().into() };
        let times = libc::itimerspec { it_interval: each, it_value: each };
        // SAFETY: the timer exists, and the times outlive the call.
        match unsafe { libc::timer_settime(alarm.0, 0, &raw const times, std::ptr::null_mut()) } {
            0 => Ok(alarm),
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
