//! Files that have no name and lie in memory.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{FromRawFd, RawFd};

/// An empty file; `name` shows in lists of a process's open files, `flags` are those of
/// memfd_create(2).
///
/// # Errors
/// A refusal of the kernel.
pub fn empty(name: &CStr, flags: libc::c_uint) -> io::Result<File> {
    // The C library has a function for it only since glibc 2.27, the kernel since 3.17.
    // SAFETY: the name is a string with an end, which outlives the call.
    let file = unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), flags) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open and has no other owner.
    Ok(unsafe { File::from_raw_fd(file as RawFd) })
}

/// A file with these bytes.
///
/// # Errors
/// A refusal of the kernel.
pub fn memory_file(bytes: &[u8]) -> io::Result<File> {
    let mut file = empty(c"message", libc::MFD_CLOEXEC)?;
    file.write_all(bytes)?;
    Ok(file)
}
