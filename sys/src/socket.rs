//! Options of sockets by their numbers, where no crate has a name for them.

use std::io;
use std::os::fd::RawFd;

/// Sets an option that is a number.
///
/// # Errors
/// The kernel's answer.
#[inline]
pub fn set_int(socket: RawFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel reads one number, which outlives the call.
    match unsafe { libc::setsockopt(socket, level, option, (&raw const value).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets an option to these bytes.
///
/// # Errors
/// The kernel's answer.
pub fn set(socket: RawFd, level: libc::c_int, option: libc::c_int, value: &[u8]) -> io::Result<()> {
    let length = libc::socklen_t::try_from(value.len()).map_err(io::Error::other)?;
    // SAFETY: the kernel reads as many bytes as there are, which outlive the call.
    match unsafe { libc::setsockopt(socket, level, option, value.as_ptr().cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads an option that is a number.
///
/// # Errors
/// The kernel's answer.
#[inline]
pub fn get_int(socket: RawFd, level: libc::c_int, option: libc::c_int) -> io::Result<libc::c_int> {
    let mut value = [0; size_of::<libc::c_int>()];
    get(socket, level, option, &mut value)?;
    Ok(libc::c_int::from_ne_bytes(value))
}

/// Reads an option into `room`, as much as fits; returns how many bytes the kernel wrote.
///
/// # Errors
/// The kernel's answer.
#[inline]
pub fn get(socket: RawFd, level: libc::c_int, option: libc::c_int, room: &mut [u8]) -> io::Result<usize> {
    let mut length = libc::socklen_t::try_from(room.len()).unwrap_or(libc::socklen_t::MAX);
    // SAFETY: the kernel writes at most as many bytes as there is room for, which outlives the call.
    match unsafe { libc::getsockopt(socket, level, option, room.as_mut_ptr().cast(), &raw mut length) } {
        0 => Ok((length as usize).min(room.len())),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;

    use super::{get, get_int, set_int};

    #[test]
    fn an_option_is_read_as_it_was_set() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let number = socket.as_raw_fd();
        for value in [1, 0] {
            set_int(number, libc::SOL_SOCKET, libc::SO_REUSEADDR, value).unwrap();
            assert_eq!(get_int(number, libc::SOL_SOCKET, libc::SO_REUSEADDR).unwrap(), value);
        }
        assert_eq!(get(number, libc::SOL_SOCKET, libc::SO_TYPE, &mut [0; 9]).unwrap(), 4);
        assert_eq!(get_int(-1, libc::SOL_SOCKET, libc::SO_TYPE).unwrap_err().raw_os_error(), Some(libc::EBADF));
    }
}
