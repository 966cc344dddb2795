//! The parts that the tests of endurance share: nettoll run as its users run it, and
//! a look at everything that it could leave behind.

pub mod agent;
pub mod stored;
pub mod tool;
pub mod traces;

use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, ensure};
use sys::process::{Scheduling, field, threads};

/// Time until a claim came true; `None` when it did not within `limit`.
pub fn within(limit: Duration, mut claim: impl FnMut() -> bool) -> Option<Duration> {
    let begun = Instant::now();
    loop {
        if claim() {
            return Some(begun.elapsed());
        }
        if begun.elapsed() > limit {
            return None;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// A size of `/proc/PID/status`, such as `VmRSS`, in KiB.
///
/// # Errors
/// A process that has ended.
pub fn kib(pid: u32, key: &str) -> anyhow::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).with_context(|| format!("read the status of process {pid}"))?;
    let number = field(&text, key).and_then(|words| words.split_whitespace().next()?.parse().ok());
    number.with_context(|| format!("process {pid} has no {key}: it has ended"))
}

/// Number of files that it has open.
pub fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// CPU time that its threads took since they were started, in ns.
///
/// # Errors
/// A process that has ended.
pub fn cpu_ns(pid: u32) -> anyhow::Result<u64> {
    let threads = threads(pid);
    ensure!(!threads.is_empty(), "process {pid} has no threads: it has ended");
    Ok(threads.into_iter().filter_map(|thread| Scheduling::of(pid, thread).ran).sum())
}
