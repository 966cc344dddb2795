//! Facts of the running system that several parts need.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

/// The largest file of the kernel's that is read whole: `/proc/kallsyms` has
/// some 6 MiB, the type information some 10.
const FILE_LIMIT: u64 = 128 << 20;

/// Binds the calling thread to a CPU.
///
/// # Errors
/// The system's answer.
pub fn bind_this_thread(cpu: u32) -> io::Result<()> {
    let mut cpus = CpuSet::new();
    cpus.set(cpu as usize)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &cpus)?)
}

/// Takes over the descriptor that a system call returned, or its errno.
pub(crate) fn descriptor(returned: libc::c_long) -> io::Result<OwnedFd> {
    if returned < 0 {
        return Err(io::Error::last_os_error());
    }
    let descriptor = RawFd::try_from(returned).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    // SAFETY: the kernel has just made this descriptor for the caller, which gave it to no other.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// A whole file of the kernel's, up to a limit.
///
/// # Errors
/// The system's answer, or that the file is larger than any of its kind.
pub fn read_limited(path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("more than {} MiB", FILE_LIMIT >> 20)));
    }
    Ok(bytes)
}
