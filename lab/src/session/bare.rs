//! Two hosts of this machine with a link between them, for threads that enter their namespaces.

use std::fs::File;
use std::io;
use std::net::IpAddr;

use model::Family;
use model::plan::Link;
use nix::sched::{CloneFlags, setns};

use super::pair;
use crate::refusal::Refusal;
use crate::remote::{HostError, RemoteHost};

/// Two hosts in network namespaces of their own. Dropped, they are gone.
pub(crate) struct Bare {
    _hosts: [RemoteHost; 2],
    namespaces: [File; 2],
    /// The first host's address.
    pub address: IpAddr,
}

impl Bare {
    /// Makes them, and the link.
    ///
    /// # Errors
    /// What the system refused. Without root, threads cannot enter the namespaces.
    pub fn make(link: &Link) -> Result<Self, HostError> {
        let found = pair::make(link, 0, 0)?;
        let tried = || format!("making two hosts joined by '{}'", link.kind);
        let refused = |answer: String| HostError::from(Refusal::new(tried(), answer, "run as root"));
        let address = found.ways[0].get(Family::V4).filter(|_| found.isolated).map(|way| way.own.ip());
        let address = address.ok_or_else(|| refused("this machine allows no namespaces".to_owned()))?;
        let [a, b] = found.hosts;
        let open = |host: &RemoteHost| File::open(format!("/proc/{}/ns/net", host.pid())).map_err(|error| refused(error.to_string()));
        let namespaces = [open(&a)?, open(&b)?];
        Ok(Self { _hosts: [a, b], namespaces, address })
    }

    /// Takes the calling thread to a host, 0 or 1.
    ///
    /// # Errors
    /// The system's answer.
    pub fn enter(&self, host: usize) -> io::Result<()> {
        setns(&self.namespaces[host], CloneFlags::CLONE_NEWNET).map_err(io::Error::from)
    }
}
