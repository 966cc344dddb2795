//! Processes and their threads as `/proc` shows them (proc(5)): what is gone has nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

/// Length of a tick of `/proc/PID/stat` in ns: `USER_HZ` is 100 on every machine that nettoll runs on.
pub const TICK: u64 = 10_000_000;

/// The id of this start of the machine; empty where the kernel has none.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map_or_else(|_| String::new(), |text| text.trim().to_owned())
}

/// How a process ended, in words: `exit code 1`, `signal 9`.
pub fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => status.to_string(),
    }
}

/// The part of `/proc/PID/stat` that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Its state: `R` runs or would if it had a CPU, `Z` has ended and its parent has not asked for its outcome yet.
    pub state: char,
    /// Its parent.
    pub parent: u32,
    /// CPU time in ticks, in the user's code and in the kernel.
    pub ticks: [u64; 2],
    /// That of children that ended and were waited for, likewise.
    pub ended: [u64; 2],
    /// Ticks from the start of the machine to its own.
    pub started: u64,
}

impl Stat {
    /// That of a process; `None` where there is none.
    pub fn of(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// That of a thread of a process.
    pub fn of_thread(pid: u32, thread: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).ok()?)
    }

    /// Reads a line; the name in it may hold anything, so fields count from its last bracket.
    pub fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        // The state is field 3.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            state: fields.first()?.chars().next()?,
            parent: u32::try_from(number(4)?).ok()?,
            ticks: [number(14)?, number(15)?],
            ended: [number(16)?, number(17)?],
            started: number(22)?,
        })
    }

    /// True where it has ended.
    pub const fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// Every process that can be seen, by its number: mostly the oldest first.
pub fn processes() -> Vec<u32> {
    let mut all = numbers("/proc");
    all.sort_unstable();
    all
}

/// The threads of a process.
pub fn threads(pid: u32) -> Vec<u32> {
    numbers(&format!("/proc/{pid}/task"))
}

fn numbers(directory: &str) -> Vec<u32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The processes that a thread of a process started and that still run (CONFIG_PROC_CHILDREN).
pub fn children(pid: u32, thread: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Keeps the files of this process from a program that is not nettoll's: all but the first three are closed when it
/// starts (close_range(2), since Linux 5.11; before that it has those that are not closed on exec).
pub fn without_files(command: &mut Command) -> &mut Command {
    // SAFETY: the function makes one system call, which takes numbers alone, and touches no memory.
    unsafe {
        command.pre_exec(|| {
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
            Ok(())
        })
    }
}

/// Device and inode of this process's namespace of process ids, unless it is the machine's first (whose inode is
/// `PROC_PID_INIT_INO`) or cannot be told.
pub fn own_id_namespace() -> Option<(u64, u64)> {
    const FIRST: u64 = 0xEFFF_FFFC;
    let namespace = fs::metadata("/proc/self/ns/pid").ok()?;
    (namespace.ino() != FIRST).then(|| (namespace.dev(), namespace.ino()))
}

/// What the scheduler counts of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// Voluntary and involuntary switches.
    pub switches: [u64; 2],
    /// Time for which it had a CPU, in ns; `None` where this kernel does not count it (CONFIG_SCHED_INFO).
    pub ran: Option<u64>,
    /// Time for which it waited for one, likewise.
    pub delay: Option<u64>,
}

impl Scheduling {
    /// That of a thread of a process.
    pub fn of(pid: u32, thread: u32) -> Self {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/task/{thread}/{file}")).unwrap_or_default();
        Self::parse(&read("status"), &read("schedstat"))
    }

    /// By a thread's `status` and `schedstat`.
    pub fn parse(status: &str, schedstat: &str) -> Self {
        let count = |name: &str| field(status, name).and_then(|count| count.parse().ok()).unwrap_or(0);
        let ran = schedstat.split_ascii_whitespace().next().and_then(|word| word.parse().ok());
        Self { switches: [count("voluntary_ctxt_switches"), count("nonvoluntary_ctxt_switches")], ran, delay: run_delay(schedstat) }
    }
}

/// A line of a process's or thread's `status` by its name, such as `VmHWM`.
pub fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// The second number of `schedstat`: nanoseconds spent waiting on a run queue
/// (Documentation/scheduler/sched-stats.rst). It is exact for a running thread, unlike the first.
pub fn run_delay(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The third number of `schedstat`: times that a thread came to a CPU.
pub fn arrivals(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::id;

    use super::{Scheduling, Stat, arrivals, children, processes, threads};

    #[test]
    fn a_name_with_brackets_does_not_move_the_fields() {
        let fields = (4..=22).map(|field| field.to_string()).collect::<Vec<_>>().join(" ");
        let stat = Stat::parse(&format!("7 (a) b ) S {fields} 0 0")).unwrap();
        assert_eq!(stat, Stat { state: 'S', parent: 4, ticks: [14, 15], ended: [16, 17], started: 22 });
        for wrong in ["7 (x) Z", "", "42 (x) R 1"] {
            assert_eq!(Stat::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn this_process_is_seen_and_one_that_is_gone_is_not() {
        let own = id();
        assert!(processes().contains(&own) && threads(own).contains(&own) && children(own, own).iter().all(|child| *child != own));
        assert!(Stat::of(own).is_some_and(|stat| !stat.is_dead() && Stat::of_thread(own, own).unwrap().started == stat.started));
        let gone = u32::MAX >> 1;
        assert!(Stat::of(gone).is_none() && threads(gone).is_empty() && children(gone, gone).is_empty());
        assert_eq!(Scheduling::of(gone, gone), Scheduling::default());
    }

    #[test]
    fn a_time_that_the_kernel_does_not_count_is_none() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t2\n";
        let parse = |schedstat| Scheduling::parse(status, schedstat);
        assert_eq!(parse("9 50 1"), Scheduling { switches: [7, 2], ran: Some(9), delay: Some(50) });
        assert_eq!([parse("").delay, parse("0 x 0").delay], [None, None]);
        assert_eq!([arrivals("9 50 1"), arrivals("9 50"), arrivals("9 50 x")], [Some(1), None, None]);
    }
}
