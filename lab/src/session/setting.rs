//! Setting of a session: the trials of one plan may need several.

use std::collections::BTreeMap;

use model::Plan;
use model::plan::{HostPlace, Link};

/// Hosts of a session, their link, and the number of others on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The hosts that are other machines, by their names.
    pub hosts: BTreeMap<String, HostPlace>,
    /// The link that joins them.
    pub link: Link,
    /// Pairs of other hosts on it.
    pub pairs: u32,
}

impl Setting {
    /// Returns what the trials of a plan need with its own hosts, one for each of its
    /// links; never none.
    pub fn all(plan: &Plan) -> Vec<Self> {
        let over = |link| Self { hosts: plan.hosts.clone(), pairs: plan.most_pairs(&link), link };
        plan.links().into_iter().map(over).collect()
    }

    /// The first of them.
    pub fn first(plan: &Plan) -> Self {
        let link = plan.links().into_iter().next().unwrap_or_else(|| plan.link.clone());
        Self { hosts: plan.hosts.clone(), pairs: plan.most_pairs(&link), link }
    }

    /// The plan with these hosts and this link.
    pub fn placed(&self, plan: &Plan) -> Plan {
        Plan { hosts: self.hosts.clone(), link: self.link.clone(), ..plan.clone() }
    }
}
