//! AF_XDP as smoltcp wants it: packets are written into frames and read in them, without a copy in
//! this process.

use std::io;
use std::mem;
use std::ops::Range;
use std::time::{Duration, Instant as Clock};

use smoltcp::phy::{self, DeviceCapabilities};
use smoltcp::time::Instant;

use super::{Below, Received, of_ip};
use crate::net::frames::Frame;
use crate::net::xdp::{ETHERNET, Xdp};

/// Time for which the device may take no frame before that is a fault.
const SEND_LIMIT: Duration = Duration::from_secs(1);

/// A device with the frame that came last, and the one that is written next.
pub struct Device {
    mtu: usize,
    came: Frame,
    out: Out,
}

struct Out {
    xdp: Xdp,
    next: Frame,
    fault: Option<io::Error>,
}

impl Device {
    /// Lends a device to smoltcp.
    pub fn new(mut xdp: Xdp, mtu: usize) -> io::Result<Self> {
        let mut frame = || xdp.frame().ok_or(io::ErrorKind::OutOfMemory);
        let (came, next) = (frame()?, frame()?);
        Ok(Self { mtu, came, out: Out { xdp, next, fault: None } })
    }
}

impl Below for Device {
    fn wait(&mut self, within: Duration) -> io::Result<()> {
        self.out.xdp.wait(within)
    }

    fn dropped(&self) -> u64 {
        self.out.xdp.dropped()
    }

    fn calls(&self) -> u64 {
        self.out.xdp.calls()
    }

    fn fault(&mut self) -> Option<io::Error> {
        mem::take(&mut self.out.fault)
    }
}

pub struct Transmit<'a>(&'a mut Out);

impl phy::Device for Device {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Transmit<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Received<'_>, Transmit<'_>)> {
        let packet = self.out.xdp.receive(&mut self.came)?;
        Some((Received(&self.came[packet]), Transmit(&mut self.out)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Transmit<'_>> {
        Some(Transmit(&mut self.out))
    }

    /// The heads of Ethernet are the device's: the link has two ends, which know each other.
    fn capabilities(&self) -> DeviceCapabilities {
        of_ip(self.mtu)
    }
}

impl phy::TxToken for Transmit<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let packet = ETHERNET..ETHERNET + length;
        let answer = write(&mut self.0.next[packet.clone()]);
        if let Err(refused) = self.0.send(packet) {
            self.0.fault = Some(refused);
        }
        answer
    }
}

impl Out {
    /// Sends the packet that was written, which smoltcp does not take back.
    fn send(&mut self, packet: Range<usize>) -> io::Result<()> {
        let begun = Clock::now();
        loop {
            match self.xdp.send(&mut self.next, packet.clone()) {
                Err(answer) if answer.kind() == io::ErrorKind::WouldBlock && begun.elapsed() < SEND_LIMIT => {}
                answer => return answer,
            }
        }
    }
}
