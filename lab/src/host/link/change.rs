//! Single changes to a device of this namespace.

use std::net::IpAddr;

use model::control::WireEnd;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState};
use nix::errno::Errno;

use super::family;
use crate::host::netlink::{bytes, refused};
use crate::refusal::Refusal;
use sys::netlink::{Channel, NetlinkError};

/// RTM_NEWLINK.
pub(super) const NEW_LINK: u16 = 16;
/// RTM_NEWADDR.
const NEW_ADDRESS: u16 = 20;
/// RTM_NEWNEIGH.
const NEW_NEIGHBOUR: u16 = 28;

/// Sets the device's largest IP packet.
pub(super) fn mtu(channel: &mut Channel, device: &str, index: u32, mtu: u32) -> Result<(), Refusal> {
    let tried = format!("setting the MTU of '{device}' to {mtu}");
    set(channel, &tried, index, vec![LinkAttribute::Mtu(mtu)], "a veth device takes 68 to 65535")
}

/// Brings the device up.
pub(super) fn up(channel: &mut Channel, device: &str, index: u32, silent: bool) -> Result<(), Refusal> {
    step(flags_up(channel, device, index, silent), "run the study again")
}

/// Brings the device up; `silent` also keeps it from resolving anything.
pub(super) fn flags_up(channel: &mut Channel, device: &str, index: u32, silent: bool) -> Result<(), NetlinkError> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = if silent { LinkFlags::Up | LinkFlags::Noarp } else { LinkFlags::Up };
    message.header.change_mask = message.header.flags;
    channel.ask(&format!("bringing up '{device}'"), NEW_LINK, 0, &bytes(&message)).map(drop)
}

/// Makes the device a port of a bridge.
pub(super) fn port(channel: &mut Channel, device: &str, index: u32, bridge: u32) -> Result<(), Refusal> {
    let tried = format!("making '{device}' a port of the bridge");
    set(channel, &tried, index, vec![LinkAttribute::Controller(bridge)], "use a relay link")
}

/// Lets the kernel hand the device single frames only: without this TCP makes
/// packets of several even for a device that cannot cut them.
pub(super) fn single_frames(channel: &mut Channel, device: &str, index: u32) -> Result<(), Refusal> {
    let tried = format!("limiting packets of '{device}' to single frames");
    set(channel, &tried, index, vec![LinkAttribute::GsoMaxSegs(1)], "this needs Linux 4.16 or later; use a veth link")
}

/// Takes the device, which must be down, to the end of the wire that it is.
pub(super) fn take_to(channel: &mut Channel, device: &str, index: u32, end: &WireEnd) -> Result<(), Refusal> {
    let attributes =
        vec![LinkAttribute::Address(end.mac.to_vec()), LinkAttribute::IfName(end.device.clone()), LinkAttribute::NetNsPid(end.pid)];
    let tried = format!("taking '{device}' as '{}' to the namespace of process {}", end.device, end.pid);
    set(channel, &tried, index, attributes, "both hosts must be set apart in the same way, in one user namespace")
}

/// Sets attributes of a device.
fn set(channel: &mut Channel, tried: &str, index: u32, attributes: Vec<LinkAttribute>, remedy: &str) -> Result<(), Refusal> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes = attributes;
    step(channel.ask(tried, NEW_LINK, 0, &bytes(&message)), remedy)
}

/// Gives the device an address, without a wait for duplicates.
pub(super) fn address(channel: &mut Channel, device: &str, index: u32, address: IpAddr, prefix: u8) -> Result<(), Refusal> {
    let mut message = AddressMessage::default();
    message.header.family = family(address);
    message.header.index = index;
    message.header.prefix_len = prefix;
    message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
    if address.is_ipv6() {
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
    }
    let tried = format!("giving '{device}' the address {address}/{prefix}");
    let answer = channel.ask(&tried, NEW_ADDRESS, NLM_F_CREATE | NLM_F_REPLACE, &bytes(&message));
    let remedy = match answer.as_ref().err().and_then(NetlinkError::errno) {
        Some(Errno::EACCES | Errno::EOPNOTSUPP | Errno::EAFNOSUPPORT) if address.is_ipv6() => {
            "IPv6 seems to be turned off (net.ipv6.conf.all.disable_ipv6, or the kernel's ipv6.disable=1); study IPv4 only"
        }
        _ => "check the address and the length of its prefix",
    };
    step(answer, remedy)
}

/// Tells the device a neighbour once and for all.
pub(super) fn neighbour(channel: &mut Channel, device: &str, index: u32, address: IpAddr, mac: [u8; 6]) -> Result<(), Refusal> {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    message.header.ifindex = index;
    message.header.state = NeighbourState::Permanent;
    message.attributes = vec![
        NeighbourAttribute::Destination(match address {
            IpAddr::V4(address) => NeighbourAddress::Inet(address),
            IpAddr::V6(address) => NeighbourAddress::Inet6(address),
        }),
        NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
    ];
    let tried = format!("telling '{device}' its neighbour {address}");
    let answer = channel.ask(&tried, NEW_NEIGHBOUR, NLM_F_CREATE | NLM_F_REPLACE, &bytes(&message));
    step(answer, "check that the neighbour's address family is in use on the device")
}

fn step<T>(answer: Result<T, NetlinkError>, remedy: &str) -> Result<(), Refusal> {
    answer.map(drop).map_err(refused(remedy))
}
