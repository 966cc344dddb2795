//! One host of a fleet while it is reached.

use model::Family;
use model::control::{CpuPlace, FromHost, ToHost};
use model::host::HostFacts;
use model::plan::FleetHost;

use crate::connection::Credentials;
use crate::remote::{HostError, RemoteHost};
use crate::session::KnownHost;

/// A host that is there, with its facts.
#[derive(Debug)]
pub(super) struct Member {
    /// The host.
    pub host: RemoteHost,
    /// What sessions with it need.
    pub known: KnownHost,
}

impl Member {
    /// Reaches a host.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn reach(host: &FleetHost, only: Option<Family>, credentials: &Credentials) -> Result<Self, HostError> {
        let mut host = RemoteHost::reach(&host.name, &host.at, only.filter(|_| host.at.data().is_none()), credentials)?;
        let offered = match host.command(&ToHost::Cpus)? {
            FromHost::Cpus(places) if !places.is_empty() => places,
            other => return Err(host.unexpected("CPUs", &other)),
        };
        let facts = HostFacts { name: host.name().to_owned(), ..HostFacts::default() };
        Ok(Self { host, known: KnownHost { facts, offered } })
    }

    /// Gathers the facts of the host, in this controller's turn; `device` is the one that its
    /// messages take. `Ok(false)` where `go_on` did not want to wait.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn gather(&mut self, device: &str, go_on: impl Fn() -> bool) -> Result<bool, HostError> {
        let mut waiting = |_: &str, _: u32| {
            Ok::<_, HostError>(if go_on() { std::ops::ControlFlow::Continue(()) } else { std::ops::ControlFlow::Break(()) })
        };
        if self.host.turn(&mut waiting, &[], 0)?.is_none() {
            return Ok(false);
        }
        let endpoint_cpus = first_cpu(&self.known.offered);
        let answer = self.host.command(&ToHost::Facts { device: device.to_owned(), endpoint_cpus });
        self.host.release();
        match answer? {
            FromHost::Facts(facts) => {
                self.known.facts = HostFacts { name: self.host.name().to_owned(), ..*facts };
                Ok(true)
            }
            other => Err(self.host.unexpected("facts", &other)),
        }
    }

    /// Returns whether it still answers once its endpoint has ended.
    pub fn is_well(&mut self) -> bool {
        self.host.stop_endpoint().and_then(|()| self.host.stopped()).is_ok()
    }
}

fn first_cpu(offered: &[CpuPlace]) -> Vec<u32> {
    offered.first().map(|place| place.cpu).into_iter().collect()
}
