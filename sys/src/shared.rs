//! Memory that processes share: a file without a name, and a word to wait for.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{FromRawFd, RawFd};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// An empty file in memory; `name` shows in lists of a process's open files, `flags` are those of
/// memfd_create(2).
///
/// # Errors
/// A refusal of the kernel.
pub fn empty_file(name: &CStr, flags: libc::c_uint) -> io::Result<File> {
    // The C library has a function for it only since glibc 2.27, the kernel since 3.17.
    // SAFETY: the name is a string with an end, which outlives the call.
    let file = unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), flags) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open and has no other owner.
    Ok(unsafe { File::from_raw_fd(file as RawFd) })
}

/// A file in memory with these bytes.
///
/// # Errors
/// A refusal of the kernel.
pub fn file_of(bytes: &[u8]) -> io::Result<File> {
    let mut file = empty_file(c"message", libc::MFD_CLOEXEC)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Sleeps while `word` is `value`, for `limit` at most (futex(2)).
///
/// # Errors
/// The limit has passed (`ETIMEDOUT`), the word has another value (`EAGAIN`), a signal came (`EINTR`).
pub fn futex_wait(word: &AtomicU32, value: u32, limit: Duration) -> io::Result<()> {
    let timeout = libc::timespec { tv_sec: limit.as_secs() as libc::time_t, tv_nsec: limit.subsec_nanos().into() };
    // Not FUTEX_PRIVATE: the other side is another process.
    // SAFETY: the word and the time are alive during the call, which only reads them.
    match unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const timeout) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Wakes at most one thread that waits for `word`.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: the call takes the word's address, which is mapped, and numbers.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}
