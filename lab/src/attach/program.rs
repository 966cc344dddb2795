//! The processes of the program that is observed, and their clocks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use model::Nanos;
use model::attach::Clocks;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;

use super::AttachError;
use model::Refusal;

use sys::process::{self, Scheduling, Stat, TICK};

/// The most processes of a program that are looked at.
pub const MOST_PROCESSES: usize = 16_000;
/// The most threads.
const MOST_THREADS: usize = 32_000;
/// The longest arguments that are kept, in bytes.
const LONGEST_ARGUMENTS: u64 = 64 << 10;

/// Where cgroups of version 2 are.
pub const CGROUPS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// A choice of processes to observe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A process with its descendants.
    Pid(u32),
    /// The processes of a cgroup and of those below it: a path below the mount point, or whole.
    Cgroup(PathBuf),
    /// Those of a service by its unit's name.
    Unit(String),
}

/// A program under observation.
#[derive(Debug, Clone)]
pub enum Program {
    /// A process with its descendants.
    Tree {
        /// Its id.
        root: u32,
        /// Time at which it started, which tells it from another of the same id.
        started: u64,
    },
    /// A directory of a cgroup.
    Group(PathBuf),
}

impl Program {
    /// Finds what was asked for.
    ///
    /// # Errors
    /// When there is no such process, cgroup or unit.
    pub fn find(target: &Target) -> Result<Self, AttachError> {
        Ok(match target {
            Target::Pid(pid) => {
                let started = Stat::of(*pid).ok_or(AttachError::NoProcess(*pid))?.started;
                Self::Tree { root: *pid, started }
            }
            Target::Cgroup(path) => Self::Group(group(path).ok_or_else(|| AttachError::NoGroup(path.clone()))?),
            Target::Unit(name) => Self::Group(unit(name).ok_or_else(|| AttachError::NoUnit(name.clone()))?),
        })
    }

    /// Its processes now, the main one first; empty when it has ended.
    pub fn processes(&self) -> Vec<u32> {
        match self {
            Self::Tree { root, started } => {
                if Stat::of(*root).is_none_or(|stat| stat.started != *started || stat.is_dead()) {
                    return Vec::new();
                }
                let mut all = vec![*root];
                let mut next = 0;
                while next < all.len() && all.len() < MOST_PROCESSES {
                    let pid = all[next];
                    all.extend(process::threads(pid).into_iter().flat_map(|thread| process::children(pid, thread)));
                    next += 1;
                }
                all.truncate(MOST_PROCESSES);
                all
            }
            Self::Group(path) => {
                let mut all = BTreeSet::new();
                members(path, 0, &mut all);
                all.into_iter().take(MOST_PROCESSES).collect()
            }
        }
    }
}

/// Name of a process (`/proc/PID/comm`), without what is not printable.
pub fn name(pid: u32) -> String {
    printable(fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end())
}

/// A name without what is not printable.
pub fn printable(name: &str) -> String {
    name.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// The CPUs that a process's main thread may use, where these are fewer than `online`.
pub fn affinity(pid: u32, online: usize) -> Vec<u32> {
    let own = allowed(pid).unwrap_or_default();
    if own.len() < online { own } else { Vec::new() }
}

/// The CPUs of `online` that any of these threads may use; all where one cannot be asked.
pub fn cpus(threads: &[u32], online: &[u32]) -> Vec<u32> {
    let allowed: Option<Vec<Vec<u32>>> = threads.iter().map(|thread| allowed(*thread)).collect();
    let Some(allowed) = allowed.filter(|allowed| !allowed.is_empty()) else { return online.to_vec() };
    online.iter().copied().filter(|cpu| allowed.iter().any(|own| own.contains(cpu))).collect()
}

fn allowed(thread: u32) -> Option<Vec<u32>> {
    let set = sched_getaffinity(Pid::from_raw(i32::try_from(thread).ok()?)).ok()?;
    Some((0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).map(|cpu| cpu as u32).collect())
}

/// Arguments of a process, and whether the longest were cut.
pub fn arguments(pid: u32) -> (Vec<String>, Option<Refusal>) {
    let mut bytes = Vec::new();
    let read = File::open(format!("/proc/{pid}/cmdline")).and_then(|file| file.take(LONGEST_ARGUMENTS + 1).read_to_end(&mut bytes));
    // A process that ends meanwhile has none.
    drop(read);
    kept_arguments(bytes)
}

fn kept_arguments(mut bytes: Vec<u8>) -> (Vec<String>, Option<Refusal>) {
    let cut = bytes.len() as u64 > LONGEST_ARGUMENTS;
    bytes.truncate(LONGEST_ARGUMENTS as usize);
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    (words, cut.then(|| beyond("arguments", &format!("{} KiB", LONGEST_ARGUMENTS >> 10), "Look at /proc/PID/cmdline for the rest")))
}

/// What is beyond a bound of docs/security.md and is left out.
pub fn beyond(what: &str, most: &str, remedy: &str) -> Refusal {
    Refusal::new(what, format!("the first {most} are looked at; what is beyond them is left out"), remedy)
}

/// Bounds that this many processes and threads reach.
pub fn at_bounds(processes: usize, threads: usize) -> Vec<Refusal> {
    let remedy = "Observe a part of the program: --pid of one of its processes, or --cgroup of a smaller unit";
    [("processes", processes, MOST_PROCESSES), ("threads", threads, MOST_THREADS)]
        .into_iter()
        .filter(|(_, number, most)| number >= most)
        .map(|(what, _, most)| beyond(what, &most.to_string(), remedy))
        .collect()
}

fn group(path: &Path) -> Option<PathBuf> {
    let below = |root: &&str| Path::new(root).join(path.strip_prefix("/").unwrap_or(path));
    let places = std::iter::once(path.to_owned()).chain(CGROUPS.iter().map(below));
    places.into_iter().find(|place| place.join("cgroup.procs").is_file())
}

/// Levels of cgroups that are gone through.
const DEEPEST: usize = 12;

/// The cgroup of a unit, wherever the service manager put it.
fn unit(name: &str) -> Option<PathBuf> {
    let names = if name.contains('.') { vec![name.to_owned()] } else { vec![format!("{name}.service"), name.to_owned()] };
    let plain = |name: &String| !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    let names: Vec<String> = names.into_iter().filter(plain).collect();
    CGROUPS.iter().find_map(|root| below(Path::new(root), &names, 0))
}

fn below(directory: &Path, names: &[String], depth: usize) -> Option<PathBuf> {
    if let Some(found) = names.iter().map(|name| directory.join(name)).find(|place| place.join("cgroup.procs").is_file()) {
        return Some(found);
    }
    let deeper = fs::read_dir(directory).ok()?.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    (depth < DEEPEST).then(|| deeper.into_iter().find_map(|entry| below(&entry.path(), names, depth + 1))).flatten()
}

fn members(directory: &Path, depth: usize, all: &mut BTreeSet<u32>) {
    let own = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    all.extend(own.lines().filter_map(|line| line.parse::<u32>().ok()).filter(|pid| *pid > 0));
    if depth < DEEPEST && all.len() < MOST_PROCESSES {
        let deeper =
            fs::read_dir(directory).into_iter().flatten().flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        deeper.for_each(|entry| members(&entry.path(), depth + 1, all));
    }
}

/// CPU clocks of processes at one moment, with the time of children that ended.
#[derive(Debug, Clone, Default)]
pub struct CpuReading(BTreeMap<u32, [u64; 2]>);

impl CpuReading {
    /// Reads them; processes that are gone are left out.
    pub fn take(processes: &[u32]) -> Self {
        let mut this = Self::default();
        this.add(processes);
        this
    }

    /// Reads those that are not read yet.
    pub fn add(&mut self, processes: &[u32]) {
        let one = |pid: &u32| {
            let clock = clock_getcpuclockid(Pid::from_raw(i32::try_from(*pid).ok()?)).ok()?.now().ok()?;
            let own =
                u64::try_from(clock.tv_sec()).ok()?.saturating_mul(1_000_000_000).saturating_add(u64::try_from(clock.tv_nsec()).ok()?);
            Some((*pid, [own, Stat::of(*pid).map_or(0, |stat| stat.ended.iter().sum::<u64>().saturating_mul(TICK))]))
        };
        let new: Vec<_> = processes.iter().filter(|pid| !self.0.contains_key(pid)).filter_map(one).collect();
        self.0.extend(new);
    }

    /// CPU time since an earlier reading: of the processes that are there, and of those that ended.
    pub fn since(&self, earlier: &Self) -> [Nanos; 2] {
        let (mut own, mut ended) = (0_u64, 0_u64);
        for (pid, [clock, children]) in &self.0 {
            let [clock_then, children_then] = earlier.0.get(pid).copied().unwrap_or_default();
            own = own.saturating_add(clock.saturating_sub(clock_then));
            ended = ended.saturating_add(children.saturating_sub(children_then));
        }
        // What a child that ended had spent before is in its parent's sum as well.
        let before: u64 =
            earlier.0.iter().filter(|(pid, _)| !self.0.contains_key(pid)).map(|(_, [clock, children])| clock + children).sum();
        let ended = ended.saturating_sub(before);
        [Nanos::new(own.saturating_add(ended)), Nanos::new(ended)]
    }
}

/// Switches and waits of threads at one moment.
#[derive(Debug, Clone, Default)]
pub struct ThreadReading {
    processes: u32,
    threads: BTreeMap<u32, Scheduling>,
}

impl ThreadReading {
    /// Reads them; threads that are gone are left out.
    pub fn take(processes: &[u32]) -> Self {
        let all = processes.iter().flat_map(|pid| process::threads(*pid).into_iter().map(move |thread| (*pid, thread)));
        let threads = all.take(MOST_THREADS).map(|(pid, thread)| (thread, Scheduling::of(pid, thread))).collect();
        Self { processes: processes.len() as u32, threads }
    }

    /// The threads.
    pub fn threads(&self) -> Vec<u32> {
        self.threads.keys().copied().collect()
    }

    /// Counts since an earlier reading; `cpu` is what [`CpuReading::since`] says.
    pub fn since(&self, earlier: &Self, [cpu, ended]: [Nanos; 2]) -> Clocks {
        let (mut switches, mut delay) = ([0_u64; 2], Some(0_u64));
        for (thread, now) in &self.threads {
            let then = earlier.threads.get(thread).copied();
            for ((sum, now), then) in switches.iter_mut().zip(now.switches).zip(then.unwrap_or_default().switches) {
                *sum = sum.saturating_add(now.saturating_sub(then));
            }
            let before = then.map_or(Some(0), |then| then.delay);
            let one = now.delay.zip(before).map(|(now, then)| now.saturating_sub(then));
            delay = delay.zip(one).map(|(sum, one)| sum.saturating_add(one));
        }
        let [voluntary, involuntary] = switches;
        let threads = self.threads.len() as u32;
        Clocks { cpu, ended, processes: self.processes, threads, came: 0, voluntary, involuntary, run_delay: delay.map(Nanos::new) }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        CpuReading, LONGEST_ARGUMENTS, MOST_PROCESSES, MOST_THREADS, Program, Scheduling, Target, ThreadReading, at_bounds, cpus,
        kept_arguments, name,
    };
    use model::Nanos;

    #[test]
    fn cpus_are_those_that_threads_may_use() {
        let own = cpus(&[std::process::id()], &(0..1024).collect::<Vec<_>>());
        assert!(!own.is_empty() && own.len() < 1024, "{own:?}");
        assert_eq!(cpus(&[std::process::id(), u32::MAX], &[1, 5]), [1, 5], "one that is gone");
        assert_eq!(cpus(&[], &[1, 5]), [1, 5]);
    }

    #[test]
    fn this_process_has_clocks_and_threads() {
        let own = std::process::id();
        let program = Program::find(&Target::Pid(own)).unwrap();
        assert_eq!(program.processes().first(), Some(&own));
        let (clocks, threads) = (CpuReading::take(&[own]), ThreadReading::take(&[own]));
        let begun = std::time::Instant::now();
        while begun.elapsed().as_millis() < 20 {
            std::hint::black_box(begun.elapsed());
        }
        let [cpu, ended] = CpuReading::take(&[own]).since(&clocks);
        let seen = ThreadReading::take(&[own]).since(&threads, [cpu, ended]);
        assert!(cpu.get() > 1_000_000 && seen.threads >= 1 && !name(own).is_empty(), "{seen:?}");
        assert!(Program::find(&Target::Pid(u32::MAX)).is_err());
    }

    #[test]
    fn a_wait_that_the_kernel_does_not_count_is_no_wait_of_0() {
        let reading = |delay| ThreadReading { processes: 1, threads: [(1, Scheduling { switches: [7, 2], ran: None, delay })].into() };
        let since = |now, then| reading(now).since(&reading(then), [Nanos::new(1), Nanos::new(0)]).run_delay;
        assert_eq!(since(Some(50), Some(20)), Some(Nanos::new(30)));
        assert_eq!([since(None, None), since(None, Some(1))], [None, None]);
        assert_eq!(reading(None).since(&ThreadReading::default(), [Nanos::new(1), Nanos::new(0)]).voluntary, 7);
    }

    #[test]
    fn at_each_bound_it_is_said_that_more_is_left_out() {
        let said = |processes, threads| at_bounds(processes, threads).iter().map(|refusal| refusal.what.clone()).collect::<Vec<_>>();
        assert_eq!(said(MOST_PROCESSES - 1, MOST_THREADS - 1), Vec::<String>::new());
        assert_eq!(said(MOST_PROCESSES, MOST_THREADS - 1), ["processes"]);
        assert_eq!(said(1, MOST_THREADS), ["threads"]);
        let kept = |length: u64| kept_arguments(vec![b'a'; length as usize]);
        let (words, cut) = kept(LONGEST_ARGUMENTS);
        assert_eq!((words[0].len() as u64, cut), (LONGEST_ARGUMENTS, None));
        let (words, cut) = kept(LONGEST_ARGUMENTS + 1);
        assert_eq!(words[0].len() as u64, LONGEST_ARGUMENTS);
        assert!(cut.is_some_and(|refusal| refusal.what == "arguments" && refusal.answer.contains("64 KiB")));
    }

    #[test]
    fn a_child_that_ended_is_counted_once() {
        let reading = |all: &[(u32, [u64; 2])]| CpuReading(all.iter().copied().collect());
        // The child had 30 before the window and 50 when it ended.
        let before = reading(&[(1, [100, 0]), (2, [30, 0])]);
        assert_eq!(reading(&[(1, [110, 50])]).since(&before), [Nanos::new(30), Nanos::new(20)]);
        // One that nobody waited for yet takes nothing away.
        assert_eq!(reading(&[(1, [110, 0])]).since(&before), [Nanos::new(10), Nanos::new(0)]);
    }
}
