//! Many machines that send to one, or one that sends to many: hosts `a`, `a2`, `a3`, ... and `b`, or the reverse.

use std::collections::BTreeMap;

use super::error::PlanError;
use super::raw::RawPlan;
use super::{HOST_NAMES, Plan, host_side};
use crate::cell::{Cell, Factor, Level, LevelError};
use crate::host_place::HostPlace;
use crate::sorting::{Gather, Order};

/// The factor of the number of hosts of each side: `a` sends.
const FACTORS: [Factor; 2] = [Factor::Senders, Factor::Receivers];

/// The side that has several of these hosts; `None` where each has one.
fn many_side(hosts: &BTreeMap<String, HostPlace>) -> Option<usize> {
    hosts.keys().filter(|name| !HOST_NAMES.contains(&name.as_str())).find_map(|name| host_side(name))
}

/// The hosts of a side, the first before those with a number.
fn hosts_at(hosts: &BTreeMap<String, HostPlace>, side: usize) -> Vec<&str> {
    let of_side = |name: &&str| host_side(name) == Some(side) && *name != HOST_NAMES[side];
    let mut further: Vec<&str> = hosts.keys().map(String::as_str).filter(of_side).collect();
    further.order_by_key(|name| (name.len(), *name));
    std::iter::once(HOST_NAMES[side]).chain(further).collect()
}

impl Plan {
    /// The side, 0 of `a` and 1 of `b`, that has several machines; `None` where each has one.
    pub fn many_side(&self) -> Option<usize> {
        many_side(&self.hosts)
    }

    /// The names of the hosts of a side; never none. The first is this machine where no other is named for it.
    pub fn hosts_at(&self, side: usize) -> Vec<&str> {
        hosts_at(&self.hosts, side)
    }
}

impl RawPlan {
    /// Fits tables of cells to the machines that are named, where a side has several: their number takes the place of
    /// levels beyond it and of none, tables of many at the other side go, and no table names a link.
    pub fn fit_hosts(&mut self) {
        let Some(side) = many_side(&self.hosts) else { return };
        let (factor, other) = (FACTORS[side], FACTORS[1 - side]);
        let all = u32::try_from(hosts_at(&self.hosts, side).len()).unwrap_or(u32::MAX);
        let of_many = |table: &BTreeMap<Factor, Vec<Level>>| table.contains_key(&factor) || !table.contains_key(&other);
        [&mut self.cells, &mut self.arm_cells].into_iter().for_each(|tables| tables.retain(of_many));
        for table in self.cells.iter_mut().chain(&mut self.arm_cells) {
            table.remove(&Factor::Link);
            let levels = table.entry(factor).or_default();
            let level = if side == 0 { Level::Senders } else { Level::Receivers };
            levels.retain(|level| matches!(level, Level::Senders(hosts) | Level::Receivers(hosts) if *hosts < all));
            levels.push(level(all));
        }
    }
}

/// Checks the names of the hosts, and what a plan of many does not have.
pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    let refused = |what: String, reason: &str| Err(PlanError::Change { what, reason: reason.to_owned() });
    if let Some(name) = plan.hosts.keys().find(|name| host_side(name).is_none()) {
        return refused(format!("host {name}"), "a host is a or b, or a2, a3, ... where many send to one (b2, b3, ...: one to many)");
    }
    let Some(side) = plan.many_side() else { return Ok(()) };
    if plan.hosts_at(1 - side).len() > 1 {
        return refused("several hosts at either side".to_owned(), "many send to one (a, a2, a3, b), or one to many (a, b, b2, b3)");
    }
    let of_arms = plan.arms.iter().map(|arm| (arm.host_settings().hosts, format!(" of arm '{}'", arm.name)));
    for (of_arm, words) in std::iter::once((BTreeMap::new(), String::new())).chain(of_arms) {
        let hosts: BTreeMap<_, _> = plan.hosts.iter().map(|(name, place)| (name, of_arm.get(name).unwrap_or(place))).into_map();
        for (at, (name, place)) in hosts.iter().enumerate() {
            if let Some((other, _)) = hosts.iter().take(at).find(|(_, known)| *known == place) {
                let reason = "both are the same place, and each host takes part once: name another";
                return refused(format!("hosts {other} and {name}{words}"), reason);
            }
        }
    }
    Ok(())
}

/// Checks a cell whose flows are spread by this factor.
pub(super) fn check_cell(plan: &Plan, cell: &Cell, factor: Factor) -> Result<(), PlanError> {
    let side = usize::from(factor == Factor::Receivers);
    let (hosts, named) = (cell.conditions.most_hosts(), plan.hosts_at(side).len());
    let refused = |reason: String| Err(LevelError { factor, reason: format!("{hosts}: {reason}") }.into());
    if hosts as usize > named {
        let name = HOST_NAMES[side];
        return refused(match named {
            1 => format!("one host is named at that side; name more (--host {name}2=PLACE), or leave out --host"),
            _ => format!("{named} hosts are named at that side; name more (--host {name}{}=PLACE), or ask for fewer", named + 1),
        });
    }
    let ports = plan.data_port.map_or(u32::MAX, |port| u32::from(u16::MAX - port) + 1);
    match cell {
        cell if cell.flows > ports => {
            refused(format!("{} flows need a port each, and --data-port leaves {ports}: name a lower one", cell.flows))
        }
        cell if !cell.test.is_stream() => refused(format!("not with {} between machines", cell.test)),
        cell if cell.bidirectional => refused("not both ways between machines".to_owned()),
        cell if cell.stamp => refused("not with one-way times between machines".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Plan, PlanError, RawPlan, preset, resolve};

    fn plan(hosts: &[&str], cells: &str) -> Result<Plan, PlanError> {
        let hosts: Vec<String> = hosts.iter().map(|name| format!("{name} = \"{name}.example\"")).collect();
        let text = format!("name = \"x\"\nhosts = {{ {} }}\n[[cells]]\ntest = \"TCP_STREAM\"\nsize = 64\n{cells}", hosts.join(", "));
        resolve(&RawPlan::parse(&text)?, &[], 1).map(crate::plan::ApprovedPlan::into_plan)
    }

    #[test]
    fn hosts_of_a_side_are_in_the_order_of_their_numbers() {
        let plan = plan(&["a10", "a2", "b"], "senders = 3").unwrap();
        assert_eq!((plan.many_side(), plan.hosts_at(0), plan.hosts_at(1)), (Some(0), vec!["a", "a2", "a10"], vec!["b"]));
        assert_eq!(plan.roles, crate::schedule::Roles::Fixed { swapped: false });
        let plain = self::plan(&["b"], "").unwrap();
        assert_eq!((plain.many_side(), plain.hosts_at(0)), (None, vec!["a"]));
    }

    #[test]
    fn what_many_machines_cannot_carry_is_refused() {
        let complaint = |hosts: &[&str], cells: &str| plan(hosts, cells).unwrap_err().to_string();
        assert!(complaint(&["a", "a2", "b"], "senders = 3").contains("2 hosts are named at that side; name more (--host a3=PLACE)"));
        assert!(complaint(&["b"], "senders = 2").contains("leave out --host"));
        assert!(complaint(&["a", "a2", "b", "b2"], "senders = 2").contains("one to many"));
        assert!(complaint(&["a", "a2", "b"], "receivers = 2").contains("--host b2=PLACE"));
        assert!(complaint(&["a1", "b"], "").contains("unknown key 'a1' in [hosts]"));
        assert!(complaint(&["a", "a33", "b"], "").contains("'a33'"));
        assert!(complaint(&["a", "a2", "b"], "senders = 2\nbidirectional = true").contains("not both ways"));
        let twice =
            "name = \"x\"\nhosts = { a = \"db1\", a2 = \"db2\", a3 = \"db1\", b = \"db4\" }\n[[cells]]\ntest = \"TCP_STREAM\"\nsize = 1";
        let refused = resolve(&RawPlan::parse(twice).unwrap(), &[], 1).unwrap_err().to_string();
        assert!(refused.contains("hosts a and a3: both are the same place"), "{refused}");
        let refused = |more: &str, cells: &str| {
            let text = twice.replace("a3 = \"db1\"", "a3 = \"db3\"").replace("hosts =", &format!("{more}\nhosts ="));
            resolve(&RawPlan::parse(&format!("{text}\n{cells}")).unwrap(), &[], 1).map_or_else(|error| error.to_string(), |_| String::new())
        };
        let of_arm = |setting: &str| refused(&format!("arms = [\"x\", \"y: {setting}\"]"), "senders = 3");
        for taken in ["host.b=db5", "host.a2=db5", "cpus.b=1", "cpus.a3=0,1", "senders=2"] {
            assert_eq!(of_arm(taken), "", "{taken}");
        }
        assert!(of_arm("host.a3=db4").contains("hosts a3 and b of arm 'y'"));
        assert!(of_arm("cpus.a4=1").contains("no host a4"), "{}", of_arm("cpus.a4=1"));
        assert!(of_arm("senders=4").contains("name more (--host a4=PLACE)"));
        assert_eq!(refused("receipt = {}\ndata_port = 65533", "senders = 3"), "");
        assert!(refused("data_port = 65534", "senders = 3").contains("3 flows need a port each, and --data-port leaves 2"));
    }

    #[test]
    fn a_preset_is_fitted_to_the_machines() {
        let fitted = |hosts: &[(&str, &str)]| {
            let mut raw = RawPlan::parse(preset("incast").unwrap()).unwrap();
            raw.hosts = hosts.iter().map(|(name, at)| ((*name).to_owned(), at.parse().unwrap())).collect();
            raw.fit_hosts();
            let plan = resolve(&raw, &[], 1).unwrap();
            plan.cells.iter().map(|cell| (cell.conditions.senders, cell.conditions.receivers, cell.flows)).collect::<Vec<_>>()
        };
        let many = fitted(&[("a", "db1"), ("a2", "db2"), ("a3", "db3"), ("b", "db4")]);
        let tcp_and_udp = [(1, 1, 1), (2, 1, 2), (3, 1, 3), (1, 1, 1), (2, 1, 2), (3, 1, 3)];
        assert_eq!(many, tcp_and_udp);
        assert_eq!(fitted(&[("a", "db1"), ("b", "db2"), ("b2", "db3")]), [(1, 2, 2)]);
    }
}
