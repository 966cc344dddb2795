//! Facts about a host, so that a figure can be placed years later.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The facts of one host, gathered before and after a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Version of this record.
    pub format: u32,
    /// The host's name in the run, `a` or `b`.
    pub name: String,
    /// Isolation: `network namespace`, `network namespace in a user
    /// namespace`, or `this machine`.
    pub isolation: String,
    /// Start of the machine (`boot_id` of the kernel): two hosts
    /// with the same share their CPUs. Empty where the kernel does not tell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot: String,
    /// Kernel release, as `uname -r` has it.
    pub kernel: String,
    /// Kernel build, as `uname -v` has it.
    pub kernel_build: String,
    /// Machine architecture.
    pub architecture: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs online.
    pub cpus: u32,
    /// CPUs that the endpoints of this host are bound to.
    pub endpoint_cpus: Vec<u32>,
    /// NUMA nodes.
    pub numa_nodes: u32,
    /// Memory in bytes.
    pub memory: u64,
    /// Virtualisation: `kvm`, `docker`, ...; empty on bare metal
    /// or where it cannot be told.
    pub virtualisation: String,
    /// Frequency governor; empty where there is none to see.
    pub governor: String,
    /// Clock source.
    pub clocksource: String,
    /// True where the kernel takes interrupt time out of process time; `None`
    /// where the probe could not tell.
    pub irq_time_subtracted: Option<bool>,
    /// Cost of the tool's own loop around each call, in nanoseconds, measured
    /// on this host before the run.
    pub loop_overhead_ns: f64,
    /// Sysctls of the network stack, as the host's namespace has them.
    pub sysctls: BTreeMap<String, String>,
    /// The link's device and its settings: `name`, `driver`, `mtu`, `qdisc`,
    /// `address`, queue counts.
    pub device: BTreeMap<String, String>,
    /// Device features, on or off, by the kernel's names.
    pub offloads: BTreeMap<String, bool>,
    /// Interrupt lines and the CPUs they may run on, for lines that belong to
    /// network devices.
    pub irqs: BTreeMap<String, String>,
    /// Version of nettoll there.
    pub tool: String,
}

/// The version of [`HostFacts`] that this build writes.
pub const FACTS_FORMAT: u32 = 1;
