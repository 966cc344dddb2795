//! Tap devices: network interfaces whose frames a process reads and writes.
//!
//! Here and not in `lab`, because attaching a file to its device is an ioctl
//! that no crate of ours wraps, and `lab` has no unsafe code.

use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// The file that makes the devices.
pub const PATH: &str = "/dev/net/tun";

/// A tap device called `name` in the network namespace of the caller, as a file
/// that holds one frame a read, without a header before it, and takes one a
/// write; neither waits. The device vanishes with the file.
///
/// # Errors
/// The system's answer: ENOENT or ENODEV without the driver, EACCES or
/// EPERM without the right, EBUSY for a name that is taken, EINVAL for one that
/// no device can have.
pub fn open(name: &str) -> io::Result<File> {
    // SAFETY: zeros are a valid `ifreq`: bytes of a name and a union of numbers.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    // One place is kept for the closing zero.
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains(['%', '\0']) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte.cast_signed() as libc::c_char;
    }
    // One queue and no header: a frame is what stands on the wire.
    let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL;
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    let file = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(PATH)?;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which outlives the call;
    // the descriptor is open.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(file) }
}

#[cfg(test)]
mod tests {
    use super::open;

    #[test]
    fn a_name_that_no_device_can_have_makes_none() {
        for name in ["", "a-name-that-is-too-long", "tap%d", "a\0b"] {
            assert_eq!(open(name).unwrap_err().kind(), std::io::ErrorKind::InvalidInput, "{name:?}");
        }
    }
}
