//! A device as smoltcp wants it. With AF_XDP packets are written into frames and read in them, without
//! a copy in this process, as long as frames are free.

use std::io;
use std::mem;
use std::ops::Range;
use std::time::{Duration, Instant as Clock};

use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

use crate::net;
use crate::net::frames::Room;

/// Time for which the device may take no packet before that is a fault.
const SEND_LIMIT: Duration = Duration::from_secs(1);
/// Bytes of the largest packet of IP.
const LARGEST: usize = 1 << 16;

/// A device with the packet that came last, and the one that is written next.
pub struct Adapter<D> {
    mtu: usize,
    came: Room,
    out: Out<D>,
}

struct Out<D> {
    device: D,
    next: Room,
    fault: Option<io::Error>,
}

impl<D: net::Device> Adapter<D> {
    /// Lends a device to smoltcp.
    pub fn new(mut device: D, mtu: usize) -> Self {
        let (came, next) = (device.room(LARGEST), device.room(LARGEST));
        Self { mtu, came, out: Out { device, next, fault: None } }
    }

    /// The device itself.
    pub const fn below(&mut self) -> &mut D {
        &mut self.out.device
    }

    /// A refusal of the system since the last time.
    pub fn fault(&mut self) -> Option<io::Error> {
        mem::take(&mut self.out.fault)
    }
}

/// A packet that came, where the device has it.
pub struct Received<'a>(&'a [u8]);

impl phy::RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(self.0)
    }
}

pub struct Transmit<'a, D>(&'a mut Out<D>);

impl<D: net::Device> phy::Device for Adapter<D> {
    type RxToken<'a>
        = Received<'a>
    where
        D: 'a;
    type TxToken<'a>
        = Transmit<'a, D>
    where
        D: 'a;

    fn receive(&mut self, _now: Instant) -> Option<(Received<'_>, Transmit<'_, D>)> {
        match self.out.device.receive(&mut self.came) {
            Ok(packet) => packet.map(|packet| (Received(&self.came[packet]), Transmit(&mut self.out))),
            Err(answer) => {
                self.out.fault = Some(answer);
                None
            }
        }
    }

    fn transmit(&mut self, _now: Instant) -> Option<Transmit<'_, D>> {
        Some(Transmit(&mut self.out))
    }

    /// The headers of Ethernet are the device's: the link has two ends, which know each other.
    fn capabilities(&self) -> DeviceCapabilities {
        let mut found = DeviceCapabilities::default();
        (found.medium, found.max_transmission_unit) = (Medium::Ip, self.mtu);
        found
    }
}

impl<D: net::Device> phy::TxToken for Transmit<'_, D> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let packet = D::HEAD..D::HEAD + length;
        let answer = write(&mut self.0.next[packet.clone()]);
        if let Err(refused) = self.0.send(packet) {
            self.0.fault = Some(refused);
        }
        answer
    }
}

impl<D: net::Device> Out<D> {
    /// Sends the packet that was written, which smoltcp does not take back.
    fn send(&mut self, packet: Range<usize>) -> io::Result<()> {
        let begun = Clock::now();
        loop {
            match self.device.send(&mut self.next, packet.clone()) {
                Err(answer) if answer.kind() == io::ErrorKind::WouldBlock && begun.elapsed() < SEND_LIMIT => {}
                answer => return answer,
            }
        }
    }
}
