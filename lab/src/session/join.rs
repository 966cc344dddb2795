//! Two hosts that were reached before: joined for some trials, and parted again.

use model::Plan;
use model::control::CpuPlace;
use model::host::HostFacts;

use super::{Found, Session, network};
use crate::remote::{HostError, RemoteHost};

/// What is known of a host that was reached before.
#[derive(Debug, Clone)]
pub(crate) struct KnownHost {
    /// Its facts.
    pub facts: HostFacts,
    /// The CPUs that it offers.
    pub offered: Vec<CpuPlace>,
}

/// Two hosts that could not be joined, and why.
#[derive(Debug)]
pub(crate) struct JoinFailure {
    /// The hosts.
    pub hosts: [RemoteHost; 2],
    /// The reason.
    pub error: HostError,
}

impl Session {
    /// Joins two hosts; `plan` is that of the two. Nobody is asked for what is known.
    ///
    /// # Errors
    /// What keeps them from reaching each other; the hosts come back with it.
    pub(crate) fn join(mut hosts: [RemoteHost; 2], known: &[KnownHost; 2], plan: &Plan) -> Result<Self, Box<JoinFailure>> {
        let families = plan.cells_run().iter().map(|cell| cell.family).collect();
        let (ways, apart) = match network::ways(&mut hosts, families) {
            Ok(found) => found,
            Err(error) => return Err(Box::new(JoinFailure { hosts, error })),
        };
        let found = Found { hosts, wire: None, pairs: Vec::new(), ways, isolated: false, apart, warnings: Vec::new() };
        let mut session = Self::of(found, plan);
        session.facts = known.iter().map(|known| known.facts.clone()).collect();
        session.offered = known.each_ref().map(|known| known.offered.clone());
        let (offered, one_machine) = (session.offered.clone(), session.is_one_machine());
        if let Err(error) = session.share_cpus(plan, offered, one_machine) {
            return Err(Box::new(JoinFailure { hosts: session.hosts, error }));
        }
        session.conclude(true);
        Ok(session)
    }

    /// Parts the hosts, which stay reached.
    pub(crate) fn into_hosts(self) -> [RemoteHost; 2] {
        self.hosts
    }
}
