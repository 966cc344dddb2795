//! The processes of one tool, and what each takes of the machine.
//!
//! They are known by a variable in their environment, which a process hands on
//! to all it starts: it tells them from a nettoll that somebody else runs, and
//! holds when their parent has died.

use std::fs;

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The variable.
pub const MARK: &str = "NETTOLL_BENCH_MARK";

/// A process of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// Its first argument: `study`, `agent`, `__host` or `__endpoint`.
    pub kind: String,
    /// Its second: a host's name.
    pub name: String,
}

impl Process {
    /// Ends it without a chance to clean up; false where it had ended before.
    pub fn kill(&self) -> bool {
        kill(Pid::from_raw(self.pid.cast_signed()), Signal::SIGKILL).is_ok()
    }
}

/// All that bear this mark and are alive.
pub fn of(mark: &str) -> Vec<Process> {
    let wanted = format!("{MARK}={mark}");
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| process(pid, &wanted)).collect()
}

fn process(pid: u32, wanted: &str) -> Option<Process> {
    let words = |file: &str| -> Option<Vec<String>> {
        let bytes = fs::read(format!("/proc/{pid}/{file}")).ok()?;
        Some(bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
    };
    // That of a process that has ended and awaits its parent is empty.
    words("environ")?.iter().any(|word| word == wanted).then_some(())?;
    let mut arguments = words("cmdline")?.into_iter().skip(1);
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    Some(Process { pid, parent, kind: arguments.next()?, name: arguments.next().unwrap_or_default() })
}

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
