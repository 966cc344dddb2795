//! State of a device, as the kernel has it.

use netlink_packet_route::link::{LinkAttribute, LinkMessage};

use crate::host::netlink::{bytes, refused};
use crate::host::text::guard_name;
use crate::refusal::Refusal;
use sys::netlink::{Channel, NetlinkError, attribute, attributes, number, read_text};

/// RTM_GETLINK.
const GET_LINK: u16 = 18;

/// IFF_UP: somebody brought the device up.
const ADMIN_UP: u32 = 1;

/// IFF_LOWER_UP: the device has a carrier.
const LOWER_UP: u32 = 1 << 16;

/// The kind of tun and tap devices.
const TUN: &str = "tun";

/// IFLA_OPERSTATE of a device that carries traffic (IF_OPER_UP).
const OPERSTATE_UP: u8 = 6;

/// One device, as RTM_GETLINK describes it. What the kernel leaves out is
/// empty or 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceState {
    /// Its number in the namespace.
    pub index: u32,
    /// Hardware address.
    pub address: Vec<u8>,
    /// Largest IP packet.
    pub mtu: u32,
    /// Queueing discipline.
    pub qdisc: String,
    /// The driver's kind, such as `veth`; empty for hardware.
    pub kind: String,
    /// Transmit queues.
    pub tx_queues: u32,
    /// Receive queues.
    pub rx_queues: u32,
    flags: u32,
    operstate: u8,
}

impl DeviceState {
    /// Reads the body of an RTM_NEWLINK message.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let (header, rest) = body.split_first_chunk::<16>()?;
        let mut state = Self { index: number(&header[4..])?, flags: number(&header[8..])?, ..Self::default() };
        for (kind, value) in attributes(rest) {
            match kind {
                1 => state.address = value.to_vec(),
                4 => state.mtu = number(value)?,
                6 => state.qdisc = read_text(value),
                16 => state.operstate = *value.first()?,
                18 => state.kind = attribute(value, 1).map_or(String::new(), read_text),
                31 => state.tx_queues = number(value)?,
                32 => state.rx_queues = number(value)?,
                _ => {}
            }
        }
        Some(state)
    }

    /// Returns whether it was brought up.
    pub const fn is_admin_up(&self) -> bool {
        self.flags & ADMIN_UP != 0
    }

    /// Returns whether it carries traffic. Between carrier and this state the kernel
    /// still drops what is sent: the queue is attached later, by a worker.
    pub fn is_up(&self) -> bool {
        // A tap device never says: it has a carrier as long as its file is open.
        let carries = self.kind == TUN && self.flags & LOWER_UP != 0;
        self.is_admin_up() && (self.operstate == OPERSTATE_UP || carries)
    }

    /// Its state in the words of RFC 2863.
    pub const fn operstate(&self) -> &'static str {
        match self.operstate {
            1 => "not present",
            2 => "down",
            3 => "lower layer down",
            4 => "testing",
            5 => "dormant",
            OPERSTATE_UP => "up",
            _ => "unknown",
        }
    }

    /// Its hardware address; zeros where it has none of six bytes.
    pub fn mac(&self) -> [u8; 6] {
        self.address.as_slice().try_into().unwrap_or_default()
    }
}

/// Asks for the device called `device` in this namespace.
pub(super) fn read(channel: &mut Channel, device: &str) -> Result<DeviceState, Refusal> {
    guard_name("making or configuring", device)?;
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::IfName(device.to_owned()));
    let tried = format!("looking at device '{device}'");
    let step = refused("is it in this host's namespace?");
    let answers = channel.ask(&tried, GET_LINK, 0, &bytes(&message)).map_err(step)?;
    answers.iter().find_map(|answer| DeviceState::parse(&answer.body)).ok_or_else(|| step(NetlinkError::Garbled { tried }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::{DeviceState, read};
    use sys::netlink::{Channel, Protocol};

    #[test]
    fn loopback_is_described() {
        let state = read(&mut Channel::open(Protocol::NetlinkRoute).unwrap(), "lo").unwrap();
        assert_eq!((state.index, state.mac(), state.qdisc.as_str()), (1, [0; 6], "noqueue"));
        assert_eq!(state.operstate(), "unknown");
        assert!(state.mtu > 0 && state.tx_queues > 0);
    }

    #[test]
    fn a_missing_device_is_named() {
        let error = read(&mut Channel::open(Protocol::NetlinkRoute).unwrap(), "nettoll-none").unwrap_err();
        assert!(error.to_string().starts_with("looking at device 'nettoll-none': the system answered ENODEV"), "{error}");
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = DeviceState::parse(&body);
        }
    }
}
