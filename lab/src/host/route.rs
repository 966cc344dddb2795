//! This host's way to another: which device its messages take, and which
//! address they bear.
//!
//! The kernel is asked by connecting a UDP socket, which sends nothing; what
//! is behind the address is looked up in the list of this host's addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};

use model::control::Route;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};

use super::link::{self, LOOPBACK};
use crate::refusal::{Refusal, refused};

/// One address of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    /// Name of its device.
    pub device: String,
    /// The address, with its scope and port 0.
    pub address: SocketAddr,
}

/// The way to `to`. An address of this host itself is reached over loopback,
/// and the source is then that address, with this host's scope where it has one.
pub fn find(to: SocketAddr) -> Result<Route, Refusal> {
    let owned = addresses()?;
    if let Some(own) = owned.iter().find(|own| own.address.ip() == to.ip() && scope_fits(to, own.address)) {
        return Ok(route(LOOPBACK, own.address));
    }
    let any = if to.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let failed =
        |step| refused(format!("looking for the way to {to} ({step})"), format!("is there a route to it (`ip route get {}`)?", to.ip()));
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).map_err(failed("open a UDP socket"))?;
    // A port is needed, though nothing is sent to it.
    let target = with_port(to, to.port().max(1));
    socket.connect(target).map_err(failed("connect a UDP socket, which sends nothing"))?;
    let source = with_port(socket.local_addr().map_err(failed("read the socket's address"))?, 0);
    // All of 127.0.0.0/8 is loopback, though one of it is listed.
    if source.ip().is_loopback() {
        return Ok(route(LOOPBACK, source));
    }
    let device = owned.iter().find(|own| own.address.ip() == source.ip() && scope_fits(source, own.address));
    let device = device.ok_or_else(|| {
        let tried = format!("looking for the device that has {}, from which {} is reached", source.ip(), to.ip());
        Refusal::new(tried, "none has it", "is the route through a tunnel or a policy?")
    })?;
    Ok(route(&device.device, source))
}

fn route(device: &str, source: SocketAddr) -> Route {
    let mtu = link::device_state(device).ok().map(|state| state.mtu).filter(|mtu| *mtu > 0);
    Route { device: device.to_owned(), source: with_port(source, 0), mtu }
}

fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

/// Returns whether a scope, if one is given, is that of an address of this host.
const fn scope_fits(asked: SocketAddr, own: SocketAddr) -> bool {
    match (asked, own) {
        (SocketAddr::V6(asked), SocketAddr::V6(own)) => asked.scope_id() == 0 || asked.scope_id() == own.scope_id(),
        _ => true,
    }
}

/// All addresses of this host's namespace.
pub fn addresses() -> Result<Vec<Owned>, Refusal> {
    let owned = getifaddrs().map_err(refused("listing this host's addresses (getifaddrs)", "is netlink allowed here?"))?;
    let owned = owned.filter_map(|entry| Some(Owned { address: address_of(&entry)?, device: entry.interface_name }));
    Ok(owned.collect())
}

/// The address of an entry of that list, with its scope and port 0.
pub fn address_of(entry: &InterfaceAddress) -> Option<SocketAddr> {
    let storage = entry.address?;
    let v4 = storage.as_sockaddr_in().map(|v4| SocketAddr::new(v4.ip().into(), 0));
    v4.or_else(|| storage.as_sockaddr_in6().map(|v6| SocketAddrV6::new(v6.ip(), 0, 0, v6.scope_id()).into()))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::{find, scope_fits};

    fn socket(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn loopback_leads_to_itself() {
        for (to, source) in [("127.0.0.1:9", "127.0.0.1:0"), ("127.1.2.3:0", "127.0.0.1:0")] {
            let route = find(socket(to)).unwrap();
            assert_eq!((route.device.as_str(), route.source), ("lo", socket(source)), "{to}");
            assert!(route.mtu.is_some_and(|mtu| mtu >= 1_280));
        }
    }

    #[test]
    fn a_way_that_does_not_exist_is_said() {
        // 0.0.0.0/8 other than "this host" is no destination (RFC 1122, section 3.2.1.3).
        let error = find(socket("[fe80::1]:9")).unwrap_err().to_string();
        assert!(error.starts_with("looking for the way to [fe80::1]:9"), "{error}");
    }

    #[test]
    fn a_scope_that_is_given_has_to_be_that_of_the_device() {
        assert!(scope_fits(socket("[fe80::1]:0"), socket("[fe80::1%2]:0")));
        assert!(scope_fits(socket("[fe80::1%2]:0"), socket("[fe80::1%2]:0")));
        assert!(!scope_fits(socket("[fe80::1%3]:0"), socket("[fe80::1%2]:0")));
        assert!(scope_fits(socket("1.2.3.4:0"), socket("1.2.3.4:0")));
    }
}
