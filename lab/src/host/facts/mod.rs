//! The facts of a host. All are optional: what this machine does not tell is
//! empty, and never stops a study.

mod machine;
mod network;

use std::collections::BTreeMap;

use model::host::{FACTS_FORMAT, HostFacts};
use sys::process::boot_id;

use super::entered::Entered;
use super::text::read_or_empty;

pub use machine::{cpu_model, memory};
pub use network::network_lines;
pub(super) use network::read_sysctls;

/// Gathers the facts of the host called `name`, whose link is `device` and
/// whose endpoints are bound to `endpoint_cpus`. The results of the start-up
/// probes (`irq_time_subtracted`, `loop_overhead_ns`, `wakeups`) are left for the caller.
pub fn gather(name: &str, entered: &Entered, device: &str, endpoint_cpus: &[u32]) -> HostFacts {
    let cpuinfo = read_or_empty("/proc/cpuinfo");
    HostFacts {
        format: FACTS_FORMAT,
        name: name.to_owned(),
        isolation: entered.describe().to_owned(),
        boot: boot_id(),
        kernel: read_or_empty("/proc/sys/kernel/osrelease"),
        kernel_build: read_or_empty("/proc/sys/kernel/version"),
        architecture: std::env::consts::ARCH.to_owned(),
        cpu_model: cpu_model(&cpuinfo),
        cpus: machine::cpus_online(),
        endpoint_cpus: endpoint_cpus.to_vec(),
        numa_nodes: machine::numa_nodes(),
        memory: memory(&read_or_empty("/proc/meminfo")),
        virtualisation: machine::detect(&machine::Traces::read(&cpuinfo)),
        governor: machine::governor(endpoint_cpus),
        clocksource: read_or_empty("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        irq_time_subtracted: None,
        loop_overhead_ns: 0.0,
        wakeups: None,
        sysctls: sysctls(entered),
        device: network::device(device),
        offloads: network::offloads(device),
        irqs: network::irqs(&read_or_empty("/proc/interrupts")),
        tool: crate::tool().to_owned(),
    }
}

/// Settings of the network stack: those of the host's namespace, and those of
/// the whole machine, seen before it was entered.
fn sysctls(entered: &Entered) -> BTreeMap<String, String> {
    let mut all = entered.sysctls_before().clone();
    all.extend(read_sysctls());
    all
}

#[cfg(test)]
mod tests {
    use super::gather;
    use crate::host::namespace::{Isolation, enter};

    #[test]
    fn this_machine_has_facts() {
        let facts = gather("a", &enter(Isolation::None).unwrap(), "lo", &[0]);
        assert_eq!((facts.name.as_str(), facts.isolation.as_str(), facts.endpoint_cpus.as_slice()), ("a", "this machine", &[0][..]));
        assert!(!facts.kernel.is_empty() && !facts.kernel_build.is_empty() && facts.cpus > 0 && facts.memory > 0);
        assert_eq!(facts.device["name"], "lo");
        assert!(facts.sysctls.contains_key("net.ipv4.tcp_congestion_control"));
    }
}
