//! Facts of the machine itself, and of the container or the hypervisor that it
//! runs under.

use std::fs;
use std::path::Path;

use model::sorting::Order;

use crate::host::text::read_or_empty;

/// The CPU's model, from /proc/cpuinfo. Architectures name it differently; ARM
/// only gives numbers.
pub fn cpu_model(cpuinfo: &str) -> String {
    let field = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    if let Some(model) = ["model name", "cpu model", "cpu", "Model Name", "uarch"].iter().find_map(|name| field(name)) {
        return model;
    }
    match (field("CPU implementer"), field("CPU part")) {
        (Some(implementer), Some(part)) => format!("ARM implementer {implementer} part {part}"),
        _ => String::new(),
    }
}

/// CPUs online; at least one.
pub(super) fn cpus_online() -> u32 {
    let online = sys::cpu::list(&read_or_empty("/sys/devices/system/cpu/online")).map_or(0, |cpus| cpus.len());
    u32::try_from(online).unwrap_or(u32::MAX).max(1)
}

/// NUMA nodes; at least one.
pub(super) fn numa_nodes() -> u32 {
    let online = sys::cpu::list(&read_or_empty("/sys/devices/system/node/online")).map_or(0, |nodes| nodes.len());
    u32::try_from(online).unwrap_or(u32::MAX).max(1)
}

/// Memory in bytes, from /proc/meminfo.
pub fn memory(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0).saturating_mul(1024)
}

/// The frequency governors of the endpoints' CPUs, or of all where the ends are
/// not bound; each named once.
pub(super) fn governor(endpoint_cpus: &[u32]) -> String {
    let mut governors: Vec<String> = if endpoint_cpus.is_empty() {
        let policies = fs::read_dir("/sys/devices/system/cpu/cpufreq").into_iter().flatten().flatten();
        policies.map(|policy| read_or_empty(policy.path().join("scaling_governor"))).collect()
    } else {
        let path = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        endpoint_cpus.iter().map(|cpu| read_or_empty(path(cpu))).collect()
    };
    governors.retain(|governor| !governor.is_empty());
    governors.order();
    governors.dedup();
    governors.join(", ")
}

/// The traces that containers and hypervisors leave.
#[derive(Debug, Clone, Default)]
pub(super) struct Traces {
    /// /.dockerenv is there.
    pub docker: bool,
    /// /run/.containerenv is there.
    pub podman: bool,
    /// The container manager's own word: /run/systemd/container, or the
    /// environment of process 1.
    pub container: String,
    /// /sys/hypervisor/type.
    pub hypervisor: String,
    /// The CPU says that it is a virtual one.
    pub virtual_cpu: bool,
    /// Firmware's maker and product.
    pub product: String,
    /// Clock sources on offer: hypervisors bring their own.
    pub clocks: String,
    /// Kernel release: some hypervisors bring their own kernel.
    pub kernel: String,
}

impl Traces {
    /// Reads them from this machine.
    pub(super) fn read(cpuinfo: &str) -> Self {
        let dmi = |file: &str| read_or_empty(format!("/sys/class/dmi/id/{file}"));
        let environment = read_or_empty("/proc/1/environ");
        let named = environment.split('\0').find_map(|variable| variable.strip_prefix("container="));
        let container = Some(read_or_empty("/run/systemd/container")).filter(|name| !name.is_empty());
        let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags"));
        Self {
            docker: Path::new("/.dockerenv").exists(),
            podman: Path::new("/run/.containerenv").exists(),
            container: container.or_else(|| named.map(str::to_owned)).unwrap_or_default(),
            hypervisor: read_or_empty("/sys/hypervisor/type"),
            virtual_cpu: flags.any(|line| line.split_ascii_whitespace().any(|flag| flag == "hypervisor")),
            product: format!("{} {}", dmi("sys_vendor"), dmi("product_name")),
            clocks: read_or_empty("/sys/devices/system/clocksource/clocksource0/available_clocksource"),
            kernel: read_or_empty("/proc/sys/kernel/osrelease"),
        }
    }
}

/// Products by a part of their name. What says more comes first.
const PRODUCTS: [(&str, &str); 11] = [
    ("Firecracker", "firecracker"),
    ("Amazon EC2", "kvm (Amazon EC2)"),
    ("Google", "kvm (Google)"),
    ("OpenStack", "kvm (OpenStack)"),
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("Microsoft Corporation Virtual", "hyper-v"),
    ("Xen", "xen"),
    ("QEMU", "kvm"),
    ("KVM", "kvm"),
];

/// Names what the traces tell, such as `docker`, `kvm`, or `docker on kvm`.
pub(super) fn detect(traces: &Traces) -> String {
    match (container(traces), hypervisor(traces)) {
        (Some(container), Some(hypervisor)) => format!("{container} on {hypervisor}"),
        (Some(name), None) => name,
        (None, Some(name)) => name.to_owned(),
        (None, None) => String::new(),
    }
}

fn container(traces: &Traces) -> Option<String> {
    if !traces.container.is_empty() {
        Some(traces.container.clone())
    } else if traces.docker {
        Some("docker".to_owned())
    } else {
        traces.podman.then(|| "podman".to_owned())
    }
}

fn hypervisor(traces: &Traces) -> Option<&str> {
    if traces.kernel.to_ascii_lowercase().contains("microsoft") {
        return Some("wsl");
    }
    if !traces.hypervisor.is_empty() {
        return Some(&traces.hypervisor);
    }
    // Bare-metal machines of cloud providers have the product but not the flag;
    // on other architectures than x86 there is no flag to have.
    let x86 = cfg!(any(target_arch = "x86", target_arch = "x86_64"));
    if x86 && !traces.virtual_cpu {
        return None;
    }
    if let Some((_, name)) = PRODUCTS.iter().find(|(part, _)| traces.product.contains(part)) {
        return Some(name);
    }
    let clocks = [("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen")];
    let by_clock = clocks.iter().find(|(part, _)| traces.clocks.contains(part)).map(|(_, name)| *name);
    by_clock.or_else(|| traces.virtual_cpu.then_some("unknown hypervisor"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{Traces, cpu_model, detect, memory};

    #[test]
    fn each_architecture_names_its_cpu() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: Xeon : 2\n"), "Xeon : 2");
        assert_eq!(cpu_model("processor : 0\ncpu : POWER9\n"), "POWER9");
        assert_eq!(cpu_model("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"), "ARM implementer 0x41 part 0xd0c");
        assert_eq!(cpu_model(""), "");
    }

    #[test]
    fn memory_is_told_in_bytes() {
        assert_eq!(memory("MemTotal:        8000 kB\nMemFree: 1 kB\n"), 8_192_000);
        assert_eq!(memory("MemTotal: much\n"), 0);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in any::<String>()) {
            let _ = (cpu_model(&text), memory(&text), memory(&format!("MemTotal: {text} kB")));
        }
    }

    #[test]
    fn a_container_on_a_hypervisor_is_both() {
        let traces = Traces { docker: true, virtual_cpu: true, clocks: "tsc kvm-clock".to_owned(), ..Traces::default() };
        assert_eq!(detect(&traces), "docker on kvm");
    }

    #[test]
    fn a_virtual_cpu_alone_is_said_to_be_one() {
        assert_eq!(detect(&Traces { virtual_cpu: true, ..Traces::default() }), "unknown hypervisor");
        assert_eq!(detect(&Traces::default()), "");
    }

    #[test]
    fn the_managers_own_word_counts_most() {
        let traces = Traces { docker: true, container: "systemd-nspawn".to_owned(), ..Traces::default() };
        assert_eq!(detect(&traces), "systemd-nspawn");
        assert_eq!(detect(&Traces { kernel: "5.15.153.1-microsoft-standard-WSL2".to_owned(), ..Traces::default() }), "wsl");
    }

    #[test]
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    fn bare_metal_in_a_cloud_is_bare_metal() {
        assert_eq!(detect(&Traces { product: "Amazon EC2 m5.metal".to_owned(), ..Traces::default() }), "");
    }
}
