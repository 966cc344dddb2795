//! The processes of a user's program, seen from outside: their clocks, their waits, their end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use model::Nanos;
use model::end::Switches;
use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;
use sys::process::{self, Scheduling, Stat};

use sys::clock;

/// Most processes and threads that are looked at: beyond that something has gone wild.
const MOST: usize = 4_096;
/// Time in which processes that are killed have to be gone.
const KILL_LIMIT: Duration = Duration::from_secs(2);

/// The processes of a program at one time.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// CPU time of each, by its id, the program's first among them.
    cpu: BTreeMap<u32, Nanos>,
    /// Context switches of all threads.
    switches: Switches,
    /// Time that they waited for a CPU.
    run_delay: Option<Nanos>,
    /// Threads whose clock may be a tick old.
    stale: u64,
    /// Time that the look took.
    span: Nanos,
}

/// What went on between two looks.
#[derive(Debug, Clone, Default)]
pub struct Between {
    /// CPU time of the processes that were there at the later look.
    pub cpu: Nanos,
    /// The most that it may be wrong by.
    pub error: Nanos,
    /// Context switches.
    pub switches: Switches,
    /// Time that the threads waited for a CPU.
    pub run_delay: Option<Nanos>,
    /// Most processes at either look.
    pub processes: u32,
    /// True where processes came or went.
    pub changed: bool,
}

/// Looks at the processes of a program, and calls `with` right after the clocks were read, before
/// what is slower to read. `spare` is a CPU that none of the processes is bound to, where there is
/// one.
///
/// The kernel charges a running thread at each tick and at each switch, so what another process
/// reads of its clock is up to a tick old. A change of the CPUs that a thread may run on takes it
/// off its queue and puts it back (`__do_set_cpus_allowed()` in the kernel's kernel/sched/core.c),
/// which charges it: allowed one CPU more and then that CPU less, it stays where it runs.
pub fn look<T>(all: &Family, spare: Option<u32>, with: impl FnOnce() -> T) -> (Look, T) {
    let mut seen = Look { run_delay: Some(Nanos::default()), ..Look::default() };
    let begun = clock::monotonic();
    for (pid, threads) in all {
        for thread in threads {
            seen.stale += u64::from(!spare.is_some_and(|spare| charge(*thread, spare)));
        }
        seen.cpu.insert(*pid, cpu(*pid));
    }
    let with = with();
    seen.span = clock::monotonic().since(begun);
    // The rest is not hurried: it changes with switches alone.
    for (pid, threads) in all {
        for thread in threads {
            let Scheduling { switches: [voluntary, involuntary], delay, .. } = Scheduling::of(*pid, *thread);
            seen.run_delay = seen.run_delay.zip(delay).map(|(sum, one)| sum + Nanos::new(one));
            seen.switches.voluntary += voluntary;
            seen.switches.involuntary += involuntary;
        }
    }
    (seen, with)
}

impl Look {
    /// From this look to a later one.
    pub fn until(&self, later: &Self) -> Between {
        let since = |(pid, time): (&u32, &Nanos)| time.since(self.cpu.get(pid).copied().unwrap_or_default());
        Between {
            cpu: later.cpu.iter().map(since).fold(Nanos::default(), |sum, one| sum + one),
            // Either clock is too low by at most so much, and the difference by no more than the larger.
            error: self.oldest().max(later.oldest()),
            switches: Switches {
                voluntary: later.switches.voluntary.saturating_sub(self.switches.voluntary),
                involuntary: later.switches.involuntary.saturating_sub(self.switches.involuntary),
            },
            run_delay: self.run_delay.zip(later.run_delay).map(|(before, after)| after.since(before)),
            processes: self.cpu.len().max(later.cpu.len()) as u32,
            changed: self.cpu.keys().ne(later.cpu.keys()),
        }
    }

    /// The most CPU time that the clocks may lack: a tick of each thread that was not charged, and
    /// what the others ran on for while the look lasted. The kernel's own tick may be shorter than that
    /// of `/proc`: an upper limit.
    fn oldest(&self) -> Nanos {
        Nanos::new(self.stale * process::TICK) + self.span
    }
}

/// CPU time of a process; 0 of one that is gone.
pub fn cpu(pid: u32) -> Nanos {
    clock_getcpuclockid(Pid::from_raw(pid.cast_signed())).map(clock::read).unwrap_or_default()
}

/// Has the kernel charge a thread for what it has run; false where it could not be.
pub fn charge(thread: u32, spare: u32) -> bool {
    let thread = Pid::from_raw(thread.cast_signed());
    let Ok(own) = sched_getaffinity(thread) else { return false };
    let mut wider = own;
    if own.is_set(spare as usize).unwrap_or(true) || wider.set(spare as usize).is_err() {
        return false;
    }
    let widened = sched_setaffinity(thread, &wider).is_ok();
    // Whatever the kernel answered, the thread is to stay where it was.
    sched_setaffinity(thread, &own).is_ok() && widened
}

/// The CPU, of those that this thread may use, that is not `bound`.
pub fn spare(free: Option<&CpuSet>, bound: Option<u32>) -> Option<u32> {
    let (free, bound) = (free?, bound?);
    (0..CpuSet::count()).find(|cpu| *cpu != bound as usize && free.is_set(*cpu).unwrap_or(false)).map(|cpu| cpu as u32)
}

/// The threads of a process.
pub fn threads(pid: u32) -> Vec<u32> {
    let mut all = process::threads(pid);
    all.truncate(MOST);
    all
}

/// Returns whether a thread of the process runs, or would if it had a CPU.
pub fn is_runnable(pid: u32) -> bool {
    threads(pid).into_iter().any(|thread| Stat::of_thread(pid, thread).is_some_and(|stat| stat.state == 'R'))
}

/// Processes, each with its threads.
pub type Family = Vec<(u32, Vec<u32>)>;

/// A process and all that descend from it; those that have ended are not among them.
pub fn family(root: u32) -> Family {
    descendants(vec![root])
}

/// The processes of the program `root` of a `harness`: also those that lost their parents, which the kernel
/// gives to the harness (PR_SET_CHILD_SUBREAPER). The first is `root`.
pub fn of_program(root: u32, harness: u32) -> Family {
    let children = threads(harness).into_iter().flat_map(|thread| process::children(harness, thread));
    // The last is looked at first.
    descendants(children.filter(|pid| *pid != root).chain([root]).collect())
}

fn descendants(mut left: Vec<u32>) -> Family {
    let mut all = Vec::new();
    while let Some(pid) = left.pop().filter(|_| all.len() < MOST) {
        let threads = threads(pid);
        for thread in &threads {
            left.extend(process::children(pid, *thread));
        }
        all.push((pid, threads));
    }
    all
}

/// Kills every process that this one has started, or that was left to it by those it started,
/// and waits for their end; returns how many there were other than `known`.
pub fn kill_all(known: u32) -> u32 {
    let own = std::process::id();
    let give_up = Instant::now() + KILL_LIMIT;
    let mut strangers = std::collections::BTreeSet::new();
    loop {
        let left: Vec<u32> = family(own).into_iter().map(|(pid, _)| pid).filter(|pid| *pid != own).collect();
        for pid in &left {
            if *pid != known {
                strangers.insert(*pid);
            }
            // One that has ended meanwhile is gone all the same.
            let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
        }
        // Those whose parents are gone are this process's now.
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => break,
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => break,
            }
        }
        if left.is_empty() || Instant::now() >= give_up {
            return strangers.len() as u32;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::{family, look, threads};

    #[test]
    fn children_are_seen_and_their_time_is_counted() {
        let mut shell = Command::new("sh").args(["-c", "sh -c 'while :; do :; done' & wait"]).stdin(Stdio::null()).spawn().unwrap();
        let give_up = Instant::now() + Duration::from_secs(10);
        let between = loop {
            let (before, ()) = look(&family(shell.id()), None, || ());
            std::thread::sleep(Duration::from_millis(40));
            let between = before.until(&look(&family(shell.id()), None, || ()).0);
            if (between.cpu.get() > 5_000_000 && between.processes == 2 && !between.changed) || Instant::now() > give_up {
                break between;
            }
        };
        for (pid, _) in family(shell.id()) {
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.cast_signed()), nix::sys::signal::Signal::SIGKILL);
        }
        shell.wait().unwrap();
        assert_eq!((between.processes, between.changed), (2, false));
        assert!(between.cpu.get() > 5_000_000 && between.error.get() > 0, "{between:?}");
    }

    #[test]
    fn one_that_sleeps_is_told_from_one_that_would_run() {
        assert!(super::is_runnable(std::process::id()) && !super::is_runnable(u32::MAX >> 1));
        let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
        // It sleeps and runs by turns until it has started.
        let give_up = Instant::now() + Duration::from_secs(10);
        let mut runs = true;
        while runs && Instant::now() < give_up {
            std::thread::sleep(Duration::from_millis(5));
            runs = super::is_runnable(sleeper.id());
        }
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert!(!runs);
    }

    #[test]
    fn a_process_that_is_gone_has_no_threads() {
        assert!(threads(u32::MAX >> 1).is_empty());
        assert!(threads(std::process::id()).contains(&std::process::id()));
    }
}
