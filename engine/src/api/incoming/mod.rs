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

/// Returns whether something can be read without waiting.
fn is_readable(socket: RawFd) -> bool {
    let mut entry = libc::pollfd { fd: socket, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which outlives the call.
    unsafe { libc::poll(&raw mut entry, 1, 0) > 0 }
}
