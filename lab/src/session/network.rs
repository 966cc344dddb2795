//! Hosts that are other machines: how each is reached by the other.
//!
//! An agent's messages take the address that the agent was reached at, or the
//! one that `data=` names; this machine's take the source address that the
//! kernel chooses for the way there. Each host is asked for its own way to the
//! other: the device is its, and so is the scope of a link-local address.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use model::control::{FromHost, Route, ToHost};
use model::plan::{HostAddress, HostPlace};
use model::sorting::{Gather, Order};
use model::{Family, Plan};

use super::{Found, Way, Ways};
use crate::connection::{self, Credentials};
use crate::error::TrialError;
use crate::event::{Event, Listener};
use crate::host::link::LOOPBACK;
use crate::refusal::Refusal;
use crate::remote::{HostError, RemoteHost, is_link_local, scoped};
use crate::threads::{Stop, on_threads};

/// Reaches the agents of two hosts, by their names in the plan, starts what is on this machine, and finds the ways. The listener may end
/// that while hosts are reached.
///
/// # Errors
/// See [`TrialError`].
pub(super) fn reach(names: [&str; 2], plan: &Plan, credentials: &Credentials, listener: &mut dyn Listener) -> Result<Found, TrialError> {
    let families: BTreeSet<Family> = plan.cells_run().iter().map(|cell| cell.family).into_set();
    // What is asked for over one family alone is controlled over it as well,
    // unless messages take another way.
    let only = families.first().copied().filter(|_| families.len() == 1);
    let named: Vec<(usize, String, HostPlace)> =
        names.iter().enumerate().filter_map(|(at, name)| Some((at, (*name).to_owned(), plan.hosts.get(*name)?.clone()))).collect();
    let known = credentials.clone();
    // By threads, for a login may take a minute, and whoever waits for it may want no more.
    let reach = move |stop: &Stop, (at, name, place): (usize, String, HostPlace)| {
        (at, RemoteHost::reach(&name, &place, only.filter(|_| place.data().is_none()), &known.until(stop)))
    };
    let mut ended = on_threads(named, names.len(), reach, |_| listener.hear(&Event::Tick)).map_err(TrialError::Listener)?;
    if ended.stopped {
        return Err(TrialError::Stopped);
    }
    ended.done.order_by_key(|(at, _)| *at);
    let mut reached = ended.done.into_iter().peekable();
    let mut host = |at: usize| match reached.next_if(|(place, _)| *place == at) {
        Some((_, host)) => host,
        // A process of this machine is there at once.
        None => RemoteHost::start(names[at], "none"),
    };
    let mut hosts = [host(0)?, host(1)?];
    let (ways, apart) = ways(&mut hosts, families)?;
    Ok(Found { hosts, wire: None, pairs: Vec::new(), ways, isolated: false, apart, warnings: Vec::new() })
}

/// The ways between two hosts in each family, and whether they are apart.
///
/// # Errors
/// See [`HostError`].
pub(super) fn ways(hosts: &mut [RemoteHost; 2], families: BTreeSet<Family>) -> Result<([Ways; 2], bool), HostError> {
    let mut ways = [Ways::new(), Ways::new()];
    for family in families {
        let found = find(hosts, family)?;
        for (ways, way) in ways.iter_mut().zip(found) {
            ways.push(way);
        }
    }
    let apart = ways.iter().all(|ways| ways.first().is_some_and(|way| way.device != LOOPBACK));
    Ok((ways, apart))
}

/// The device by which a host sends to an address.
///
/// # Errors
/// See [`HostError`].
pub(crate) fn device_towards(host: &mut RemoteHost, to: SocketAddr) -> Result<String, HostError> {
    Ok(route(host, scoped(to, 0))?.device)
}

impl RemoteHost {
    /// The address that others may know the host by in a family; `None` where none is known,
    /// and of a process of this machine.
    pub(crate) fn address_of(&self, family: Family) -> Option<SocketAddr> {
        known_address(self, family).ok().flatten()
    }
}

/// The way from each host to the other in one family.
fn find(hosts: &mut [RemoteHost; 2], family: Family) -> Result<[Way; 2], HostError> {
    let [a, b] = &mut *hosts;
    let own = match (known_address(a, family)?, known_address(b, family)?) {
        (Some(at_a), Some(at_b)) => both_known(a, b, at_a, at_b)?,
        (None, Some(at_b)) => one_known(a, b, at_b)?,
        (Some(at_a), None) => {
            let [own_b, own_a] = one_known(b, a, at_a)?;
            [own_a, own_b]
        }
        // A plan for the network names at least one host.
        (None, None) => [local(family), local(family)],
    };
    // Both at once.
    for (host, [own, far]) in [(&mut *a, own), (&mut *b, [own[1], own[0]])] {
        host.tell_ahead(&[towards(own, far)])?;
    }
    let devices = [device(a, own[0], own[1])?, device(b, own[1], own[0])?];
    for (near, far) in [(0, 1), (1, 0)] {
        if devices[near] == LOOPBACK && devices[far] != LOOPBACK {
            let ([near, far], address) = ([near, far].map(|at| hosts[at].name()), own[far].ip());
            return Err(Refusal::new(
                format!("host {near} reaches {address} over its own loopback device, but host {far}, which was to be there, is elsewhere"),
                "",
                format!("name an address of host {far} that others can reach"),
            )
            .into());
        }
    }
    let [device_a, device_b] = devices;
    let way = |own: SocketAddr, device| Way { own, far_scope: scope(own), device };
    Ok([way(own[0], device_a), way(own[1], device_b)])
}

const fn local(family: Family) -> SocketAddr {
    use std::net::{Ipv4Addr, Ipv6Addr};
    match family {
        Family::V4 => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
        Family::V6 => SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 0),
    }
}

/// The address of an agent as the controller knows it, with the controller's
/// scope; `None` of a host that is this machine.
fn known_address(host: &RemoteHost, family: Family) -> Result<Option<SocketAddr>, HostError> {
    let Some(agent) = host.agent() else { return Ok(None) };
    let of_family = |address: &SocketAddr| address.is_ipv4() == (family == Family::V4);
    let name = host.name();
    let missing = |known: SocketAddr| {
        let tried = format!("the plan has cells over {family}, but host {name} is known as {} only", known.ip());
        let remedy = format!(
            "name its address of that family (--host {name}=ADDRESS, or data=ADDRESS behind a comma), or leave those cells out (-4, -6)"
        );
        Refusal::new(tried, "", remedy)
    };
    if let Some(data) = agent.at.data() {
        let remedy = "name an address of that host";
        let failed = |answer| HostError::Data(Refusal::new(format!("host {name}: look up data={data}"), answer, remedy));
        let all = connection::resolve(data, 0).map_err(failed)?;
        let first = *all.first().ok_or_else(|| missing(agent.peer))?;
        return Ok(Some(all.into_iter().find(of_family).ok_or_else(|| missing(first))?));
    }
    if of_family(&agent.peer) {
        return Ok(Some(agent.peer));
    }
    // A name may have an address of either family; the agent was reached at one.
    let others = match &agent.at {
        HostPlace::Agent(at) if !is_literal(at) => connection::resolve(&at.address, 0).unwrap_or_default(),
        HostPlace::Agent(_) => Vec::new(),
        HostPlace::Command(_) => agent.addresses.iter().map(|address| SocketAddr::new(*address, 0)).collect(),
    };
    Ok(Some(others.into_iter().find(of_family).ok_or_else(|| missing(agent.peer))?))
}

/// Returns whether it was given by its address and not by a name.
fn is_literal(at: &HostAddress) -> bool {
    !matches!(connection::literal(&at.address, 0), Ok(None))
}

/// The addresses of two agents, each with its own host's scope.
fn both_known(a: &mut RemoteHost, b: &mut RemoteHost, at_a: SocketAddr, at_b: SocketAddr) -> Result<[SocketAddr; 2], HostError> {
    for (host, at) in [(&*a, at_a), (&*b, at_b)] {
        if is_link_local(at) {
            let tried = format!("host {} is known as {}, which means something only on a link of its own", host.name(), at.ip());
            let answer = "name addresses that each can reach (data=ADDRESS)";
            return Err(Refusal::new(format!("{tried}, and both hosts are other machines"), answer, "").into());
        }
    }
    // An agent next to the controller may have been reached over loopback, which
    // the other does not know it by.
    let own_a = if at_a.ip().is_loopback() && !at_b.ip().is_loopback() { route(a, at_b)?.source } else { own(a, at_a)? };
    let own_b = if at_b.ip().is_loopback() && !at_a.ip().is_loopback() { route(b, at_a)?.source } else { own(b, at_b)? };
    Ok([own_a, own_b])
}

/// The addresses of this machine and of an agent, each with its host's scope.
fn one_known(here: &mut RemoteHost, there: &mut RemoteHost, at: SocketAddr) -> Result<[SocketAddr; 2], HostError> {
    let source = route(here, at)?.source;
    if !is_link_local(at) {
        // Its own address has no scope: all that is asked of it can go out together.
        there.tell_ahead(&[ToHost::Route { to: scoped(at, 0) }, towards(at, source), ToHost::Cpus])?;
    }
    Ok([source, own(there, at)?])
}

/// The address of a host with its own scope, once the host says that it has it.
fn own(host: &mut RemoteHost, at: SocketAddr) -> Result<SocketAddr, HostError> {
    let found = route(host, scoped(at, 0))?;
    let is_own = found.device == LOOPBACK && (found.source.ip() == at.ip() || at.ip().is_loopback());
    if !is_own {
        let tried = format!("host {} was reached at {}, but it has no such address itself", host.name(), at.ip());
        let remedy = "name the address that it has and the other can reach (data=ADDRESS), without translation between them";
        return Err(Refusal::new(tried, "something translates addresses on the way", remedy).into());
    }
    Ok(SocketAddr::new(at.ip(), 0)).map(|address| scoped(address, scope(found.source)))
}

/// The device by which a host reaches the other.
fn device(host: &mut RemoteHost, own: SocketAddr, far: SocketAddr) -> Result<String, HostError> {
    Ok(route(host, scoped(far, scope(own)))?.device)
}

/// The question that [`device`] asks.
fn towards(own: SocketAddr, far: SocketAddr) -> ToHost {
    ToHost::Route { to: scoped(far, scope(own)) }
}

fn route(host: &mut RemoteHost, to: SocketAddr) -> Result<Route, HostError> {
    match host.command(&ToHost::Route { to })? {
        FromHost::Route(route) if route.source.is_ipv4() == to.is_ipv4() => Ok(route),
        other => Err(host.unexpected("a route", &other)),
    }
}

/// The scope of an address; 0 of one that needs none.
fn scope(address: SocketAddr) -> u32 {
    match address {
        SocketAddr::V6(v6) if is_link_local(address) => v6.scope_id(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::{is_literal, scope, scoped};

    fn socket(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn only_link_local_addresses_have_a_scope() {
        assert_eq!(scoped(socket("[fe80::1%7]:5"), 3), socket("[fe80::1%3]:5"));
        assert_eq!(scoped(socket("[2001:db8::1%7]:5"), 3), socket("[2001:db8::1]:5"));
        assert_eq!(scoped(socket("192.0.2.1:5"), 3), socket("192.0.2.1:5"));
        assert_eq!((scope(socket("[fe80::1%7]:5")), scope(socket("[2001:db8::1%7]:5")), scope(socket("192.0.2.1:5"))), (7, 0, 0));
    }

    #[test]
    fn addresses_are_told_from_names() {
        let literal = |text: &str| is_literal(&text.parse().unwrap());
        assert!(literal("192.0.2.1") && literal("fe80::1%lo") && literal("[2001:db8::1]:7"));
        assert!(!literal("db1") && !literal("db1.example.net:7"));
    }
}
