//! Congestion controls that a plan asks for and a machine does not have.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;

use model::host::HostFacts;
use model::plan::HOST_NAMES;
use model::sorting::Gather;
use model::{Plan, suggestion};
use socket2::{Domain, Socket, Type};

const SYSCTL: &str = "net.ipv4.tcp_available_congestion_control";
const FILE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// A congestion control that a machine does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{place} has no congestion control '{name}'{hint} There are {available}; a module of the kernel may add another (modprobe tcp_{name})"
)]
pub struct NoCongestionControl {
    /// Name of the control.
    pub name: String,
    /// The machine, in words.
    pub place: String,
    hint: String,
    available: String,
}

impl NoCongestionControl {
    fn new(name: &str, place: String, available: &str) -> Self {
        let known: Vec<&str> = available.split_whitespace().collect();
        let hint = suggestion(name, known.iter().copied());
        Self { name: name.to_owned(), place, hint, available: known.join(", ") }
    }
}

/// Returns those that this machine lacks, where an end of the plan's trials runs on it. Each is
/// tried, for the kernel loads a module when root asks for one.
pub fn missing_here(plan: &Plan) -> Vec<NoCongestionControl> {
    if HOST_NAMES.iter().all(|name| plan.hosts.contains_key(*name)) {
        return Vec::new();
    }
    let available = fs::read_to_string(FILE).unwrap_or_default();
    let lacking = asked(plan).into_iter().filter(|name| is_missing(name));
    lacking.map(|name| NoCongestionControl::new(&name, "this kernel".to_owned(), &available)).collect()
}

/// Returns those that the machines of agents lack, by their facts: an agent loads no module.
pub fn missing_there(plan: &Plan, facts: &[HostFacts]) -> Vec<NoCongestionControl> {
    let mut missing = Vec::new();
    for host in facts.iter().filter(|host| plan.hosts.contains_key(&host.name)) {
        let Some(available) = host.sysctls.get(SYSCTL) else { continue };
        let lacking = asked(plan).into_iter().filter(|name| !available.split_whitespace().any(|known| known == name));
        missing.extend(lacking.map(|name| NoCongestionControl::new(&name, format!("host {}", host.name), available)));
    }
    missing
}

fn asked(plan: &Plan) -> BTreeSet<String> {
    plan.cells_run().into_iter().filter_map(|cell| cell.cc).into_set()
}

/// Any other answer, such as that only root may choose it, is the trial's to give: its host may.
fn is_missing(name: &str) -> bool {
    let socket = [Domain::IPV4, Domain::IPV6].into_iter().find_map(|domain| Socket::new(domain, Type::STREAM, None).ok());
    socket.is_some_and(|socket| socket.set_tcp_congestion(name.as_bytes()).is_err_and(|error| error.kind() == ErrorKind::NotFound))
}

#[cfg(test)]
mod tests {
    use super::{missing_here, missing_there};
    use model::Plan;
    use model::host::HostFacts;
    use model::plan::{RawPlan, resolve};

    fn plan(more: &str) -> Plan {
        let text =
            format!("name = \"x\"\n{more}\n[[cells]]\ntest = [\"TCP_STREAM\", \"UDP_STREAM\"]\nsize = 1\ncc = [\"reno\", \"renno\"]");
        resolve(&RawPlan::parse(&text).unwrap(), &[], 1).unwrap().into_plan()
    }

    #[test]
    fn what_the_kernel_lacks_is_named_with_the_nearest_that_it_has() {
        let missing = missing_here(&plan(""));
        assert_eq!(missing.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["renno"]);
        let said = missing[0].to_string();
        assert!(said.starts_with("this kernel has no congestion control 'renno'; did you mean 'reno'? There are "), "{said}");
        assert!(said.ends_with("(modprobe tcp_renno)"), "{said}");
        assert_eq!(missing_here(&plan("hosts = { a = \"db1\", b = \"db2\" }")), []);
    }

    #[test]
    fn an_agent_has_what_its_facts_say() {
        let facts = |name: &str| HostFacts {
            name: name.to_owned(),
            sysctls: [("net.ipv4.tcp_available_congestion_control".to_owned(), "reno cubic".to_owned())].into(),
            ..HostFacts::default()
        };
        let missing = missing_there(&plan("hosts = { b = \"db1\" }"), &[facts("a"), facts("b")]);
        assert_eq!(missing.len(), 1);
        assert!(missing[0].to_string().starts_with("host b has no congestion control 'renno'"));
    }
}
