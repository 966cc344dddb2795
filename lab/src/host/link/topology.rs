//! The part between hosts: bridges, a shared medium. A process of its own
//! holds them in a namespace of their own, so that no host sees more of the
//! wire than its end.
//!
//! ```text
//! switch          a -- port0 [br0] port1 -- b
//! switch RATE     a -- port0 [br0] trunk0 ==RATE== trunk1 [br1] port1 -- b
//! shared-wire     a -- port0 [br0] port1 -- b     what comes in at any port passes one shaper (wire0) first
//! ```

use linksim::frame::USUAL_MTU;
use model::control::{Shape, WireEnd, WireTask};
use model::link::Shaped;
use model::plan::LinkKind;
use model::{BitRate, Bytes};

use super::create::{make_bridge, make_ifb, make_pair};
use super::{change, ethtool, open, shape, single_frames, state, sysctl};
use crate::host::entered::Entered;
use crate::host::netlink::refused;
use crate::refusal::Refusal;
use sys::netlink::{Channel, attribute, number};

/// Bytes that may wait inside a wire where the plan does not say. Senders wait
/// at their own ends; this is for those of several hosts that meet.
const INNER_QUEUE: Bytes = Bytes::new(16 << 20);

/// The middle of a locally administered hardware address of a port.
const PORT_MAC: [u8; 5] = [0x02, 0x6e, 0x74, 0x01, 0x00];

/// Makes the wire that `task` describes. Its hosts must have been set apart,
/// and so must this process. Everything vanishes with its namespace.
pub fn make(entered: &Entered, task: &WireTask) -> Result<(), Refusal> {
    sysctl::silence(entered)?;
    let mut wire = Wire { entered, channel: open()?, mtu: task.mtu };
    match task.kind {
        LinkKind::Switch(None) => wire.switch(&task.ends).map(drop),
        LinkKind::Switch(Some(trunk)) => wire.trunk(&task.ends, trunk),
        LinkKind::SharedWire(medium) => wire.shared(&task.ends, medium),
        LinkKind::Veth | LinkKind::Ethernet(_) | LinkKind::Relay(_) | LinkKind::Loopback | LinkKind::Network => {
            let tried = format!("making the wire of link '{}'", task.kind);
            Err(Refusal::new(tried, "it has none", "this is a fault of nettoll's, please report it"))
        }
    }
}

struct Wire<'a> {
    entered: &'a Entered,
    channel: Channel,
    mtu: Option<u32>,
}

impl Wire<'_> {
    /// One bridge with a port for each end; the ports' names and numbers.
    fn switch(&mut self, ends: &[WireEnd]) -> Result<Vec<(String, u32)>, Refusal> {
        let bridge = self.bridge("br0")?;
        ends.iter().enumerate().map(|(at, end)| self.port(at, end, bridge)).collect()
    }

    fn trunk(&mut self, ends: &[WireEnd], shaped: Shaped) -> Result<(), Refusal> {
        let bridges = [self.bridge("br0")?, self.bridge("br1")?];
        for (at, end) in ends.iter().enumerate() {
            self.port(at, end, bridges[at % 2])?;
        }
        let names = ["trunk0", "trunk1"];
        let [near, far] = [0xf0, 0xf1].map(port_mac);
        make_pair(self.entered, &mut self.channel, [(names[0], near), (names[1], far)], None)?;
        for (name, bridge) in names.into_iter().zip(bridges) {
            let index = self.attach(name, bridge)?;
            self.limit(name, index, shaped)?;
        }
        Ok(())
    }

    fn shared(&mut self, ends: &[WireEnd], shaped: Shaped) -> Result<(), Refusal> {
        make_ifb(self.entered, &mut self.channel, "wire0")?;
        let medium = self.prepare("wire0")?;
        self.limit("wire0", medium, shaped)?;
        for (name, index) in self.switch(ends)? {
            shape::redirect(&mut self.channel, &name, index, medium)?;
        }
        Ok(())
    }

    fn bridge(&mut self, name: &str) -> Result<u32, Refusal> {
        make_bridge(self.entered, &mut self.channel, name)?;
        self.prepare(name)
    }

    /// A pair of which one end is a port of `bridge` and the other is the host's.
    fn port(&mut self, at: usize, end: &WireEnd, bridge: u32) -> Result<(String, u32), Refusal> {
        let name = format!("port{at}");
        // A wire has far fewer than 240 ends.
        let mac = port_mac(u8::try_from(at).unwrap_or(u8::MAX));
        make_pair(self.entered, &mut self.channel, [(&name, mac), (&end.device, end.mac)], Some(end.pid))?;
        let index = self.attach(&name, bridge)?;
        Ok((name, index))
    }

    /// Makes a device a port, and brings it up.
    fn attach(&mut self, name: &str, bridge: u32) -> Result<u32, Refusal> {
        let index = state::read(&mut self.channel, name)?.index;
        change::port(&mut self.channel, name, index, bridge)?;
        self.prepare(name)
    }

    /// Lets a device pass frames as they are, and brings it up.
    fn prepare(&mut self, name: &str) -> Result<u32, Refusal> {
        let index = state::read(&mut self.channel, name)?.index;
        if let Some(mtu) = self.mtu {
            change::mtu(&mut self.channel, name, index, mtu)?;
        }
        change::up(&mut self.channel, name, index, true)?;
        Ok(index)
    }

    fn limit(&mut self, name: &str, index: u32, shaped: Shaped) -> Result<(), Refusal> {
        ethtool::set_offloads(name, &single_frames())?;
        let shape = Shape { rate: shaped.rate, queue: Some(shaped.queue.unwrap_or(INNER_QUEUE)), least: 0 };
        shape::limit(&mut self.channel, name, index, self.mtu.unwrap_or(USUAL_MTU), shape)
    }
}

const fn port_mac(last: u8) -> [u8; 6] {
    let [a, b, c, d, e] = PORT_MAC;
    [a, b, c, d, e, last]
}

/// RTM_GETQDISC.
const GET_DISCIPLINE: u16 = 38;

/// Frames that the queues of this namespace dropped, all together, since they
/// were made.
pub fn dropped() -> Result<u64, Refusal> {
    let body = shape::traffic_message(0, 0, 0, 0);
    let answers = open()?.ask("reading the counters of the queues", GET_DISCIPLINE, netlink_packet_core::NLM_F_DUMP, &body);
    let answers = answers.map_err(refused("run the study again"))?;
    Ok(answers.iter().filter_map(|answer| drops(&answer.body)).sum())
}

/// The drops that an RTM_NEWQDISC message tells.
fn drops(body: &[u8]) -> Option<u64> {
    const STATISTICS: u16 = 7;
    const QUEUE: u16 = 3;
    // After `struct tcmsg` of 20 bytes. `struct gnet_stats_queue`: length,
    // backlog, drops.
    let queue = attribute(attribute(body.get(20..)?, STATISTICS)?, QUEUE)?;
    number(queue.get(8..)?).map(u64::from)
}

/// Returns what this end of a link of `kind` may send, where the kernel limits it.
///
/// A sender is to wait at its own end: there its socket knows. So each host of a
/// wire that limits what it gets sends no faster than that wire.
pub fn end_shape(kind: &LinkKind, host: usize) -> Option<Shape> {
    match kind {
        LinkKind::Ethernet(shaped) => Some(Shape { rate: shaped.rate, queue: shaped.queue, least: 0 }),
        LinkKind::SharedWire(shaped) | LinkKind::Switch(Some(shaped)) => Some(Shape { rate: shaped.rate, queue: None, least: 0 }),
        LinkKind::Relay(wire) => {
            let host = wire.hosts.get(host)?;
            let serial = host.order == model::link::HostOrder::Serial;
            wire.rate.map(|rate| Shape { rate, queue: None, least: if serial { byte_times(rate, host.time.get()) } else { 0 } })
        }
        LinkKind::Veth | LinkKind::Switch(None) | LinkKind::Loopback | LinkKind::Network => None,
    }
}

/// Byte times in a number of ns.
fn byte_times(rate: BitRate, ns: u64) -> u32 {
    u32::try_from(u128::from(rate.get()) * u128::from(ns) / 8_000_000_000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use model::plan::LinkKind;
    use proptest::prelude::{any, prop, proptest};

    use super::{drops, end_shape};

    #[test]
    fn a_host_that_works_longer_than_the_wire_sends_no_faster_than_it_works() {
        let least = |text: &str| end_shape(&text.parse::<LinkKind>().unwrap(), 0).map(|shape| shape.least);
        assert_eq!(least("relay 10M host=serial:2ms"), Some(2_500));
        assert_eq!(least("relay 10M host=delay:2ms"), Some(0));
        assert_eq!((least("relay"), least("veth"), least("switch")), (None, None, None));
        assert_eq!((least("ethernet 10M"), least("switch 10M")), (Some(0), Some(0)));
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = drops(&body);
        }
    }
}
