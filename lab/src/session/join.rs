//! Two hosts that were reached before: joined for some trials, and parted again.

use model::Plan;
use model::control::CpuPlace;
use model::host::HostFacts;
use model::warning::Warning;

use super::cross_traffic::Flows;
use super::{EndCpus, Session, network};
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
        let offered = known.each_ref().map(|known| known.offered.clone());
        let mut session = Self {
            hosts,
            wire: None,
            pairs: Vec::new(),
            bulk: Flows::NONE,
            places: ways.map(|ways| EndCpus { ways, cpus: Vec::new(), irq_time_subtracted: false }),
            usual: None,
            ends_before: [0; 2],
            offered: offered.clone(),
            most_flows: plan.cells_run().iter().map(|cell| cell.flows).max().unwrap_or(1),
            isolated: false,
            apart,
            facts: known.iter().map(|known| known.facts.clone()).collect(),
            sample_period: None,
            warnings: Vec::new(),
            crowd: None,
        };
        let one_machine = session.is_one_machine();
        if let Err(error) = session.share_cpus(plan, offered, one_machine) {
            return Err(Box::new(JoinFailure { hosts: session.hosts, error }));
        }
        if one_machine {
            let device = session.places[0].ways.first().map_or_else(String::new, |way| way.device.clone());
            session.warnings.push(Warning::SameMachine { device });
        }
        session.share_interrupts();
        let spots = session.blind_spots();
        session.warnings.extend(spots);
        Ok(session)
    }

    /// Parts the hosts, which stay reached.
    pub(crate) fn into_hosts(self) -> [RemoteHost; 2] {
        self.hosts
    }
}
