//! Gets a traffic thread out of a blocking call when a part of the trial ends.

use std::os::unix::thread::JoinHandleExt;
use std::thread::JoinHandle;

use nix::sys::pthread::pthread_kill;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// A signal that nothing else here uses.
const SIGNAL: Signal = Signal::SIGUSR1;

extern "C" fn do_nothing(_: libc::c_int) {}

/// Makes the signal harmless: it interrupts calls and does nothing else.
///
/// # Errors
/// What the kernel answered.
pub fn prepare() -> nix::Result<()> {
    // Without SA_RESTART, so that a blocked call returns EINTR.
    let action = SigAction::new(SigHandler::Handler(do_nothing), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler is an empty function; it is async-signal-safe.
    unsafe { sigaction(SIGNAL, &action) }.map(drop)
}

/// Interrupts the call that `thread` may be blocked in.
///
/// A signal that comes just before the thread blocks is lost; the socket's time
/// limit ends that wait.
pub fn wake<T>(thread: &JoinHandle<T>) {
    // A thread that has already ended answers ESRCH, which is as good.
    let _ = pthread_kill(thread.as_pthread_t(), SIGNAL);
}
