//! Other traffic next to the trials of a session: pairs of other hosts on its link,
//! and bulk flows between its own two hosts.

use std::net::SocketAddr;

use model::Family;
use model::condition::{BackgroundReply, BackgroundRequest, Traffic, TrafficTotals};
use model::control::{FlowHost, FromHost, ToHost};

use super::{Way, Ways, way_of};
use crate::remote::{HostError, RemoteHost};

/// Two other hosts on the link of a session.
#[derive(Debug)]
pub struct Pair {
    hosts: [RemoteHost; 2],
    /// The way of each to the hosts of the other side.
    ways: [Ways; 2],
    /// `true` if the second sends.
    swapped: bool,
    flows: Flows,
}

impl Pair {
    pub(super) const fn new(hosts: [RemoteHost; 2], ways: [Ways; 2]) -> Self {
        Self { hosts, ways, swapped: false, flows: Flows::NONE }
    }

    /// The host of one side, 0 or 1: the first host's or the second's.
    pub(super) const fn host(&mut self, side: usize) -> &mut RemoteHost {
        &mut self.hosts[side]
    }

    /// A host of one side, for the flows of an end that is spread over several; `None` where it has no address of the
    /// family.
    pub(super) fn flow_host(&self, side: usize, family: Family) -> Option<FlowHost> {
        Some(FlowHost { pid: self.hosts[side].pid(), local: way_of(&self.ways[side], family)?.own.ip() })
    }

    /// Lets one send to the other, the same way as the trial's own hosts, away from
    /// the CPUs to `avoid`; `how` gets the sink's address and the sender's device.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn begin(&mut self, swapped: bool, avoid: Vec<u32>, how: impl FnOnce(SocketAddr, String) -> Traffic) -> Result<(), HostError> {
        self.swapped = swapped;
        // Any family does: nothing of the trial's own crosses with it.
        let way = self.ways[usize::from(!swapped)].first().cloned();
        let none = || self.hosts[0].endpoint_error("it has no address for other traffic".to_owned());
        let Way { own: at, device, .. } = way.ok_or_else(none)?;
        let (sender, receiver, flows) = self.ends();
        let sink = BackgroundRequest::Sink { at, device: Some(device.clone()), avoid };
        flows.begin(sender, receiver, sink, |port| how(SocketAddr::new(at.ip(), port), device))
    }

    /// Tells both to end. Every pair is asked before any is heard, so that all are
    /// counted over the same time.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn stop(&mut self) -> Result<(), HostError> {
        let (sender, receiver, flows) = self.ends();
        flows.stop(sender, receiver)
    }

    /// Returns what they did until they were asked to end; `None` where nothing was sent.
    /// Nothing of it is in flight any more then.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn heard(&mut self) -> Result<Option<TrafficTotals>, HostError> {
        let (sender, receiver, flows) = self.ends();
        flows.heard(sender, receiver)
    }

    const fn ends(&mut self) -> (&mut RemoteHost, &mut RemoteHost, &mut Flows) {
        let [c, d] = &mut self.hosts;
        if self.swapped { (d, c, &mut self.flows) } else { (c, d, &mut self.flows) }
    }
}

/// Flows from one host to another: which of the two has a part in them, and which
/// still has to answer for its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flows {
    sink: bool,
    source: bool,
    awaited: [bool; 2],
}

impl Flows {
    /// Neither has.
    pub const NONE: Self = Self { sink: false, source: false, awaited: [false; 2] };

    /// Has a sink on the receiver's host, and lets the sender send to its port.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn begin(
        &mut self,
        sender: &mut RemoteHost,
        receiver: &mut RemoteHost,
        sink: BackgroundRequest,
        traffic: impl FnOnce(u16) -> Traffic,
    ) -> Result<(), HostError> {
        let port = match receiver.command(&ToHost::Background(sink))? {
            FromHost::Background(BackgroundReply::Listening(own)) => own.port(),
            other => return Err(receiver.unexpected("a sink for other traffic", &other)),
        };
        self.sink = true;
        match sender.command(&ToHost::Background(BackgroundRequest::Send(traffic(port))))? {
            FromHost::Background(BackgroundReply::Done) => self.source = true,
            other => return Err(sender.unexpected("other traffic", &other)),
        }
        Ok(())
    }

    /// Tells both ends to end, where they have begun. Neither is asked twice.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn stop(&mut self, sender: &mut RemoteHost, receiver: &mut RemoteHost) -> Result<(), HostError> {
        let [of_sender, of_receiver] = &mut self.awaited;
        for (host, begun, awaited) in [(sender, &mut self.source, of_sender), (receiver, &mut self.sink, of_receiver)] {
            if std::mem::take(begun) {
                host.tell(&ToHost::Background(BackgroundRequest::Quiet))?;
                *awaited = true;
            }
        }
        Ok(())
    }

    /// Returns what they say of it; `None` where nothing was sent.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn heard(&mut self, sender: &mut RemoteHost, receiver: &mut RemoteHost) -> Result<Option<TrafficTotals>, HostError> {
        let mut hear = |host: &mut RemoteHost, at: usize| match std::mem::take(&mut self.awaited[at]) {
            true => said(host).map(Some),
            false => Ok(None),
        };
        // Both answers are taken before either's failure is told.
        let (sent, received) = (hear(sender, 0), hear(receiver, 1));
        Ok(sent?.zip(received?).map(|(sent, received)| TrafficTotals {
            bytes: received.bytes,
            elapsed: sent.elapsed,
            frames: [received.frames[0], sent.frames[1]],
            frame_bytes: [received.frame_bytes[0], sent.frame_bytes[1]],
        }))
    }
}

fn said(host: &mut RemoteHost) -> Result<TrafficTotals, HostError> {
    match host.answer()? {
        FromHost::Background(BackgroundReply::Traffic(taken)) => Ok(taken),
        other => Err(host.unexpected("the end of other traffic", &other)),
    }
}
