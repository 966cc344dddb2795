//! A provider that is a stack of its own, as the STREAMS implementation was in 2007: UDP over IP in
//! this process, on a TUN device. A message is copied once into a packet with room for its headers,
//! its checksum made in the same pass; the put procedure hands the packet to the device. Only the
//! queue of the stream head is left.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use model::Protocol;

use super::block::Block;
use super::head::Provider;
use super::{is_whole, write_headers};
use crate::contract::Setup;
use crate::error::StackError;
use crate::net::place::{Place, Stand};
use crate::net::tun::Tun;
use crate::net::{checksum, udp};

/// Time that a wait for a packet takes at most: counts of what was lost are written in between.
const WAIT: Duration = Duration::from_millis(5);

/// A stack with its device, once it knows the other end.
#[derive(Debug)]
pub struct OverTun {
    place: Place,
    port: u16,
    size: usize,
    stand: Option<Stand<Tun>>,
    calls: u64,
    /// Datagrams whose checksum was wrong.
    not_whole: u64,
}

impl OverTun {
    /// Finds the place for its device.
    ///
    /// # Errors
    /// A trial over TCP or IPv6, a machine that is to stay as it is, a refusal of the system.
    pub fn open(setup: &Setup) -> Result<Self, StackError> {
        setup.only(Protocol::Udp, "tpi-streams")?;
        let place = Place::find(setup, "tpi-streams")?;
        Ok(Self { port: place.port()?, place, size: setup.size, stand: None, calls: 0, not_whole: 0 })
    }

    fn stand(&self) -> io::Result<&Stand<Tun>> {
        self.stand.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Provider for OverTun {
    const HEADROOM: usize = udp::HEADERS;
    const QUEUES: bool = false;

    fn port(&self) -> u16 {
        self.port
    }

    fn connect(&mut self, peer: SocketAddr) -> Result<(), StackError> {
        let stand = self.place.stand(peer)?;
        udp::fits(self.size, stand.mtu, "this stack makes no fragments")?;
        self.stand = Some(stand);
        Ok(())
    }

    fn copy(&self, from: &[u8], to: &mut [u8]) -> u32 {
        checksum::copy_and_sum(from, to)
    }

    fn request(&mut self, to: SocketAddr, data: &mut Block) -> io::Result<()> {
        let stand = self.stand()?;
        let (from, to) = (SocketAddrV4::new(stand.own, self.port), SocketAddrV4::new(stand.peer, to.port()));
        let packet = write_headers(data, from, to)?;
        let sent = stand.device.send(&data.room()[packet]);
        self.calls += u64::from(sent.is_ok());
        sent
    }

    fn fetch(&mut self, data: &mut Block, wait: bool) -> io::Result<Option<SocketAddr>> {
        let stand = self.stand()?;
        let (own, port): (Ipv4Addr, u16) = (stand.own, self.port);
        loop {
            let Some(length) = self.stand()?.device.receive(data.room(), wait.then_some(WAIT))? else { return Ok(None) };
            self.calls += 1;
            let Some(datagram) = udp::read(&data.room()[..length]).filter(|datagram| datagram.to == SocketAddrV4::new(own, port)) else {
                // Whatever else the kernel sends out of a device is nobody's message.
                continue;
            };
            data.set(datagram.start, datagram.end);
            data.sum = datagram.sum;
            return Ok(Some(datagram.from.into()));
        }
    }

    fn accepts(&mut self, data: &Block, copied: usize, sum: u32) -> bool {
        let is_whole = is_whole(data, copied, sum);
        self.not_whole += u64::from(!is_whole);
        is_whole
    }

    fn calls(&self) -> u64 {
        self.calls
    }

    fn dropped(&self) -> u64 {
        self.not_whole
    }

    fn dropped_below(&self) -> u64 {
        self.stand.as_ref().map_or(0, |stand| stand.device.dropped())
    }
}
