//! What a stack in user space stands on: a TUN device or AF_XDP, packets, checksums.

pub mod arp;
pub mod checksum;
pub mod frames;
pub mod place;
pub mod tun;
pub mod udp;
pub mod xdp;

use std::io;
use std::ops::Range;
use std::time::Duration;

use frames::Room;

/// A device that takes and brings packets of IP.
pub trait Device {
    /// Bytes that lie before a packet, for the device to write.
    const HEAD: usize = 0;

    /// Memory for a packet, of `bytes` at least or as large as the largest.
    fn room(&mut self, bytes: usize) -> Room {
        Room::heap(bytes)
    }

    /// Sends a packet; its memory may be another afterwards. `WouldBlock`: it takes none now.
    ///
    /// # Errors
    /// A refusal of the system.
    fn send(&mut self, room: &mut Room, packet: Range<usize>) -> io::Result<()>;

    /// Takes the next packet, if one is there, and returns where it lies.
    ///
    /// # Errors
    /// A refusal of the system.
    fn receive(&mut self, room: &mut Room) -> io::Result<Option<Range<usize>>>;

    /// Waits for a packet, `within` at most.
    ///
    /// # Errors
    /// A refusal of the system.
    fn wait(&mut self, within: Duration) -> io::Result<()>;

    /// Kernel calls so far that moved packets, or waited for one until it came where that call moves it.
    fn calls(&self) -> u64;

    /// Packets that found no room below; slow to read.
    fn dropped(&self) -> u64;
}

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
