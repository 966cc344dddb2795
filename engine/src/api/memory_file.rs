//! Files that have no name and lie in memory.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::FromRawFd;

/// A file with these bytes.
///
/// # Errors
/// A refusal of the kernel.
pub fn memory_file(bytes: &[u8]) -> io::Result<File> {
    // SAFETY: the name is a string with an end.
    let file = unsafe { libc::memfd_create(c"message".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open and nobody else's.
    let mut file = unsafe { File::from_raw_fd(file) };
    file.write_all(bytes)?;
    Ok(file)
}
