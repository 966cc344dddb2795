//! The processes of one tool under test.
//!
//! They are known by a variable in their environment, which a process hands on
//! to all it starts: it tells them from those of other tests, and from a
//! nettoll that another runs, even after their parent has died.

use std::collections::BTreeSet;
use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The variable.
pub const MARK: &str = "NETTOLL_TEST_MARK";

/// A process of a tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Ends it without a chance to clean up; returns `false` where it had ended before.
    pub fn kill(&self) -> bool {
        kill(Pid::from_raw(self.pid.cast_signed()), Signal::SIGKILL).is_ok()
    }
}

/// Returns all that bear a mark and are alive.
pub fn marked(mark: &str) -> BTreeSet<Process> {
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
