//! Facts about a host, so that a figure can be placed years later.

use std::collections::BTreeMap;

use crate::sorting::Order;
use crate::wakeups::Wakeups;
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
    /// or where it is unknown.
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
    /// CPU time billed for a wake-up before the thread runs, by a probe before the run; `None` where perf events
    /// are refused or there is one CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakeups: Option<Wakeups>,
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

/// Bytes of a GiB.
const GIB: u64 = 1 << 30;

/// Returns the hardware of hosts in words: what has to be the same for figures of two runs to
/// be of one machine. Not what a restart or an upgrade of the system changes.
pub fn hardware(hosts: &[HostFacts]) -> String {
    let mut all: Vec<String> = hosts.iter().map(kind).collect();
    all.dedup();
    all.join("; ")
}

/// Returns the hardware of many hosts in words, each kind with its number of hosts, the most
/// frequent first.
pub fn hardware_of_many<'a>(hosts: impl IntoIterator<Item = &'a HostFacts>) -> String {
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    hosts.into_iter().for_each(|host| *kinds.entry(kind(host)).or_default() += 1);
    let mut kinds: Vec<(String, u32)> = kinds.into_iter().collect();
    kinds.order_by_key(|(_, hosts)| std::cmp::Reverse(*hosts));
    kinds.into_iter().map(|(words, hosts)| format!("{hosts} x ({words})")).collect::<Vec<_>>().join("; ")
}

/// Returns the hardware of a host in words.
pub fn kind(host: &HostFacts) -> String {
    // Kernels keep different amounts for themselves.
    let memory = (host.memory + GIB / 2) / GIB;
    let bare = if host.virtualisation.is_empty() { "no virtualisation seen" } else { host.virtualisation.as_str() };
    let driver = host.device.get("driver").map_or_else(String::new, |driver| format!(", {driver}"));
    let nodes = if host.numa_nodes > 1 { format!(" in {} NUMA nodes", host.numa_nodes) } else { String::new() };
    format!("{} x {}{nodes} ({}), {memory} GiB, {bare}{driver}", host.cpus, host.cpu_model, host.architecture)
}

/// The version of [`HostFacts`] that this build writes.
pub const FACTS_FORMAT: u32 = 1;

#[cfg(test)]
mod tests {
    use super::{GIB, HostFacts, hardware, hardware_of_many};

    #[test]
    fn a_restart_and_another_kernel_change_no_hardware() {
        let host = |memory, kernel: &str| HostFacts {
            cpus: 4,
            cpu_model: "Some CPU".to_owned(),
            architecture: "x86_64".to_owned(),
            memory,
            kernel: kernel.to_owned(),
            virtualisation: "kvm".to_owned(),
            ..HostFacts::default()
        };
        let words = hardware(&[host(16 * GIB - 9_000_000, "6.1"), host(16 * GIB, "6.1")]);
        assert_eq!(words, "4 x Some CPU (x86_64), 16 GiB, kvm");
        assert_eq!(words, hardware(&[host(16 * GIB - 100_000_000, "6.18")]));
        assert_ne!(words, hardware(&[host(8 * GIB, "6.1")]));
        assert!(hardware(&[host(16 * GIB, ""), host(8 * GIB, "")]).contains("; "));
        let many = hardware_of_many(&[host(8 * GIB, ""), host(16 * GIB, ""), host(16 * GIB, "")]);
        assert_eq!(many, "2 x (4 x Some CPU (x86_64), 16 GiB, kvm); 1 x (4 x Some CPU (x86_64), 8 GiB, kvm)");
    }
}
