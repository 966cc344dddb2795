//! The network namespace that a stack's device lives in: one that nettoll made. Where the ends are
//! joined by loopback they are on the machine itself, in which nothing is changed; there the receiver
//! makes a namespace of its own, and the sender enters it. A stack that takes the frames of the link
//! itself (AF_XDP) needs a link.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as LocalAddress, UnixListener, UnixStream};

use model::Role;

use sys::device::Ethernet;
use sys::netlink::{Channel, Protocol, attribute, read_text};

use super::Device;
use super::tun::{Tun, Way, add_route};
use super::xdp::{self, Xdp};
use crate::contract::Setup;
use crate::error::StackError;

/// The addresses of the two stacks, of a documentation network (RFC 5737), which no real network uses.
const SENDER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);

/// Queue disciplines that keep a rate or a delay.
const SHAPERS: [&str; 6] = ["tbf", "htb", "hfsc", "netem", "cake", "cbq"];

/// What joins the ends.
#[derive(Debug)]
enum Junction {
    /// A link between hosts that nettoll made.
    Link,
    /// Loopback, for the sender.
    Enters,
    /// Loopback, for the receiver.
    Entered,
}

/// Place of a stack before it knows the other.
#[derive(Debug)]
pub struct Place {
    role: Role,
    joined: Junction,
    /// Where the sender asks for the receiver's namespace. The kernel answers it; nobody reads there.
    _meeting: Option<UnixListener>,
    /// Keeps the port from everybody else, since the namespace is found by it.
    port: UdpSocket,
}

/// A stack's device, with ways to the other stack.
#[derive(Debug)]
pub struct Stand<D> {
    /// The device.
    pub device: D,
    /// Address of this stack.
    pub own: Ipv4Addr,
    /// Address of the other.
    pub peer: Ipv4Addr,
    /// The largest packet that the way to the other takes.
    pub mtu: usize,
}

/// A device that is opened at a place.
pub trait Placed: Device + Sized {
    /// Finds the place for it; `name` is the implementation's.
    ///
    /// # Errors
    /// See [`Place::find`].
    fn find_place(setup: &Setup, name: &str) -> Result<Place, StackError>;

    /// Opens it at a place, with ways to the other stack, whose end is known as `peer`.
    ///
    /// # Errors
    /// A refusal of the system.
    fn stand(place: &Place, peer: SocketAddr) -> Result<Stand<Self>, StackError>;
}

impl Placed for Tun {
    fn find_place(setup: &Setup, name: &str) -> Result<Place, StackError> {
        Place::find(setup, name)
    }

    fn stand(place: &Place, peer: SocketAddr) -> Result<Stand<Self>, StackError> {
        place.stand(peer)
    }
}

impl Placed for Xdp {
    fn find_place(setup: &Setup, name: &str) -> Result<Place, StackError> {
        Place::find_on_link(setup, name)
    }

    fn stand(place: &Place, peer: SocketAddr) -> Result<Stand<Self>, StackError> {
        place.stand_on_link(peer)
    }
}

impl Place {
    /// Finds the place for the trial that is asked for; `name` is the implementation's.
    ///
    /// # Errors
    /// A host that nettoll did not make, a refusal of the system.
    pub fn find(setup: &Setup, name: &str) -> Result<Self, StackError> {
        let IpAddr::V4(bind) = setup.bind.ip() else {
            return Err(StackError::contract(format!("{name} carries IPv4 alone, and {} is asked for: leave out -6", setup.bind)));
        };
        let bound = UdpSocket::bind(setup.bind);
        let port = bound.map_err(|answer| StackError::system(format!("bind to {}", setup.bind), answer))?;
        let (joined, meeting) = match (bind.is_loopback(), setup.role) {
            (true, Role::Sender) => (Junction::Enters, None),
            (true, Role::Receiver) => {
                let listener = UnixListener::bind_addr(&meeting_at(number(&port)?)?);
                let listener = listener.map_err(|answer| StackError::system("wait for the sender at a UNIX socket", answer))?;
                new_namespace()?;
                (Junction::Entered, Some(listener))
            }
            (false, _) if setup.own_namespace => (Junction::Link, None),
            (false, _) => {
                return Err(StackError::contract(format!(
                    "{name} needs a device and routes of its own, and this host is a machine that nettoll changes nothing of: take hosts \
                     that nettoll makes on this machine (without --host), or loopback"
                )));
            }
        };
        Ok(Self { role: setup.role, joined, _meeting: meeting, port })
    }

    /// Finds the place for a stack that takes the frames of a link itself.
    ///
    /// # Errors
    /// As of [`Self::find`], and loopback.
    pub fn find_on_link(setup: &Setup, name: &str) -> Result<Self, StackError> {
        if setup.bind.ip().is_loopback() {
            return Err(StackError::contract(format!(
                "{name} takes frames of Ethernet, and loopback has none: take a link between hosts (--link veth), or {} over loopback",
                name.trim_end_matches("-xdp")
            )));
        }
        Self::find(setup, name)
    }

    /// The port by which the other end knows this one.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn port(&self) -> Result<u16, StackError> {
        number(&self.port)
    }

    /// Makes the device and the ways to the other stack, whose end is known as `peer`.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn stand(&self, peer: SocketAddr) -> Result<Stand<Tun>, StackError> {
        if let Junction::Enters = self.joined {
            enter(peer.port())?;
        }
        let (own, other) = self.addresses();
        let name = if self.role == Role::Sender { "nettoll-send" } else { "nettoll-recv" };
        let device = Tun::open(name)?;
        let routed = |to: Ipv4Addr, way| {
            let failed = |answer| StackError::system(format!("add a route to {to}"), answer);
            add_route(to, way).map_err(failed)
        };
        routed(own, Way::Device(name))?;
        let mut mtu = 65_535;
        if let (Junction::Link, IpAddr::V4(gateway)) = (&self.joined, peer.ip()) {
            routed(other, Way::Gateway(gateway))?;
            forward_all().map_err(|answer| StackError::system("let the host's device forward", answer))?;
            mtu = self.mtu_to(peer)?;
        }
        Ok(Stand { device, own, peer: other, mtu })
    }

    /// Takes the frames of the link to the other stack, whose end is known as `peer`, that are for
    /// this one.
    ///
    /// # Errors
    /// A refusal of the system, a link that is not of Ethernet.
    pub fn stand_on_link(&self, peer: SocketAddr) -> Result<Stand<Xdp>, StackError> {
        let (own, other) = self.addresses();
        let at = self.port.local_addr().map_err(|answer| StackError::system("read the address of a socket", answer))?;
        let found = match at.ip() {
            IpAddr::V4(address) => {
                Ethernet::with_address(address).map_err(|answer| StackError::system("find the link's device", answer))?
            }
            IpAddr::V6(_) => None,
        };
        let device = found.ok_or_else(|| StackError::contract(format!("no device of Ethernet has the address {}", at.ip())))?;
        let queues =
            queue_discipline(device.number).map_err(|answer| StackError::system("ask for the device's queue discipline", answer))?;
        if let Some(shaper) = queues.filter(|name| SHAPERS.contains(&name.as_str())) {
            return Err(StackError::contract(format!(
                "the link's rate or delay is kept by a queue discipline of its device ({shaper}), past which frames of AF_XDP go: take a link \
                 without one (--link veth), or the same stack on a TUN device"
            )));
        }
        let mtu = self.mtu_to(peer)?.min(xdp::LARGEST);
        Ok(Stand { device: Xdp::open(&device, own, other)?, own, peer: other, mtu })
    }

    /// The addresses of this stack and of the other.
    const fn addresses(&self) -> (Ipv4Addr, Ipv4Addr) {
        match self.role {
            Role::Sender => (SENDER, RECEIVER),
            Role::Receiver => (RECEIVER, SENDER),
        }
    }

    fn mtu_to(&self, peer: SocketAddr) -> Result<usize, StackError> {
        mtu_to(&self.port, peer).map_err(|answer| StackError::system(format!("read the MTU of the way to {peer}"), answer))
    }
}

fn number(socket: &UdpSocket) -> Result<u16, StackError> {
    let address = socket.local_addr().map_err(|answer| StackError::system("read the port of a socket", answer))?;
    Ok(address.port())
}

/// The name by which a sender finds the receiver of a port: of the abstract kind, which a network
/// namespace has for itself and which vanishes with its process.
fn meeting_at(port: u16) -> Result<LocalAddress, StackError> {
    LocalAddress::from_abstract_name(format!("nettoll-stack-{port}")).map_err(|answer| StackError::system("name a UNIX socket", answer))
}

/// Enters a network namespace of this process's own.
fn new_namespace() -> Result<(), StackError> {
    // SAFETY: the call takes numbers alone; this process has one thread.
    match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(StackError::System {
            tried: "make a network namespace (unshare CLONE_NEWNET)".to_owned(),
            answer: io::Error::last_os_error(),
            remedy: "; over loopback this stack needs root (CAP_SYS_ADMIN); over a link between hosts that nettoll makes it does not",
        }),
    }
}

/// Enters the namespace of the receiver that is known by `port`.
fn enter(port: u16) -> Result<(), StackError> {
    let failed = |tried: String| move |answer| StackError::system(tried, answer);
    let tried = || format!("find the receiver of port {port}: both ends have to be the same stack");
    let met = UnixStream::connect_addr(&meeting_at(port)?).map_err(failed(tried()))?;
    let (process, user) = credentials(&met).map_err(failed(tried()))?;
    // SAFETY: the call cannot fail.
    let own = unsafe { libc::geteuid() };
    if user != own {
        return Err(StackError::contract(format!("the receiver of port {port} belongs to user {user}, not to {own}")));
    }
    let path = format!("/proc/{process}/ns/net");
    let namespace = File::open(&path).map_err(failed(format!("open {path}")))?;
    // SAFETY: the descriptor is open; this process has one thread.
    match unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(StackError::system(format!("enter the network namespace of process {process}"), io::Error::last_os_error())),
    }
}

/// Process and user that listen at the other side.
fn credentials(stream: &UnixStream) -> io::Result<(libc::pid_t, libc::uid_t)> {
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes no more than the length that is given.
    let answer =
        unsafe { libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut found).cast(), &raw mut length) };
    if answer == 0 { Ok((found.pid, found.uid)) } else { Err(io::Error::last_os_error()) }
}

/// The largest packet on the way to `peer`.
pub(crate) fn mtu_to(socket: &UdpSocket, peer: SocketAddr) -> io::Result<usize> {
    socket.connect(peer)?;
    let mtu = sys::socket::get_int(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_MTU)?;
    Ok(usize::try_from(mtu).unwrap_or(0))
}

/// Has every device of this namespace forward, besides loopback: what comes from the link for a
/// stack is passed on to its device. The namespace is nettoll's own and vanishes with the study.
fn forward_all() -> io::Result<()> {
    for device in fs::read_dir("/proc/sys/net/ipv4/conf")? {
        let device = device?;
        if !["all", "default", "lo"].iter().any(|name| device.file_name() == *name) {
            fs::write(device.path().join("forwarding"), "1")?;
        }
    }
    Ok(())
}

/// The queue discipline of the device of this number; `None` where there is no such device.
///
/// # Errors
/// A refusal of the system.
fn queue_discipline(number: u32) -> io::Result<Option<String>> {
    const RTM_GETLINK: u16 = 18;
    const IFLA_QDISC: u16 = 6;
    // `struct ifinfomsg`: the device is its second number.
    let mut request = [0; 16];
    request[4..8].copy_from_slice(&number.to_ne_bytes());
    let mut netlink = Channel::open(Protocol::NetlinkRoute)?;
    match netlink.ask(&format!("look at device {number}"), RTM_GETLINK, 0, &request) {
        Ok(answers) => Ok(answers.first().and_then(|found| Some(read_text(attribute(found.body.get(16..)?, IFLA_QDISC)?)))),
        Err(refused) if refused.errno().is_some_and(|errno| errno as i32 == libc::ENODEV) => Ok(None),
        Err(refused) => Err(refused.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::queue_discipline;

    #[test]
    fn a_device_has_its_queue_discipline() {
        // Loopback is device 1 of every network namespace, and queues nothing.
        assert_eq!(queue_discipline(1).unwrap().as_deref(), Some("noqueue"));
        assert_eq!(queue_discipline(u32::MAX >> 1).unwrap(), None);
    }
}
