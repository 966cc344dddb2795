//! Trying what the kernel offers, never asking for its version.
//!
//! Each function makes one attempt and returns the system's own answer: an
//! [`std::io::Error`] with the errno. What that means to a person is not said
//! here.

pub mod btf;
pub mod perf;
pub mod scratch;
pub mod wakeup;

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::system::descriptor;

/// `struct io_uring_params`: 120 bytes, of which only the features that the
/// kernel writes at byte 20 are looked at. Words keep it aligned.
const URING_PARAMETERS: usize = 30;
const URING_FEATURES: usize = 5;

/// Makes the smallest ring, closes it, and returns the kernel's feature bits.
///
/// # Errors
/// The system's answer, such as ENOSYS (not in this kernel) or EPERM
/// (`kernel.io_uring_disabled`, or a sandbox).
pub fn set_up_io_uring() -> io::Result<u32> {
    let mut parameters = [0_u32; URING_PARAMETERS];
    let entries: libc::c_uint = 1;
    // SAFETY: the kernel reads and writes the 120 bytes of `parameters`, which outlives the call.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, entries, parameters.as_mut_ptr()) };
    descriptor(ring)?;
    Ok(parameters[URING_FEATURES])
}

/// Sets the option `name` of `level` to a number.
///
/// # Errors
/// The system's answer, such as ENOPROTOOPT (not in this kernel).
pub fn set_option(socket: BorrowedFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    sys::socket::set_int(socket.as_raw_fd(), level, name, value)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    use super::{set_option, set_up_io_uring};

    #[test]
    fn io_uring_has_an_answer() {
        match set_up_io_uring() {
            Ok(features) => assert_ne!(features, 0, "every kernel since 5.4 names a feature"),
            Err(error) => assert!(error.raw_os_error().is_some()),
        }
    }

    #[test]
    fn a_known_option_is_set_and_an_unknown_one_named() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1).unwrap();
        let error = set_option(socket.as_fd(), libc::SOL_SOCKET, 30_000, 1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOPROTOOPT));
    }
}
