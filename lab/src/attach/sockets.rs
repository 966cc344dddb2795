//! The sockets of a program, asked for in its network namespace.
//!
//! `sock_diag` tells of every socket of a namespace; those of the program are picked out by the
//! inodes that its file descriptors lead to. Nothing of the program is touched. Devices that its
//! connections leave by are those that have their own address, or loopback where the peer's address
//! is of the same namespace.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread;

use engine::tcp_info;
use model::Refusal;
use model::attach::{Connection, Device, Sockets};
use model::link::Offload;
use model::sorting::Order;
use netlink_packet_core::NLM_F_DUMP;
use nix::sched::{CloneFlags, setns};

use crate::host::ethtool;
use crate::host::link::{self, LOOPBACK};
use crate::host::route;
use sys::netlink::{Channel, NetlinkError, Protocol, attributes};

use super::program::beyond;

const MECHANISM: &str = "sockets by sock_diag";
/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// Attributes of an answer (`INET_DIAG_INFO`, `INET_DIAG_SKMEMINFO`).
const INFO: u16 = 2;
const MEMORY: u16 = 7;
/// Bytes of `struct inet_diag_msg`.
const HEAD: usize = 72;
/// Connections that are kept.
const KEPT: usize = 64;
/// The most descriptors that are looked at, of all processes together.
pub const MOST_FILES: usize = 200_000;

/// States of TCP as the kernel numbers them, from 1.
const STATES: [&str; 12] = [
    "established",
    "syn-sent",
    "syn-received",
    "fin-wait-1",
    "fin-wait-2",
    "time-wait",
    "closed",
    "close-wait",
    "last-ack",
    "listen",
    "closing",
    "new-syn-received",
];

/// The sockets of some processes, in the network namespace of the first, and what was left out of them.
///
/// # Errors
/// When their descriptors, the namespace or the kernel's answer cannot be had.
pub fn of(processes: &[u32]) -> Result<(Sockets, Option<Refusal>), Refusal> {
    let Some(first) = processes.first() else { return Ok((Sockets::default(), None)) };
    let Inodes { found: inodes, denied, cut } = inodes(processes, MOST_FILES);
    if inodes.is_empty() && denied {
        return Err(Refusal::new(MECHANISM, format!("/proc/{first}/fd: EACCES"), "Run as root or as the program's user"));
    }
    let sockets = in_namespace(*first, |mut found| {
        found.retain(|one| inodes.contains(&one.inode));
        let devices = devices(&found);
        Sockets { devices, ..summary(found) }
    })?;
    let left_out = cut.then(|| beyond("sockets of the program", &format!("{MOST_FILES} descriptors"), "Observe fewer of its processes"));
    Ok((sockets, left_out))
}

/// Inodes of the sockets at the other ends of the processes' connections, as far as these are in their
/// network namespace.
///
/// # Errors
/// When the namespace or the kernel's answer cannot be had.
pub fn of_peers(processes: &[u32]) -> Result<HashSet<u32>, Refusal> {
    let Some(first) = processes.first() else { return Ok(HashSet::new()) };
    let own = inodes(processes, MOST_FILES).found;
    in_namespace(*first, |found| {
        let ends: Vec<Ends<'_>> = found.iter().filter_map(Found::ends).collect();
        other_ends(&ends, &own)
    })
}

/// A socket by its inode, protocol, own address and peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Ends<'a> {
    inode: u32,
    protocol: &'a str,
    local: SocketAddr,
    peer: SocketAddr,
}

impl Found {
    fn ends(&self) -> Option<Ends<'_>> {
        let (local, peer) = (canonical(&self.connection.local)?, canonical(&self.connection.peer)?);
        Some(Ends { inode: self.inode, protocol: &self.connection.protocol, local, peer })
    }
}

/// An address and port: of IPv4 the same whether a socket of IPv6 has them or not.
fn canonical(text: &str) -> Option<SocketAddr> {
    let at: SocketAddr = text.parse().ok()?;
    Some(SocketAddr::new(at.ip().to_canonical(), at.port()))
}

/// Inodes of the sockets whose peer is one of `own`: also where that one serves many, without a peer or an
/// address of its own. Sockets that no process has are none.
fn other_ends(all: &[Ends<'_>], own: &HashSet<u32>) -> HashSet<u32> {
    let mine = || all.iter().filter(|one| own.contains(&one.inode));
    let places: HashSet<(&str, SocketAddr)> = mine().map(|one| (one.protocol, one.local)).collect();
    let anywhere: HashSet<(&str, u16)> =
        mine().filter(|one| one.local.ip().is_unspecified()).map(|one| (one.protocol, one.local.port())).collect();
    let here = |one: &Ends<'_>| one.peer.ip().is_loopback() || one.peer.ip() == one.local.ip();
    let to_own =
        |one: &Ends<'_>| places.contains(&(one.protocol, one.peer)) || (here(one) && anywhere.contains(&(one.protocol, one.peer.port())));
    all.iter().filter(|one| one.inode != 0 && !own.contains(&one.inode) && to_own(one)).map(|one| one.inode).collect()
}

/// What `make` makes of all sockets, in the network namespace of a process: there it knows its devices.
fn in_namespace<T: Send>(process: u32, make: impl FnOnce(Vec<Found>) -> T + Send) -> Result<T, Refusal> {
    let namespace = File::open(format!("/proc/{process}/ns/net"));
    // A thread of its own enters the namespace, and takes it along when it ends.
    let asked = thread::scope(|scope| {
        let ask = move || -> Result<T, String> {
            let own = fs::read_link("/proc/thread-self/ns/net").ok();
            if own.is_none() || own != fs::read_link(format!("/proc/{process}/ns/net")).ok() {
                let namespace = namespace.map_err(|error| format!("/proc/{process}/ns/net: {error}"))?;
                setns(namespace, CloneFlags::CLONE_NEWNET).map_err(|errno| format!("setns: {errno}"))?;
            }
            dump().map(make).map_err(|error| error.to_string())
        };
        scope.spawn(ask).join()
    });
    let refused = |answer: String| Refusal::new(MECHANISM, answer, "Run as root; every other figure is there without it");
    asked.unwrap_or_else(|_| Err("the asking thread ended early".to_owned())).map_err(refused)
}

/// The inodes of sockets.
#[derive(Debug, Default)]
pub struct Inodes {
    /// Each once.
    pub found: HashSet<u32>,
    /// True where a list of descriptors was refused.
    pub denied: bool,
    /// True where there were more descriptors than were looked at.
    pub cut: bool,
}

/// The inodes of their sockets, by their first `most` descriptors.
pub fn inodes(processes: &[u32], most: usize) -> Inodes {
    let mut all = Inodes::default();
    let mut left = most;
    for pid in processes {
        match fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(files) => {
                for file in files.flatten() {
                    if left == 0 {
                        all.cut = true;
                        return all;
                    }
                    left -= 1;
                    let link = fs::read_link(file.path()).ok();
                    let socket = |link: std::path::PathBuf| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse::<u32>().ok();
                    all.found.extend(link.and_then(socket));
                }
            }
            Err(error) => all.denied |= error.kind() == std::io::ErrorKind::PermissionDenied,
        }
    }
    all
}

/// A socket, with what orders it among others.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    inode: u32,
    state: u8,
    moved: [u64; 2],
    connection: Connection,
}

fn dump() -> Result<Vec<Found>, NetlinkError> {
    let mut channel = Channel::open(Protocol::NetlinkSockDiag)?;
    let mut found = Vec::new();
    for protocol in [libc_protocol::TCP, libc_protocol::UDP] {
        for family in [libc_protocol::INET, libc_protocol::INET6] {
            let mut request = vec![family, protocol, 1 << (INFO - 1) | 1 << (MEMORY - 1), 0];
            request.extend(u32::MAX.to_ne_bytes());
            request.extend([0; 48]);
            let answers = channel.ask("asking for sockets", BY_FAMILY, NLM_F_DUMP, &request);
            match answers {
                Ok(answers) => found.extend(answers.iter().filter_map(|answer| parse(&answer.body, protocol))),
                // A kernel without IPv6, or without this part of sock_diag, has none of them.
                Err(NetlinkError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(found)
}

/// Numbers of families and protocols, which are the same on every Linux.
mod libc_protocol {
    pub const INET: u8 = 2;
    pub const INET6: u8 = 10;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
}

/// Reads a `struct inet_diag_msg` with its attributes; `None` of what is shorter.
fn parse(body: &[u8], protocol: u8) -> Option<Found> {
    let head = body.get(..HEAD)?;
    let word = |at: usize| head.get(at..at + 4).and_then(|bytes| bytes.first_chunk()).map(|bytes| u32::from_ne_bytes(*bytes));
    let name = if protocol == libc_protocol::TCP { "tcp" } else { "udp" };
    let mut connection = Connection {
        protocol: name.to_owned(),
        local: address(head, 4, 8)?,
        peer: address(head, 6, 24)?,
        receive_queue: word(56)?,
        send_queue: word(60)?,
        receive_buffer: 0,
        send_buffer: 0,
        drops: 0,
        tcp: None,
        unacked: 0,
        unsent: 0,
        nodelay: None,
    };
    let mut moved = [0; 2];
    for (kind, value) in attributes(body.get(HEAD..)?) {
        let word = |at: usize| value.get(at * 4..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_ne_bytes(*bytes));
        let long = |at: usize| value.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        match kind {
            INFO if protocol == libc_protocol::TCP => {
                connection.tcp = Some(tcp_info::parse(value));
                // `tcpi_unacked`, `tcpi_notsent_bytes`, `tcpi_bytes_acked`, `tcpi_bytes_received`.
                (connection.unacked, connection.unsent, moved) = (word(6), word(36), [long(120), long(128)]);
            }
            // SK_MEMINFO_RCVBUF, SNDBUF and DROPS.
            MEMORY => (connection.receive_buffer, connection.send_buffer, connection.drops) = (word(1), word(3), word(8)),
            _ => {}
        }
    }
    Some(Found { inode: word(68)?, state: head[1], moved, connection })
}

fn address(head: &[u8], port: usize, at: usize) -> Option<String> {
    let port = u16::from_be_bytes(*head.get(port..)?.first_chunk()?);
    let ip: IpAddr = match head[0] {
        libc_protocol::INET => Ipv4Addr::from(*head.get(at..)?.first_chunk::<4>()?).into(),
        _ => Ipv6Addr::from(*head.get(at..)?.first_chunk::<16>()?).into(),
    };
    Some(SocketAddr::new(ip, port).to_string())
}

/// What a device may do in place of a sender's CPU.
const SENDING: [Offload; 4] = [Offload::Tx, Offload::Sg, Offload::Tso, Offload::Gso];

/// The devices of this thread's namespace that TCP connections leave by.
fn devices(found: &[Found]) -> Vec<Device> {
    let owned: Vec<(IpAddr, String)> =
        route::addresses().unwrap_or_default().into_iter().map(|own| (own.address.ip(), own.device)).collect();
    let device_of = |ip: IpAddr| owned.iter().find(|(own, _)| *own == ip).map(|(_, device)| device.as_str());
    let mut sums: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for one in found.iter().filter(|one| one.connection.tcp.is_some() && one.state != LISTENS) {
        let Some(Ends { peer, local, .. }) = one.ends() else { continue };
        let [peer, local] = [peer.ip(), local.ip()];
        let within = peer.is_loopback() || device_of(peer).is_some();
        let Some(name) = (if within { Some(LOOPBACK) } else { device_of(local) }) else { continue };
        let [connections, acknowledged] = sums.entry(name).or_default();
        (*connections, *acknowledged) = (*connections + 1, acknowledged.saturating_add(one.moved[0]));
    }
    let device = |(name, [connections, acknowledged]): (&str, [u64; 2])| Device {
        name: name.to_owned(),
        mtu: link::device_state(name).map_or(0, |state| state.mtu),
        connections,
        acknowledged,
        off: off(name),
    };
    sums.into_iter().map(device).collect()
}

/// What a device could do for a sender and is told not to; nothing where the kernel does not say.
fn off(device: &str) -> Vec<Offload> {
    let Ok(features) = ethtool::features(device) else { return Vec::new() };
    SENDING.into_iter().filter(|offload| features.may(*offload) && !features.is(*offload, true)).collect()
}

fn summary(mut found: Vec<Found>) -> Sockets {
    let mut sockets = Sockets { count: BTreeMap::new(), ..Sockets::default() };
    for one in &found {
        let state = usize::from(one.state).checked_sub(1).and_then(|state| STATES.get(state));
        let name = match one.connection.protocol.as_str() {
            "udp" => "udp".to_owned(),
            protocol => format!("{protocol} {}", state.unwrap_or(&"other")),
        };
        *sockets.count.entry(name).or_default() += 1;
        sockets.drops += u64::from(one.connection.drops);
        let Some(tcp) = one.connection.tcp.filter(|_| one.state != LISTENS) else { continue };
        let sums = &mut sockets.sums;
        sums.connections += 1;
        sums.acknowledged = sums.acknowledged.saturating_add(one.moved[0]);
        sums.received = sums.received.saturating_add(one.moved[1]);
        sums.resent += u64::from(tcp.total_retrans);
        sums.data_out += u64::from(tcp.data_segs_out);
        sums.data_in += u64::from(tcp.data_segs_in);
        sums.busy = sums.busy.saturating_add(tcp.busy_time);
        sums.window_limited = sums.window_limited.saturating_add(tcp.rwnd_limited);
        sums.buffer_limited = sums.buffer_limited.saturating_add(tcp.sndbuf_limited);
    }
    found.order_by(|a, b| {
        let key = |one: &Found| (one.connection.drops, one.moved[0].saturating_add(one.moved[1]));
        key(b)
            .cmp(&key(a))
            .then_with(|| a.connection.local.cmp(&b.connection.local))
            .then_with(|| a.connection.peer.cmp(&b.connection.peer))
    });
    sockets.connections = found
        .into_iter()
        .filter(|one| one.state != LISTENS || one.connection.protocol == "udp")
        .take(KEPT)
        .map(|one| one.connection)
        .collect();
    sockets
}

/// The state of a listener (`TCP_LISTEN`).
const LISTENS: u8 = 10;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::{Ends, HEAD, canonical, inodes, libc_protocol, of, other_ends, parse};
    use proptest::prelude::{any, prop, proptest};

    #[test]
    fn descriptors_beyond_the_bound_are_known_to_be_left_out() {
        let _held = UdpSocket::bind("127.0.0.1:0").unwrap();
        let own = [std::process::id()];
        assert!(!inodes(&own, 100_000).cut && !inodes(&own, 100_000).found.is_empty());
        assert!(inodes(&own, 1).cut && inodes(&own, 0).found.is_empty());
    }

    #[test]
    fn the_other_end_of_a_connection_is_found() {
        // A server with a listener and two connections, one over IPv6 with an address of IPv4; a socket of
        // datagrams at any address; clients of both; one of somebody else's server; one that nobody has.
        let all = [
            (1, "tcp", "[::]:80", "[::]:0"),
            (2, "tcp", "[::ffff:127.0.0.1]:80", "[::ffff:127.0.0.1]:1001"),
            (3, "tcp", "10.0.0.1:80", "10.0.0.1:1002"),
            (4, "udp", "0.0.0.0:53", "0.0.0.0:0"),
            (11, "tcp", "127.0.0.1:1001", "127.0.0.1:80"),
            (12, "tcp", "10.0.0.1:1002", "10.0.0.1:80"),
            (13, "udp", "127.0.0.1:2000", "127.0.0.1:53"),
            (14, "tcp", "127.0.0.1:1003", "127.0.0.1:90"),
            (15, "udp", "127.0.0.1:2001", "127.0.0.1:80"),
            (0, "tcp", "127.0.0.1:1004", "127.0.0.1:80"),
            (16, "tcp", "127.0.0.1:1005", "192.0.2.1:80"),
        ];
        let all = all.map(|(inode, protocol, local, peer)| Ends {
            inode,
            protocol,
            local: canonical(local).unwrap(),
            peer: canonical(peer).unwrap(),
        });
        let found = |own: &[u32]| {
            let mut found: Vec<u32> = other_ends(&all, &own.iter().copied().collect()).into_iter().collect();
            found.sort_unstable();
            found
        };
        assert_eq!(found(&[1, 2, 3]), [11, 12]);
        assert_eq!(found(&[4]), [13], "datagrams to a socket without an address");
        assert_eq!(found(&[11]), [2]);
        assert_eq!(found(&[14]), [0_u32; 0]);
    }

    #[test]
    fn own_sockets_are_found_with_their_account() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.write_all(&[1; 1000]).unwrap();
        server.read_exact(&mut [0; 1000]).unwrap();
        let seen = match of(&[std::process::id()]) {
            Ok((seen, left_out)) => {
                assert_eq!(left_out, None);
                seen
            }
            Err(refusal) => {
                eprintln!("SKIPPED: own_sockets_are_found_with_their_account: {refusal}");
                return;
            }
        };
        let local = server.local_addr().unwrap().to_string();
        let one = seen.connections.iter().find(|one| one.local == local && one.peer == client.local_addr().unwrap().to_string());
        let one = one.expect("the server's end");
        assert!(one.tcp.is_some() && one.receive_buffer > 0 && one.send_buffer > 0, "{one:?}");
        assert!(seen.sums.received >= 1000 && seen.sums.data_in >= 1 && seen.count["tcp established"] >= 2, "{seen:?}");
        let udp = datagrams.local_addr().unwrap().to_string();
        assert!(seen.count["udp"] >= 1 && seen.connections.iter().any(|one| one.local == udp), "{seen:?}");
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..400), family in 0..2_usize) {
            if let Some(first) = bytes.first_mut() {
                *first = [libc_protocol::INET, libc_protocol::INET6][family];
            }
            let read = parse(&bytes, libc_protocol::TCP);
            assert!(read.is_some() == (bytes.len() >= HEAD));
        }
    }
}
