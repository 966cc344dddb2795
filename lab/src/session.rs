//! The two hosts of a study and the link between them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use model::control::{FromHost, LinkEnd, ToHost};
use model::host::HostFacts;
use model::plan::{Link, LinkKind};
use model::warning::Warning;
use model::{Family, Role};

use crate::host::cpu::{self, Placement, Topology};
use crate::host::link::{FAR_MAC, NEAR_MAC};
use crate::remote::{HostError, RemoteHost};

/// The device at each end of the link.
const DEVICE: &str = "nettoll0";
/// The hosts' addresses: documentation networks (RFC 5737, RFC 3849), which
/// no real network uses.
const ADDRESSES_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const ADDRESSES_V6: [Ipv6Addr; 2] = [Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)];
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 64;

/// Where one end of a trial is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    addresses: (Ipv4Addr, Ipv6Addr),
    /// The CPU of its traffic thread.
    pub cpu: Option<u32>,
    /// The kernel thread that takes over softirq work of that CPU.
    pub ksoftirqd: Option<u32>,
    /// Whether the kernel takes interrupt time out of process time.
    pub irq_time_subtracted: bool,
}

impl Place {
    /// Its address in a family.
    pub const fn address(&self, family: Family) -> IpAddr {
        match family {
            Family::V4 => IpAddr::V4(self.addresses.0),
            Family::V6 => IpAddr::V6(self.addresses.1),
        }
    }
}

/// Two hosts, joined. Dropped, they and everything made for them vanish.
#[derive(Debug)]
pub struct Session {
    hosts: [RemoteHost; 2],
    places: [Place; 2],
    device: &'static str,
    isolated: bool,
    facts: Vec<HostFacts>,
    warnings: Vec<Warning>,
}

impl Session {
    /// Makes the hosts and joins them by `link`.
    ///
    /// A virtual Ethernet needs namespaces: those of root, or else those of a
    /// user namespace, or else there is no link, only loopback and a warning.
    ///
    /// # Errors
    /// What kept even loopback from working, or the link from being as asked.
    pub fn open(link: &Link) -> Result<Self, HostError> {
        let mut warnings = Vec::new();
        let linked = match link.kind {
            LinkKind::Loopback => None,
            LinkKind::Veth => start_linked(&mut warnings)?,
        };
        let isolated = linked.is_some();
        let hosts = match linked {
            Some(hosts) => hosts,
            None => [RemoteHost::start("a", "none")?, RemoteHost::start("b", "none")?],
        };
        let placement = Topology::read().choose();
        if placement.a == placement.b {
            warnings.push(Warning::OneCpu);
        }
        let device = if isolated { DEVICE } else { "lo" };
        let mut session = Self { hosts, places: places(placement, isolated), device, isolated, facts: Vec::new(), warnings };
        if isolated {
            session.configure(link)?;
        }
        session.facts = session.gather_facts()?;
        for (place, facts) in session.places.iter_mut().zip(&session.facts) {
            place.irq_time_subtracted = facts.irq_time_subtracted == Some(true) && placement.a != placement.b;
        }
        session.warnings.extend(session.blind_spots());
        Ok(session)
    }

    /// Brings both ends of the link up as asked.
    fn configure(&mut self, link: &Link) -> Result<(), HostError> {
        let macs = [NEAR_MAC, FAR_MAC];
        // Both at once: neither end comes up before the other.
        for (at, host) in self.hosts.iter_mut().enumerate() {
            host.tell(&ToHost::Configure(Box::new(link_end(link, at, macs[1 - at]))))?;
        }
        for host in &mut self.hosts {
            let FromHost::Configured { unset } = host.answer()? else { continue };
            let known = self.warnings.iter().any(|warning| matches!(warning, Warning::Absent { .. }));
            if let (Some((_, answer)), false) = (unset.first(), known) {
                self.warnings.push(unset_settings(&unset, answer));
            }
        }
        Ok(())
    }

    /// What cannot be seen of the ends' CPU time on this machine.
    fn blind_spots(&self) -> Vec<Warning> {
        let mut spots = Vec::new();
        let one_cpu = self.warnings.contains(&Warning::OneCpu);
        if !one_cpu && self.places.iter().any(|place| place.ksoftirqd.is_none()) {
            spots.push(Warning::Absent {
                what: "the CPU time of ksoftirqd".to_owned(),
                answer: "no such thread in /proc".to_owned(),
                remedy: "Run outside the container's pid namespace; until then service demand leaves this time out.".to_owned(),
            });
        }
        if self.facts.iter().any(|facts| facts.irq_time_subtracted.is_none()) {
            spots.push(Warning::Absent {
                what: "whether interrupt time is taken out of process time".to_owned(),
                answer: "the probe needs UDP over loopback".to_owned(),
                remedy: "Bring loopback up; until then service demand may leave interrupt time out.".to_owned(),
            });
        }
        spots
    }

    /// The facts of both hosts as they are now.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn gather_facts(&mut self) -> Result<Vec<HostFacts>, HostError> {
        let mut all = Vec::new();
        for (host, place) in self.hosts.iter_mut().zip(&self.places) {
            let command = ToHost::Facts { device: self.device.to_owned(), endpoint_cpus: place.cpu.into_iter().collect() };
            match host.command(&command)? {
                FromHost::Facts(facts) => all.push(*facts),
                other => return Err(host.unexpected("facts", &other)),
            }
        }
        Ok(all)
    }

    /// The facts of both hosts before the first trial.
    pub fn facts(&self) -> &[HostFacts] {
        &self.facts
    }

    /// What is to be known of every trial.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// An end could not be bound to its CPU. Said once.
    pub fn note_not_bound(&mut self, reason: String) {
        let warning = Warning::NotBound { reason };
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Takes over what an earlier session of the same study had to say.
    pub fn inherit(&mut self, warnings: Vec<Warning>) {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// Whether trials of this session and of `other` may stand in one cell.
    pub fn is_like(&self, other: &Self) -> bool {
        let cpus = |session: &Self| session.places.each_ref().map(|place| place.cpu);
        (self.isolated, self.device, cpus(self)) == (other.isolated, other.device, cpus(other))
    }

    /// Whether the hosts' counters are of nothing but the trials.
    pub const fn is_isolated(&self) -> bool {
        self.isolated
    }

    /// The device that the traffic has to take.
    pub const fn device(&self) -> &'static str {
        self.device
    }

    /// Both hosts.
    pub const fn hosts(&mut self) -> &mut [RemoteHost; 2] {
        &mut self.hosts
    }

    /// The host of a role; `swapped` exchanges them.
    pub const fn host(&mut self, role: Role, swapped: bool) -> &mut RemoteHost {
        &mut self.hosts[index(role, swapped)]
    }

    /// Where the end of a role is.
    pub const fn place(&self, role: Role, swapped: bool) -> &Place {
        &self.places[index(role, swapped)]
    }

    /// The cost of the tool's own loop where a role is, in ns per message.
    pub fn loop_overhead_ns(&self, role: Role, swapped: bool) -> f64 {
        self.facts.get(index(role, swapped)).map_or(0.0, |facts| facts.loop_overhead_ns)
    }
}

/// Host `a` sends unless the roles are exchanged.
const fn index(role: Role, swapped: bool) -> usize {
    match (role, swapped) {
        (Role::Sender, false) | (Role::Receiver, true) => 0,
        (Role::Sender, true) | (Role::Receiver, false) => 1,
    }
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

fn places(placement: Placement, isolated: bool) -> [Place; 2] {
    // Of a CPU that both ends share, no kernel thread is one end's alone.
    let apart = placement.a != placement.b;
    let place = |at: usize, cpu: u32| {
        let loopback = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        let addresses = if isolated { (ADDRESSES_V4[at], ADDRESSES_V6[at]) } else { loopback };
        Place { addresses, cpu: Some(cpu), ksoftirqd: cpu::ksoftirqd_pid(cpu).filter(|_| apart), irq_time_subtracted: false }
    };
    [place(0, placement.a), place(1, placement.b)]
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
