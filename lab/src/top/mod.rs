//! A machine that is watched: samples of every CPU, whose they are, and the kernel's own counters.

mod messages;
mod metrics_server;
mod owners;
mod tasks;
mod units;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use model::sorting::Gather;
use model::top::{Bucket, Chain, CpuTime, OwnCost, Owner, Sample, Task};
use model::{Nanos, Refusal};
use profile::kernel_names::KernelNames;
use profile::machine::{Drained, MachineSampler};
use profile::sampler::cost;
use sys::clock::{monotonic, process_cpu};
use sys::cpu::{Ticks, online};
use sys::process::TICK;

use messages::MessageWindows;
pub use metrics_server::MetricsServer;
use owners::Owners;
use tasks::Tasks;
use units::Units;

/// Between two looks at whether the user wants to stop.
const STEP: Duration = Duration::from_millis(50);
/// Changes of the kernel's names after which they are read again.
const MOST_CHANGES: usize = 1_000;
/// The most of a CPU that samples may take from it.
const MOST_COST: f64 = 0.01;

/// How a machine is watched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// Samples a second of each CPU; `None` takes [`model::top::RATE`], or less where that would take more than
    /// 1 % of a CPU.
    pub rate: Option<u32>,
    /// Counts every message, rather than those of a part of the time.
    pub count_all: bool,
}

/// A machine under watch.
#[derive(Debug)]
pub struct Watcher {
    sampler: Option<(MachineSampler, KernelNames)>,
    owners: Owners,
    tasks: Tasks,
    units: Units,
    messages: MessageWindows,
    /// Cost of one sample on this machine.
    sample: Nanos,
    /// The start of the stretch that runs.
    edge: Edge,
}

/// What is read at the border of two stretches.
#[derive(Debug, Default)]
struct Edge {
    time: Nanos,
    own: Nanos,
    cpus: BTreeMap<u32, Ticks>,
}

impl Edge {
    fn now() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let cpus = online().unwrap_or_default().into_iter().map(|cpu| (cpu, Ticks::parse(&text, Some(cpu)).unwrap_or_default()));
        Self { time: monotonic(), own: process_cpu(), cpus: cpus.into_map() }
    }
}

impl Watcher {
    /// Starts to watch; the refusals say what this machine does not show.
    pub fn open(settings: Settings) -> (Self, Vec<Refusal>) {
        let mut refused = Vec::new();
        let mut note = |refusal: Refusal| refused.push(refusal);
        let first = online().ok().and_then(|cpus| cpus.first().copied()).unwrap_or(0);
        let mut owners = Owners::open(&mut note);
        // With the program at each sample.
        let sample = cost::of_sample(first, |event| owners.tie(event)).unwrap_or_default();
        let rate = rate(settings.rate, sample);
        let sampler = sampler(rate, &owners).map_err(&mut note).ok();
        let messages = MessageWindows::open(settings.count_all, &mut note);
        owners.forget();
        let mut this = Self { sampler, owners, tasks: Tasks::new(), units: Units::find(), messages, sample, edge: Edge::default() };
        // The stretch begins where this ends, as each later one does: with many CPUs that takes a while.
        this.drain(&mut refused);
        this.edge = Edge::now();
        (this, refused)
    }

    /// True where nothing of the network's cost can be shown: neither samples nor the kernel's counters.
    pub fn is_blind(&self) -> bool {
        self.sampler.is_none() && self.edge.cpus.values().all(|ticks| *ticks == Ticks::default())
    }

    /// The next stretch, of `length`; shorter where `stop` is set meanwhile. `notes` gets what went wrong in it.
    pub fn next(&mut self, length: Duration, stop: &AtomicBool, notes: &mut Vec<Refusal>) -> Bucket {
        let until = Instant::now() + length;
        self.messages.begin(Instant::now(), length);
        while !stop.load(Ordering::Relaxed) {
            let now = Instant::now();
            if now >= until {
                break;
            }
            self.messages.turn(now, |refusal| notes.push(refusal));
            std::thread::sleep((until - now).min(self.messages.wait(now)).min(STEP));
        }
        let drained = self.drain(notes);
        let edge = Edge::now();
        let before = std::mem::replace(&mut self.edge, edge);
        let elapsed = self.edge.time.since(before.time);
        let mut bucket = Bucket {
            time: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64),
            elapsed,
            period: self.sampler.as_ref().map_or_else(Nanos::default, |(sampler, _)| sampler.period()),
            cpus: moved(&before.cpus, &self.edge.cpus),
            ..Bucket::default()
        };
        bucket.messages = self.messages.take(&mut self.units, self.tasks.in_first_namespace());
        self.fill(&mut bucket, drained, notes);
        let samples = bucket.samples.len() as u64;
        bucket.own = OwnCost {
            reader: self.edge.own.since(before.own),
            samples: Nanos::new(samples * self.sample.get()),
            hooks: bucket.messages.as_ref().map_or_else(Nanos::default, |messages| self.messages.cost(messages)),
        };
        bucket.units = self.units.table();
        bucket
    }

    fn drain(&mut self, notes: &mut Vec<Refusal>) -> Drained {
        let Some((sampler, names)) = &mut self.sampler else { return Drained::default() };
        let symbols = match names.up_to_date(notes) {
            Ok(symbols) => symbols,
            Err(refusal) => {
                notes.push(refusal);
                return Drained::default();
            }
        };
        let drained = sampler.take(symbols).unwrap_or_else(|refusal| {
            notes.push(refusal);
            Drained::default()
        });
        let owners = &self.owners;
        if let Err(refusal) = sampler.follow_cpus(|event| owners.tie(event)) {
            notes.push(refusal);
        }
        if names.changes() > MOST_CHANGES
            && let Err(refusal) = names.refresh()
        {
            notes.push(refusal);
        }
        drained
    }

    /// Puts the samples into the bucket, with tasks and owners.
    fn fill(&mut self, bucket: &mut Bucket, drained: Drained, notes: &mut Vec<Refusal>) {
        let marks = self.owners.take(|refusal| notes.push(refusal));
        let idle = tasks::idle_chains(&drained);
        let first = self.tasks.in_first_namespace();
        let mut pids: BTreeSet<u32> = drained.samples.iter().map(|sample| sample.pid).filter(|pid| *pid != 0).into_set();
        let active = pids.clone();
        pids.extend(bucket.messages.as_ref().map(messages::busiest).unwrap_or_default());
        for sample in &drained.samples {
            let mark = marks.of_sample(sample);
            let in_idle = idle.get(sample.chain as usize).copied().unwrap_or(false);
            let task = match sample.pid {
                0 if first || in_idle || mark.is_some_and(|mark| mark.process == 0) => Task::Idle,
                0 => Task::Outside,
                pid if self.tasks.is_kernel(pid) => Task::Kernel(pid),
                pid => {
                    if let Some(mark) = mark {
                        let unit = self.units.path(mark.cgroup);
                        self.tasks.learn(pid, &mark.name, unit);
                    }
                    Task::Process(pid)
                }
            };
            let owner = mark.and_then(|mark| mark.socket).map(|socket| {
                let owner = self.owners.owner(&socket, &active, &mut self.units);
                // Its ids are of another namespace than those of samples.
                Owner { process: owner.process.filter(|_| first), ..owner }
            });
            pids.extend(owner.and_then(|owner| owner.process));
            let socket_call = mark.and_then(|mark| self.owners.in_socket_call(mark));
            bucket.samples.push(Sample { cpu: sample.cpu, task, chain: sample.chain, socket_call, owner });
        }
        bucket.drops = self.owners.drops(&active, &mut self.units).map(|mut drops| {
            drops.owners.iter_mut().filter(|_| !first).for_each(|(owner, _)| owner.process = None);
            pids.extend(drops.owners.iter().filter_map(|(owner, _)| owner.process));
            drops
        });
        bucket.processes = self.tasks.read(&pids, &mut self.units);
        // Ids of holders are those of the first namespace.
        for (pid, process) in bucket.processes.iter_mut().filter(|_| first) {
            process.connections = self.owners.connections(*pid);
        }
        bucket.lost = drained.lost;
        bucket.symbols = drained.symbols;
        bucket.chains = drained.chains.into_iter().map(|(frames, user)| Chain { frames, user }).collect();
    }
}

/// Samplers of every CPU, and the names of what they meet.
fn sampler(rate: u32, owners: &Owners) -> Result<(MachineSampler, KernelNames), Refusal> {
    // After the programs at samples, which have names as well.
    let names = KernelNames::read()?;
    let sampler = MachineSampler::open(Nanos::new(1_000_000_000 / u64::from(rate.max(1))), |event| owners.tie(event))?;
    sampler.start()?;
    Ok((sampler, names))
}

/// Samples a second: as wished, else the usual ones, or as many as take [`MOST_COST`] of a CPU.
fn rate(wished: Option<u32>, sample: Nanos) -> u32 {
    let affordable = (MOST_COST * 1e9 / sample.get().max(1) as f64) as u32;
    wished.unwrap_or_else(|| model::top::RATE.min(affordable)).max(1)
}

/// What the counters moved by of each CPU that was online at the start of a stretch, and so had samples due. Those of one that
/// went meanwhile are gone.
fn moved(before: &BTreeMap<u32, Ticks>, now: &BTreeMap<u32, Ticks>) -> BTreeMap<u32, CpuTime> {
    before.iter().map(|(cpu, before)| (*cpu, now.get(cpu).map(|now| since(before, now)).unwrap_or_default())).into_map()
}

/// What the counters of a CPU moved by.
fn since(before: &Ticks, now: &Ticks) -> CpuTime {
    let moved = |of: fn(&Ticks) -> u64| of(now).saturating_sub(of(before)) * TICK;
    let all = moved(|t| t.user) + moved(|t| t.nice) + moved(|t| t.system) + moved(|t| t.irq);
    let (softirq, idle, steal) = (moved(|t| t.softirq), moved(|t| t.idle) + moved(|t| t.iowait), moved(|t| t.steal));
    CpuTime {
        softirq: Nanos::new(softirq),
        idle: Nanos::new(idle),
        steal: Nanos::new(steal),
        all: Nanos::new(all + softirq + idle + steal),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::Nanos;
    use model::top::CpuTime;
    use sys::cpu::Ticks;

    use super::{moved, rate, since};

    #[test]
    fn a_dear_sample_lowers_the_usual_rate_and_not_the_wished_one() {
        assert_eq!(rate(None, Nanos::new(5_000)), 99);
        assert_eq!(rate(None, Nanos::new(200_000)), 50);
        assert_eq!(rate(Some(499), Nanos::new(200_000)), 499);
        assert_eq!([rate(None, Nanos::new(u64::MAX)), rate(Some(0), Nanos::new(0))], [1, 1]);
    }

    #[test]
    fn counters_that_go_back_moved_by_nothing_and_cpus_count_from_the_next_stretch_after_they_come_or_go() {
        let ticks = |softirq, idle| Ticks { softirq, idle, ..Ticks::default() };
        let time = since(&ticks(5, 100), &ticks(7, 190));
        assert_eq!([time.softirq, time.idle, time.all].map(Nanos::get), [20_000_000, 900_000_000, 920_000_000]);
        assert_eq!(since(&ticks(5, 100), &ticks(4, 100)).all.get(), 0);
        let found =
            moved(&BTreeMap::from([(0, ticks(5, 100)), (2, ticks(1, 1))]), &BTreeMap::from([(0, ticks(7, 190)), (1, ticks(4, 100))]));
        assert_eq!(found, BTreeMap::from([(0, time), (2, CpuTime::default())]));
    }
}
