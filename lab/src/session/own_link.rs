//! The two hosts that nettoll makes on this machine, and the link between them.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use model::control::{FromHost, LinkEnd, ToHost, WireEnd, WireTask};
use model::plan::{Link, LinkKind};
use model::warning::Warning;
use model::{Family, Refusal};
use nix::sched::{CloneFlags, setns};

use super::{Found, Pair, Way, Ways, way_of};
use crate::host::link::{FAR_MAC, LOOPBACK, NEAR_MAC, end_shape};
use crate::remote::{HostError, RemoteHost};

/// The device at each end of the link.
const DEVICE: &str = "nettoll0";
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 64;

/// The addresses of the host at a place on the link: 0 and 1 are the two hosts of
/// the study, then come the others, two by two. Documentation networks (RFC 5737,
/// RFC 3849), which no real network uses.
fn addresses(at: usize) -> (Ipv4Addr, Ipv6Addr) {
    let number = at as u8 + 1;
    (Ipv4Addr::new(192, 0, 2, number), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number.into()))
}

/// Its hardware address.
fn mac(at: usize) -> [u8; 6] {
    match at {
        0 => NEAR_MAC,
        1 => FAR_MAC,
        // The last byte of those two is 10 and 11.
        _ => [0x02, 0x6e, 0x74, 0x00, 0x01, at as u8],
    }
}

/// The places on the other side of a link with so many ends: two places are a pair, 0 and 1, 2 and 3, and each host may
/// deal with those of every pair.
fn far_side(at: usize, ends: usize) -> impl Iterator<Item = usize> {
    (0..ends).filter(move |far| far % 2 != at % 2)
}

/// Makes the hosts and joins them by `link`, with `pairs` pairs of others on it.
///
/// A link needs namespaces: those of root, or else those of a user namespace. A
/// plain virtual Ethernet is done without, with loopback and a warning; of any
/// other link its refusal is an error. `seed` is of what a wire leaves to chance.
///
/// # Errors
/// What kept even loopback from working, or the link from being as asked.
pub(super) fn make(link: &Link, seed: u64, pairs: u32) -> Result<Found, HostError> {
    let mut warnings = Vec::new();
    let linked = if link.kind.is_made() { start_linked(link, seed, pairs, &mut warnings)? } else { None };
    let isolated = linked.is_some();
    let (mut hosts, mut others, wire) = match linked {
        Some(Linked { hosts, others, wire }) => (hosts, others, wire),
        None => ([RemoteHost::start("a", "none")?, RemoteHost::start("b", "none")?], Vec::new(), None),
    };
    if isolated {
        configure(hosts.iter_mut().chain(others.iter_mut().flatten()).collect(), link, &mut warnings)?;
    }
    let pair = |(number, hosts)| Pair::new(hosts, [2, 3].map(|place| ways(place + 2 * number, true)));
    let pairs = others.into_iter().enumerate().map(pair).collect();
    Ok(Found { hosts, wire, pairs, ways: [ways(0, isolated), ways(1, isolated)], isolated, apart: false, warnings })
}

/// Brings all ends of the link up as asked.
fn configure(mut hosts: Vec<&mut RemoteHost>, link: &Link, warnings: &mut Vec<Warning>) -> Result<(), HostError> {
    // All at once: no end of a pair comes up before the other.
    let ends = hosts.len();
    for (at, host) in hosts.iter_mut().enumerate() {
        host.tell(&ToHost::Configure(Box::new(link_end(link, at, ends))))?;
    }
    for host in hosts {
        let FromHost::Configured { unset } = host.answer()? else { continue };
        let known = warnings.iter().any(|warning| matches!(warning, Warning::Absent(_)));
        if let (Some((_, answer)), false) = (unset.first(), known) {
            warnings.push(unset_settings(&unset, answer));
        }
    }
    Ok(())
}

fn ways(at: usize, isolated: bool) -> Ways {
    let device = if isolated { DEVICE } else { LOOPBACK };
    let (v4, v6) = if isolated { addresses(at) } else { (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST) };
    let way = |own: IpAddr| Way { own: SocketAddr::new(own, 0), far_scope: 0, device: device.to_owned() };
    vec![way(v4.into()), way(v6.into())]
}

/// Two hosts in namespaces of their own, and what lies between them.
struct Linked {
    hosts: [RemoteHost; 2],
    /// Pairs of other hosts.
    others: Vec<[RemoteHost; 2]>,
    wire: Option<RemoteHost>,
}

/// Two hosts with a link between them that is not yet configured. Where this
/// machine refuses, a plain link is done without, with a warning (`None`);
/// nothing takes the place of one that was asked to be like a wire.
fn start_linked(link: &Link, seed: u64, pairs: u32, warnings: &mut Vec<Warning>) -> Result<Option<Linked>, HostError> {
    let mut refusals = Vec::new();
    for start in [start_as_root, start_as_user] {
        match start().and_then(|(hosts, isolation)| make_link(hosts, &isolation, link, seed, pairs)) {
            Ok(linked) => return Ok(Some(linked)),
            Err(HostError::Refused { error, .. }) => refusals.push(error),
            Err(error) => return Err(error),
        }
    }
    let refusals = refusals.join("; then ");
    if link.kind != LinkKind::Veth {
        return Err(Refusal::new(format!("making the link '{}'", link.kind), refusals, "").into());
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

fn make_link(mut hosts: [RemoteHost; 2], isolation: &str, link: &Link, seed: u64, pairs: u32) -> Result<Linked, HostError> {
    if matches!(link.kind, LinkKind::Veth | LinkKind::Ethernet(_)) {
        let [near, far] = &mut hosts;
        near.command(&ToHost::MakeLink { device: DEVICE.to_owned(), far_device: DEVICE.to_owned(), far_pid: far.pid() })?;
        return Ok(Linked { hosts, others: Vec::new(), wire: None });
    }
    let start = |number: u32| -> Result<[RemoteHost; 2], HostError> {
        Ok([RemoteHost::start(&format!("c{number}"), isolation)?, RemoteHost::start(&format!("d{number}"), isolation)?])
    };
    let others = (0..pairs).map(start).collect::<Result<Vec<_>, _>>()?;
    let end = |(at, host): (usize, &RemoteHost)| WireEnd { device: DEVICE.to_owned(), mac: mac(at), pid: host.pid() };
    let ends = hosts.iter().chain(others.iter().flatten()).enumerate().map(end).collect();
    let mut wire = RemoteHost::start("wire", isolation)?;
    wire.command(&ToHost::MakeWire(Box::new(WireTask { kind: link.kind, mtu: link.mtu, seed, ends })))?;
    Ok(Linked { hosts, others, wire: Some(wire) })
}

fn unset_settings(unset: &[(String, String)], answer: &str) -> Warning {
    let names: Vec<&str> = unset.iter().map(|(name, _)| name.as_str()).collect();
    Warning::Absent(Refusal {
        what: format!("setting {} in the hosts' namespaces", names.join(", ")),
        answer: answer.to_owned(),
        remedy: "Trials may see traces of earlier ones (saved metrics, address checks); a writable /proc/sys mends it.".to_owned(),
    })
}

fn link_end(link: &Link, at: usize, ends: usize) -> LinkEnd {
    let speaks_v6 = link.mtu.is_none_or(|mtu| mtu >= Family::V6.least_mtu());
    let families = |at: usize| {
        let (v4, v6) = addresses(at);
        [(IpAddr::from(v4), PREFIX_V4), (v6.into(), PREFIX_V6)].into_iter().take(if speaks_v6 { 2 } else { 1 })
    };
    let known = |far: usize| families(far).map(move |(address, _)| (address, mac(far)));
    let (addresses, neighbours) = (families(at).collect(), far_side(at, ends).flat_map(known).collect());
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

/// Two hosts in network namespaces of their own. Dropped, they are gone.
pub(crate) struct Bare {
    _hosts: [RemoteHost; 2],
    namespaces: [File; 2],
    /// The first host's address.
    pub address: IpAddr,
}

impl Bare {
    /// Makes them, and the link.
    ///
    /// # Errors
    /// What the system refused. Without root, threads cannot enter the namespaces.
    pub fn make(link: &Link) -> Result<Self, HostError> {
        let found = make(link, 0, 0)?;
        let tried = || format!("making two hosts joined by '{}'", link.kind);
        let refused = |answer: String| HostError::from(Refusal::new(tried(), answer, "run as root"));
        let address = way_of(&found.ways[0], Family::V4).filter(|_| found.isolated).map(|way| way.own.ip());
        let address = address.ok_or_else(|| refused("this machine allows no namespaces".to_owned()))?;
        let [a, b] = found.hosts;
        let open = |host: &RemoteHost| File::open(format!("/proc/{}/ns/net", host.pid())).map_err(|error| refused(error.to_string()));
        let namespaces = [open(&a)?, open(&b)?];
        Ok(Self { _hosts: [a, b], namespaces, address })
    }

    /// Takes the calling thread to a host, 0 or 1.
    ///
    /// # Errors
    /// The system's answer.
    pub fn enter(&self, host: usize) -> io::Result<()> {
        setns(&self.namespaces[host], CloneFlags::CLONE_NEWNET).map_err(io::Error::from)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use model::condition::MOST_PAIRS;
    use model::plan::{Link, LinkKind};

    use super::{link_end, mac};

    #[test]
    fn as_many_pairs_as_there_can_be_have_addresses_of_their_own_and_know_each_other() {
        let kind: LinkKind = "switch 10M".parse().unwrap();
        let link = Link { kind, mtu: None, offloads: [].into() };
        let places = 0..2 + 2 * MOST_PAIRS as usize;
        let ends: Vec<_> = places.clone().map(|at| link_end(&link, at, places.len())).collect();
        let distinct: BTreeSet<_> = ends.iter().flat_map(|end| end.addresses.iter().map(|(address, _)| *address)).collect();
        assert_eq!(distinct.len(), 2 * ends.len());
        assert_eq!(places.clone().map(mac).collect::<BTreeSet<_>>().len(), ends.len());
        for at in places {
            let known: BTreeSet<_> = ends[at].neighbours.iter().copied().collect();
            let far = ends.iter().enumerate().filter(|(far, _)| far % 2 != at % 2);
            let of_far = far.flat_map(|(far, end)| end.addresses.iter().map(move |(address, _)| (*address, mac(far))));
            assert_eq!(known, of_far.collect());
            assert!(ends[at].charged && ends[at].shape.is_some());
        }
    }
}
