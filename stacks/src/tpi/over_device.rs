//! A provider that is a stack of its own, as the STREAMS implementation was in 2007: UDP over IP in
//! this process, on a TUN device or on AF_XDP. A message is copied once into a packet with room for its
//! headers, its checksum made in the same pass; the put procedure hands the packet to the device. Only
//! the queue of the stream head is left. With AF_XDP the packet lies in a frame that the kernel knows
//! from the copy in on, and what comes is read where the kernel put it.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::Duration;

use model::Protocol;

use super::block::Block;
use super::head::Provider;
use super::{is_whole, write_headers};
use crate::contract::Setup;
use crate::error::StackError;
use crate::net::frames::Room;
use crate::net::place::{Place, Placed, Stand};
use crate::net::{checksum, udp};

/// Time that a wait for a packet takes at most: counts of what was lost are written in between.
const WAIT: Duration = Duration::from_millis(5);

/// A stack with its device, once it knows the other end.
#[derive(Debug)]
pub struct OverDevice<D> {
    place: Place,
    port: u16,
    size: usize,
    stand: Option<Stand<D>>,
    /// Datagrams whose checksum was wrong.
    not_whole: u64,
}

impl<D: Placed> OverDevice<D> {
    /// Finds the place for its device; `name` is the implementation's.
    ///
    /// # Errors
    /// A trial over TCP or IPv6, AF_XDP over loopback, a machine that is to stay as it is, a refusal of the system.
    pub fn open(setup: &Setup, name: &str) -> Result<Self, StackError> {
        setup.only(Protocol::Udp, name)?;
        let place = D::find_place(setup, name)?;
        Ok(Self { port: place.port()?, place, size: setup.size, stand: None, not_whole: 0 })
    }

    fn stand(&mut self) -> io::Result<&mut Stand<D>> {
        self.stand.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl<D: Placed> Provider for OverDevice<D> {
    const HEADROOM: usize = D::HEAD + udp::HEADERS;
    const QUEUES: bool = false;

    fn port(&self) -> u16 {
        self.port
    }

    fn connect(&mut self, peer: SocketAddr) -> Result<(), StackError> {
        let stand = D::stand(&self.place, peer)?;
        udp::fits(self.size, stand.mtu, "this stack makes no fragments")?;
        self.stand = Some(stand);
        Ok(())
    }

    fn room(&mut self, bytes: usize) -> Room {
        self.stand.as_mut().map_or_else(|| Room::heap(bytes), |stand| stand.device.room(bytes))
    }

    fn copy(&self, from: &[u8], to: &mut [u8]) -> u32 {
        checksum::copy_and_sum(from, to)
    }

    fn request(&mut self, to: SocketAddr, data: &mut Block) -> io::Result<()> {
        let port = self.port;
        let stand = self.stand()?;
        let (from, to) = (SocketAddrV4::new(stand.own, port), SocketAddrV4::new(stand.peer, to.port()));
        let packet = write_headers(data, from, to)?;
        stand.device.send(data.room(), packet)
    }

    fn fetch(&mut self, data: &mut Block, wait: bool) -> io::Result<Option<SocketAddr>> {
        let port = self.port;
        let Stand { device, own, .. } = self.stand()?;
        let own = SocketAddrV4::new(*own, port);
        let mut waited = !wait;
        loop {
            let Some(packet) = device.receive(data.room())? else {
                if waited {
                    return Ok(None);
                }
                waited = true;
                device.wait(WAIT)?;
                continue;
            };
            let start = packet.start;
            // Whatever else comes by the device is no message.
            let Some(datagram) = udp::read(&data.room()[packet]).filter(|datagram| datagram.to == own) else { continue };
            data.set(start + datagram.start, start + datagram.end);
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
        self.stand.as_ref().map_or(0, |stand| stand.device.calls())
    }

    fn dropped(&self) -> u64 {
        self.not_whole
    }

    fn dropped_below(&self) -> u64 {
        self.stand.as_ref().map_or(0, |stand| stand.device.dropped())
    }
}
