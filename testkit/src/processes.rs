//! The processes of one tool under test.
//!
//! They are known by a variable in their environment, which a process hands on
//! to all it starts: it tells them from those of other tests, and from a
//! nettoll that another runs, even after their parent has died.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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

/// Returns the tasks of this machine that have real-time priority or are stopped, kernel threads apart, and its frozen
/// control groups: states that a woven trial brings about. Each is named with the start of its process.
pub fn unusual_states() -> BTreeSet<String> {
    let mut states = BTreeSet::new();
    for process in directories(Path::new("/proc")) {
        states.extend(directories(&process.join("task")).filter_map(|task| unusual_state(&task)));
    }
    note_frozen(Path::new("/sys/fs/cgroup"), &mut states);
    states
}

fn unusual_state(task: &Path) -> Option<String> {
    /// PF_KTHREAD of the kernel's include/linux/sched.h.
    const KERNEL_THREAD: u64 = 0x0020_0000;
    let stat = fs::read_to_string(task.join("stat")).ok()?;
    let (name, rest) = stat.rsplit_once(')')?;
    // From the third on, as proc_pid_stat(5) numbers them.
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let words = match (fields.first().copied()?, number(41)?) {
        _ if number(9)? & KERNEL_THREAD != 0 => return None,
        ("T", _) => "stopped",
        (_, 1 | 2) => "with real-time priority",
        _ => return None,
    };
    Some(format!("task {name}), begun at {}, {words}", number(22)?))
}

fn note_frozen(group: &Path, states: &mut BTreeSet<String>) {
    if fs::read_to_string(group.join("cgroup.freeze")).is_ok_and(|text| text.trim() == "1") {
        states.insert(format!("control group {}, frozen", group.display()));
    }
    directories(group).for_each(|below| note_frozen(&below, states));
}

fn directories(path: &Path) -> impl Iterator<Item = std::path::PathBuf> + use<> {
    let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}
