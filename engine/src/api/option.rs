//! Options of sockets that no crate names.

use std::io;
use std::os::fd::RawFd;

/// Sets an option that is an int.
///
/// # Errors
/// A refusal of the kernel.
pub fn set_int(socket: RawFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as u32;
    // SAFETY: the call reads one int, which outlives it.
    let answer = unsafe { libc::setsockopt(socket, level, option, (&raw const value).cast(), length) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option that is an int.
///
/// # Errors
/// A refusal of the kernel.
pub fn get_int(socket: RawFd, level: libc::c_int, option: libc::c_int) -> io::Result<libc::c_int> {
    let (mut value, mut length): (libc::c_int, u32) = (0, size_of::<libc::c_int>() as u32);
    // SAFETY: the call writes one int and its length, which outlive it.
    let answer = unsafe { libc::getsockopt(socket, level, option, (&raw mut value).cast(), &raw mut length) };
    if answer == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}
