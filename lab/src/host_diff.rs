//! Differences of hosts from an earlier state, so that trials of before and after
//! can stand in one cell.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use model::host::HostFacts;
use model::sorting::{Gather, Order};

/// Settings that differ from start to start of one machine, or while it runs,
/// and that no trial notices: limits drawn from the free memory, and the list
/// of congestion controls, which grows when one is first asked for.
const SLIGHT_SYSCTLS: [&str; 3] = ["net.ipv4.tcp_mem", "net.ipv4.udp_mem", "net.ipv4.tcp_available_congestion_control"];

/// State of a device that no trial notices.
const SLIGHT_OF_DEVICE: [&str; 1] = ["operstate"];

/// Differences of hosts from an earlier state, each in words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// With these no trial compares with an earlier one.
    pub grave: Vec<String>,
    /// These are to be known.
    pub slight: Vec<String>,
}

/// Returns how the hosts differ between two moments.
pub fn compare(then: &[HostFacts], now: &[HostFacts]) -> Differences {
    let mut differences = Differences::default();
    // Stored ones are in the order of their names.
    let [then, now] = [then, now].map(|facts| {
        let mut facts: Vec<&HostFacts> = facts.iter().collect();
        facts.order_by_key(|facts| facts.name.clone());
        facts
    });
    let names = |facts: &[&HostFacts]| facts.iter().map(|facts| facts.name.clone()).collect::<Vec<_>>();
    if names(&then) != names(&now) {
        differences.grave.push(changed("the hosts", &names(&then).join(", "), &names(&now).join(", ")));
        return differences;
    }
    for (then, now) in then.iter().zip(now) {
        differences.host(then, now);
    }
    differences
}

fn changed(what: &str, then: &dyn Display, now: &dyn Display) -> String {
    format!("{what} was {then}, is {now}")
}

impl Differences {
    fn host(&mut self, then: &HostFacts, now: &HostFacts) {
        let host = |what: &str| format!("host {}: {what}", then.name);
        let grave: [(&str, String, String); 13] = [
            ("isolation", then.isolation.clone(), now.isolation.clone()),
            ("kernel", then.kernel.clone(), now.kernel.clone()),
            ("kernel build", then.kernel_build.clone(), now.kernel_build.clone()),
            ("architecture", then.architecture.clone(), now.architecture.clone()),
            ("CPU model", then.cpu_model.clone(), now.cpu_model.clone()),
            ("number of CPUs", then.cpus.to_string(), now.cpus.to_string()),
            ("CPUs of the ends", cpus(&then.endpoint_cpus), cpus(&now.endpoint_cpus)),
            ("number of NUMA nodes", then.numa_nodes.to_string(), now.numa_nodes.to_string()),
            ("virtualisation", then.virtualisation.clone(), now.virtualisation.clone()),
            ("frequency governor", then.governor.clone(), now.governor.clone()),
            ("clock source", then.clocksource.clone(), now.clocksource.clone()),
            ("way of counting interrupt time", counting(then.irq_time_subtracted), counting(now.irq_time_subtracted)),
            ("nettoll", then.tool.clone(), now.tool.clone()),
        ];
        self.grave.extend(grave.iter().filter(|(_, then, now)| then != now).map(|(what, then, now)| changed(&host(what), then, now)));
        if then.boot != now.boot {
            self.slight.push(host("it was started again"));
        }
        if then.memory != now.memory {
            self.slight.push(changed(&host("memory in bytes"), &then.memory, &now.memory));
        }
        self.table(&host("sysctl"), &then.sysctls, &now.sysctls, &SLIGHT_SYSCTLS);
        self.table(&host("device's"), &then.device, &now.device, &SLIGHT_OF_DEVICE);
        self.table(&host("offload"), &then.offloads, &now.offloads, &[]);
        // Lines are numbered again at each start.
        if then.irqs != now.irqs {
            self.slight.push(host("interrupts of network devices are placed otherwise"));
        }
    }

    fn table<T: PartialEq + Display>(&mut self, what: &str, then: &BTreeMap<String, T>, now: &BTreeMap<String, T>, slight: &[&str]) {
        let keys: BTreeSet<&String> = then.keys().chain(now.keys()).into_set();
        for key in keys {
            let (before, after) = (then.get(key), now.get(key));
            if before == after {
                continue;
            }
            let word = |value: Option<&T>| value.map_or_else(|| "not there".to_owned(), ToString::to_string);
            let words = changed(&format!("{what} {key}"), &word(before), &word(after));
            if slight.contains(&key.as_str()) { &mut self.slight } else { &mut self.grave }.push(words);
        }
    }
}

fn cpus(cpus: &[u32]) -> String {
    if cpus.is_empty() { "any".to_owned() } else { cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ") }
}

fn counting(subtracted: Option<bool>) -> String {
    match subtracted {
        Some(true) => "taken out of process time",
        Some(false) => "left in process time",
        None => "unknown",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Differences, compare};
    use model::host::HostFacts;

    fn hosts() -> Vec<HostFacts> {
        let host = |name: &str| HostFacts {
            name: name.to_owned(),
            kernel: "6.18.1".to_owned(),
            endpoint_cpus: vec![1],
            irq_time_subtracted: Some(true),
            sysctls: [("net.ipv4.tcp_sack".to_owned(), "1".to_owned())].into(),
            device: [("mtu".to_owned(), "1500".to_owned()), ("operstate".to_owned(), "up".to_owned())].into(),
            offloads: [("tx-checksumming".to_owned(), true)].into(),
            tool: "0.1.0 (0123abcd)".to_owned(),
            ..HostFacts::default()
        };
        vec![host("a"), host("b")]
    }

    fn after(change: impl Fn(&mut HostFacts)) -> Differences {
        let mut now = hosts();
        change(&mut now[1]);
        compare(&hosts(), &now)
    }

    #[test]
    fn the_same_hosts_do_not_differ() {
        assert_eq!(compare(&hosts(), &hosts()), Differences::default());
        // What the tool measures of itself is never twice the same.
        assert_eq!(after(|host| host.loop_overhead_ns = 1.5), Differences::default());
    }

    #[test]
    fn what_a_trial_notices_is_grave_and_named() {
        let grave = |change: &dyn Fn(&mut HostFacts), words: &str| {
            let found = after(change);
            assert_eq!((found.grave, found.slight), (vec![words.to_owned()], vec![]));
        };
        grave(&|host| host.kernel = "6.18.2".to_owned(), "host b: kernel was 6.18.1, is 6.18.2");
        grave(&|host| host.endpoint_cpus = vec![2], "host b: CPUs of the ends was 1, is 2");
        grave(&|host| host.irq_time_subtracted = None, "host b: way of counting interrupt time was taken out of process time, is unknown");
        grave(&|host| _ = host.device.insert("mtu".to_owned(), "9000".to_owned()), "host b: device's mtu was 1500, is 9000");
        grave(&|host| _ = host.offloads.insert("tx-checksumming".to_owned(), false), "host b: offload tx-checksumming was true, is false");
        grave(&|host| _ = host.sysctls.remove("net.ipv4.tcp_sack"), "host b: sysctl net.ipv4.tcp_sack was 1, is not there");
        // Another card, or another machine.
        grave(&|host| _ = host.device.insert("address".to_owned(), "02:00".to_owned()), "host b: device's address was not there, is 02:00");
        grave(&|host| host.tool = "0.1.0 (4567cdef)".to_owned(), "host b: nettoll was 0.1.0 (0123abcd), is 0.1.0 (4567cdef)");
        assert_eq!(compare(&hosts(), &hosts()[..1]).grave, ["the hosts was a, b, is a"]);
    }

    #[test]
    fn what_no_trial_notices_is_slight() {
        let slight = |change: &dyn Fn(&mut HostFacts)| {
            let found = after(change);
            assert_eq!((found.grave.len(), found.slight.len()), (0, 1), "{found:?}");
        };
        slight(&|host| host.boot = "other".to_owned());
        slight(&|host| host.memory = 7);
        slight(&|host| _ = host.device.insert("operstate".to_owned(), "unknown".to_owned()));
        slight(&|host| _ = host.sysctls.insert("net.ipv4.tcp_mem".to_owned(), "1 2 3".to_owned()));
        slight(&|host| _ = host.irqs.insert("38 eth0-0".to_owned(), "1".to_owned()));
    }
}
