//! Trying what the kernel offers, never asking for its version.
//!
//! Each function makes one attempt and returns the system's own answer: an
//! [`std::io::Error`] with the errno. What that means to a person is not said
//! here.

pub mod bpf;
pub mod btf;
pub mod io_uring;
pub mod option;
pub mod perf;
pub mod scratch;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Takes over the descriptor that a system call returned, or its errno.
fn descriptor(returned: libc::c_long) -> io::Result<OwnedFd> {
    if returned < 0 {
        return Err(io::Error::last_os_error());
    }
    let descriptor = RawFd::try_from(returned).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    // SAFETY: the kernel has just made this descriptor for the caller, who gave it to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
