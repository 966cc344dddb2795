//! Where a controller may have an endpoint of this machine aim.
//!
//! An endpoint begins each flow with a few bytes of the controller's choice. At
//! an address of loopback they would reach services that trust whoever is on
//! this machine, so only a controller that is there itself may name one.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::limit::Refused;

/// Refuses the address of an endpoint that only this machine can reach, unless
/// the controller is `near`, on this machine itself.
pub fn check_local(local: SocketAddr, near: bool) -> Result<(), Refused> {
    match local.ip().to_canonical() {
        ip if ip.is_multicast() || is_broadcast(ip) => Err(Refused(format!("bind an endpoint to {ip}: that is the address of many"))),
        ip if ip.is_loopback() && !near => Err(Refused(format!(
            "bind an endpoint to {ip}: that is loopback of the agent's machine, and the controller is on another; name the host by an \
             address that both reach"
        ))),
        _ => Ok(()),
    }
}

/// Refuses other ends that are not one machine's, or that only this machine can
/// reach, unless the controller is `near`.
pub fn check_peers(peers: &[SocketAddr], near: bool) -> Result<(), Refused> {
    peers.iter().try_for_each(|peer| check_peer(peer.ip().to_canonical(), near))
}

fn check_peer(ip: IpAddr, near: bool) -> Result<(), Refused> {
    let why = match ip {
        ip if ip.is_multicast() || is_broadcast(ip) => "that is the address of many",
        // The kernel takes it for loopback.
        ip if ip.is_unspecified() => "that is no host's address",
        ip if ip.is_loopback() && !near => "that is loopback of the agent's machine, and the controller is on another",
        _ => return Ok(()),
    };
    Err(Refused(format!("aim messages at {ip}: {why}; name the other host by an address that both reach")))
}

const fn is_broadcast(ip: IpAddr) -> bool {
    // That of a network the kernel refuses itself: no endpoint sets SO_BROADCAST.
    matches!(ip, IpAddr::V4(Ipv4Addr::BROADCAST))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::{check_local, check_peers};

    fn at(address: &str) -> SocketAddr {
        SocketAddr::new(address.parse().unwrap(), 80)
    }

    #[test]
    fn loopback_is_for_controllers_on_this_machine() {
        for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(check_local(at(address), true).is_ok() && check_peers(&[at(address)], true).is_ok(), "{address}");
            assert!(check_local(at(address), false).unwrap_err().0.contains("loopback of the agent's machine"), "{address}");
            let error = check_peers(&[at("192.0.2.7"), at(address)], false).unwrap_err().0;
            assert!(error.contains("loopback of the agent's machine"), "{error}");
        }
    }

    #[test]
    fn nobody_aims_at_many_or_at_none() {
        for address in ["224.0.0.1", "255.255.255.255", "ff02::1", "::ffff:224.0.0.1", "0.0.0.0", "::", "::ffff:0.0.0.0"] {
            for near in [true, false] {
                assert!(check_peers(&[at(address)], near).is_err(), "{address}");
            }
        }
        assert!(check_local(at("ff02::1"), true).is_err());
    }

    #[test]
    fn any_other_address_will_do() {
        for address in ["192.0.2.7", "10.0.0.1", "2001:db8::1", "fe80::1"] {
            assert!(check_local(at(address), false).is_ok() && check_peers(&[at(address)], false).is_ok(), "{address}");
        }
        assert!(check_peers(&[], false).is_ok());
    }
}
