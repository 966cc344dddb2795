//! Ways of taking messages from the kernel: a file each.

pub mod gro;
pub mod lowat;
mod many_messages;
pub mod multishot;
mod one_room;
pub mod packet;
pub mod read;
pub mod recv;
pub mod recvfrom;
pub mod recvmmsg;
pub mod recvmsg;
pub mod shm;
pub mod splice;
pub mod trunc;
pub mod waitall;
pub mod xdp;
pub mod zerocopy;

use std::os::fd::RawFd;

/// Returns whether something can be read without waiting.
fn is_readable(socket: RawFd) -> bool {
    let mut entry = libc::pollfd { fd: socket, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which outlives the call.
    unsafe { libc::poll(&raw mut entry, 1, 0) > 0 }
}
