//! What the network stack costs a machine, over one window: the value that every screen, page of text and
//! line of JSON of `nettoll top` is written from.

use std::collections::BTreeMap;

use attribution::{Category, Layer};
use serde::Serialize;

/// Version of a line of `nettoll top -J`.
pub const FORMAT: u32 = 1;

/// One window of a machine. "CPUs" are CPUs' worth: seconds of CPU time in a second.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// [`FORMAT`].
    pub format: u32,
    /// End of the window, in ns since 1970 (UTC).
    pub time_ns: u64,
    /// Length of the window.
    pub elapsed_ns: u64,
    /// CPUs that were online.
    pub cpus: u32,
    /// Samples a second of each CPU; 0 where CPUs could not be sampled.
    pub hz: f64,
    /// Samples that were due, and what became of them.
    pub samples: Samples,
    /// The network's part of the machine; `None` where CPUs could not be sampled.
    pub network: Option<Network>,
    /// Work that was found in samples, the network's included, in CPUs.
    pub busy: f64,
    /// Idle time, in CPUs: by samples, else by `/proc/stat`.
    pub idle: f64,
    /// Due samples that were not made, in CPUs: time that a hypervisor took, and idle CPUs that
    /// did not wake.
    pub missing: f64,
    /// Softirq time by `/proc/stat`, in CPUs; `None` where it cannot be read.
    pub proc_stat_softirq: Option<f64>,
    /// Softirq time of all kinds by samples, likewise.
    pub sampled_softirq: Option<f64>,
    /// By whom the network's work was for (view "benefit"): units, the dearest first, then the other rows.
    pub units: Vec<Row>,
    /// The same by process.
    pub processes: Vec<Row>,
    /// By the process in whose time the network's work ran (view "interrupted"): rows of processes, each with its unit
    /// and without messages, which are not those that the work was for; then the other rows.
    pub interrupted: Vec<Row>,
    /// The most softirq work that one unit makes another bear, where it is beyond chance.
    pub cause: Option<Cause>,
    /// CPU by CPU.
    pub per_cpu: Vec<CpuRow>,
    /// Cost of watching.
    pub own: Own,
    /// What this machine refused, with a remedy each.
    pub refused: Vec<String>,
}

/// Samples of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Samples {
    /// Rate x time x CPUs.
    pub due: u64,
    /// That were taken.
    pub made: u64,
    /// For which the ring had no room.
    pub lost: u64,
    /// Of the idle task.
    pub idle: u64,
    /// Of tasks outside this PID namespace.
    pub outside: u64,
}

/// A share of CPU time with its 95 % interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Cpus {
    /// CPUs' worth.
    pub cpus: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The network's part of a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Network {
    /// The sum of its parts.
    #[serde(flatten)]
    pub all: Cpus,
    /// In system calls of processes and in threads of the kernel, in CPUs.
    pub call: f64,
    /// In softirqs and in interrupts of network devices, in CPUs.
    pub softirq: f64,
    /// Softirq work whose owner was found in the sample itself, as a part of 1; the rest is shared out by CPU.
    /// `None` without softirq work.
    pub met: Option<f64>,
    /// By layer, in CPUs, the dearest first.
    #[serde(serialize_with = "map")]
    pub layer: Vec<(Layer, f64)>,
    /// By kind of work, in CPUs, the dearest first.
    #[serde(serialize_with = "map")]
    pub category: Vec<(Category, f64)>,
}

/// Meaning of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowKind {
    /// A unit: a cgroup.
    Unit,
    /// A process.
    Process,
    /// Processes that ended before their unit was read.
    Ended,
    /// The kernel for itself, such as NFS and WireGuard.
    Kernel,
    /// Packets for other machines or namespaces, or dropped on the way.
    Forwarded,
    /// Softirq work for which no owner was found on its CPU.
    Unowned,
    /// The idle task, in the view of interrupted tasks.
    Idle,
    /// Tasks outside this container.
    Outside,
}

/// One row of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Its meaning.
    pub kind: RowKind,
    /// The unit's path, or the process's name; of other rows their words. Others' text: a writer replaces
    /// control characters.
    pub name: String,
    /// The process; `None` in rows of units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The unit of a process, by its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Processes of the unit that were met in samples.
    pub processes: u32,
    /// Samples: the sum over all rows of a table is the network's.
    pub samples: u64,
    /// The network's work for it.
    #[serde(flatten)]
    pub all: Cpus,
    /// In its system calls, in CPUs.
    pub call: f64,
    /// In softirqs for it, in CPUs.
    pub softirq: f64,
    /// The part of `softirq` whose owner was found in the sample, in CPUs.
    pub softirq_met: f64,
    /// CPU time of its processes, all kinds of work, by samples of its tasks, in CPUs.
    pub busy: f64,
    /// Messages a second sent and received; `None` where they were not counted.
    pub messages: Option<[Rate; 2]>,
    /// Their bytes a second, likewise.
    pub bytes: Option<[Rate; 2]>,
    /// Packets a second that the kernel dropped at its sockets; `None` where that was not counted.
    pub drops: Option<f64>,
    /// Mean wait of its processes for a CPU, per arrival there, in ns; `None` where it was not read.
    pub wait_ns: Option<f64>,
    /// TCP connections of its processes that were met in samples; `None` where sockets were not read.
    pub connections: Option<u64>,
    /// Layer by layer and kind by kind, in CPUs.
    #[serde(serialize_with = "parts")]
    pub parts: BTreeMap<(Layer, Category), f64>,
}

/// A rate that was counted in windows, with half the width of its 95 % interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Rate {
    /// Per second.
    pub rate: f64,
    /// Half-width by the scatter of the windows; 0 where every message was counted.
    pub half: f64,
}

impl Row {
    /// Messages a second of both directions; `None` where they were not counted.
    pub fn message_rate(&self) -> Option<f64> {
        self.messages.map(|[sent, received]| sent.rate + received.rate)
    }

    /// Bytes a second of both directions, likewise.
    pub fn byte_rate(&self) -> Option<f64> {
        self.bytes.map(|[sent, received]| sent.rate + received.rate)
    }

    /// CPU time for one message, in ns, and half the width of its interval; `None` where no message was counted.
    pub fn per_message(&self) -> Option<Rate> {
        let rate = self.message_rate().filter(|rate| *rate > 0.0)?;
        let [sent, received] = self.messages?;
        let ns = self.all.cpus / rate * 1e9;
        let of_cpus = if self.all.cpus > 0.0 { (self.all.high - self.all.low) / 2.0 / self.all.cpus } else { 0.0 };
        let of_rate = sent.half.hypot(received.half) / rate;
        Some(Rate { rate: ns, half: ns * of_cpus.hypot(of_rate) })
    }
}

/// One CPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CpuRow {
    /// Its number.
    pub cpu: u32,
    /// Samples that were taken on it.
    pub made: u64,
    /// The network's part of it, from 0 to 1.
    pub network: f64,
    /// In softirqs of the network; where CPUs could not be sampled, in all softirqs, by `/proc/stat`.
    pub softirq: f64,
    /// In `ksoftirqd`.
    pub ksoftirqd: f64,
    /// All work, likewise.
    pub busy: f64,
    /// The unit (its path) or row that most of its softirq work of the network was for, where there was any.
    pub softirq_for: Option<String>,
}

/// Softirq work that packets of one unit cause elsewhere. Units are paths; the receiver may be another row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cause {
    /// The unit in whose sends the softirqs begin; `None` where the packets are not of this machine, or no chain shows
    /// their sender.
    pub sender: Option<String>,
    /// The unit or row that the packets are for.
    pub receiver: String,
    /// The work; without a sender that in the interrupted unit's time.
    #[serde(flatten)]
    pub all: Cpus,
    /// The CPU with most of the work.
    pub cpu: u32,
    /// The unit in whose time most of that ran which was neither in the sender's nor the receiver's, where it is beyond
    /// chance.
    pub interrupted: Option<InterruptedUnit>,
}

/// A unit that others' softirqs interrupt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InterruptedUnit {
    /// Its path.
    pub unit: String,
    /// The softirq work in its time.
    #[serde(flatten)]
    pub all: Cpus,
}

/// Cost of watching, in CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Own {
    /// nettoll itself.
    pub reader: f64,
    /// Its samples, in what they interrupted.
    pub samples: f64,
    /// Its programs at socket calls.
    pub hooks: f64,
}

impl Own {
    /// The sum of its parts.
    pub fn all(&self) -> f64 {
        self.reader + self.samples + self.hooks
    }
}

/// Pairs as a map, in their order.
fn map<K: Serialize, S: serde::Serializer>(pairs: &[(K, f64)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(key, cpus)| (key, cpus)))
}

fn parts<S: serde::Serializer>(parts: &BTreeMap<(Layer, Category), f64>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(parts.iter().map(|((layer, category), cpus)| (layer, category, cpus)))
}
