//! Which runs make one series: those of the same settings, on the same machine.

use std::collections::BTreeMap;

use model::host::{HostFacts, hardware, hardware_of_many, kind};
use model::plan::{FleetPlan, Link, PlanEnd};
use model::{Nanos, Plan};

/// What two runs must have in common for their figures to stand in one series, besides the cell: link, hosts, length of
/// trials, and of fleets how many pairs are measured at once, which disturb each other.
#[derive(Debug, PartialEq)]
pub struct Settings {
    link: Link,
    end: PlanEnd,
    warmup: Nanos,
    hosts: String,
}

impl Settings {
    /// The settings of a run's plan.
    pub fn of(plan: &Plan) -> Self {
        let mut hosts: Vec<String> = plan.hosts.iter().map(|(name, place)| format!("{name}={place}")).collect();
        hosts.extend(plan.fleet.iter().map(|fleet| format!("fleet {} at once: {}", fleet.fingerprint(), fleet.parallel)));
        Self { link: plan.link.clone(), end: plan.end, warmup: plan.warmup, hosts: hosts.join(" ") }
    }
}

/// Runs whose figures make no series, for they are not of one machine.
#[derive(Debug, thiserror::Error)]
pub enum OtherMachine {
    /// Runs of several machines, each with the number of its runs, a line each.
    #[error(
        "these runs are of {machines} machines, whose figures make no one series:\n{list}\n\
         Name one of them by some of its words: --machine WORDS"
    )]
    Several {
        /// The number of machines.
        machines: usize,
        /// The machines.
        list: String,
    },
    /// A host of a fleet that has become another machine.
    #[error(
        "host {name} of the fleet is not the machine that it was, so its figures make no one series:\n  once {then}\n  now {now}\n\
         Begin with the first run after that: --since RUN"
    )]
    Replaced {
        /// Its name.
        name: String,
        /// Its hardware in an earlier run.
        then: String,
        /// Its hardware in the newest run that has it.
        now: String,
    },
}

/// Returns the machine or the fleet of a run, in words.
pub fn machine(plan: &Plan, hosts: &[HostFacts]) -> String {
    plan.fleet.as_ref().map_or_else(|| hardware(hosts), |fleet| of_fleet(fleet, hosts))
}

/// Returns the machine or the fleet of all runs, in words: `plan` is the newest run's, `runs` the hosts of each, the
/// earliest first. A host of a fleet may have been away from some of them.
///
/// # Errors
/// The runs are of several machines, or a host of the fleet has become another one.
pub fn one_machine(plan: &Plan, runs: &[&[HostFacts]]) -> Result<String, OtherMachine> {
    match &plan.fleet {
        Some(fleet) => one_fleet(fleet, runs),
        None => one_pair(runs),
    }
}

fn of_fleet<'a>(fleet: &FleetPlan, hosts: impl IntoIterator<Item = &'a HostFacts>) -> String {
    format!("fleet {} of {} hosts: {}", fleet.fingerprint(), fleet.hosts.len(), hardware_of_many(hosts))
}

fn one_fleet(fleet: &FleetPlan, runs: &[&[HostFacts]]) -> Result<String, OtherMachine> {
    let mut hosts: BTreeMap<&str, &HostFacts> = BTreeMap::new();
    for host in runs.iter().rev().copied().flatten() {
        let newest = *hosts.entry(&host.name).or_insert(host);
        let (then, now) = (kind(host), kind(newest));
        if then != now {
            return Err(OtherMachine::Replaced { name: host.name.clone(), then, now });
        }
    }
    Ok(of_fleet(fleet, hosts.into_values()))
}

fn one_pair(runs: &[&[HostFacts]]) -> Result<String, OtherMachine> {
    let mut machines: BTreeMap<String, u32> = BTreeMap::new();
    runs.iter().for_each(|hosts| *machines.entry(hardware(hosts)).or_default() += 1);
    if machines.len() > 1 {
        let list: Vec<String> = machines.iter().map(|(words, runs)| format!("  {runs} on {words}")).collect();
        return Err(OtherMachine::Several { machines: machines.len(), list: list.join("\n") });
    }
    Ok(machines.into_keys().next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{OtherMachine, Settings, one_machine};
    use model::host::HostFacts;
    use model::{Nanos, Plan};
    use testkit::made;

    fn hosts(cpus: [u32; 2]) -> Vec<HostFacts> {
        ["a", "b"].into_iter().zip(cpus).map(|(name, cpus)| HostFacts { cpus, ..made::host(name) }).collect()
    }

    #[test]
    fn a_machine_that_got_more_cpus_is_another_one() {
        let plan = made::plan("quick", Vec::new());
        let [old, new] = [hosts([2, 2]), hosts([2, 4])];
        assert!(one_machine(&plan, &[&old, &old]).unwrap().starts_with("2 x"));
        let refused = one_machine(&plan, &[&old, &old, &new]).unwrap_err();
        assert!(matches!(refused, OtherMachine::Several { machines: 2, .. }), "{refused}");
        assert!(refused.to_string().contains("\n  2 on 2 x") && refused.to_string().ends_with("--machine WORDS"), "{refused}");
        assert_eq!(one_machine(&plan, &[]).unwrap(), "");
    }

    #[test]
    fn runs_of_other_lengths_or_warmups_are_not_of_one_series() {
        let plan = made::plan("quick", Vec::new());
        assert_eq!(Settings::of(&plan), Settings::of(&plan));
        let warm = Plan { warmup: plan.warmup + Nanos::from_millis(1), ..plan.clone() };
        assert_ne!(Settings::of(&plan), Settings::of(&warm));
        let mut moved = plan.clone();
        moved.hosts.insert("b".to_owned(), "lab2.example".parse().unwrap());
        assert_ne!(Settings::of(&plan), Settings::of(&moved));
    }
}
