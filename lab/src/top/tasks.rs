//! Names, units and waits of the processes that are in samples: `/proc` is read for these alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::time::{Duration, Instant};

use model::Nanos;
use model::top::Process;
use profile::elsewhere::IDLE;
use profile::machine::Drained;
use sys::process::{Stat, arrivals, own_id_namespace, run_delay, threads};

use super::units::{self, Units};
use crate::attach::program;

/// A process that no sample showed for this long is forgotten.
const KEPT: Duration = Duration::from_secs(60);
/// The most processes that are remembered.
const MOST: usize = 20_000;
/// The most threads whose waits are read in a stretch: some 5 ms.
const MOST_THREADS: usize = 500;
/// The process that starts the threads of the kernel.
const KTHREADD: u32 = 2;

/// The processes that were met.
#[derive(Debug)]
pub struct Tasks {
    first_namespace: bool,
    known: HashMap<u32, TaskEntry>,
}

#[derive(Debug)]
struct TaskEntry {
    name: String,
    unit: Option<String>,
    kernel: bool,
    /// Its start, which tells it from another of the same number; `None` where it had ended when it was met.
    started: Option<u64>,
    /// Wait for a CPU and arrivals there, at the end of the last stretch that read them.
    waited: Option<[u64; 2]>,
    seen: Instant,
}

impl Tasks {
    /// No process is known yet.
    pub fn new() -> Self {
        Self { first_namespace: own_id_namespace().is_none(), known: HashMap::new() }
    }

    /// True where every process of the machine has its number here.
    pub const fn in_first_namespace(&self) -> bool {
        self.first_namespace
    }

    /// True of a thread of the kernel.
    pub fn is_kernel(&mut self, pid: u32) -> bool {
        self.meet(pid).kernel
    }

    /// Takes what a sample's mark says of a process that ended before it was looked at.
    pub fn learn(&mut self, pid: u32, name: &[u8], unit: Option<&str>) {
        let known = self.meet(pid);
        if known.name.is_empty() {
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            known.name = program::printable(&String::from_utf8_lossy(name));
        }
        if known.unit.is_none() {
            known.unit = unit.map(str::to_owned);
        }
    }

    fn meet(&mut self, pid: u32) -> &mut TaskEntry {
        let known = self.known.entry(pid).or_insert_with(|| {
            let stat = Stat::of(pid);
            let kernel = pid == KTHREADD || stat.is_some_and(|stat| stat.parent == KTHREADD);
            let unit = units::of_process(pid);
            TaskEntry { name: program::name(pid), unit, kernel, started: stat.map(|stat| stat.started), waited: None, seen: Instant::now() }
        });
        known.seen = Instant::now();
        known
    }

    /// What is known of these processes, with their waits since the last stretch in which they were read.
    pub fn read(&mut self, pids: &BTreeSet<u32>, units: &mut Units) -> BTreeMap<u32, Process> {
        let mut left = MOST_THREADS;
        let mut found = BTreeMap::new();
        for pid in pids {
            let known = self.meet(*pid);
            let now = if known.kernel { None } else { waited(*pid, &mut left) };
            let before = std::mem::replace(&mut known.waited, now);
            let since = now.zip(before).map(|(now, before)| [0, 1].map(|field| now[field].saturating_sub(before[field])));
            let process = Process {
                name: known.name.clone(),
                unit: known.unit.as_deref().map(|path| units.place(path)),
                wait: since.map(|[wait, _]| Nanos::new(wait)),
                arrivals: since.map(|[_, arrivals]| arrivals),
                connections: None,
            };
            found.insert(*pid, process);
        }
        self.forget();
        found
    }

    /// Forgets processes that are gone or quiet: a number may be given again.
    fn forget(&mut self) {
        self.known.retain(|_, known| known.seen.elapsed() < KEPT);
        if self.known.len() > MOST {
            self.known.clear();
        }
        let reused =
            |pid: u32, known: &TaskEntry| known.started.is_some_and(|started| Stat::of(pid).is_some_and(|now| now.started != started));
        // One a stretch for each that was met in it: their numbers come round in an hour at the earliest.
        let recent: Vec<u32> =
            self.known.iter().filter(|(_, known)| known.seen.elapsed() < Duration::from_secs(1)).map(|(pid, _)| *pid).collect();
        for pid in recent.into_iter().take(MOST_THREADS) {
            if self.known.get(&pid).is_some_and(|known| reused(pid, known)) {
                self.known.remove(&pid);
            }
        }
    }
}

/// Wait for a CPU in ns and arrivals there of all threads of a process (`/proc/PID/task/TID/schedstat`); `None` where it
/// has ended, has more threads than are left to read, or this kernel does not count them (CONFIG_SCHED_INFO).
fn waited(pid: u32, left: &mut usize) -> Option<[u64; 2]> {
    let threads = threads(pid);
    *left = left.checked_sub(threads.len())?;
    let mut sum = None;
    for thread in threads {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).unwrap_or_default();
        if let Some((wait, arrivals)) = run_delay(&text).zip(arrivals(&text)) {
            let [all, times] = sum.unwrap_or([0_u64; 2]);
            sum = Some([all.saturating_add(wait), times.saturating_add(arrivals)]);
        }
    }
    sum
}

/// For each chain of what was drained, whether its outer end is the idle task's loop.
pub fn idle_chains(drained: &Drained) -> Vec<bool> {
    let idle: Vec<bool> = drained.symbols.iter().map(|name| IDLE.contains(&name.as_str())).collect();
    let has = |frames: &[u32]| frames.iter().any(|place| idle.get(*place as usize).copied().unwrap_or(false));
    drained.chains.iter().map(|(frames, _)| has(frames)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::id;

    use profile::machine::Drained;

    use super::{Tasks, idle_chains, waited};
    use crate::top::units::Units;

    #[test]
    fn a_process_has_its_name_and_one_that_is_gone_what_its_sample_said() {
        let (mut tasks, mut units) = (Tasks::new(), Units::find());
        let gone = u32::MAX >> 1;
        assert!(!tasks.is_kernel(id()) && !tasks.is_kernel(gone));
        tasks.learn(gone, b"short\0\0", Some("/batch"));
        tasks.learn(id(), b"other", Some("/other"));
        let pids = BTreeSet::from([id(), gone]);
        let found = tasks.read(&pids, &mut units);
        assert_eq!(found[&gone].name, "short");
        assert_eq!(units.table()[found[&gone].unit.unwrap() as usize], "/batch");
        assert_ne!(found[&id()].name, "other");
        assert!(found[&id()].wait.is_none(), "it was read once");
    }

    #[test]
    fn waits_are_of_all_threads_and_bounded() {
        let mut left = 1_000;
        let all = waited(id(), &mut left);
        assert!(left < 1_000, "its threads were counted");
        assert_eq!(waited(id(), &mut 0), None);
        assert!(all.is_none_or(|[_, arrivals]| arrivals > 0));
    }

    #[test]
    fn idle_is_told_by_its_loop() {
        let symbols = ["default_idle", "do_idle", "tcp_sendmsg"].map(str::to_owned).to_vec();
        let drained = Drained { symbols, chains: vec![(vec![0, 1], false), (vec![2], false), (vec![9], false)], ..Drained::default() };
        assert_eq!(idle_chains(&drained), [true, false, false]);
    }
}
