//! Choice of the CPUs of the two ends.

use std::collections::HashMap;
use std::path::Path;

use model::control::CpuPlace;
use model::sorting::Order;
use sys::process::{Stat, processes};

use sys::cpu::list;
use sys::process::field;

use super::text::read_or_empty;

/// A CPU that this process may use, and where it sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub id: u32,
    /// Its socket.
    pub package: u32,
    /// Its core, named by the first of the CPUs that share it.
    pub core: u32,
}

/// The CPUs that this process may use, by rising numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    /// The CPUs.
    pub cpus: Vec<Cpu>,
}

/// The CPU for each host's endpoints. Both are the same where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// For host `a`.
    pub a: u32,
    /// For host `b`.
    pub b: u32,
}

/// From this many cores on, the first is left to the machine: most interrupts
/// and much of the kernel's housekeeping run there.
const CORES_TO_SPARE_ONE: usize = 4;

impl Topology {
    /// Reads what the kernel tells; where it does not tell, each CPU is taken
    /// for a core of its own.
    pub fn read() -> Self {
        Self::read_from(&read_or_empty("/proc/thread-self/status"), Path::new("/sys/devices/system/cpu"))
    }

    fn read_from(status: &str, system: &Path) -> Self {
        let allowed = field(status, "Cpus_allowed_list").unwrap_or_default();
        // The mask may name CPUs that are switched off or do not exist.
        let numbers = |text: &str| list(text).unwrap_or_default();
        let online = numbers(&read_or_empty(system.join("online")));
        let mut ids: Vec<u32> = numbers(allowed).into_iter().filter(|id| online.is_empty() || online.contains(id)).collect();
        ids.order();
        ids.dedup();
        let cpu = |id: u32| {
            let topology = system.join(format!("cpu{id}/topology"));
            let package = read_or_empty(topology.join("physical_package_id")).parse().unwrap_or(0);
            let siblings = numbers(&read_or_empty(topology.join("thread_siblings_list")));
            Cpu { id, package, core: siblings.into_iter().min().unwrap_or(id) }
        };
        Self { cpus: ids.into_iter().map(cpu).collect() }
    }

    /// Chooses two CPUs: two cores of one package where there are, so that
    /// messages cross caches as between two programs of one machine; else of two
    /// packages; else two threads of one core; else the only CPU twice.
    pub fn choose(&self) -> Placement {
        let cores = self.cores();
        let spared = |cpu: &Cpu| cores.len() >= CORES_TO_SPARE_ONE && cpu.core == 0;
        let first_pair = |fits: &dyn Fn(&Cpu, &Cpu) -> bool| {
            cores.iter().enumerate().find_map(|(place, a)| {
                let b = cores[place + 1..].iter().find(|b| fits(a, b))?;
                Some(Placement { a: a.id, b: b.id })
            })
        };
        let threads = match self.cpus[..] {
            // Every machine has this one.
            [] => Placement { a: 0, b: 0 },
            [only] => Placement { a: only.id, b: only.id },
            [first, second, ..] => Placement { a: first.id, b: second.id },
        };
        first_pair(&|a, b| a.package == b.package && !spared(a) && !spared(b))
            .or_else(|| first_pair(&|a, b| a.package == b.package))
            .or_else(|| first_pair(&|_, _| true))
            .unwrap_or(threads)
    }

    /// All CPUs in the order in which traffic threads are best bound to them: the
    /// two of [`Self::choose`], one of each further core, those of the same
    /// package before others, then the further threads of each core, and last
    /// the core that is left to the machine.
    pub fn order(&self) -> Vec<u32> {
        let Placement { a, b } = self.choose();
        let cores = self.cores();
        let home = self.cpus.iter().find(|cpu| cpu.id == a).map_or(0, |cpu| cpu.package);
        let spare = cores.len() >= CORES_TO_SPARE_ONE;
        let rank = |cpu: &Cpu| {
            let chosen = [a, b].iter().position(|id| *id == cpu.id).unwrap_or(2);
            let first = cores.iter().any(|core| core.id == cpu.id);
            (chosen, spare && cpu.core == 0, !first, cpu.package != home, cpu.id)
        };
        let mut cpus = self.cpus.clone();
        cpus.order_by_key(rank);
        let order: Vec<u32> = cpus.iter().map(|cpu| cpu.id).collect();
        // Every machine has this one.
        if order.is_empty() { vec![a] } else { order }
    }

    /// The first CPU of each core.
    fn cores(&self) -> Vec<Cpu> {
        let mut cores: Vec<Cpu> = Vec::new();
        for cpu in &self.cpus {
            if cores.iter().all(|known| (known.package, known.core) != (cpu.package, cpu.core)) {
                cores.push(*cpu);
            }
        }
        cores
    }
}

/// Returns what this host offers for traffic threads, the best first; never nothing.
pub fn offered() -> Vec<CpuPlace> {
    let order = Topology::read().order();
    let threads = ksoftirqd_pids(&order);
    order.into_iter().map(|cpu| CpuPlace { cpu, ksoftirqd: threads.get(&cpu).copied() }).collect()
}

/// The kernel threads that take over softirq work of `cpus`, as far as they can
/// be seen: none can in a container with process ids of its own.
pub fn ksoftirqd_pids(cpus: &[u32]) -> HashMap<u32, u32> {
    let mut found = HashMap::new();
    // They were started early: the search ends after a few processes.
    for pid in processes() {
        if found.len() == cpus.len() {
            break;
        }
        let name = read_or_empty(format!("/proc/{pid}/comm"));
        let cpu = name.strip_prefix("ksoftirqd/").and_then(|cpu| cpu.parse().ok());
        if let Some(cpu) = cpu.filter(|cpu| cpus.contains(cpu))
            // Any process may call itself so; only the kernel's own descend from its thread of threads.
            && Stat::of(pid).is_some_and(|stat| stat.parent == 2)
        {
            found.entry(cpu).or_insert(pid);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    use super::{Cpu, Placement, Topology, ksoftirqd_pids, offered};
    use crate::host::text::skipped;

    fn topology(cpus: &[(u32, u32, u32)]) -> Topology {
        Topology { cpus: cpus.iter().map(|(id, package, core)| Cpu { id: *id, package: *package, core: *core }).collect() }
    }

    #[test]
    fn two_cores_of_one_package_come_first() {
        // Two packages of two cores with two threads each, numbered as Linux does.
        let machine: Vec<_> = (0..8).map(|id| (id, id % 4 / 2, id % 4)).collect();
        assert_eq!(topology(&machine).choose(), Placement { a: 2, b: 3 });
    }

    #[test]
    fn the_first_core_is_spared_only_from_four_on() {
        assert_eq!(topology(&[(0, 0, 0), (1, 0, 1)]).choose(), Placement { a: 0, b: 1 });
        assert_eq!(topology(&[(0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 0, 3)]).choose(), Placement { a: 1, b: 2 });
    }

    #[test]
    fn without_two_cores_threads_do_and_without_threads_one_cpu() {
        assert_eq!(topology(&[(0, 0, 0), (1, 0, 0)]).choose(), Placement { a: 0, b: 1 });
        assert_eq!(topology(&[(3, 0, 3), (9, 1, 9)]).choose(), Placement { a: 3, b: 9 });
        assert_eq!(topology(&[(5, 0, 5)]).choose(), Placement { a: 5, b: 5 });
        assert_eq!(Topology::default().choose(), Placement { a: 0, b: 0 });
    }

    #[test]
    fn all_cpus_come_in_an_order_that_keeps_cores_apart() {
        // Two packages of four cores with two threads each.
        let machine: Vec<_> = (0..16).map(|id| (id, id % 8 / 4, id % 8)).collect();
        assert_eq!(topology(&machine).order(), [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 0, 8]);
        assert_eq!(topology(&[(0, 0, 0), (1, 0, 1)]).order(), [0, 1]);
        assert_eq!(Topology::default().order(), [0]);
    }

    #[test]
    fn this_machine_has_a_placement() {
        let topology = Topology::read();
        let placement = topology.choose();
        let ids: Vec<u32> = topology.cpus.iter().map(|cpu| cpu.id).collect();
        assert!(ids.contains(&placement.a) && ids.contains(&placement.b));
        assert!(ids.len() < 2 || placement.a != placement.b);
    }

    #[test]
    fn a_softirq_thread_is_found_or_cannot_be_seen() {
        match ksoftirqd_pids(&[0]).get(&0) {
            Some(pid) => assert_eq!(std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap().trim(), "ksoftirqd/0"),
            None => skipped("a_softirq_thread_is_found_or_cannot_be_seen", "kernel threads are not visible here"),
        }
        assert!(ksoftirqd_pids(&[u32::MAX]).is_empty());
        assert!(!offered().is_empty());
    }

    #[test]
    fn a_mask_may_name_cpus_that_are_off() {
        let system = std::env::temp_dir().join(format!("nettoll-cpu-{}", std::process::id()));
        std::fs::create_dir_all(&system).unwrap();
        std::fs::write(system.join("online"), "0-1\n").unwrap();
        let read = Topology::read_from("Name:\tx\nCpus_allowed_list:\t1-1000\n", &system);
        std::fs::remove_dir_all(&system).unwrap();
        assert_eq!(read, topology(&[(1, 0, 1)]));
    }

    proptest! {
        #[test]
        fn two_cpus_of_the_topology_are_chosen(cpus in prop::collection::btree_map(0_u32..64, (0_u32..3, 0_u32..20), 0..12)) {
            let topology = topology(&cpus.iter().map(|(id, (package, core))| (*id, *package, *core)).collect::<Vec<_>>());
            let Placement { a, b } = topology.choose();
            prop_assert!(cpus.is_empty() || cpus.contains_key(&a) && cpus.contains_key(&b));
            prop_assert_eq!(a == b, cpus.len() < 2);
            let order = topology.order();
            prop_assert_eq!(order[0], a);
            prop_assert!(order.len() < 2 || order[1] == b);
            let mut all = order;
            all.sort_unstable();
            prop_assert!(cpus.is_empty() || all.iter().eq(cpus.keys()));
        }
    }
}
