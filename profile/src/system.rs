//! Facts of the running system that several parts need.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use model::Nanos;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

/// The largest file of the kernel's that is read whole: `/proc/kallsyms` has
/// some 6 MiB, the type information some 10.
const FILE_LIMIT: u64 = 128 << 20;

/// The most CPUs that a list is read for (`CONFIG_NR_CPUS` is at most 8192).
const CPU_LIMIT: usize = 8192;

/// This host's `CLOCK_MONOTONIC`, on which samples and events are stamped.
pub fn monotonic() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec to `time`, which outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Nanos::new(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

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

/// Bytes of a page of memory.
pub fn page_size() -> usize {
    // SAFETY: takes a number only.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

/// The CPUs that are online now.
///
/// # Errors
/// When the system does not list them.
pub fn online_cpus() -> io::Result<Vec<u32>> {
    let list = fs::read_to_string("/sys/devices/system/cpu/online")?;
    parse_cpu_list(&list).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the list of CPUs is not understood"))
}

/// CPUs in the kernel's notation, such as `0-3,8`; `None` when it is not that.
pub fn parse_cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || (last - first) as usize >= CPU_LIMIT || cpus.len() >= CPU_LIMIT {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
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

#[cfg(test)]
mod tests {
    use super::{online_cpus, parse_cpu_list};
    use proptest::prelude::proptest;

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(parse_cpu_list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_cpu_list("5"), Some(vec![5]));
        for wrong in ["", "3-1", "0-4000000000", "a", "1,,2"] {
            assert_eq!(parse_cpu_list(wrong), None, "{wrong}");
        }
        assert!(!online_cpus().unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_list_of_cpus_panic(text in "[0-9,-]{0,40}") {
            let _ = parse_cpu_list(&text);
        }
    }
}
