//! The two hosts that nettoll makes on this machine, and the link between them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use model::Family;
use model::control::{FromHost, LinkEnd, ToHost, WireEnd, WireTask};
use model::plan::{Link, LinkKind};
use model::warning::Warning;

use super::{Found, Way, Ways};
use crate::host::link::{FAR_MAC, LOOPBACK, NEAR_MAC, end_shape};
use crate::remote::{HostError, RemoteHost};

/// The device at each end of the link.
const DEVICE: &str = "nettoll0";
/// The hosts' addresses: documentation networks (RFC 5737, RFC 3849), which
/// no real network uses.
const ADDRESSES_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const ADDRESSES_V6: [Ipv6Addr; 2] = [Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)];
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 64;
/// The hosts' hardware addresses.
const MACS: [[u8; 6]; 2] = [NEAR_MAC, FAR_MAC];

/// Makes the hosts and joins them by `link`.
///
/// A link needs namespaces: those of root, or else those of a user namespace. A
/// plain virtual Ethernet is done without, with loopback and a warning; of any
/// other link its refusal is an error. `seed` is of what a wire leaves to chance.
///
/// # Errors
/// What kept even loopback from working, or the link from being as asked.
pub(super) fn make(link: &Link, seed: u64) -> Result<Found, HostError> {
    let mut warnings = Vec::new();
    let linked = if link.kind.is_made() { start_linked(link, seed, &mut warnings)? } else { None };
    let isolated = linked.is_some();
    let (mut hosts, wire) = match linked {
        Some(Linked { hosts, wire }) => (hosts, wire),
        None => ([RemoteHost::start("a", "none")?, RemoteHost::start("b", "none")?], None),
    };
    if isolated {
        configure(&mut hosts, link, &mut warnings)?;
    }
    Ok(Found { hosts, wire, ways: [ways(0, isolated), ways(1, isolated)], isolated, apart: false, warnings })
}

/// Brings both ends of the link up as asked.
fn configure(hosts: &mut [RemoteHost; 2], link: &Link, warnings: &mut Vec<Warning>) -> Result<(), HostError> {
    // Both at once: neither end comes up before the other.
    for (at, host) in hosts.iter_mut().enumerate() {
        host.tell(&ToHost::Configure(Box::new(link_end(link, at))))?;
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

/// Two hosts in namespaces of their own, and what lies between them.
struct Linked {
    hosts: [RemoteHost; 2],
    wire: Option<RemoteHost>,
}

/// Two hosts with a link between them that is not yet configured. Where this
/// machine refuses, a plain link is done without, with a warning (`None`);
/// nothing takes the place of one that was asked to be like a wire.
fn start_linked(link: &Link, seed: u64, warnings: &mut Vec<Warning>) -> Result<Option<Linked>, HostError> {
    let mut refusals = Vec::new();
    for start in [start_as_root, start_as_user] {
        match start().and_then(|(hosts, isolation)| make_link(hosts, &isolation, link, seed)) {
            Ok(linked) => return Ok(Some(linked)),
            Err(HostError::Refused { error, .. }) => refusals.push(error),
            Err(error) => return Err(error),
        }
    }
    let refusals = refusals.join("; then ");
    if link.kind != LinkKind::Veth {
        return Err(HostError::NoLink { link: link.kind.to_string(), refusals });
    }
    warnings.push(Warning::NoLink { reason: refusals });
    Ok(None)
}

/// Two hosts, and how a third is to be set apart that deals with both.
type Apart = ([RemoteHost; 2], String);

fn start_as_root() -> Result<Apart, HostError> {
    Ok(([RemoteHost::start("a", "network")?, RemoteHost::start("b", "network")?], "network".to_owned()))
}

/// Both in one user namespace: a device can be moved only between network
/// namespaces that one user owns.
fn start_as_user() -> Result<Apart, HostError> {
    let a = RemoteHost::start("a", "user")?;
    let join = format!("join={}", a.pid());
    let b = RemoteHost::start("b", &join)?;
    Ok(([a, b], join))
}

fn make_link(mut hosts: [RemoteHost; 2], isolation: &str, link: &Link, seed: u64) -> Result<Linked, HostError> {
    if matches!(link.kind, LinkKind::Veth | LinkKind::Ethernet(_)) {
        let [near, far] = &mut hosts;
        near.command(&ToHost::MakeLink { device: DEVICE.to_owned(), far_device: DEVICE.to_owned(), far_pid: far.pid() })?;
        return Ok(Linked { hosts, wire: None });
    }
    let end = |(host, mac): (&RemoteHost, [u8; 6])| WireEnd { device: DEVICE.to_owned(), mac, pid: host.pid() };
    let ends = hosts.iter().zip(MACS).map(end).collect();
    let mut wire = RemoteHost::start("wire", isolation)?;
    wire.command(&ToHost::MakeWire(Box::new(WireTask { kind: link.kind, mtu: link.mtu, seed, ends })))?;
    Ok(Linked { hosts, wire: Some(wire) })
}

fn unset_settings(unset: &[(String, String)], answer: &str) -> Warning {
    let names: Vec<&str> = unset.iter().map(|(name, _)| name.as_str()).collect();
    Warning::Absent {
        what: format!("setting {} in the hosts' namespaces", names.join(", ")),
        answer: answer.to_owned(),
        remedy: "Trials may see traces of earlier ones (saved metrics, address checks); a writable /proc/sys mends it.".to_owned(),
    }
}

fn link_end(link: &Link, at: usize) -> LinkEnd {
    let far_mac = MACS[1 - at];
    let speaks_v6 = link.mtu.is_none_or(|mtu| mtu >= Family::V6.least_mtu());
    let v4 = |at: usize| IpAddr::V4(ADDRESSES_V4[at]);
    let v6 = |at: usize| IpAddr::V6(ADDRESSES_V6[at]);
    let mut addresses = vec![(v4(at), PREFIX_V4)];
    let mut neighbours = vec![(v4(1 - at), far_mac)];
    if speaks_v6 {
        addresses.push((v6(at), PREFIX_V6));
        neighbours.push((v6(1 - at), far_mac));
    }
    LinkEnd {
        device: DEVICE.to_owned(),
        addresses,
        neighbours,
        mtu: link.mtu,
        offloads: link.offloads.clone(),
        charged: link.kind.is_charged(),
        shape: end_shape(&link.kind, at),
    }
}
