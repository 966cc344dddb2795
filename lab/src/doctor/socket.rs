//! Kinds of sockets, each opened and closed again, and their options.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;

use model::check::{Area, Check, Need};
use model::plan::AGENT_PORT;
use nix::errno::Errno;
use nix::libc::{
    AF_PACKET, AF_XDP, IPPROTO_MPTCP, IPPROTO_SCTP, SO_ZEROCOPY, SOL_SOCKET, SOL_TCP, SOL_UDP, TCP_FASTOPEN, UDP_GRO, UDP_SEGMENT,
};
use socket2::{Domain, Protocol, Socket, Type};

use super::answer::{Subject, setting, shown};

struct Kind {
    name: &'static str,
    need: Need,
    domain: Domain,
    transport: (Type, Option<i32>),
    /// The call, in C.
    call: &'static str,
    /// The option that a kernel lacks which does not know the kind.
    config: &'static str,
}

fn kinds() -> [Kind; 7] {
    let stream = (Type::STREAM, None);
    let datagram = (Type::DGRAM, None);
    let kind = |name, need, domain, transport, call, config| Kind { name, need, domain, transport, call, config };
    let xdp = Domain::from(AF_XDP);
    [
        kind("TCP over IPv4", Need::Required, Domain::IPV4, stream, "socket(AF_INET, SOCK_STREAM)", "CONFIG_INET"),
        kind("UDP over IPv4", Need::Required, Domain::IPV4, datagram, "socket(AF_INET, SOCK_DGRAM)", "CONFIG_INET"),
        kind(
            "IPv6",
            Need::Useful,
            Domain::IPV6,
            datagram,
            "socket(AF_INET6, SOCK_DGRAM)",
            "CONFIG_IPV6, or `ipv6.disable` on its command line",
        ),
        kind(
            "MPTCP",
            Need::Optional,
            Domain::IPV4,
            (Type::STREAM, Some(IPPROTO_MPTCP)),
            "socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP)",
            "CONFIG_MPTCP",
        ),
        kind(
            "SCTP",
            Need::Optional,
            Domain::IPV4,
            (Type::STREAM, Some(IPPROTO_SCTP)),
            "socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP)",
            "CONFIG_IP_SCTP; `modprobe sctp`",
        ),
        kind("AF_PACKET", Need::Optional, Domain::from(AF_PACKET), (Type::RAW, None), "socket(AF_PACKET, SOCK_RAW)", "CONFIG_PACKET"),
        kind("AF_XDP", Need::Optional, xdp, (Type::RAW, None), "socket(AF_XDP, SOCK_RAW)", "CONFIG_XDP_SOCKETS"),
    ]
}

pub(super) fn checks() -> Vec<Check> {
    let mut checks: Vec<Check> = kinds().iter().map(open).collect();
    checks.insert(2, loopback("IPv4 loopback", Need::Useful, Domain::IPV4, (Ipv4Addr::LOCALHOST, 0).into()));
    checks.insert(4, loopback("IPv6 loopback", Need::Optional, Domain::IPV6, (Ipv6Addr::LOCALHOST, 0).into()));
    checks.push(ring());
    checks.push(agent_port());
    checks
}

/// Binds where an agent listens by default, but does not listen.
fn agent_port() -> Check {
    let subject = Subject { area: Area::Sockets, name: "agent's port", need: Need::Optional };
    let bound = Socket::new(Domain::IPV4, Type::STREAM, None).and_then(|socket| {
        // As an agent does, so that connections of one that ended do not count.
        socket.set_reuse_address(true)?;
        socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, AGENT_PORT)).into())?;
        Ok(format!("TCP {AGENT_PORT} is free"))
    });
    subject.outcome(&format!("bind(0.0.0.0:{AGENT_PORT})"), bound, |errno| match errno {
        Errno::EADDRINUSE => {
            "Another program listens there, perhaps an agent that runs already: give `nettoll agent` another with --port.".to_owned()
        }
        _ => refused(errno, "CONFIG_INET"),
    })
}

fn open(kind: &Kind) -> Check {
    let subject = Subject { area: Area::Sockets, name: kind.name, need: kind.need };
    let (transport, protocol) = kind.transport;
    let opened = Socket::new(kind.domain, transport, protocol.map(Protocol::from)).map(|_| "");
    subject.outcome(kind.call, opened, |errno| refused(errno, kind.config))
}

fn refused(errno: Errno, config: &str) -> String {
    match errno {
        Errno::EPROTONOSUPPORT | Errno::ESOCKTNOSUPPORT | Errno::EAFNOSUPPORT => format!("This kernel has none ({config})."),
        Errno::ENOPROTOOPT => "Turned off by a setting: `sysctl net.mptcp.enabled=1` as root.".to_owned(),
        Errno::EPERM | Errno::EACCES => "Needs CAP_NET_RAW: run as root, or inside a user namespace of your own.".to_owned(),
        Errno::EMFILE | Errno::ENFILE => "Too many open files: raise `ulimit -n`.".to_owned(),
        Errno::ENOBUFS | Errno::ENOMEM => "Memory is short: end other programs.".to_owned(),
        _ => "A sandbox seems to filter sockets: run nettoll outside it.".to_owned(),
    }
}

/// Binds and finds a route to itself, but sends nothing.
fn loopback(name: &'static str, need: Need, domain: Domain, address: SocketAddr) -> Check {
    let subject = Subject { area: Area::Sockets, name, need };
    let connected = Socket::new(domain, Type::DGRAM, None).and_then(|socket| {
        socket.bind(&address.into())?;
        // A fresh namespace lets anybody bind; only a route tells that `lo` is up.
        socket.connect(&socket.local_addr()?).map(|()| "")
    });
    subject.outcome(&format!("connect({})", address.ip()), connected, |errno| match errno {
        Errno::EADDRNOTAVAIL | Errno::ENETUNREACH | Errno::EHOSTUNREACH => {
            "The device `lo` is down or has no such address: `ip link set lo up` as root.".to_owned()
        }
        _ => refused(errno, "CONFIG_INET, CONFIG_IPV6"),
    })
}

fn ring() -> Check {
    let subject = Subject { area: Area::Sockets, name: "io_uring", need: Need::Optional };
    subject.outcome("io_uring_setup(1)", engine::probe::ring().map(|()| ""), |errno| match errno {
        Errno::ENOSYS => "This kernel has none (CONFIG_IO_URING), or a sandbox hides it.".to_owned(),
        Errno::EPERM | Errno::EACCES => {
            format!(
                "kernel.io_uring_disabled is {}: 0 allows it (set as root). A container's seccomp profile may refuse it too.",
                shown("kernel.io_uring_disabled")
            )
        }
        Errno::ENOMEM => "Raise the limit on locked memory (`ulimit -l`).".to_owned(),
        _ => "Other ways of sending do without.".to_owned(),
    })
}

struct Setting {
    name: &'static str,
    transport: Type,
    option: (i32, i32),
    value: i32,
    /// The first kernel that has it.
    since: &'static str,
}

const SETTINGS: [Setting; 4] = [
    // The payload of a full Ethernet frame.
    Setting { name: "UDP_SEGMENT", transport: Type::DGRAM, option: (SOL_UDP, UDP_SEGMENT), value: 1472, since: "4.18" },
    Setting { name: "UDP_GRO", transport: Type::DGRAM, option: (SOL_UDP, UDP_GRO), value: 1, since: "5.0" },
    Setting { name: "SO_ZEROCOPY", transport: Type::STREAM, option: (SOL_SOCKET, SO_ZEROCOPY), value: 1, since: "4.14" },
    Setting { name: "TCP_FASTOPEN", transport: Type::STREAM, option: (SOL_TCP, TCP_FASTOPEN), value: 1, since: "3.7" },
];

pub(super) fn options() -> Vec<Check> {
    SETTINGS.iter().map(option).chain([congestion_control()]).collect()
}

fn option(asked: &Setting) -> Check {
    let subject = Subject { area: Area::Sockets, name: asked.name, need: Need::Optional };
    let (level, name) = asked.option;
    let set = Socket::new(Domain::IPV4, asked.transport, None)
        .and_then(|socket| sys::socket::set_int(socket.as_raw_fd(), level, name, asked.value));
    subject.outcome(&format!("setsockopt({}, {})", asked.name, asked.value), set.map(|()| ""), |errno| match errno {
        Errno::ENOPROTOOPT | Errno::EOPNOTSUPP => format!("This kernel has none (Linux has it since {}).", asked.since),
        _ => "A sandbox seems to filter socket options: run nettoll outside it.".to_owned(),
    })
}

fn congestion_control() -> Check {
    const AVAILABLE: &str = "net.ipv4.tcp_available_congestion_control";
    let subject = Subject { area: Area::Sockets, name: "congestion control", need: Need::Useful };
    let named = setting(AVAILABLE).map(|names| format!("{names} (now {})", shown("net.ipv4.tcp_congestion_control")));
    subject.outcome(AVAILABLE, named, |_| "Is /proc/sys hidden (a container)? A plan can still name one in `cc`.".to_owned())
}
