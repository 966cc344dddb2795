//! Socket options for which no safe crate has a name.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Sets the option `name` of `level` to a number.
///
/// # Errors
/// The system's answer, such as ENOPROTOOPT (not in this kernel).
pub fn set(socket: BorrowedFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    let size = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel reads `size` bytes of `value`, which outlives the call.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), size) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::set;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn a_known_option_is_set_and_an_unknown_one_named() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        set(socket.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1).unwrap();
        let error = set(socket.as_fd(), libc::SOL_SOCKET, 30_000, 1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOPROTOOPT));
    }
}
