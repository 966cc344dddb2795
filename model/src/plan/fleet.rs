//! A fleet: many hosts of which pairs are measured, in rounds.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Plan, PlanError};
use crate::host_place::HostPlace;
use crate::sorting::Order;

/// Most hosts of a fleet.
pub const MOST_HOSTS: usize = 4_096;
/// Most rounds of a fleet: all of 4,096 hosts, or those of few hosts again and again.
pub const MOST_ROUNDS: u32 = 10_000;
/// Rounds beyond those of the plan in which pairs that failed are tried again.
pub const RETRY_ROUNDS: u32 = 2;

/// The hosts of a study of a fleet and their rounds. A block of such a study is a round: pairs
/// of hosts, none in two of them, each measured in both directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetPlan {
    /// The hosts, in the order in which they were named; at least two, no name twice.
    pub hosts: Vec<FleetHost>,
    /// Rounds; at least 1.
    pub rounds: u32,
    /// All pairs of a round are measured at once, otherwise one pair after the other.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub parallel: bool,
    /// Least effect of a host or a pair that is named, as a share: 0.05 is 5 %.
    pub least: f64,
}

/// A host of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetHost {
    /// Its name: 1 to 100 letters, digits, `.`, `-` and `_`, the first no `.` or `-`.
    pub name: String,
    /// Where it is.
    pub at: HostPlace,
    /// The rack that it stands in, where it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
}

impl FleetPlan {
    /// Place of a host by its name.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|host| host.name == name)
    }

    /// A short name of the hosts: the same for all fleets of hosts of these names in these
    /// places, in any order.
    pub fn fingerprint(&self) -> String {
        let mut hosts: Vec<String> = self.hosts.iter().map(|host| format!("{}={}\n", host.name, host.at.label())).collect();
        hosts.order();
        Sha256::digest(hosts.concat()).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Pairs of each round.
    pub const fn pairs(&self) -> usize {
        self.hosts.len() / 2
    }

    /// Checks what analysis, files and reports depend on.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        if !(2..=MOST_HOSTS).contains(&self.hosts.len()) {
            return Err(fault("hosts", self.hosts.len(), "a fleet has 2 to 4096 hosts"));
        }
        let mut names = BTreeSet::new();
        for host in &self.hosts {
            if !is_host_name(&host.name) {
                return Err(fault(
                    "hosts",
                    printable(&host.name),
                    "a host's name has 1 to 100 letters, digits, '.', '-' and '_', the first no '.' or '-'",
                ));
            }
            if !names.insert(&host.name) {
                return Err(fault("hosts", &host.name, "it is there twice; give each host once, or two names to one place (NAME=PLACE)"));
            }
            if let Some(rack) = host.rack.as_ref().filter(|rack| !is_host_name(rack)) {
                return Err(fault(
                    "racks",
                    printable(rack),
                    "a rack's name has 1 to 100 letters, digits, '.', '-' and '_', the first no '.' or '-'",
                ));
            }
        }
        if !(1..=MOST_ROUNDS).contains(&self.rounds) {
            return Err(fault("rounds", self.rounds, "a fleet has 1 to 10000 rounds"));
        }
        if !(self.least.is_finite() && (0.0..1.0).contains(&self.least)) {
            return Err(fault("least", self.least, "the least effect that is named is a share from 0 to 0.99"));
        }
        Ok(())
    }
}

impl Plan {
    /// The plan of the trials of two hosts of its fleet: theirs are the names `a` and `b`.
    pub fn of_pair(&self, [a, b]: [&HostPlace; 2]) -> Self {
        let hosts = [("a".to_owned(), a.clone()), ("b".to_owned(), b.clone())].into();
        Self { hosts, fleet: None, ..self.clone() }
    }

    /// Returns whether its hosts are other machines, or other places than this process's own.
    pub fn is_elsewhere(&self) -> bool {
        !self.hosts.is_empty() || self.fleet.is_some()
    }
}

/// Returns whether a name can be that of a file, and no option of a command.
pub fn is_host_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=100).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with(['.', '-'])
}

fn printable(text: &str) -> String {
    crate::printable::printable(text, crate::printable::Keep::Nothing).chars().take(120).collect()
}

fn fault(key: &'static str, value: impl ToString, reason: &'static str) -> PlanError {
    PlanError::Value { key, value: value.to_string(), reason }
}

#[cfg(test)]
mod tests {
    use super::{FleetHost, FleetPlan};

    fn fleet(names: &[&str]) -> FleetPlan {
        let host = |name: &&str| FleetHost { name: (*name).to_owned(), at: "ssh:n1".parse().unwrap(), rack: None };
        FleetPlan { hosts: names.iter().map(host).collect(), rounds: 8, parallel: false, least: 0.05 }
    }

    #[test]
    fn what_is_no_fleet_is_refused_with_the_reason() {
        assert!(fleet(&["a", "b-1.example", "c_2"]).check().is_ok());
        for (fleet, words) in [
            (fleet(&["a"]), "2 to 4096 hosts"),
            (fleet(&["a", "a"]), "there twice"),
            (fleet(&["a", "-o"]), "the first no '.' or '-'"),
            (fleet(&["a", "../x"]), "letters, digits"),
            (FleetPlan { rounds: 0, ..fleet(&["a", "b"]) }, "1 to 10000"),
            (FleetPlan { least: f64::NAN, ..fleet(&["a", "b"]) }, "a share"),
        ] {
            let error = fleet.check().unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_fingerprint_is_that_of_the_hosts() {
        let of = |names: &[&str]| fleet(names).fingerprint();
        assert_eq!((of(&["a", "b"]), of(&["a", "b"]).len()), (of(&["b", "a"]), 8));
        assert_ne!(of(&["a", "b"]), of(&["a", "c"]));
        let mut elsewhere = fleet(&["a", "b"]);
        elsewhere.hosts[0].at = "ssh:n2".parse().unwrap();
        assert_ne!(elsewhere.fingerprint(), of(&["a", "b"]));
        // Where messages go may change from boot to boot.
        elsewhere.hosts[0].at = "ssh:n1,data=192.0.2.1".parse().unwrap();
        assert_eq!(FleetPlan { rounds: 3, ..elsewhere }.fingerprint(), of(&["a", "b"]));
    }

    #[test]
    fn it_is_stored_as_it_is() {
        let mut fleet = fleet(&["a", "b"]);
        fleet.hosts[1].rack = Some("r1".to_owned());
        let text = serde_json::to_string(&fleet).unwrap();
        assert_eq!(serde_json::from_str::<FleetPlan>(&text).unwrap(), fleet);
        assert!(serde_json::from_str::<FleetPlan>(&text.replace("rounds", "runds")).is_err());
    }
}
