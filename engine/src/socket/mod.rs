//! The sockets of one trial: opened, set, joined to their peers, read back.

mod accept;
mod connect;
pub mod cookie;
pub mod ktls;
mod options;
mod passed;
mod sctp;
mod udp;
mod unproven;

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use model::control::{Task, ToEndpoint};
use model::end::FlowAddresses;
use model::{Family, Mix, Over, Protocol, Role, Test};
use nix::poll::PollFd;
use nix::sched::{CloneFlags, setns};
use socket2::{Domain, SockRef, Socket, Type};

use crate::api::Carrier;
use crate::channel::Receiver;
use crate::deadline::Deadline;
use crate::error::{EndpointError, SocketError};
use cookie::Proof;

pub use options::{options, with_end};
pub use passed::{End, pair};
pub use udp::{forget_greetings, greet};

/// Time that a blocked call sleeps before it looks at the stage again, should
/// the signal that wakes it come too early.
const BACKSTOP: Duration = Duration::from_millis(50);
/// Time that two ends of a trial may take to find each other.
const JOIN_LIMIT: Duration = Duration::from_secs(10);

/// Sockets that are bound, one a flow, or the listener of all of them.
#[derive(Debug)]
pub struct BoundSockets {
    sockets: Vec<Socket>,
}

/// A flow for a traffic thread, of which the other end has shown,
/// or been shown, the cookie.
#[derive(Debug)]
pub struct FlowEnd {
    /// Connected to the other end.
    pub socket: OwnedFd,
    /// Listener for transactions that each have a connection (`TCP_CRR`): what
    /// the answerer takes them from, with the time limits that they are to have.
    /// Whoever is not where `socket`'s other end is
    /// has no business there.
    pub listener: Option<OwnedFd>,
    /// The pipe or the memory that joins the ends, where no socket does.
    pub passed: Option<Carrier>,
    /// Sizes of the messages of a mix, in their order; `None` leaves it to the
    /// traffic thread to work them out.
    pub sizes: Option<Vec<u32>>,
}

impl From<OwnedFd> for FlowEnd {
    fn from(socket: OwnedFd) -> Self {
        Self { socket, listener: None, passed: None, sizes: None }
    }
}

impl From<End> for FlowEnd {
    fn from(End { socket, passed }: End) -> Self {
        Self { passed, ..Self::from(socket) }
    }
}

/// Opens, sets and binds the sockets of a task; a TCP listener listens. The
/// first has the port that the task asks for, if any, and the others those
/// that follow.
///
/// # Errors
/// A refusal of the system.
pub fn open(task: &Task) -> Result<BoundSockets, SocketError> {
    let sockets = (0..sockets_of(task)).map(|number| open_one(task, number)).collect::<Result<_, _>>()?;
    Ok(BoundSockets { sockets })
}

/// All connections come to one listener, or to one at each of several hosts, except where each transaction has one.
fn sockets_of(task: &Task) -> u32 {
    if listens(task) && task.cell.test != Test::TcpCrr { task.cell.hosts(task.role) } else { flows_of(task) }
}

/// The protocol over which the ends of a task find each other.
fn transport(task: &Task) -> Protocol {
    if task.cell.api.over().is_local() { Protocol::Tcp } else { task.cell.protocol() }
}

/// The part of this end in a flow: on the way back it is the other one.
fn role_of(task: &Task, flow: usize) -> Role {
    if flow < task.cell.flows as usize { task.role } else { task.role.other() }
}

/// Flows of both ways.
pub fn flows_of(task: &Task) -> u32 {
    task.cell.threads()
}

/// Opens a socket of the host that has its flow, and comes back.
fn open_one(task: &Task, number: u32) -> Result<Socket, SocketError> {
    match task.host_of(number) {
        None => open_at(task, number, task.local),
        Some(host) => stay_at(host.pid, || open_at(task, number, SocketAddr::new(host.local, task.local.port()))),
    }
}

/// Does `work` in the network namespace of a process: a socket that it opens stays there.
fn stay_at<T>(pid: u32, work: impl FnOnce() -> Result<T, SocketError>) -> Result<T, SocketError> {
    let there = format!("/proc/{pid}/ns/net");
    let enter = |namespace: &File| -> io::Result<()> { Ok(setns(namespace, CloneFlags::CLONE_NEWNET)?) };
    let refused = |answer| SocketError::new(format!("enter the network namespace of another host (setns {there})"), answer);
    let own = File::open("/proc/thread-self/ns/net").map_err(refused)?;
    File::open(&there).and_then(|namespace| enter(&namespace)).map_err(refused)?;
    let done = work();
    enter(&own).map_err(|answer| SocketError::new("come back from the network namespace of another host (setns)", answer))?;
    done
}

fn open_at(task: &Task, number: u32, mut local: SocketAddr) -> Result<Socket, SocketError> {
    let (protocol, over) = (transport(task), task.cell.api.over());
    let domain = match task.cell.family {
        Family::V4 => Domain::IPV4,
        Family::V6 => Domain::IPV6,
    };
    let kind = match protocol {
        Protocol::Tcp => Type::STREAM,
        Protocol::Udp => Type::DGRAM,
    };
    let other = other_than_tcp(over);
    let refused = |answer| match other {
        Some((_, lack)) => SocketError::new(lack, answer),
        None => SocketError::new(format!("socket {}", protocol.name()), answer),
    };
    let socket = Socket::new(domain, kind, other.map(|(transport, _)| transport)).map_err(refused)?;
    if !over.is_local() {
        options::set(&socket, task)?;
    }
    if local.port() != 0 {
        // At a host of its own a listener has the first.
        let after = if task.hosts.is_empty() || !listens(task) { number } else { 0 };
        let port = u16::try_from(u32::from(local.port()) + after);
        let none_left =
            |_| SocketError::new(format!("bind port {} and those after it", local.port()), io::Error::other("they end at 65535"));
        local.set_port(port.map_err(none_left)?);
        reuse(&socket, protocol)?;
    }
    if let (Some(addresses), false) = (&task.cell.xbind, listens(task)) {
        sctp::bind(&socket, addresses.all(), local.port())?;
    } else if local.port() == 0 && task.cell.is_unconnected() {
        bind_to_stay(&socket, domain, local)?;
    } else {
        bind(&socket, local)?;
    }
    if listens(task) {
        if task.cell.test == Test::TcpCrr {
            // A connection has the limits that its listener had when it came, which
            // may be long before it is taken (`sk_clone_lock` in the kernel).
            limit_calls(&socket, task)?;
        }
        // The queue holds strangers as well as all flows at once.
        let queue = i32::try_from(flows_of(task).saturating_add(128)).unwrap_or(i32::MAX);
        socket.listen(queue).map_err(|answer| SocketError::new(format!("listen on {local}"), answer))?;
    }
    Ok(socket)
}

/// The protocol of a stream over the link that is not TCP, and what a kernel lacks that
/// refuses it.
pub const fn other_than_tcp(over: Over) -> Option<(socket2::Protocol, &'static str)> {
    match over {
        Over::Mptcp => Some((socket2::Protocol::MPTCP, "this kernel has no MPTCP, or net.mptcp.enabled is 0")),
        Over::Sctp => Some((socket2::Protocol::SCTP, "this kernel has no SCTP (CONFIG_IP_SCTP), or has not loaded it (`modprobe sctp`)")),
        _ => None,
    }
}

fn bind(socket: &Socket, local: SocketAddr) -> Result<(), SocketError> {
    socket.bind(&local.into()).map_err(|answer| SocketError::new(format!("bind {local}"), answer))
}

/// Binds a UDP socket to a free port, by its number: one that the kernel chose for it goes
/// when the socket is disconnected, and what comes before it is bound again is refused
/// (`__udp_disconnect()` in the kernel's net/ipv4/udp.c).
fn bind_to_stay(socket: &Socket, domain: Domain, local: SocketAddr) -> Result<(), SocketError> {
    /// Somebody else may take the port meanwhile.
    const TRIES: u32 = 8;
    let free = || {
        let other = Socket::new(domain, Type::DGRAM, None).map_err(|answer| SocketError::new("socket UDP", answer))?;
        bind(&other, local)?;
        address(&other)
    };
    (1..TRIES).find_map(|_| free().and_then(|chosen| bind(socket, chosen)).ok()).map_or_else(|| bind(socket, free()?), Ok)
}

/// Lets the next trial have a port of which connections of the last one still
/// wait for their end. A port that somebody listens on stays taken.
fn reuse(socket: &Socket, protocol: Protocol) -> Result<(), SocketError> {
    match protocol {
        Protocol::Tcp => socket.set_reuse_address(true).map_err(|answer| SocketError::new("setsockopt(SO_REUSEADDR)", answer)),
        Protocol::Udp => Ok(()),
    }
}

/// Addresses that sockets are bound to: a TCP endpoint has one address at each of its hosts, one of UDP or of
/// `TCP_CRR` one a flow.
///
/// # Errors
/// A refusal of the system.
pub fn addresses(opened: &BoundSockets, task: &Task) -> Result<Vec<SocketAddr>, SocketError> {
    let one = transport(task) == Protocol::Tcp && task.cell.test != Test::TcpCrr;
    opened.sockets.iter().take(if one { task.cell.hosts(task.role) as usize } else { usize::MAX }).map(address).collect()
}

/// The addresses of every flow that a connection of its own carries; none where one of
/// them has no IP addresses.
pub fn addresses_of_flows(flows: &[FlowEnd], task: &Task) -> Vec<FlowAddresses> {
    let one = |flow: &FlowEnd| {
        let socket = SockRef::from(&flow.socket);
        let [local, remote] = [socket.local_addr(), socket.peer_addr()].map(|address| address.ok().and_then(|address| address.as_socket()));
        // What a descriptor carries does not go between them.
        let carries = !matches!(flow.passed, Some(Carrier::Descriptor(_)));
        Some(FlowAddresses { local: canonical(local?), remote: canonical(remote?) }).filter(|_| carries)
    };
    let lasting = if task.cell.test == Test::TcpCrr { &[] } else { flows };
    lasting.iter().map(one).collect::<Option<_>>().unwrap_or_default()
}

/// IPv4 itself, also where a socket of IPv6 carries it.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn address(socket: &Socket) -> Result<SocketAddr, SocketError> {
    let unknown = || io::Error::other("not an IP address");
    let address = socket.local_addr().map_err(|answer| SocketError::new("getsockname", answer))?;
    address.as_socket().ok_or_else(|| SocketError::new("getsockname", unknown()))
}

/// Joins the sockets to the other end's: connects and waits until that has shown
/// the cookie, or waits for who comes and shows it. Flow `i` connects to
/// `peers[i]`, or, where there is one for each host of the other end, to the host that has it.
///
/// # Errors
/// A refusal of the system, no caller, or the loss of the host.
pub fn join(
    opened: BoundSockets,
    task: &Task,
    peers: &[SocketAddr],
    control: &Receiver<ToEndpoint>,
    deadline: &Deadline,
) -> Result<Vec<FlowEnd>, EndpointError> {
    let sockets = opened.sockets;
    let patience = Patience { control, deadline, until: Instant::now() + JOIN_LIMIT };
    let (flows, connects) = (flows_of(task) as usize, task.cell.test.listener() != task.role);
    let hosts = task.cell.hosts(task.role.other()) as usize;
    let peer_of = |flow: usize| if peers.len() == hosts { peers.get(flow % hosts) } else { peers.get(flow) };
    let of_flows = || (0..flows).map(|flow| peer_of(flow).copied()).collect::<Option<Vec<_>>>();
    let goals = || of_flows().ok_or(EndpointError::OutOfTurn { expected: "as many addresses to connect to as there are flows" });
    let foreign = !knows_the_cookie(task);
    let (sockets, listeners) = match (transport(task), connects) {
        (Protocol::Tcp, false) if foreign => (unproven::accept(&sockets, &goals()?, &patience)?, Vec::new()),
        (Protocol::Udp, _) if foreign => (unproven::associate(sockets, &goals()?)?, Vec::new()),
        (Protocol::Tcp, true) => (connect::connect(sockets, &goals()?, task, &patience)?, Vec::new()),
        (Protocol::Tcp, false) => (accept::accept(&sockets, flows, task, &patience)?, sockets),
        (Protocol::Udp, true) => (udp::ask(sockets, &goals()?, task, &patience)?, Vec::new()),
        (Protocol::Udp, false) => (udp::answer(sockets, task, &patience)?, Vec::new()),
    };
    let mut ends = match task.cell.api.over() {
        over if over.is_local() => passed::exchange(&sockets, task, &patience)?,
        _ => sockets.into_iter().map(|socket| End { socket: socket.into(), passed: None }).collect(),
    };
    for (flow, end) in ends.iter_mut().enumerate() {
        let socket = SockRef::from(&end.socket);
        limit_calls(&socket, task)?;
        let opened = options::settle(&socket, task, flow)?;
        end.passed = opened.or(end.passed.take());
    }
    // The listener of all flows has done its work; one of `TCP_CRR` has it before it.
    let mut listeners = listeners.into_iter().filter(|_| task.cell.test == Test::TcpCrr);
    // It takes milliseconds: a short trial could be over before they are there.
    let sends = task.role == Role::Sender || task.cell.bidirectional;
    let sizes = task.cell.mix.as_ref().filter(|_| sends).map(Mix::sequence);
    let joined = |end: End| FlowEnd { listener: listeners.next().map(Into::into), sizes: sizes.clone(), ..FlowEnd::from(end) };
    Ok(ends.into_iter().map(joined).collect())
}

/// Sets one more socket like the first of a task, before it is connected.
///
/// # Errors
/// A refusal of the system.
pub fn set_like_the_first(socket: &Socket, task: &Task) -> Result<(), SocketError> {
    options::set(socket, task)?;
    limit_calls(socket, task)
}

/// Limits how long a blocked call sleeps.
fn limit_calls(socket: &Socket, task: &Task) -> Result<(), SocketError> {
    let set = socket.set_read_timeout(Some(longest_wait(task))).and_then(|()| socket.set_write_timeout(Some(BACKSTOP)));
    set.map_err(|answer| SocketError::new("set the time limit of blocked calls", answer))
}

/// The longest that an end waits for what is to come before it looks at the stage. To a
/// requester of datagrams nothing for so long means that the answer is lost.
pub fn longest_wait(task: &Task) -> Duration {
    match (task.cell.test, task.role) {
        (Test::UdpRr, Role::Sender) => Duration::from(task.answer_limit),
        _ => BACKSTOP,
    }
}

/// Returns whether the other end knows it; a user's own program does not.
fn knows_the_cookie(task: &Task) -> bool {
    task.cell.external(task.role.other()).is_none()
}

fn listens(task: &Task) -> bool {
    transport(task) == Protocol::Tcp && task.cell.test.listener() == task.role
}

fn shown(task: &Task, flow: usize) -> Proof {
    Proof { cookie: task.cookie, flow: flow as u32 }
}

/// Waits for sockets as long as the host lives and the trial has time.
struct Patience<'a> {
    control: &'a Receiver<ToEndpoint>,
    deadline: &'a Deadline,
    until: Instant,
}

impl Patience<'_> {
    /// Returns those of the watched that are ready, once any is or `limit` has
    /// passed; `None` when the time for joining is over.
    fn wait(&self, watched: &[PollFd<'_>], limit: Duration) -> Result<Option<Vec<usize>>, EndpointError> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        let ready = self.control.wait_for_any(watched, self.deadline.at_most(left.min(limit)))?;
        self.deadline.check()?;
        Ok(Some(ready))
    }
}
