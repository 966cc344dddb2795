//! A TUN device as smoltcp wants it.

use std::io;
use std::mem;
use std::time::Duration;

use smoltcp::phy::{self, DeviceCapabilities};
use smoltcp::time::Instant;

use super::{Below, Received, of_ip};
use crate::net::tun::Tun;

/// A TUN device with room for a packet each way.
pub struct Device {
    mtu: usize,
    room: Vec<u8>,
    out: Out,
}

struct Out {
    tun: Tun,
    packet: Vec<u8>,
    calls: u64,
    fault: Option<io::Error>,
}

impl Device {
    /// Lends a device to smoltcp.
    pub fn new(tun: Tun, mtu: usize) -> io::Result<Self> {
        Ok(Self { mtu, room: vec![0; 1 << 16], out: Out { tun, packet: Vec::new(), calls: 0, fault: None } })
    }
}

impl Below for Device {
    fn wait(&mut self, within: Duration) -> io::Result<()> {
        self.out.tun.wait(within)
    }

    fn dropped(&self) -> u64 {
        self.out.tun.dropped()
    }

    fn calls(&self) -> u64 {
        self.out.calls
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
        match self.out.tun.receive(&mut self.room, None) {
            Ok(length) => {
                let packet = Received(&self.room[..length?]);
                self.out.calls += 1;
                Some((packet, Transmit(&mut self.out)))
            }
            Err(answer) => {
                self.out.fault = Some(answer);
                None
            }
        }
    }

    fn transmit(&mut self, _now: Instant) -> Option<Transmit<'_>> {
        Some(Transmit(&mut self.out))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        of_ip(self.mtu)
    }
}

impl phy::TxToken for Transmit<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let Out { tun, packet, calls, fault } = self.0;
        packet.clear();
        packet.resize(length, 0);
        let answer = write(packet);
        *calls += 1;
        if let Err(refused) = tun.send(packet) {
            *fault = Some(refused);
        }
        answer
    }
}
