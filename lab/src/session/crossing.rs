//! Other traffic beside the trials of a session: pairs of other hosts on its link,
//! and bulk flows between its own two hosts.

use std::net::SocketAddr;

use model::Bytes;
use model::condition::{CrossTaken, ForBeside, OfBeside, Traffic};
use model::control::{FromHost, ToHost};

use crate::remote::{HostError, RemoteHost};

/// Two other hosts on the link of a session, the first of which sends.
#[derive(Debug)]
pub struct Pair {
    pub(super) hosts: [RemoteHost; 2],
    /// Where the second takes what the first sends; port 0.
    pub(super) at: SocketAddr,
    /// The first one's device.
    pub(super) device: String,
    flows: Flows,
}

impl Pair {
    pub(super) const fn new(hosts: [RemoteHost; 2], at: SocketAddr, device: String) -> Self {
        Self { hosts, at, device, flows: Flows::NONE }
    }

    /// Lets the first send to the second; `how` is told the sink's address and the device.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn begin(&mut self, how: impl FnOnce(SocketAddr, String) -> Traffic) -> Result<(), HostError> {
        let [sender, receiver] = &mut self.hosts;
        self.flows.begin(sender, receiver, self.at, Vec::new(), |to| how(to, self.device.clone()))
    }

    /// Ends the sending; `None` where nothing was sent.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn stop(&mut self) -> Result<Option<CrossTaken>, HostError> {
        self.flows.stop(&mut self.hosts[0])
    }

    /// Takes what is still under way after that.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn drain(&mut self) -> Result<Bytes, HostError> {
        self.flows.drain(&mut self.hosts[1])
    }
}

/// Flows from one host to another: which of the two has been told of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flows {
    sink: bool,
    source: bool,
}

impl Flows {
    /// Nobody has.
    pub const NONE: Self = Self { sink: false, source: false };

    /// Has a sink at `at` of the receiver, and lets the sender send to it.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn begin(
        &mut self,
        sender: &mut RemoteHost,
        receiver: &mut RemoteHost,
        at: SocketAddr,
        avoid: Vec<u32>,
        traffic: impl FnOnce(SocketAddr) -> Traffic,
    ) -> Result<(), HostError> {
        let to = match receiver.command(&ToHost::Beside(ForBeside::Sink { at, avoid }))? {
            FromHost::Beside(OfBeside::Listening(own)) => SocketAddr::new(at.ip(), own.port()),
            other => return Err(receiver.unexpected("a sink for other traffic", &other)),
        };
        self.sink = true;
        match sender.command(&ToHost::Beside(ForBeside::Send(traffic(to))))? {
            FromHost::Beside(OfBeside::Done) => self.source = true,
            other => return Err(sender.unexpected("other traffic", &other)),
        }
        Ok(())
    }

    /// Ends the sending; `None` where nothing was sent. Whatever comes of it, the
    /// sender is not asked again.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn stop(&mut self, sender: &mut RemoteHost) -> Result<Option<CrossTaken>, HostError> {
        if std::mem::take(&mut self.source) { quiet(sender).map(Some) } else { Ok(None) }
    }

    /// Takes what is still under way after that, and says how much came in all.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn drain(&mut self, receiver: &mut RemoteHost) -> Result<Bytes, HostError> {
        if std::mem::take(&mut self.sink) { quiet(receiver).map(|taken| taken.bytes) } else { Ok(Bytes::new(0)) }
    }
}

fn quiet(host: &mut RemoteHost) -> Result<CrossTaken, HostError> {
    match host.command(&ToHost::Beside(ForBeside::Quiet))? {
        FromHost::Beside(OfBeside::Traffic(taken)) => Ok(taken),
        other => Err(host.unexpected("the end of other traffic", &other)),
    }
}
