//! Facts of the machine itself.

use std::fs;

use crate::host::text::{number_list, read_or_empty};

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
    let online = number_list(&read_or_empty("/sys/devices/system/cpu/online")).len();
    u32::try_from(online).unwrap_or(u32::MAX).max(1)
}

/// NUMA nodes; at least one.
pub(super) fn numa_nodes() -> u32 {
    let online = number_list(&read_or_empty("/sys/devices/system/node/online")).len();
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
    governors.sort_unstable();
    governors.dedup();
    governors.join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{cpu_model, memory};

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
}
