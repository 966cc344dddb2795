//! The stack of its own on AF_XDP: the data of a message lies in a frame that the kernel knows from
//! the copy in on, and what comes is read where the kernel put it. So a message is copied once in this
//! process at either end, and once by the kernel into or out of a frame.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::Duration;

use model::Protocol;

use super::block::{Block, Room};
use super::head::Provider;
use super::{is_whole, write_headers};
use crate::contract::Setup;
use crate::error::StackError;
use crate::net::place::{Place, Stand};
use crate::net::xdp::{ETHERNET, Xdp};
use crate::net::{checksum, udp};

/// Time that a wait for a frame takes at most: counts of what was lost are written in between.
const WAIT: Duration = Duration::from_millis(5);

/// A stack on the link's device, once it knows the other end.
#[derive(Debug)]
pub struct OverXdp {
    place: Place,
    port: u16,
    size: usize,
    stand: Option<Stand<Xdp>>,
    /// Datagrams whose checksum was wrong.
    not_whole: u64,
}

impl OverXdp {
    /// Finds the place for it.
    ///
    /// # Errors
    /// A trial over TCP or IPv6, loopback, a machine that is to stay as it is, a refusal of the system.
    pub fn open(setup: &Setup) -> Result<Self, StackError> {
        setup.only(Protocol::Udp, "tpi-streams-xdp")?;
        let place = Place::find_on_link(setup, "tpi-streams-xdp")?;
        Ok(Self { port: place.port()?, place, size: setup.size, stand: None, not_whole: 0 })
    }

    fn stand(&mut self) -> io::Result<&mut Stand<Xdp>> {
        self.stand.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Provider for OverXdp {
    const HEADROOM: usize = ETHERNET + udp::HEADERS;
    const QUEUES: bool = false;

    fn port(&self) -> u16 {
        self.port
    }

    fn connect(&mut self, peer: SocketAddr) -> Result<(), StackError> {
        let stand = self.place.stand_on_link(peer)?;
        udp::fits(self.size, stand.mtu, "this stack makes no fragments")?;
        self.stand = Some(stand);
        Ok(())
    }

    fn room(&mut self, bytes: usize) -> Room {
        // A frame holds whatever fits the MTU, however much a read asks for. There are more blocks than
        // frames only where queues hold hundreds of messages.
        let frame = self.stand.as_mut().and_then(|stand| stand.device.frame());
        frame.map_or_else(|| Room::heap(bytes), Room::Frame)
    }

    fn copy(&self, from: &[u8], to: &mut [u8]) -> u32 {
        checksum::copy_and_sum(from, to)
    }

    fn request(&mut self, to: SocketAddr, data: &mut Block) -> io::Result<()> {
        let port = self.port;
        let stand = self.stand()?;
        let (from, to) = (SocketAddrV4::new(stand.own, port), SocketAddrV4::new(stand.peer, to.port()));
        let packet = write_headers(data, from, to)?;
        match data.room() {
            Room::Frame(frame) => stand.device.send(frame, packet),
            Room::Heap(bytes) => stand.device.send_copy(&bytes[packet]),
        }
    }

    fn fetch(&mut self, data: &mut Block, wait: bool) -> io::Result<Option<SocketAddr>> {
        let port = self.port;
        let Stand { device, own, .. } = self.stand()?;
        let own = SocketAddrV4::new(*own, port);
        let mut waited = !wait;
        loop {
            let came = match data.room() {
                Room::Frame(frame) => device.receive(frame),
                Room::Heap(bytes) => device.receive_copy(bytes).map(|length| 0..length),
            };
            let Some(packet) = came else {
                if waited {
                    return Ok(None);
                }
                waited = true;
                device.wait(WAIT)?;
                continue;
            };
            let start = packet.start;
            // Whatever else comes for this address is nobody's message.
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
