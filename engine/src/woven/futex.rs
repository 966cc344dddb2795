//! Waiting for a word of shared memory (futex(2)).

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while `word` is `value`, for `limit` at most. A wake-up, a signal, another value and the
/// end of the time are alike to the caller, who looks again.
pub fn wait(word: &AtomicU32, value: u32, limit: Duration) {
    let timeout = libc::timespec { tv_sec: limit.as_secs() as libc::time_t, tv_nsec: limit.subsec_nanos().into() };
    // Not FUTEX_PRIVATE: the other side is another process.
    // SAFETY: the word and the time are alive during the call, which only reads them.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const timeout) };
}

/// Wakes who waits for `word`: one thread does, at most.
pub fn wake(word: &AtomicU32) {
    // SAFETY: the call takes the word's address, which is mapped, and numbers.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}
