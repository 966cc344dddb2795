//! Other traffic beside the trials of a session: pairs of other hosts on its link,
//! and bulk flows between its own two hosts.

use std::net::SocketAddr;

use model::Bytes;
use model::condition::{CrossTaken, ForBeside, OfBeside, Traffic};
use model::control::{FromHost, ToHost};

use crate::remote::{HostError, RemoteHost};

/// Two other hosts on the link of a session.
#[derive(Debug)]
pub struct Pair {
    hosts: [RemoteHost; 2],
    /// Where each takes what the other sends; port 0.
    at: [SocketAddr; 2],
    /// What both call their device.
    device: String,
    /// Whether the second sends.
    swapped: bool,
    flows: Flows,
}

impl Pair {
    pub(super) const fn new(hosts: [RemoteHost; 2], at: [SocketAddr; 2], device: String) -> Self {
        Self { hosts, at, device, swapped: false, flows: Flows::NONE }
    }

    /// Lets one send to the other, the same way as the trial's own hosts; `how` is
    /// told the sink's address and the sender's device.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn begin(&mut self, swapped: bool, how: impl FnOnce(SocketAddr, String) -> Traffic) -> Result<(), HostError> {
        self.swapped = swapped;
        let at = self.at[usize::from(!swapped)];
        let device = self.device.clone();
        let (sender, receiver, flows) = self.ends();
        flows.begin(sender, receiver, at, Vec::new(), |to| how(to, device))
    }

    /// Ends the sending; `None` where nothing was sent.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn stop(&mut self) -> Result<Option<CrossTaken>, HostError> {
        let (sender, _, flows) = self.ends();
        flows.stop(sender)
    }

    /// Takes what is still under way after that.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn drain(&mut self) -> Result<Bytes, HostError> {
        let (_, receiver, flows) = self.ends();
        flows.drain(receiver)
    }

    const fn ends(&mut self) -> (&mut RemoteHost, &mut RemoteHost, &mut Flows) {
        let [c, d] = &mut self.hosts;
        if self.swapped { (d, c, &mut self.flows) } else { (c, d, &mut self.flows) }
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
