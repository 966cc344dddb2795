//! `nettoll agent`: lends this machine to controllers elsewhere.
//!
//! ```text
//! admission (one thread: listeners, greetings) --admitted--> controller (a thread each) == pipes == __host == endpoint
//!                                                              |
//!                                                            queue: one trial at a time
//! ```
//!
//! A host that a command starts ([`pipes`]) is the same for one controller, over standard
//! input and output.
//!
//! Nothing that a stranger sends reaches a host process: that is started for
//! whoever has been let in.

pub mod capabilities;

mod admission;
mod controller;
mod host;
mod limit;
mod log;
mod machine;
mod pending;
pub mod pipes;
mod ports;
mod queue;
mod served;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use model::Program;
use model::control::{FromHost, Limits};
use model::frame::encode;
use nix::errno::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use crate::connection::link::{Link, LinkError};
use crate::connection::proof::random;
use crate::connection::pump::{End, Pump, silence};
use crate::connection::{Credentials, is_this_machine};
use admission::Admission;
pub use controller::passed_on;
use controller::{Budget, Controller, Turn};
use host::HostProcess;
use limit::{Allowance, Origin, Programs};
use log::Log;
use pending::Terms;
use queue::{Bell, Queue, Ticket};
pub use served::MOST_CONTROLLERS;
use served::{Place, Served};

/// Time that whoever is turned away has to hear why.
const LEAVING_LIMIT: Duration = Duration::from_secs(1);
/// Stack of the thread that serves one.
const STACK: usize = 256 << 10;
/// Connections that the kernel keeps until they are taken.
const BACKLOG: i32 = 1_024;

/// Place where an agent listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// For this machine alone, over each version of IP that it has.
    Here {
        /// The port; 0: the kernel chooses.
        port: u16,
    },
    /// On each address of this machine.
    Everywhere {
        /// The port; 0: the kernel chooses.
        port: u16,
    },
    /// On these; at least one.
    At(Vec<SocketAddr>),
}

/// Settings of an agent.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Place where it listens.
    pub listen: Listen,
    /// Proofs that it asks of a controller.
    pub credentials: Credentials,
    /// Controllers whose trials may run at once.
    pub at_once: NonZeroU32,
    /// Limits of each trial.
    pub limits: Limits,
    /// First and last of the ports that messages come to; `None`: any.
    pub data_ports: Option<(u16, u16)>,
    /// Programs that may be an end of a trial, by the names that controllers use.
    pub endpoints: BTreeMap<String, Program>,
}

/// An agent that cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// It would let anybody in.
    #[error(
        "{0} can be reached from other machines, and nothing would keep strangers out: give --secret-file FILE, or --tls-cert, --tls-key \
         and --tls-ca (see `nettoll certificates`), or listen on 127.0.0.1 only"
    )]
    Open(SocketAddr),
    /// The first port of a range is behind its last.
    #[error("--data-ports {0}-{1}: give the lower port first, and none that is 0")]
    Ports(u16, u16),
    /// An address that cannot be listened on.
    #[error("listen on {address}: {answer}{}", remedy(answer))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Answer of the system.
        answer: io::Error,
    },
    /// This machine gave no random bytes.
    #[error("this machine gives no random numbers (getrandom), so it cannot authenticate a controller")]
    NoRandom,
    /// It cannot wait for connections.
    #[error("wait for connections (poll): {0}")]
    Wait(io::Error),
}

fn remedy(answer: &io::Error) -> &'static str {
    match answer.kind() {
        io::ErrorKind::AddrInUse => "; another agent may be running: end it, or choose another port with --port",
        io::ErrorKind::AddrNotAvailable => "; this machine has no such address (see `ip address`)",
        io::ErrorKind::PermissionDenied => "; ports below 1024 are root's: choose another with --port",
        _ => "",
    }
}

impl AgentError {
    fn is_lack_of_family(&self) -> bool {
        let lacks = [Errno::EAFNOSUPPORT, Errno::EADDRNOTAVAIL];
        matches!(self, Self::Listen { answer, .. } if answer.raw_os_error().is_some_and(|number| lacks.contains(&Errno::from_raw(number))))
    }

    /// Returns whether it was asked for something that cannot be.
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::Open(_) | Self::Ports(..))
    }
}

/// A listening agent.
#[derive(Debug)]
pub struct Agent {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    terms: Terms,
    service: Arc<Service>,
}

/// The part that all controllers share.
#[derive(Debug)]
struct Service {
    queue: Arc<Queue>,
    allowance: Allowance,
    ending: Arc<AtomicBool>,
    served: Arc<Served>,
    /// `true` if a peer on loopback is on this machine, and not at a tunnel's far end.
    loopback_is_near: bool,
    log: Arc<Log>,
}

/// A controller that was let in.
struct Guest {
    thread: JoinHandle<()>,
    bell: Arc<Bell>,
}

impl Agent {
    /// Listens.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn open(settings: Settings) -> Result<Self, AgentError> {
        if let Some((first, last)) = settings.data_ports.filter(|(first, last)| *first == 0 || first > last) {
            return Err(AgentError::Ports(first, last));
        }
        let wanted = settings.listen.addresses();
        let open = wanted.iter().find(|address| !is_this_machine(**address));
        if let (Some(address), true) = (open, settings.credentials.is_empty()) {
            return Err(AgentError::Open(*address));
        }
        let (listeners, addresses) = listen_at(&wanted, matches!(settings.listen, Listen::At(_)))?.into_iter().unzip();
        let service = Service {
            queue: Arc::new(Queue::new(settings.at_once)),
            allowance: Allowance::new(settings.limits, settings.data_ports).with(Programs::Listed(settings.endpoints)),
            ending: Arc::default(),
            served: Arc::default(),
            loopback_is_near: settings.credentials.is_empty() || settings.credentials.trust_loopback,
            log: Arc::new(Log::new()),
        };
        let id = random().ok_or(AgentError::NoRandom)?;
        let terms = Terms { id, credentials: settings.credentials, served: Arc::clone(&service.served) };
        Ok(Self { listeners, addresses, terms, service: Arc::new(service) })
    }

    /// Returns where it listens, with the ports that the kernel chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Serves until `stop` can be read. Then everything that it started has
    /// ended. Makes this process the one that orphans below it fall to.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn serve(self, stop: BorrowedFd<'_>) -> Result<(), AgentError> {
        // Whatever a host process leaves behind is this process's to wait for.
        host::adopt_orphans();
        let Self { listeners, terms, service, .. } = self;
        let mut guests: Vec<Guest> = Vec::new();
        let waited = Admission::new(&listeners, &terms, &service.log).serve(stop, |link, rest, peer| {
            guests.retain(|one| !one.thread.is_finished());
            match admit(&service, link, rest, peer) {
                Ok(one) => guests.push(one),
                Err(error) => {
                    service
                        .log
                        .say(format_args!("{peer}: serve it: {error}; raise the limits on processes and open files (ulimit -u, -n)"));
                }
            }
        });
        // Nobody else is to come while the last are seen off.
        drop(listeners);
        service.ending.store(true, Ordering::Release);
        guests.iter().for_each(|one| one.bell.ring());
        for one in guests {
            // Of one that panicked, the host process has ended as well.
            let _ = one.thread.join();
        }
        waited.map_err(AgentError::Wait)
    }
}

impl Listen {
    fn addresses(&self) -> Vec<SocketAddr> {
        match self {
            Self::Here { port } => vec![(Ipv4Addr::LOCALHOST, *port).into(), (Ipv6Addr::LOCALHOST, *port).into()],
            Self::Everywhere { port } => vec![(Ipv4Addr::UNSPECIFIED, *port).into(), (Ipv6Addr::UNSPECIFIED, *port).into()],
            Self::At(addresses) => addresses.clone(),
        }
    }
}

/// Listens at each address, or, unless `each` was asked for, at those of the
/// versions of IP that this machine has.
fn listen_at(addresses: &[SocketAddr], each: bool) -> Result<Vec<(TcpListener, SocketAddr)>, AgentError> {
    let mut listeners = Vec::new();
    let mut lacking = None;
    for address in addresses {
        match listen(*address) {
            Ok(listener) => listeners.push((listener.local_addr().unwrap_or(*address), listener)),
            Err(error) if !each && error.is_lack_of_family() => lacking = Some(error),
            Err(error) => return Err(error),
        }
    }
    match lacking {
        Some(error) if listeners.is_empty() => Err(error),
        _ => Ok(listeners.into_iter().map(|(address, listener)| (listener, address)).collect()),
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, AgentError> {
    let opened = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        // Connections of an agent that ended a moment ago may still wait for their end.
        socket.set_reuse_address(true)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(socket.into())
    };
    opened().map_err(|answer| AgentError::Listen { address, answer })
}

fn admit(service: &Arc<Service>, link: Link, rest: Vec<u8>, peer: SocketAddr) -> io::Result<Guest> {
    let bell = Arc::new(Bell::new()?);
    let thread = thread::Builder::new().name("nettoll-serve".to_owned()).stack_size(STACK).spawn({
        let (service, bell, place) = (Arc::clone(service), Arc::clone(&bell), service.served.add(pending::source(peer), &bell));
        move || serve(&service, link, &rest, peer, bell, &place)
    })?;
    Ok(Guest { thread, bell })
}

/// Serves one controller until it is gone.
fn serve(service: &Service, link: Link, rest: &[u8], peer: SocketAddr, bell: Arc<Bell>, place: &Place) {
    let log = Arc::clone(&service.log);
    let (mut host, from, to) = match HostProcess::start(move |line| log.say(format_args!("{peer}: its host process: {line}"))) {
        Ok(started) => started,
        Err(error) => {
            let why = format!(
                "start a host process (/proc/self/exe __host): {error}; raise the limits on processes and open files (ulimit -u, -n)"
            );
            return turn_away(link, peer, &service.log, &why);
        }
    };
    let encrypted = link.cipher().map_or_else(|| "not encrypted".to_owned(), |cipher| format!("encrypted with {cipher}"));
    service.log.say(format_args!("{peer}: admitted, {encrypted}"));
    // Given up last: when nothing is left that could disturb the next trial.
    let ticket = Ticket::new(Arc::clone(&service.queue), Arc::clone(&bell));
    let controller = Controller {
        ticket: &ticket,
        bell,
        ending: Arc::clone(&service.ending),
        allowance: &service.allowance,
        ports: None,
        origin: match (is_this_machine(peer), service.loopback_is_near) {
            (true, true) => Origin::Here,
            (true, false) => Origin::Loopback,
            (false, _) => Origin::Elsewhere,
        },
        presence: place.presence(),
        budget: Budget::new(Instant::now()),
        turn: Turn::Away,
        held: Vec::new(),
        machine: None,
    };
    let end = Pump::new(link, rest, from, to, controller).run();
    let status = host.end();
    drop(ticket);
    service.log.say(format_args!("{peer}: {}", farewell(&end, &status)));
}

/// Somebody who may come in, but cannot be served.
fn turn_away(mut link: Link, peer: SocketAddr, log: &Log, why: &str) {
    if let Ok(frame) = encode(&FromHost::Failed { error: why.to_owned() }) {
        link.queue(&frame);
    }
    link.close();
    link.drain(Instant::now() + LEAVING_LIMIT);
    log.say(format_args!("{peer}: turned away: {why}"));
}

fn farewell(end: &End, status: &str) -> String {
    match end {
        End::Far => "gone".to_owned(),
        End::Near => format!("its host process ended ({status})"),
        End::Silent => format!("silent for {}: taken for dead", silence()),
        End::Stuck => format!("took nothing for {}: taken for dead", silence()),
        End::Broken(LinkError::Io(error)) => format!("the connection broke: {error}"),
        End::Broken(LinkError::Tls(error)) => format!("the connection broke: {error}"),
        End::Because(words) => format!("closed: {words}"),
    }
}
