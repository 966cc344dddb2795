//! The link: a virtual Ethernet pair, made and configured over netlink.
//!
//! A configured link is silent. Its neighbours are fixed and its ends have the
//! flag NOARP, with which the kernel resolves nothing, looks for no duplicate
//! address and joins no solicited-node group; so neither ARP, neighbour
//! discovery nor multicast listener reports stand between the traffic of a
//! trial and the link's counters.

mod change;
mod create;
mod shape;
mod state;
mod topology;
mod wait;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use model::control::LinkEnd;
use model::plan::Offload;

use super::entered::Entered;
use super::ethtool;
use super::netlink;
use super::sysctl::{self, Settings};
use super::text::guard_name;
use crate::refusal::Refusal;
use sys::netlink::{Channel, NetlinkError, Protocol};

pub(crate) use create::pair;
pub use create::{FAR_MAC, NEAR_MAC, give_away, make_veth};
pub(crate) use shape::{NEW_DISCIPLINE, token_bucket};
pub use state::DeviceState;
pub use topology::{dropped, end_shape, make as make_wire};
pub use wait::wait_until_ready;

/// The loopback device, which every namespace has.
pub const LOOPBACK: &str = "lo";

/// Time that the far end may take to come up.
pub const UP_LIMIT: Duration = Duration::from_secs(5);

/// The least MTU over which IPv6 is spoken (RFC 8200, section 5).
const LEAST_IPV6_MTU: u32 = 1280;

/// Result of [`configure`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// The device's hardware address; zeros for loopback.
    pub mac: [u8; 6],
    /// Sysctls set, and those that this kernel lacks; nothing for loopback.
    pub settings: Settings,
    /// `true` if this kernel speaks IPv6 at all. Where it does not, addresses and
    /// neighbours of that family were left out.
    pub ipv6: bool,
}

/// Configures this end of a link as `end` says, brings it up, and waits for the
/// far end. A pair carries nothing before both ends are up, so both hosts must
/// be told to configure before either's answer is awaited.
///
/// Loopback is only brought up.
pub fn configure(entered: &Entered, end: &LinkEnd) -> Result<Configured, Refusal> {
    if end.device == LOOPBACK {
        return check_loopback().map(|()| Configured { mac: [0; 6], settings: Settings::default(), ipv6: speaks_ipv6() });
    }
    let configured = set_up(entered, end)?;
    wait_until_ready(end, UP_LIMIT)?;
    Ok(configured)
}

/// All of [`configure`] but the wait.
pub fn set_up(entered: &Entered, end: &LinkEnd) -> Result<Configured, Refusal> {
    guard(entered, &end.device)?;
    // The settings come first: they count from the moment the device is up.
    let settings = sysctl::apply(entered, &end.device, end.charged)?;
    let mut channel = open()?;
    let state = state::read(&mut channel, &end.device)?;
    if let Some(mtu) = end.mtu {
        // The kernel would take IPv6 off the device without a word.
        if mtu < LEAST_IPV6_MTU && end.addresses.iter().any(|(address, _)| address.is_ipv6()) {
            let answer = format!("IPv6 needs {LEAST_IPV6_MTU} or more");
            return Err(Refusal::new(format!("setting the MTU of '{}' to {mtu}", end.device), answer, "raise the MTU or study IPv4 only"));
        }
        change::mtu(&mut channel, &end.device, state.index, mtu)?;
    }
    ethtool::set_offloads(&end.device, &end.offloads)?;
    if end.charged {
        ethtool::set_offloads(&end.device, &single_frames())?;
    }
    if let Some(shape) = end.shape {
        shape::limit(&mut channel, &end.device, state.index, end.mtu.unwrap_or(state.mtu), shape)?;
    }
    // Up before the addresses: an IPv6 address waits for its device.
    change::up(&mut channel, &end.device, state.index, true)?;
    let ipv6 = speaks_ipv6();
    let spoken = |address: &IpAddr| ipv6 || address.is_ipv4();
    for (address, prefix) in end.addresses.iter().filter(|(address, _)| spoken(address)) {
        change::address(&mut channel, &end.device, state.index, *address, *prefix)?;
    }
    for (address, mac) in end.neighbours.iter().filter(|(address, _)| spoken(address)) {
        change::neighbour(&mut channel, &end.device, state.index, *address, *mac)?;
    }
    Ok(Configured { mac: state.mac(), settings, ipv6 })
}

/// Off: whatever makes one packet of several frames.
fn single_frames() -> BTreeMap<Offload, bool> {
    BTreeMap::from([Offload::Tso, Offload::Gso, Offload::Gro].map(|offload| (offload, false)))
}

/// Returns what the kernel says of `device`.
pub fn device_state(device: &str) -> Result<DeviceState, Refusal> {
    state::read(&mut open()?, device)
}

/// Sets the largest IP packet of `device`. For [`crate::arm`], which has made
/// sure that it may be changed.
pub(crate) fn set_mtu(device: &str, mtu: u32) -> Result<(), Refusal> {
    let mut channel = open()?;
    let index = state::read(&mut channel, device)?.index;
    change::mtu(&mut channel, device, index, mtu)
}

/// Has a classic program look at each packet that leaves `device`; `None`: no more.
pub(crate) fn classify(entered: &Entered, device: &str, code: Option<&[[u8; 8]]>) -> Result<(), Refusal> {
    guard(entered, device)?;
    let mut channel = open()?;
    let index = state::read(&mut channel, device)?.index;
    match code {
        Some(code) => shape::classify(&mut channel, device, index, code),
        None => shape::declassify(&mut channel, device, index),
    }
}

/// Brings up loopback in a namespace just made.
pub(super) fn bring_up_loopback() -> Result<(), NetlinkError> {
    let mut channel = Channel::open(Protocol::NetlinkRoute)?;
    // Loopback is always the first device of its namespace.
    change::flags_up(&mut channel, LOOPBACK, 1, false)
}

/// Returns whether the kernel speaks IPv6: without it (`ipv6.disable=1`) the file is
/// not there.
fn speaks_ipv6() -> bool {
    Path::new("/proc/net/if_inet6").exists()
}

fn check_loopback() -> Result<(), Refusal> {
    let down = || Err(Refusal::new("looking at 'lo'", "it is down", "bring it up with 'ip link set lo up'"));
    if device_state(LOOPBACK)?.is_admin_up() { Ok(()) } else { down() }
}

fn open() -> Result<Channel, Refusal> {
    Channel::open(Protocol::NetlinkRoute).map_err(netlink::refused("a sandbox seems to refuse netlink; run outside it"))
}

fn guard(entered: &Entered, device: &str) -> Result<(), Refusal> {
    entered.guard(format!("changing device '{device}'"), "")?;
    guard_name("making or configuring", device)
}

/// The address family's number on the wire.
const fn family(address: IpAddr) -> netlink_packet_route::AddressFamily {
    match address {
        IpAddr::V4(_) => netlink_packet_route::AddressFamily::Inet,
        IpAddr::V6(_) => netlink_packet_route::AddressFamily::Inet6,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::control::LinkEnd;

    use super::{Configured, configure, set_up};
    use crate::host::namespace::{Isolation, enter};
    use crate::host::sysctl::Settings;
    use crate::host::text::check_name;

    fn end(device: &str) -> LinkEnd {
        LinkEnd {
            device: device.to_owned(),
            addresses: vec![],
            neighbours: vec![],
            mtu: Some(1280),
            offloads: BTreeMap::new(),
            charged: false,
            shape: None,
        }
    }

    #[test]
    fn names_that_could_leave_the_directory_are_refused() {
        for bad in ["", ".", "..", "a/b", "a b", "a\0", "abcdefghijklmnop"] {
            assert!(!check_name(bad), "{bad:?}");
        }
        assert!(check_name("nettoll0") && check_name("abcdefghijklmno"));
    }

    #[test]
    fn without_isolation_only_loopback_is_looked_at() {
        let entered = enter(Isolation::None).unwrap();
        let Configured { mac, settings, .. } = configure(&entered, &end("lo")).unwrap();
        assert_eq!((mac, settings), ([0; 6], Settings::default()));
        assert!(set_up(&entered, &end("eth0")).unwrap_err().to_string().contains("is not isolated"));
        assert!(set_up(&entered, &end("lo")).unwrap_err().to_string().contains("is not isolated"));
    }
}
