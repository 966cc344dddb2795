//! What one stretch of a watched machine showed: its samples, whose they are, and what the kernel's own
//! counters say of the same time. `analysis::top` makes a snapshot of some of these.

use std::collections::BTreeMap;

use crate::quantity::Nanos;

/// The usual rate of samples of each CPU, in Hz: no divisor of a kernel's tick.
pub const RATE: u32 = 99;

/// One stretch, of about a second.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bucket {
    /// Its end, in ns since 1970 (UTC).
    pub time: u64,
    /// Its length.
    pub elapsed: Nanos,
    /// Distance of two samples of a CPU; 0 where CPUs could not be sampled.
    pub period: Nanos,
    /// The CPUs that were online, with what `/proc/stat` says of each.
    pub cpus: BTreeMap<u32, CpuTime>,
    /// Samples for which there was no room.
    pub lost: u64,
    /// Names of functions, once each.
    pub symbols: Vec<String>,
    /// Call chains, once each.
    pub chains: Vec<Chain>,
    /// Every sample.
    pub samples: Vec<Sample>,
    /// Processes that are in a sample or own one, by their number.
    pub processes: BTreeMap<u32, Process>,
    /// Units (cgroups) by their path: [`Process::unit`] and [`Owner::unit`] are places here.
    pub units: Vec<String>,
    /// Messages; `None` where they were not counted in this stretch.
    pub messages: Option<Messages>,
    /// Packets that sockets dropped; `None` where no two lists of sockets were read.
    pub drops: Option<Drops>,
    /// Cost of watching.
    pub own: OwnCost,
}

/// CPU time of one CPU by `/proc/stat`, in steps of 10 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In softirqs.
    pub softirq: Nanos,
    /// Without work, waiting for disks included.
    pub idle: Nanos,
    /// That a hypervisor took.
    pub steal: Nanos,
    /// Time of the CPU, steal included.
    pub all: Nanos,
}

/// A call chain.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Chain {
    /// Places in [`Bucket::symbols`], the innermost function first; empty in user code.
    pub frames: Vec<u32>,
    /// True where user code ran.
    pub user: bool,
}

/// One sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The CPU.
    pub cpu: u32,
    /// The task that had it.
    pub task: Task,
    /// Place in [`Bucket::chains`].
    pub chain: u32,
    /// True where its task is in a system call on a socket; `None` where that is not known.
    pub socket_call: Option<bool>,
    /// The owner of the socket that was found in the interrupted stack.
    pub owner: Option<Owner>,
}

/// The task that a sample interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// The idle task.
    Idle,
    /// A thread of the kernel.
    Kernel(u32),
    /// A thread of this process.
    Process(u32),
    /// A task outside this PID namespace, or the idle task, where nothing says which.
    Outside,
}

/// The owner of a socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// The process that holds it, where it is known.
    pub process: Option<u32>,
    /// Place in [`Bucket::units`], where it is known.
    pub unit: Option<u32>,
}

/// A process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    /// Its name (`comm`).
    pub name: String,
    /// Place in [`Bucket::units`]; `None` where it ended before that was read.
    pub unit: Option<u32>,
    /// Time for which its threads waited for a CPU in this stretch; `None` where it was not read at both ends.
    pub wait: Option<Nanos>,
    /// Arrivals on a CPU in this stretch, likewise.
    pub arrivals: Option<u64>,
    /// TCP connections that it holds, of which none is counted for two processes; `None` where sockets cannot be read.
    pub connections: Option<u32>,
}

/// Messages that were counted for a part of the time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Messages {
    /// Time for which they were counted.
    pub counted: Nanos,
    /// By process.
    pub processes: Vec<ProcessMessages>,
}

/// Messages of one process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessMessages {
    /// The process, and its unit.
    pub owner: Owner,
    /// Messages sent and received.
    pub messages: [u64; 2],
    /// Their bytes.
    pub bytes: [u64; 2],
}

/// Packets that the kernel dropped at sockets, such as those for which a receive buffer had no room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drops {
    /// Time between the two lists of sockets.
    pub counted: Nanos,
    /// By owner of the socket, where there were any.
    pub owners: Vec<(Owner, u64)>,
}

/// Cost of watching in a stretch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnCost {
    /// CPU time of nettoll itself.
    pub reader: Nanos,
    /// What its samples took from what they interrupted, by the cost of one that was measured at the start.
    pub samples: Nanos,
    /// What its programs at socket calls took, by the cost of one that was measured at the start.
    pub hooks: Nanos,
}
