//! The socket of one trial: opened, set, joined to its peer, read back.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use model::control::Task;
use model::end::{OptionValue, SocketOption};
use model::{Family, Protocol, Role, Test};
use nix::poll::{PollFd, PollFlags};
use serde::de::DeserializeOwned;
use socket2::{Domain, SockAddr, SockRef, Socket, Type};

use crate::channel::{ChannelError, Receiver};
use crate::endpoint::EndpointError;

/// How long a blocked call sleeps before it looks at the stage again, should
/// the signal that wakes it come too early.
const BACKSTOP: Duration = Duration::from_millis(50);
/// How long two ends of a trial may take to find each other.
const JOIN_LIMIT: Duration = Duration::from_secs(10);

/// A step with a socket that failed.
#[derive(Debug, thiserror::Error)]
#[error("{tried}: {answer}{remedy}")]
pub struct SocketError {
    tried: String,
    answer: io::Error,
    remedy: &'static str,
}

impl SocketError {
    fn new(tried: impl Into<String>, answer: io::Error) -> Self {
        let remedy = match answer.raw_os_error() {
            Some(libc::EADDRINUSE) => "; end what uses this port, or choose another",
            Some(libc::EADDRNOTAVAIL) => "; this host has no such address: check the link and its family",
            Some(libc::ENETUNREACH | libc::EHOSTUNREACH) => "; there is no route to the other host: check the link",
            Some(libc::ECONNREFUSED) => "; nothing listens there: the other end may have died",
            Some(libc::EAFNOSUPPORT) => "; this kernel lacks that address family: `nettoll doctor` says more",
            Some(libc::EMFILE | libc::ENFILE) => "; raise the limit on open files (ulimit -n)",
            _ => "",
        };
        Self { tried: tried.into(), answer, remedy }
    }
}

/// Opens, sets and binds the socket of a task; a TCP listener listens.
///
/// # Errors
/// What the system refused.
pub fn open(task: &Task) -> Result<Socket, SocketError> {
    let domain = match task.cell.family {
        Family::V4 => Domain::IPV4,
        Family::V6 => Domain::IPV6,
    };
    let kind = match task.cell.protocol() {
        Protocol::Tcp => Type::STREAM,
        Protocol::Udp => Type::DGRAM,
    };
    let socket = Socket::new(domain, kind, None).map_err(|answer| SocketError::new(format!("socket {}", task.cell.protocol()), answer))?;
    set_options(&socket, task)?;
    socket.bind(&task.local.into()).map_err(|answer| SocketError::new(format!("bind {}", task.local), answer))?;
    if listens(task) {
        socket.listen(1).map_err(|answer| SocketError::new(format!("listen on {}", task.local), answer))?;
    }
    Ok(socket)
}

/// Where a socket is bound.
///
/// # Errors
/// What the system refused.
pub fn address(socket: &Socket) -> Result<SocketAddr, SocketError> {
    let unknown = || io::Error::other("not an IP address");
    let address = socket.local_addr().map_err(|answer| SocketError::new("getsockname", answer))?;
    address.as_socket().ok_or_else(|| SocketError::new("getsockname", unknown()))
}

/// Joins the socket to the other end's: connects, or accepts its connection.
///
/// # Errors
/// What the system refused, that nobody came, or the loss of the host.
pub fn join<T, R>(socket: Socket, task: &Task, peer: SocketAddr, control: &Receiver<T, R>) -> Result<OwnedFd, EndpointError>
where
    T: DeserializeOwned,
    R: Read + AsFd,
{
    let wait_for = |socket: &Socket, event| control.wait_for(PollFd::new(socket.as_fd(), event), JOIN_LIMIT);
    let joined = if listens(task) { accept(&socket, peer, wait_for)? } else { connect(socket, peer, wait_for)? };
    let wait = match (task.cell.test, task.role) {
        (Test::UdpRr, Role::Sender) => Duration::from(task.answer_limit),
        _ => BACKSTOP,
    };
    let set = joined.set_read_timeout(Some(wait)).and_then(|()| joined.set_write_timeout(Some(BACKSTOP)));
    set.map_err(|answer| SocketError::new("set the time limit of blocked calls", answer))?;
    Ok(joined.into())
}

fn listens(task: &Task) -> bool {
    task.cell.protocol() == Protocol::Tcp && task.cell.test.listener() == task.role
}

fn connect(
    socket: Socket,
    peer: SocketAddr,
    wait_for: impl Fn(&Socket, PollFlags) -> Result<bool, ChannelError>,
) -> Result<Socket, EndpointError> {
    let failed = |answer| SocketError::new(format!("connect to {peer}"), answer);
    socket.set_nonblocking(true).map_err(failed)?;
    match socket.connect(&SockAddr::from(peer)) {
        Err(answer) if answer.raw_os_error() == Some(libc::EINPROGRESS) => {
            if !wait_for(&socket, PollFlags::POLLOUT)? {
                return Err(failed(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {JOIN_LIMIT:?}"))).into());
            }
            socket.take_error().and_then(|error| error.map_or(Ok(()), Err)).map_err(failed)?;
        }
        answer => answer.map_err(failed)?,
    }
    socket.set_nonblocking(false).map_err(failed)?;
    Ok(socket)
}

/// Takes the connection that comes from the peer; others are turned away.
fn accept(
    listener: &Socket,
    peer: SocketAddr,
    wait_for: impl Fn(&Socket, PollFlags) -> Result<bool, ChannelError>,
) -> Result<Socket, EndpointError> {
    const STRANGERS: usize = 100;
    for _ in 0..STRANGERS {
        if !wait_for(listener, PollFlags::POLLIN)? {
            let nobody = io::Error::new(io::ErrorKind::TimedOut, format!("nobody connected within {JOIN_LIMIT:?}"));
            return Err(SocketError::new(format!("accept a connection from {}", peer.ip()), nobody).into());
        }
        let (socket, from) = listener.accept().map_err(|answer| SocketError::new("accept", answer))?;
        if from.as_socket().is_some_and(|from| from.ip() == peer.ip()) {
            return Ok(socket);
        }
    }
    Err(SocketError::new("accept", io::Error::other(format!("{STRANGERS} connections came from elsewhere"))).into())
}

fn set_options(socket: &Socket, task: &Task) -> Result<(), SocketError> {
    let cell = &task.cell;
    let set = |name: &str, result: io::Result<()>| result.map_err(|answer| SocketError::new(format!("setsockopt({name})"), answer));
    if let Some(size) = cell.sndbuf {
        set("SO_SNDBUF", socket.set_send_buffer_size(size.as_len()))?;
    }
    if let Some(size) = cell.rcvbuf {
        set("SO_RCVBUF", socket.set_recv_buffer_size(size.as_len()))?;
    }
    if cell.protocol() == Protocol::Tcp {
        set("TCP_NODELAY", socket.set_tcp_nodelay(cell.nodelay))?;
        if let Some(cc) = &cell.cc {
            let name = format!("TCP_CONGESTION = {cc}, see net.ipv4.tcp_available_congestion_control");
            set(&name, socket.set_tcp_congestion(cc.as_bytes()))?;
        }
    }
    Ok(())
}

/// The options of a socket as the kernel has them now, with what was asked.
pub fn options(socket: &OwnedFd, task: &Task) -> Vec<SocketOption> {
    let socket = SockRef::from(socket);
    let cell = &task.cell;
    let size = |bytes: Option<model::Bytes>| bytes.map(|bytes| OptionValue::Number(bytes.get() as i64));
    let mut options = vec![
        option("SO_SNDBUF", size(cell.sndbuf), number(socket.send_buffer_size())),
        option("SO_RCVBUF", size(cell.rcvbuf), number(socket.recv_buffer_size())),
    ];
    if cell.protocol() == Protocol::Tcp {
        let nodelay = Some(OptionValue::Number(i64::from(cell.nodelay)));
        options.push(option("TCP_NODELAY", nodelay, number(socket.tcp_nodelay().map(usize::from))));
        options.push(option("TCP_CONGESTION", cell.cc.clone().map(OptionValue::Text), name(socket.tcp_congestion())));
        options.push(option("TCP_MAXSEG", None, number(socket.tcp_mss().map(|mss| mss as usize))));
    }
    options
}

/// The options at the start of a trial, with what they have become by its end.
pub fn with_end(mut options: Vec<SocketOption>, at_end: Vec<SocketOption>) -> Vec<SocketOption> {
    for (option, end) in options.iter_mut().zip(at_end) {
        option.got = end.set;
    }
    options
}

fn option(name: &str, asked: Option<OptionValue>, set: OptionValue) -> SocketOption {
    SocketOption { name: name.to_owned(), asked, got: set.clone(), set }
}

fn number(answer: io::Result<usize>) -> OptionValue {
    answer.map_or_else(|error| OptionValue::Text(error.to_string()), |value| OptionValue::Number(value as i64))
}

fn name(answer: io::Result<Vec<u8>>) -> OptionValue {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned();
    OptionValue::Text(answer.map_or_else(|error| error.to_string(), text))
}
