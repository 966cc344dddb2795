//! What a stack in user space stands on: a TUN device or AF_XDP, packets, checksums.

pub mod arp;
pub mod checksum;
pub mod frames;
pub mod place;
pub mod tun;
pub mod udp;
pub mod xdp;

use std::io;
use std::time::Duration;

/// Waits until there is something to read, `within` at most; returns whether there is.
fn readable(fd: libc::c_int, within: Duration) -> io::Result<bool> {
    let mut watched = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one descriptor is watched, and the kernel writes its answer there.
    match unsafe { libc::poll(&raw mut watched, 1, within.as_millis() as libc::c_int) } {
        answer if answer < 0 => match io::Error::last_os_error() {
            answer if answer.kind() == io::ErrorKind::Interrupted => Ok(false),
            answer => Err(answer),
        },
        ready => Ok(ready > 0),
    }
}
