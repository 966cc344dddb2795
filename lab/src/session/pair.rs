//! The two hosts that nettoll makes on this machine, and the link between them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use model::Family;
use model::control::{FromHost, LinkEnd, ToHost};
use model::plan::{Link, LinkKind};
use model::warning::Warning;

use super::{Found, Way, Ways};
use crate::host::link::{FAR_MAC, LOOPBACK, NEAR_MAC};
use crate::remote::{HostError, RemoteHost};

/// The device at each end of the link.
const DEVICE: &str = "nettoll0";
/// The hosts' addresses: documentation networks (RFC 5737, RFC 3849), which
/// no real network uses.
const ADDRESSES_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const ADDRESSES_V6: [Ipv6Addr; 2] = [Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)];
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 64;

/// Makes the hosts and joins them by `link`.
///
/// A virtual Ethernet needs namespaces: those of root, or else those of a
/// user namespace, or else there is no link, only loopback and a warning.
///
/// # Errors
/// What kept even loopback from working, or the link from being as asked.
pub(super) fn make(link: &Link) -> Result<Found, HostError> {
    let mut warnings = Vec::new();
    let linked = match link.kind {
        LinkKind::Loopback | LinkKind::Network => None,
        LinkKind::Veth => start_linked(&mut warnings)?,
    };
    let isolated = linked.is_some();
    let mut hosts = match linked {
        Some(hosts) => hosts,
        None => [RemoteHost::start("a", "none")?, RemoteHost::start("b", "none")?],
    };
    if isolated {
        configure(&mut hosts, link, &mut warnings)?;
    }
    Ok(Found { hosts, ways: [ways(0, isolated), ways(1, isolated)], isolated, apart: false, warnings })
}

/// Brings both ends of the link up as asked.
fn configure(hosts: &mut [RemoteHost; 2], link: &Link, warnings: &mut Vec<Warning>) -> Result<(), HostError> {
    let macs = [NEAR_MAC, FAR_MAC];
    // Both at once: neither end comes up before the other.
    for (at, host) in hosts.iter_mut().enumerate() {
        host.tell(&ToHost::Configure(Box::new(link_end(link, at, macs[1 - at]))))?;
    }
    for host in hosts {
        let FromHost::Configured { unset } = host.answer()? else { continue };
        let known = warnings.iter().any(|warning| matches!(warning, Warning::Absent { .. }));
        if let (Some((_, answer)), false) = (unset.first(), known) {
            warnings.push(unset_settings(&unset, answer));
        }
    }
    Ok(())
}

fn ways(at: usize, isolated: bool) -> Ways {
    let device = if isolated { DEVICE } else { LOOPBACK };
    let (v4, v6) = if isolated { (ADDRESSES_V4[at], ADDRESSES_V6[at]) } else { (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST) };
    let way = |own: IpAddr| Some(Way { own: SocketAddr::new(own, 0), far_scope: 0, device: device.to_owned() });
    Ways { v4: way(v4.into()), v6: way(v6.into()) }
}

/// Two hosts in namespaces of their own, with a link between them that is not
/// yet configured; `None` with a warning where this machine refuses either.
fn start_linked(warnings: &mut Vec<Warning>) -> Result<Option<[RemoteHost; 2]>, HostError> {
    let mut refusals = Vec::new();
    for start in [start_as_root, start_as_user] {
        match start().and_then(make_link) {
            Ok(hosts) => return Ok(Some(hosts)),
            Err(HostError::Refused { error, .. }) => refusals.push(error),
            Err(error) => return Err(error),
        }
    }
    warnings.push(Warning::NoLink { reason: refusals.join("; then ") });
    Ok(None)
}

fn start_as_root() -> Result<[RemoteHost; 2], HostError> {
    Ok([RemoteHost::start("a", "network")?, RemoteHost::start("b", "network")?])
}

/// Both in one user namespace: a device can be moved only between network
/// namespaces that one user owns.
fn start_as_user() -> Result<[RemoteHost; 2], HostError> {
    let a = RemoteHost::start("a", "user")?;
    let b = RemoteHost::start("b", &format!("join={}", a.pid()))?;
    Ok([a, b])
}

fn make_link(mut hosts: [RemoteHost; 2]) -> Result<[RemoteHost; 2], HostError> {
    let [near, far] = &mut hosts;
    near.command(&ToHost::MakeLink { device: DEVICE.to_owned(), far_device: DEVICE.to_owned(), far_pid: far.pid() })?;
    Ok(hosts)
}

fn unset_settings(unset: &[(String, String)], answer: &str) -> Warning {
    let names: Vec<&str> = unset.iter().map(|(name, _)| name.as_str()).collect();
    Warning::Absent {
        what: format!("setting {} in the hosts' namespaces", names.join(", ")),
        answer: answer.to_owned(),
        remedy: "Trials may see traces of earlier ones (saved metrics, address checks); a writable /proc/sys mends it.".to_owned(),
    }
}

fn link_end(link: &Link, at: usize, far_mac: [u8; 6]) -> LinkEnd {
    let speaks_v6 = link.mtu.is_none_or(|mtu| mtu >= Family::V6.least_mtu());
    let v4 = |at: usize| IpAddr::V4(ADDRESSES_V4[at]);
    let v6 = |at: usize| IpAddr::V6(ADDRESSES_V6[at]);
    let mut addresses = vec![(v4(at), PREFIX_V4)];
    let mut neighbours = vec![(v4(1 - at), far_mac)];
    if speaks_v6 {
        addresses.push((v6(at), PREFIX_V6));
        neighbours.push((v6(1 - at), far_mac));
    }
    LinkEnd { device: DEVICE.to_owned(), addresses, neighbours, mtu: link.mtu, offloads: link.offloads.clone() }
}
