//! The two hosts of a study and the way between them.

mod cpus;
mod cross_traffic;
pub(crate) mod crowd;
mod join;
mod network;
mod own_link;
mod setting;
pub(crate) mod turn;

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use model::control::{CpuPlace, FlowHost, FromHost, ToHost};
use model::host::HostFacts;
use model::kernel::WireCounters;
use model::plan::{ApprovedPlan, HOST_NAMES};
use model::silence::between_machines;
use model::trial::{ClockOffset, ControlPath};
use model::wakeups::WakeupCost;
use model::warning::Warning;
use model::{Cell, Family, Nanos, Plan, Refusal, Role};

use crate::clock::{ClockWatch, Sight};
use crate::connection::Credentials;
use crate::error::TrialError;
use crate::event::Listener;
use crate::host::cpu;
use crate::remote::{HostError, RemoteHost, scoped};

use crowd::Crowd;

pub use cross_traffic::{Flows, Pair};
pub(crate) use join::{JoinFailure, KnownHost};
pub(crate) use network::device_towards;
pub(crate) use own_link::Bare;
pub use setting::Setting;

/// Time that a relay may take to deliver what is in flight at the end of a trial.
const SETTLE_LIMIT: Duration = Duration::from_secs(2);
/// And how often it is asked.
const SETTLE_STEP: Duration = Duration::from_millis(1);

/// One host's way to the other in one family.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Way {
    /// Its own address, with its own scope; port 0.
    own: SocketAddr,
    /// The scope that it uses for the other's link-local address.
    far_scope: u32,
    /// The device that its messages take.
    device: String,
}

/// One host's ways to the other; at most one of each family, and none in a family that no cell needs.
type Ways = Vec<Way>;

fn way_of(ways: &[Way], family: Family) -> Option<&Way> {
    ways.iter().find(|way| way.own.is_ipv4() == (family == Family::V4))
}

/// Hosts that are up and can reach each other.
struct Found {
    hosts: [RemoteHost; 2],
    /// The process that holds what lies between them, if anything does.
    wire: Option<RemoteHost>,
    /// Other hosts on the same link.
    pairs: Vec<Pair>,
    ways: [Ways; 2],
    isolated: bool,
    apart: bool,
    warnings: Vec<Warning>,
}

/// Place of one end of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndCpus {
    ways: Ways,
    cpus: Vec<CpuPlace>,
    /// `true` if the kernel takes interrupt time out of process time.
    pub irq_time_subtracted: bool,
}

impl EndCpus {
    /// Its address in a family, with its scope and port 0.
    pub fn address(&self, family: Family) -> Option<SocketAddr> {
        way_of(&self.ways, family).map(|way| way.own)
    }

    /// The other's address as this host has to write it: a link-local one bears
    /// this host's scope.
    pub fn scoped(&self, other: SocketAddr) -> SocketAddr {
        let family = if other.is_ipv4() { Family::V4 } else { Family::V6 };
        scoped(other, way_of(&self.ways, family).map_or(0, |way| way.far_scope))
    }

    /// The device that its messages take.
    pub fn device(&self, family: Family) -> &str {
        way_of(&self.ways, family).or(self.ways.first()).map_or(crate::host::link::LOOPBACK, |way| &way.device)
    }

    /// Leaves its first CPUs to so many other ends, as far as it has others.
    fn pass_over(&mut self, ends: usize) {
        let by = ends.checked_rem(self.cpus.len()).unwrap_or(0);
        self.cpus.rotate_left(by);
    }

    /// The CPUs of its traffic threads, for as many flows.
    pub fn cpus(&self, flows: u32) -> &[CpuPlace] {
        &self.cpus[..self.cpus.len().min(flows as usize)]
    }
}

/// Two hosts, joined. Dropped, they and everything made for them vanish; agents
/// are free for others.
#[derive(Debug)]
pub struct Session {
    hosts: [RemoteHost; 2],
    wire: Option<RemoteHost>,
    pairs: Vec<Pair>,
    /// Bulk flows between the two.
    bulk: Flows,
    places: [EndCpus; 2],
    /// The places as the session chose them, where an arm's stand in their stead.
    usual: Option<[EndCpus; 2]>,
    /// Ends of other sessions on the hosts, which have the first CPUs.
    ends_before: [usize; 2],
    /// The CPUs that the hosts offer.
    offered: [Vec<CpuPlace>; 2],
    most_flows: u32,
    isolated: bool,
    apart: bool,
    facts: Vec<HostFacts>,
    /// Distance of samples at which they keep to their cost at both hosts, once that was measured.
    pub(crate) sample_period: Option<Nanos>,
    warnings: Vec<Warning>,
    /// The machines of the side that has several; `None` where each side is one host.
    pub(crate) crowd: Option<Box<Crowd>>,
}

impl Session {
    /// Makes the hosts of a plan and the first of its links, or reaches the hosts
    /// that it names. See [`Self::open_as`].
    ///
    /// # Errors
    /// Likewise.
    pub fn open(plan: &ApprovedPlan, credentials: &Credentials, listener: &mut dyn Listener) -> Result<Self, TrialError> {
        Self::open_as(&Setting::first(plan), plan, credentials, listener)
    }

    /// Makes the hosts and the link that some trials of a plan need, or reaches
    /// those that are named. The listener
    /// hears of [`Event::Waiting`](crate::Event::Waiting), for whoever asks an
    /// agent for its facts waits for its turn, and may give up there.
    ///
    /// # Errors
    /// What kept even loopback from working, the link from being as asked, an
    /// agent from being reached, or the two hosts from reaching each other.
    pub(crate) fn open_as(
        setting: &Setting,
        plan: &Plan,
        credentials: &Credentials,
        listener: &mut dyn Listener,
    ) -> Result<Self, TrialError> {
        let plan = &setting.placed(plan);
        let mut session = Self::open_pair(HOST_NAMES, setting.pairs, plan, credentials, listener)?;
        session.crowd = Crowd::open(plan, &mut session, credentials, listener)?;
        if let Some(crowd) = &session.crowd {
            let (facts, warnings) = (crowd.facts(), crowd.warnings());
            session.facts.extend(facts);
            session.inherit(warnings);
        }
        Ok(session)
    }

    /// Makes or reaches the two hosts of these names, with `pairs` of others on a link that is made.
    fn open_pair(
        names: [&str; 2],
        pairs: u32,
        plan: &Plan,
        credentials: &Credentials,
        listener: &mut dyn Listener,
    ) -> Result<Self, TrialError> {
        let found = match plan.hosts.is_empty() {
            true => own_link::make(&plan.link, plan.seed, pairs)?,
            false => network::reach(names, plan, credentials, listener)?,
        };
        let mut session = Self::of(found, plan);
        let offered = if plan.hosts.is_empty() { [cpu::offered(), cpu::offered()] } else { session.offered_cpus()? };
        session.offered = offered.clone();
        let known = session.is_one_machine();
        session.share_cpus(plan, offered.clone(), known)?;
        session.in_turn(listener, |session| session.settle(plan, offered, known))?;
        session.conclude(!plan.hosts.is_empty());
        Ok(session)
    }

    /// Two hosts of which nothing is known yet but their ways.
    fn of(found: Found, plan: &Plan) -> Self {
        let Found { hosts, wire, pairs, ways, isolated, apart, warnings } = found;
        Self {
            hosts,
            wire,
            pairs,
            bulk: Flows::NONE,
            places: ways.map(|ways| EndCpus { ways, cpus: Vec::new(), irq_time_subtracted: false }),
            usual: None,
            ends_before: [0; 2],
            offered: Default::default(),
            most_flows: plan.cells_run().iter().map(|cell| cell.flows).max().unwrap_or(1),
            isolated,
            apart,
            facts: Vec::new(),
            sample_period: None,
            warnings,
            crowd: None,
        }
    }

    /// Draws conclusions from the facts and the shares of CPUs; `named` hosts may turn out to be one machine.
    fn conclude(&mut self, named: bool) {
        if named && self.is_one_machine() {
            let device = self.places[0].ways.first().map_or_else(String::new, |way| way.device.clone());
            self.warnings.push(Warning::SameMachine { device });
        }
        self.share_interrupts();
        let spots = self.blind_spots();
        self.warnings.extend(spots);
    }

    /// The CPUs that both hosts offer.
    fn offered_cpus(&mut self) -> Result<[Vec<CpuPlace>; 2], HostError> {
        let mut offered = [Vec::new(), Vec::new()];
        self.hosts.iter_mut().try_for_each(|host| host.tell_ahead(&[ToHost::Cpus]))?;
        for (host, offered) in self.hosts.iter_mut().zip(&mut offered) {
            *offered = match host.command(&ToHost::Cpus)? {
                FromHost::Cpus(places) if !places.is_empty() => places,
                other => return Err(host.unexpected("CPUs", &other)),
            };
        }
        Ok(offered)
    }

    /// Gathers the facts, and shares the CPUs out again where they show more than was `known`.
    fn settle(&mut self, plan: &Plan, offered: [Vec<CpuPlace>; 2], known: bool) -> Result<(), HostError> {
        self.facts = self.ask_for_facts()?;
        if !known && self.is_one_machine() {
            self.share_cpus(plan, offered, true)?;
            self.facts = self.ask_for_facts()?;
        }
        Ok(())
    }

    /// Has the agents to itself meanwhile: what gathers facts, which is the `work`, takes CPU time
    /// from whatever else runs there.
    fn in_turn<T>(&mut self, listener: &mut dyn Listener, work: impl FnOnce(&mut Self) -> Result<T, HostError>) -> Result<T, TrialError> {
        let facts = self.questions_for_facts().map(|question| vec![question]);
        turn::take(self, listener, &facts, 1)?;
        let done = work(self);
        turn::give_back(self);
        Ok(done?)
    }

    fn share_cpus(&mut self, plan: &Plan, mut offered: [Vec<CpuPlace>; 2], one_machine: bool) -> Result<(), HostError> {
        for (host, offered) in self.hosts.iter().zip(&mut offered) {
            let chosen = cpus::chosen(std::mem::take(offered), plan.cpus.get(host.name()));
            *offered = chosen.map_err(|error| host.refused(error))?;
        }
        let shares = cpus::share(offered, one_machine);
        if one_machine && cpus::overlap(&shares) {
            self.warnings.push(Warning::OneCpu);
        }
        for (place, share) in self.places.iter_mut().zip(shares) {
            place.cpus = share;
        }
        Ok(())
    }

    /// Returns whether both hosts run on one machine, as far as it is known.
    fn is_one_machine(&self) -> bool {
        let same_agent = match self.hosts.each_ref().map(RemoteHost::agent) {
            [Some(a), Some(b)] => a.id.id == b.id.id,
            [None, None] => true,
            _ => false,
        };
        let [a, b] = self.hosts.each_ref().map(RemoteHost::boot);
        let boots = || matches!(&self.facts[..], [a, b] if !a.boot.is_empty() && a.boot == b.boot);
        same_agent || (!a.is_empty() && a == b) || boots()
    }

    /// Returns what cannot be seen of the ends' CPU time.
    fn blind_spots(&self) -> Vec<Warning> {
        let mut spots = Vec::new();
        let one_cpu = self.warnings.contains(&Warning::OneCpu);
        let unseen = |place: &EndCpus| place.cpus(self.most_flows).iter().any(|cpu| cpu.ksoftirqd.is_none());
        if !one_cpu && self.places.iter().any(unseen) {
            spots.push(Warning::Absent(Refusal {
                what: "the CPU time of ksoftirqd".to_owned(),
                answer: "no such thread in /proc".to_owned(),
                remedy: "Run outside the container's pid namespace; until then service demand leaves this time out.".to_owned(),
            }));
        }
        if self.facts.iter().any(|facts| facts.irq_time_subtracted.is_none()) {
            spots.push(Warning::Absent(Refusal {
                what: "whether interrupt time is taken out of process time".to_owned(),
                answer: "the probe needs UDP over loopback".to_owned(),
                remedy: "Bring loopback up; until then service demand may leave interrupt time out.".to_owned(),
            }));
        }
        spots
    }

    /// The facts of both hosts as they are now. Of an agent they are asked for
    /// in this controller's turn, so that they disturb no other's trial.
    ///
    /// # Errors
    /// See [`TrialError`].
    pub fn gather_facts(&mut self, listener: &mut dyn Listener) -> Result<Vec<HostFacts>, TrialError> {
        let mut facts = self.in_turn(listener, Self::ask_for_facts)?;
        facts.extend(self.crowd.iter_mut().flat_map(|crowd| crowd.gather_facts(listener)));
        Ok(facts)
    }

    /// Ends the control connections of all its hosts.
    pub(crate) fn hang_up(&mut self) {
        self.hosts.iter_mut().for_each(RemoteHost::hang_up);
        self.crowd.iter_mut().for_each(|crowd| crowd.hang_up());
    }

    /// Has the end of a side bound to other CPUs than so many ends before it, as far as its host has as many.
    fn use_other_cpus(&mut self, side: usize, before: usize) {
        self.ends_before[side] = before;
        self.places[side].pass_over(before);
    }

    fn ask_for_facts(&mut self) -> Result<Vec<HostFacts>, HostError> {
        let (questions, mut all) = (self.questions_for_facts(), Vec::new());
        // Far hosts at once; those of this machine one after the other, since what they measure for it takes its CPUs.
        let apart = !self.is_one_machine();
        for (host, question) in self.hosts.iter_mut().zip(&questions).filter(|(host, _)| apart && host.agent().is_some()) {
            host.tell_ahead(std::slice::from_ref(question))?;
        }
        for (host, question) in self.hosts.iter_mut().zip(&questions) {
            match host.command(question)? {
                FromHost::Facts(facts) => all.push(HostFacts { name: host.name().to_owned(), ..*facts }),
                other => return Err(host.unexpected("facts", &other)),
            }
        }
        Ok(all)
    }

    fn questions_for_facts(&self) -> [ToHost; 2] {
        self.places.each_ref().map(|place| ToHost::Facts {
            device: place.ways.first().map_or_else(String::new, |way| way.device.clone()),
            endpoint_cpus: place.cpus(self.most_flows).iter().map(|cpu| cpu.cpu).collect(),
        })
    }

    /// The facts of both hosts before the first trial.
    pub fn facts(&self) -> &[HostFacts] {
        &self.facts
    }

    /// Returns what is to be known of every trial.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// An end could not be bound to its CPU. Said once.
    pub fn note_not_bound(&mut self, reason: String) {
        self.inherit(vec![Warning::NotBound { reason }]);
    }

    /// Takes over what is known next to what this session found itself, such as
    /// what an earlier session of the same study had to say. Each is said once.
    pub fn inherit(&mut self, warnings: Vec<Warning>) {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// Returns whether trials of this session and of `other` may stand in one cell.
    pub fn is_like(&self, other: &Self) -> bool {
        let places = |session: &Self| session.places.each_ref().map(|place| (place.ways.clone(), place.cpus.clone()));
        (self.isolated, self.apart, places(self)) == (other.isolated, other.apart, places(other))
    }

    /// Returns whether the hosts' counters are of nothing but the trials.
    pub const fn is_isolated(&self) -> bool {
        self.isolated
    }

    /// Returns whether the hosts were given and have counters of their own each.
    pub const fn is_apart(&self) -> bool {
        self.apart
    }

    /// Returns how far the hosts are from here; `None` where this machine made both.
    pub fn control_path(&self) -> Option<ControlPath> {
        self.hosts.iter().any(|host| host.agent().is_some()).then(|| {
            let rtt = Nanos::from(self.hosts[0].rtt().max(self.hosts[1].rtt()));
            ControlPath { rtt, silence: between_machines(rtt) }
        })
    }

    /// Returns the addresses of hosts a and b that messages take, in each family, where
    /// nettoll had to find them: behind a command none was named.
    pub fn found_addresses(&self) -> Vec<[IpAddr; 2]> {
        let found = |host: &RemoteHost| host.agent().is_some_and(|agent| agent.at.agent().is_none() && agent.at.data().is_none());
        if !self.hosts.iter().any(found) {
            return Vec::new();
        }
        let [a, b] = &self.places;
        let of = |family| Some([a.address(family)?.ip(), b.address(family)?.ip()]);
        [Family::V4, Family::V6].into_iter().filter_map(of).collect()
    }

    /// The receiver's clock against the sender's, each as `of` says that it is at `now`; `None`
    /// where this machine made both hosts, which read one clock.
    pub fn clock(&mut self, swapped: bool, now: Nanos, of: fn(&ClockWatch, Nanos) -> Sight) -> Option<ClockOffset> {
        if self.hosts.iter().all(|host| host.agent().is_none()) {
            return None;
        }
        let [receiver, sender] = [Role::Receiver, Role::Sender].map(|role| of(self.host(role, swapped).clock(), now));
        Some(receiver.less(sender))
    }

    /// Returns what the wire between the hosts did with frames so far; `None` where there
    /// is none that could tell.
    ///
    /// # Errors
    /// See [`HostError`]: a relay that has ended is a loss of its host.
    pub fn wire_counters(&mut self) -> Result<Option<WireCounters>, HostError> {
        let Some(wire) = &mut self.wire else { return Ok(None) };
        match wire.command(&ToHost::WireCounters)? {
            FromHost::Wire(counters) => Ok(Some(counters)),
            other => Err(wire.unexpected("the wire's counters", &other)),
        }
    }

    /// The same once nothing is in flight on it any more, as far as that is
    /// soon: what is still to come would be in no count.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn settled_wire(&mut self) -> Result<Option<WireCounters>, HostError> {
        let deadline = Instant::now() + SETTLE_LIMIT;
        let mut before = self.wire_counters()?;
        while before.is_some_and(|before| before.handed > 0) && Instant::now() < deadline {
            std::thread::sleep(SETTLE_STEP);
            let after = self.wire_counters()?;
            if after == before && after.is_some_and(|after| after.under_way() == 0) {
                break;
            }
            before = after;
        }
        Ok(before)
    }

    /// The pairs of other hosts on its link.
    pub fn pairs(&mut self) -> &mut [Pair] {
        &mut self.pairs
    }

    /// The hosts over which the flows of an end are spread; none where they are all at one.
    pub fn flow_hosts(&self, role: Role, swapped: bool, cell: &Cell) -> Vec<FlowHost> {
        let (side, others) = (index(role, swapped), cell.hosts(role).saturating_sub(1) as usize);
        let place = self.places[side].address(cell.family);
        let own = place.map(|own| FlowHost { pid: self.hosts[side].pid(), local: own.ip() });
        let others: Vec<_> = self.pairs.iter().take(others).filter_map(|pair| pair.flow_host(side, cell.family)).collect();
        if others.is_empty() { others } else { own.into_iter().chain(others).collect() }
    }

    /// Those of them that are no host of the trial's two.
    pub fn other_hosts(&mut self, role: Role, swapped: bool, cell: &Cell) -> impl Iterator<Item = &mut RemoteHost> {
        let (side, others) = (index(role, swapped), cell.hosts(role).saturating_sub(1) as usize);
        self.pairs.iter_mut().take(others).map(move |pair| pair.host(side))
    }

    /// The host of the sender and that of the receiver, and what is known of bulk
    /// flows between them.
    pub const fn bulk(&mut self, swapped: bool) -> (&mut RemoteHost, &mut RemoteHost, &mut Flows) {
        let [a, b] = &mut self.hosts;
        if swapped { (b, a, &mut self.bulk) } else { (a, b, &mut self.bulk) }
    }

    /// Both hosts.
    pub const fn hosts(&mut self) -> &mut [RemoteHost; 2] {
        &mut self.hosts
    }

    /// The host of a role; `swapped` exchanges them.
    pub const fn host(&mut self, role: Role, swapped: bool) -> &mut RemoteHost {
        &mut self.hosts[index(role, swapped)]
    }

    /// Returns where the end of a role is.
    pub const fn place(&self, role: Role, swapped: bool) -> &EndCpus {
        &self.places[index(role, swapped)]
    }

    /// What a wake-up of an end is billed before it runs. On a CPU that both ends share no end is woken while it is idle.
    pub fn wakeup_cost(&self, role: Role, swapped: bool, cell: &Cell) -> Option<WakeupCost> {
        let facts = self.facts.get(index(role, swapped)).filter(|_| !self.warnings.contains(&Warning::OneCpu))?;
        facts.wakeups?.of_end(cell, role)
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
