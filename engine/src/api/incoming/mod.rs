//! Ways of taking messages from the kernel, those of one kind in one file.

pub mod many_messages;
pub mod multishot;
pub mod one_room;
pub mod packet;
pub mod shm;
pub mod splice;
pub mod xdp;
pub mod zerocopy;

use std::os::fd::RawFd;
use std::time::Duration;

/// Returns whether something can be read without waiting.
fn is_readable(socket: RawFd) -> bool {
    poll(socket, 0) > 0
}

/// Waits until something can be read, for `patience` at most and 1 ms at least: 0 if nothing can, and less at a signal.
fn readable_within(socket: RawFd, patience: Duration) -> libc::c_int {
    poll(socket, libc::c_int::try_from(patience.as_millis()).unwrap_or(libc::c_int::MAX).max(1))
}

fn poll(socket: RawFd, limit_ms: libc::c_int) -> libc::c_int {
    let mut entry = libc::pollfd { fd: socket, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which outlives the call.
    unsafe { libc::poll(&raw mut entry, 1, limit_ms) }
}
