//! Profile of one end in one trial: call chains and how often each
//! was met, with an account of what it did not see.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choice::choice;
use crate::quantity::Nanos;
use crate::refusal::Refusal;

choice! {
    /// Clock or counter that spaces the samples.
    SampleSource, "a sample source" {
        /// Time of a CPU (`PERF_COUNT_SW_CPU_CLOCK`).
        CpuClock = "cpu-clock",
        /// Time that a task has a CPU (`PERF_COUNT_SW_TASK_CLOCK`). Where it sleeps often its own
        /// count is what its timer can fire in; that of the CPU's clock for a task has the arming
        /// of the timer as well, a fifth of runs of 10 us.
        TaskClock = "task-clock",
        /// Cycles of the processor's own counter (`PERF_COUNT_HW_CPU_CYCLES`).
        Cycles = "cycles",
    }
}

/// The samples of one end in one trial, each call chain once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Clock or counter that spaces the samples.
    pub source: SampleSource,
    /// The distance of two samples: ns of CPU time, or cycles.
    pub period: u64,
    /// Every name in a chain, once. A function of a module has its module
    /// behind it: `veth_xmit [veth]`.
    pub symbols: Vec<String>,
    /// The chains, in order of their frames.
    pub stacks: Vec<Stack>,
    /// Samples the kernel says it lost, for want of room in the ring.
    pub lost: u64,
    /// Times that the kernel throttled the sampler.
    pub throttled: u64,
    /// Records that contradict themselves, and samples whose chain could not be
    /// read; of the latter, [`Profile::stacks`] has the innermost function.
    pub broken: u64,
    /// Figures that the samples are compared with; `None` where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
}

/// Figures that the samples of a profile are compared with, none of them from samples
/// of its chains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Time in the measured part between the sampled tasks' coming to a CPU and leaving it
    /// (`PERF_RECORD_SWITCH`); `None` where records were lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_cpu: Option<Nanos>,
    /// Samples of the whole recording, of every task in it.
    pub recorded: u64,
    /// The sampling event's own count over the whole recording, in the unit of the period;
    /// `None` where it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<u64>,
    /// Samples in the measured part of other programs on the same CPUs; `None` where the
    /// tasks alone were sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<u64>,
    /// Samples in the measured part of other programs or of idle time, where nothing says which.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub untold: u64,
    /// Samples in the measured part in softirqs that interrupted idle time; `None` where the tasks
    /// alone were sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_softirq: Option<u64>,
}

impl Account {
    /// The event's own count in the part of the recording that has so many of its samples, those
    /// included that were dropped there; `None` where the count could not be read.
    pub fn counted_with(&self, samples: u64) -> Option<u64> {
        let counted = self.counted.filter(|_| self.recorded > 0)?;
        Some((samples as f64 * counted as f64 / self.recorded as f64) as u64)
    }

    /// Both accounts in one. What one of them lacks the sum lacks.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            on_cpu: self.on_cpu.zip(other.on_cpu).map(|(one, two)| one + two),
            recorded: self.recorded.saturating_add(other.recorded),
            counted: self.counted.zip(other.counted).map(|(one, two)| one.saturating_add(two)),
            others: self.others.zip(other.others).map(|(one, two)| one.saturating_add(two)),
            untold: self.untold.saturating_add(other.untold),
            idle_softirq: self.idle_softirq.zip(other.idle_softirq).map(|(one, two)| one.saturating_add(two)),
        }
    }
}

/// One call chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// Places in [`Profile::symbols`], the innermost function first. A sample
    /// in user code has one frame, `[user]`, or `[syscall exit]` where it fell
    /// on the instruction behind a system call.
    pub frames: Vec<u32>,
    /// True where the sample fell into user code.
    pub user: bool,
    /// Samples that met it; at least 1.
    pub count: u64,
}

impl Profile {
    /// All samples.
    pub fn samples(&self) -> u64 {
        self.stacks.iter().map(|stack| stack.count).sum()
    }
}

/// Advance of hardware counters, chain by chain: next to a [`Profile`] where
/// the machine counts and the kernel reads the counters with each sample.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HardwareCounts {
    /// The counters: `instructions`, `cache-misses`.
    pub names: Vec<String>,
    /// For each of [`Profile::stacks`], in the same order, a number for each
    /// counter: the sum of what it moved by between the sample before (of the same
    /// thread) and the samples of this chain.
    pub of_stacks: Vec<Vec<u64>>,
}

/// Exact counts of one end over one trial, from before its first message to
/// after its last, with warm-up and drain: to be compared with
/// [`crate::end::EndReport::total`]. (The kernel's counters cannot be read at the
/// edges of the measured part.)
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCounts {
    /// Calls of each name: a function's plain name, or a tracepoint's behind its
    /// system (`net:netif_rx`). A name that could not be counted is not here.
    pub calls: BTreeMap<String, u64>,
    /// Names that were asked for and could not be counted, with the reason.
    pub refused: BTreeMap<String, String>,
}

/// Time of an end that no sample can show, by where it went: from scheduler
/// tracepoints, within the measured part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// Ready, but not on a CPU.
    pub runnable: Nanos,
    /// Asleep until something woke it.
    pub blocked: Nanos,
    /// Times it was taken off a CPU.
    pub switches: u64,
    /// Time before the first event of a thread, which slept or ran in it.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub unseen: Nanos,
}

fn is_nothing(time: &Nanos) -> bool {
    *time == Nanos::default()
}

impl Waits {
    /// The waits of two threads, or processes.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            runnable: self.runnable + other.runnable,
            blocked: self.blocked + other.blocked,
            switches: self.switches.saturating_add(other.switches),
            unseen: self.unseen + other.unseen,
        }
    }
}

/// Observation of one end in one trial next to its own report. What its pass
/// does not look at is `None`, and so is what the machine refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Samples of the endpoint's threads within the measured part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Samples of the kernel threads that took over softirq work of its CPUs,
    /// of the same period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ksoftirqd: Option<Profile>,
    /// Advance of hardware counters, chain by chain of `profile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<HardwareCounts>,
    /// Time that no sample shows, by where it went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// Exact counts over the whole trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<CallCounts>,
    /// Observations that this machine refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refusal>,
}
