//! The processes of one tool, and what each takes of the machine.

use std::fs;

use anyhow::Context;

pub use testkit::processes::{MARK, Process, marked, unusual_states};

/// A size of `/proc/PID/status`, such as `VmRSS`, in KiB.
///
/// # Errors
/// A process that has ended.
pub fn kib(pid: u32, key: &str) -> anyhow::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).with_context(|| format!("read the status of process {pid}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.with_context(|| format!("process {pid} has no {key}: it has ended"))
}

/// Number of files that it has open.
pub fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// CPU time that it took since it was started, all of its threads together, in ns.
///
/// # Errors
/// A process that has ended.
pub fn cpu_ns(pid: u32) -> anyhow::Result<u64> {
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task")).with_context(|| format!("read the threads of process {pid}"))? {
        let text = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        sum += text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(sum)
}
