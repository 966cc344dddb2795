//! `perf_event_open(2)` as far as this crate uses it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use crate::system::descriptor;
use bpf::sysctl;

/// `struct perf_event_attr` as of Linux 4.1 (112 bytes), which later kernels
/// accept by its size. Fields of `include/uapi/linux/perf_event.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Attributes {
    /// `type`: one of the `TYPE_*`.
    pub kind: u32,
    /// Bytes of this structure; set by [`open`].
    pub size: u32,
    /// Number of the event within its type.
    pub config: u64,
    /// Distance of two samples; 0 counts only.
    pub period: u64,
    /// `sample_type`: what a sample holds, of `SAMPLE_*`.
    pub sample: u64,
    /// `read_format`: what a reading holds, of `FORMAT_*`.
    pub read_format: u64,
    /// The bit field of the C structure: the flags below.
    pub flags: u64,
    /// Wake-ups of a reader, breakpoints, branches and registers: none.
    pub unused: [u64; 5],
    /// Bytes of the user's stack in a sample: none.
    pub user_stack: u32,
    /// The clock that samples are stamped with, with [`USE_CLOCKID`].
    pub clock: i32,
    /// More registers, and bounds of rings and chains: those of the kernel.
    pub unused_more: [u64; 2],
}

const _: () = assert!(size_of::<Attributes>() == 112);

impl Attributes {
    /// Those of an event that samples nothing: it records, with task and time, what `flags` ask for.
    pub fn of_records(flags: u64) -> Self {
        Self {
            kind: TYPE_SOFTWARE,
            config: SOFTWARE_DUMMY,
            sample: SAMPLE_TID | SAMPLE_TIME,
            flags: flags | SAMPLE_ID_ALL | USE_CLOCKID,
            clock: libc::CLOCK_MONOTONIC,
            ..Self::default()
        }
    }
}

pub const TYPE_HARDWARE: u32 = 0;
pub const TYPE_SOFTWARE: u32 = 1;

pub const HARDWARE_CYCLES: u64 = 0;
pub const HARDWARE_INSTRUCTIONS: u64 = 1;
pub const HARDWARE_CACHE_MISSES: u64 = 3;
pub const SOFTWARE_CPU_CLOCK: u64 = 0;
pub const SOFTWARE_TASK_CLOCK: u64 = 1;
pub const SOFTWARE_DUMMY: u64 = 9;

pub const SAMPLE_IP: u64 = 1;
pub const SAMPLE_TID: u64 = 1 << 1;
pub const SAMPLE_TIME: u64 = 1 << 2;
pub const SAMPLE_READ: u64 = 1 << 4;
pub const SAMPLE_CALLCHAIN: u64 = 1 << 5;
pub const SAMPLE_CPU: u64 = 1 << 7;

pub const FORMAT_ID: u64 = 1 << 2;
pub const FORMAT_GROUP: u64 = 1 << 3;
pub const FORMAT_LOST: u64 = 1 << 4;

pub const DISABLED: u64 = 1;
pub const INHERIT: u64 = 1 << 1;
pub const TASK: u64 = 1 << 13;
pub const SAMPLE_ID_ALL: u64 = 1 << 18;
pub const EXCLUDE_KERNEL: u64 = 1 << 5;
pub const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
pub const EXCLUDE_USER_CALLCHAIN: u64 = 1 << 22;
pub const USE_CLOCKID: u64 = 1 << 25;
pub const CONTEXT_SWITCH: u64 = 1 << 26;
/// Since Linux 5.1.
pub const KERNEL_SYMBOLS: u64 = 1 << 29;

/// `_IO('$', n)`: the commands, and whether they go to the whole group.
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
const WHOLE_GROUP: libc::c_ulong = 1;
/// `_IOR('$', 7, u64)`.
const ID: libc::c_ulong = 0x8008_2407;
const CLOSE_ON_EXEC: libc::c_ulong = 8;
/// Bytes of the longest reading: a group of ten counters of three numbers each.
const READING: usize = 248;

/// Opens an event for a task, or for all that runs (`None`, which needs a CPU): on one
/// CPU, or wherever the task runs (`None`).
///
/// # Errors
/// The system's answer.
pub fn open(attributes: Attributes, task: Option<u32>, cpu: Option<u32>, group: Option<BorrowedFd>) -> io::Result<OwnedFd> {
    let attributes = Attributes { size: size_of::<Attributes>() as u32, ..attributes };
    let task = task.map_or(Ok(-1), libc::pid_t::try_from).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    let cpu = cpu.map_or(Ok(-1), libc::c_int::try_from).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let group: libc::c_int = group.map_or(-1, |leader| leader.as_raw_fd());
    // SAFETY: the kernel reads `size` bytes of `attributes`, which outlives the call.
    descriptor(unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, task, cpu, group, CLOSE_ON_EXEC) })
}

/// Starts an event, its group and what its task's children inherited of it.
///
/// # Errors
/// The system's answer.
pub fn enable(event: BorrowedFd) -> io::Result<()> {
    command(event, ENABLE)
}

/// Stops it again.
///
/// # Errors
/// The system's answer.
pub fn disable(event: BorrowedFd) -> io::Result<()> {
    command(event, DISABLE)
}

fn command(event: BorrowedFd, command: libc::c_ulong) -> io::Result<()> {
    // SAFETY: these commands take a number.
    match unsafe { libc::ioctl(event.as_raw_fd(), command as _, WHOLE_GROUP) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The number by which samples name an event.
///
/// # Errors
/// The system's answer.
pub fn id(event: BorrowedFd) -> io::Result<u64> {
    let mut id = 0_u64;
    // SAFETY: the kernel writes eight bytes to `id`, which outlives the call.
    match unsafe { libc::ioctl(event.as_raw_fd(), ID as _, &raw mut id) } {
        0 => Ok(id),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads the numbers of an event, as its `read_format` has them.
///
/// # Errors
/// The system's answer.
pub fn read(event: &OwnedFd) -> io::Result<Vec<u64>> {
    let mut bytes = [0; READING];
    let count = File::from(event.try_clone()?).read(&mut bytes)?;
    Ok(bytes[..count].chunks_exact(8).map(|number| u64::from_ne_bytes(number.try_into().unwrap_or_default())).collect())
}

/// Returns what to do about the refusal of an event that looks into the kernel, of a task or of all that runs
/// (`None`), as [`open`] had it.
pub fn remedy(error: &io::Error, task: Option<u32>) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => format!(
            "kernel.perf_event_paranoid is {}: run as root or with CAP_PERFMON, or set it to {} or less (a container's seccomp profile may refuse it too)",
            sysctl("kernel.perf_event_paranoid"),
            if task.is_some() { 1 } else { 0 }
        ),
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            "This machine has no such counter (a virtual machine without a PMU?): samples by the CPU clock do without".to_owned()
        }
        Some(libc::ENOSYS) => "This kernel has no perf events (CONFIG_PERF_EVENTS), or a sandbox hides them".to_owned(),
        Some(libc::ESRCH) => "The process has ended: repeat the trial".to_owned(),
        Some(libc::EMFILE) => "Too many open files: raise `ulimit -n`".to_owned(),
        Some(libc::EINVAL) => format!(
            "This kernel does not take the event in this form, or the rate is above kernel.perf_event_max_sample_rate ({})",
            sysctl("kernel.perf_event_max_sample_rate")
        ),
        Some(libc::ENOMEM) => "Free memory, or shorten the trial".to_owned(),
        _ => "Profiles cannot be taken here; every other figure can".to_owned(),
    }
}
