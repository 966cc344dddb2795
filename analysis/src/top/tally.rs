//! One stretch of a machine, counted: what a snapshot needs of it, without its samples.

use std::collections::BTreeMap;

use attribution::{Category, Context, Layer};
use model::top::{Bucket, CpuTime, Owner, Task};

use super::network::{Fate, Origin, Part, Parts};
use super::share::share_out;

/// A unit's place among the paths that were met.
pub type Unit = u32;

/// By whom or for whom a sample's work was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// A process, and its unit where that is known.
    Process(u32, Option<Unit>),
    /// A socket of a unit that no living process holds, or holds alone.
    Unit(Unit),
    /// The kernel for itself.
    Kernel,
    /// Packets that are passed on.
    Forwarded,
    /// No owner is known.
    Unowned,
    /// The idle task.
    Idle,
    /// Outside this PID namespace.
    Outside,
    /// Processes that ended before their unit was read.
    Ended,
}

/// Whose work a sample shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ownership {
    /// Of this party.
    Known(Party),
    /// Of a socket of this machine, which does not show.
    Local,
    /// Of packets that other CPUs deliver.
    Steered,
    /// Nothing.
    Open,
}

/// Work of the network on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Work {
    /// The CPU.
    pub cpu: u32,
    /// The task that it ran in.
    pub ran_in: Party,
    /// Its owner.
    pub owner: Ownership,
    /// Where its packet comes from.
    pub origin: Origin,
    /// True in softirqs and hard interrupts.
    pub softirq: bool,
    /// Its layer.
    pub layer: Layer,
    /// Its kind.
    pub category: Category,
}

/// Samples of one process's own time in the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InKernel {
    /// All but those on the way into a call or out.
    pub all: u64,
    /// Those of them that are the network's.
    pub network: u64,
    /// On the way into a call or out, of which no one knows whether it was on a socket.
    pub crossing: u64,
}

/// Samples of one CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OnCpu {
    /// All of them.
    pub made: u64,
    /// Of the idle task, outside interrupts.
    pub idle: u64,
    /// In softirqs of any kind, as the kernel counts them.
    pub softirq: u64,
    /// In `ksoftirqd`.
    pub ksoftirqd: u64,
}

/// A process over some stretches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessTally {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: Option<Unit>,
    /// Samples of its own time, in user code and in the kernel.
    pub busy: u64,
    /// Wait for a CPU in ns, and arrivals there, where they were read.
    pub wait: u64,
    /// Arrivals on a CPU.
    pub arrivals: u64,
    /// Its TCP connections, where they were read.
    pub connections: Option<u32>,
}

/// Messages of a process in one stretch.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MessageTally {
    /// Sent and received.
    pub messages: [f64; 2],
    /// Their bytes.
    pub bytes: [f64; 2],
}

/// One stretch.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Its end, in ns since 1970.
    pub time: u64,
    /// Its length in ns.
    pub elapsed: u64,
    /// Distance of samples in ns.
    pub period: u64,
    /// Counters of the CPUs that were online.
    pub cpus: BTreeMap<u32, CpuTime>,
    /// Samples that were lost.
    pub lost: u64,
    /// Samples of each CPU.
    pub on_cpu: BTreeMap<u32, OnCpu>,
    /// Samples of tasks outside this PID namespace.
    pub outside: u64,
    /// Samples of the network's work.
    pub work: BTreeMap<Work, u64>,
    /// Samples of each process in the kernel.
    pub in_kernel: BTreeMap<u32, InKernel>,
    /// Crossings of each process by CPU.
    pub crossings: BTreeMap<(u32, u32), u64>,
    /// Processes.
    pub processes: BTreeMap<u32, ProcessTally>,
    /// Time for which messages were counted, in ns, and those of each party.
    pub messages: Option<(u64, BTreeMap<Party, MessageTally>)>,
    /// Time between two lists of sockets, in ns, and the packets that each party's sockets dropped in it.
    pub drops: Option<(u64, BTreeMap<Party, u64>)>,
    /// Cost of watching: reader, samples, hooks, in ns.
    pub own: [u64; 3],
}

impl Tally {
    /// Samples of the network's work, with what crossings add.
    pub fn work(&self) -> impl Iterator<Item = (Work, u64)> + '_ {
        self.work.iter().map(|(work, samples)| (*work, *samples)).chain(self.crossing_work())
    }

    /// Where nothing says which call a sample at the kernel's border is in, those of a process are as often on a
    /// socket as the rest of its time in the kernel.
    fn crossing_work(&self) -> impl Iterator<Item = (Work, u64)> + '_ {
        self.crossings.iter().filter_map(|((pid, cpu), crossings)| {
            let kernel = self.in_kernel.get(pid).copied().unwrap_or_default();
            let of_network = share_out(*crossings, &[kernel.network, kernel.all.saturating_sub(kernel.network)])[0];
            let party = Party::Process(*pid, self.processes.get(pid).and_then(|process| process.unit));
            let (layer, category) = (Layer::Syscall, Category::OperatingSystem);
            let one =
                Work { cpu: *cpu, ran_in: party, owner: Ownership::Known(party), origin: Origin::Other, softirq: false, layer, category };
            (of_network > 0).then_some((one, of_network))
        })
    }

    /// Counts a bucket. `unit` gives a path its place.
    pub fn of(bucket: &Bucket, parts: &mut Parts, mut unit: impl FnMut(&str) -> Unit) -> Self {
        let units: Vec<Unit> = bucket.units.iter().map(|path| unit(path)).collect();
        let unit_at = |place: Option<u32>| units.get(place? as usize).copied();
        let mut tally = Self {
            time: bucket.time,
            elapsed: bucket.elapsed.get(),
            period: bucket.period.get(),
            cpus: bucket.cpus.clone(),
            lost: bucket.lost,
            own: [bucket.own.reader, bucket.own.samples, bucket.own.hooks].map(model::Nanos::get),
            ..Self::default()
        };
        for (pid, process) in &bucket.processes {
            let (wait, arrivals) = process.wait.zip(process.arrivals).map_or((0, 0), |(wait, arrivals)| (wait.get(), arrivals));
            let (unit, connections) = (unit_at(process.unit), process.connections);
            let found = ProcessTally { name: process.name.clone(), unit, busy: 0, wait, arrivals, connections };
            tally.processes.insert(*pid, found);
        }
        let process =
            |pid: u32, processes: &BTreeMap<u32, ProcessTally>| Party::Process(pid, processes.get(&pid).and_then(|process| process.unit));
        let owner = |owner: Owner, processes: &BTreeMap<u32, ProcessTally>| match (owner.process, unit_at(owner.unit)) {
            (Some(pid), None) => process(pid, processes),
            (Some(pid), unit) => Party::Process(pid, unit),
            (None, Some(unit)) => Party::Unit(unit),
            (None, None) => Party::Unowned,
        };
        let roles = parts.of(bucket);
        for sample in &bucket.samples {
            let Some(part) = roles.get(sample.chain as usize) else { continue };
            let ksoftirqd = |pid: u32| tally.processes.get(&pid).is_some_and(|process| process.name.starts_with("ksoftirqd/"));
            let in_ksoftirqd = matches!(sample.task, Task::Kernel(pid) if ksoftirqd(pid));
            let Part { attributes, network, in_softirq, fate, origin, crosses } = *part;
            let in_task = attributes.context == Context::Process;
            let on = tally.on_cpu.entry(sample.cpu).or_default();
            on.made += 1;
            on.idle += u64::from(sample.task == Task::Idle && in_task);
            on.softirq += u64::from(in_softirq);
            on.ksoftirqd += u64::from(in_ksoftirqd);
            tally.outside += u64::from(sample.task == Task::Outside);
            let ran_in = match sample.task {
                Task::Idle => Party::Idle,
                Task::Kernel(_) => Party::Kernel,
                Task::Process(pid) => process(pid, &tally.processes),
                Task::Outside => Party::Outside,
            };
            let mut in_call = false;
            if let (Task::Process(pid), true) = (sample.task, in_task) {
                tally.processes.entry(pid).or_default().busy += 1;
                let user = bucket.chains.get(sample.chain as usize).is_some_and(|chain| chain.user);
                in_call = !user && sample.socket_call == Some(true);
                let kernel = tally.in_kernel.entry(pid).or_default();
                if crosses && sample.socket_call.is_none() {
                    kernel.crossing += 1;
                    *tally.crossings.entry((pid, sample.cpu)).or_default() += 1;
                } else if !user {
                    kernel.all += 1;
                    kernel.network += u64::from(network || in_call);
                }
            }
            if !network && !in_call {
                continue;
            }
            let owner = match (fate, sample.owner) {
                _ if in_task => Ownership::Known(ran_in),
                (Fate::Forwarded, _) => Ownership::Known(Party::Forwarded),
                (Fate::Steered, _) => Ownership::Steered,
                // No socket has the packet yet: one on the stack is the interrupted task's, such as its sender's.
                (Fate::Received, _) | (Fate::Other, None) => Ownership::Open,
                (Fate::Delivered | Fate::Other, Some(found)) => Ownership::Known(owner(found, &tally.processes)),
                (Fate::Delivered, None) => Ownership::Local,
            };
            let (layer, category) = (attributes.layer, attributes.category);
            let work = Work { cpu: sample.cpu, ran_in, owner, origin, softirq: !in_task, layer, category };
            *tally.work.entry(work).or_default() += 1;
        }
        tally.messages = bucket.messages.as_ref().map(|counted| {
            let mut by_party: BTreeMap<Party, MessageTally> = BTreeMap::new();
            for one in &counted.processes {
                let sum = by_party.entry(owner(one.owner, &tally.processes)).or_default();
                for way in [0, 1] {
                    sum.messages[way] += one.messages[way] as f64;
                    sum.bytes[way] += one.bytes[way] as f64;
                }
            }
            (counted.counted.get(), by_party)
        });
        tally.drops = bucket.drops.as_ref().map(|drops| {
            let mut by_party: BTreeMap<Party, u64> = BTreeMap::new();
            for (of, packets) in &drops.owners {
                *by_party.entry(owner(*of, &tally.processes)).or_default() += packets;
            }
            (drops.counted.get(), by_party)
        });
        tally
    }
}
