//! Socket options: set, and read back.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use model::control::Task;
use model::end::{OptionValue, SocketOption};
use model::{Family, Over, Protocol, Receive, Role, Waiting};
use socket2::{SockRef, Socket};

use super::{ktls, listens, role_of, sctp};
use crate::api::{self, Carrier};
use crate::error::SocketError;

/// Time that the kernel asks the device of a socket that is busy polled, in µs: what
/// socket(7) and the kernel's Documentation/networking/napi.rst recommend to begin with.
const BUSY_POLL_US: libc::c_int = 50;

/// Sets the options that a task asks for.
///
/// # Errors
/// A refusal of the system.
pub(super) fn set(socket: &Socket, task: &Task) -> Result<(), SocketError> {
    let cell = &task.cell;
    // Nothing is allocated unless it fails: `TCP_CRR` sets a socket for each transaction.
    let set = |name: &str, result: io::Result<()>| result.map_err(|answer| SocketError::new(format!("setsockopt({name})"), answer));
    set_buffers(socket, task)?;
    if cell.waiting == Waiting::BusyPoll {
        set("SO_BUSY_POLL", api::set_int(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_BUSY_POLL, BUSY_POLL_US))?;
    }
    if let Some(tos) = cell.tos {
        let (level, option, name) = tos_option(cell.family);
        set(name, api::set_int(socket.as_raw_fd(), level, option, tos.byte().into()))?;
    }
    if let Some(streams) = cell.nstreams {
        set("SCTP_INITMSG", sctp::set_streams(socket, streams))?;
    }
    let receive = cell.receive();
    api::prepare(receive, socket.as_fd()).map_err(|answer| SocketError::new(format!("ready the socket for {receive}"), answer))?;
    if cell.protocol() == Protocol::Tcp {
        let (level, option, name) = nodelay(cell.api.over());
        set(name, api::set_int(socket.as_raw_fd(), level, option, cell.nodelay.into()))?;
        if let Some(cc) = &cell.cc {
            socket.set_tcp_congestion(cc.as_bytes()).map_err(|answer| {
                let name = format!("setsockopt(TCP_CONGESTION = {cc}, see net.ipv4.tcp_available_congestion_control)");
                SocketError::new(name, answer)
            })?;
        }
    }
    Ok(())
}

/// Sets what would stand in the way of joining, once the ends have joined. Returns another
/// descriptor that messages will come by, where there is one.
///
/// # Errors
/// A refusal of the system.
pub(super) fn settle(socket: &Socket, task: &Task, flow: usize) -> Result<Option<Carrier>, SocketError> {
    let over = task.cell.api.over();
    match over {
        Over::Mptcp => many_paths(socket)?,
        Over::Ktls => ktls::secure(socket, task.cookie.0, role_of(task, flow)).map_err(|answer| SocketError::new("encrypt", answer))?,
        _ if over.is_local() && over.is_socket() => set_buffers(socket, task)?,
        _ => {}
    }
    if !over.is_socket() || !receives(task, flow) {
        return Ok(None);
    }
    let settled = api::settle(socket.as_fd(), &task.cell);
    settled.map_err(|answer| SocketError::new(format!("ready the socket for {}", task.cell.receive()), answer))
}

/// The option that sends small messages at once: its level, number and name.
const fn nodelay(over: Over) -> (libc::c_int, libc::c_int, &'static str) {
    /// Of the kernel's include/uapi/linux/sctp.h.
    const SCTP_NODELAY: libc::c_int = 3;
    match over {
        Over::Sctp => (libc::IPPROTO_SCTP, SCTP_NODELAY, "SCTP_NODELAY"),
        _ => (libc::IPPROTO_TCP, libc::TCP_NODELAY, "TCP_NODELAY"),
    }
}

/// The option of the type of service: its level, number and name.
const fn tos_option(family: Family) -> (libc::c_int, libc::c_int, &'static str) {
    match family {
        Family::V4 => (libc::IPPROTO_IP, libc::IP_TOS, "IP_TOS"),
        Family::V6 => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS, "IPV6_TCLASS"),
    }
}

/// Sees to it that a connection has not fallen back to TCP: the kernel then knows no
/// option of MPTCP (mptcp_getsockopt() in its net/mptcp/sockopt.c).
fn many_paths(socket: &Socket) -> Result<(), SocketError> {
    /// Of the kernel's include/linux/socket.h and include/uapi/linux/mptcp.h.
    const SOL_MPTCP: libc::c_int = 284;
    const MPTCP_INFO: libc::c_int = 1;
    match api::get_int(socket.as_raw_fd(), SOL_MPTCP, MPTCP_INFO) {
        Ok(_) => Ok(()),
        Err(answer) => {
            let what = "the connection fell back to TCP: does a box on the path take MPTCP's options out? getsockopt(MPTCP_INFO)";
            Err(SocketError::new(what, answer))
        }
    }
}

/// Sets the buffers that a task asks for.
fn set_buffers(socket: &Socket, task: &Task) -> Result<(), SocketError> {
    let set = |name: &str, result: io::Result<()>| result.map_err(|answer| SocketError::new(format!("setsockopt({name})"), answer));
    if let Some(size) = task.cell.sndbuf {
        set("SO_SNDBUF", socket.set_send_buffer_size(size.as_len()))?;
    }
    if let Some(size) = task.cell.rcvbuf {
        set("SO_RCVBUF", socket.set_recv_buffer_size(size.as_len()))?;
    }
    Ok(())
}

/// Returns whether a flow of this end receives in the way that its cell names; those of the
/// way back come after all of the way there.
fn receives(task: &Task, flow: usize) -> bool {
    role_of(task, flow) == Role::Receiver || !task.cell.test.is_stream()
}

/// The options of a socket as the kernel has them now, with what was asked.
pub fn options(socket: &OwnedFd, task: &Task) -> Vec<SocketOption> {
    let socket = SockRef::from(socket);
    let (cell, over) = (&task.cell, task.cell.api.over());
    if !over.is_socket() {
        return Vec::new();
    }
    let size = |bytes: Option<model::Bytes>| bytes.map(|bytes| OptionValue::Number(bytes.get() as i64));
    let mut options = vec![
        option("SO_SNDBUF", size(cell.sndbuf), number(socket.send_buffer_size())),
        option("SO_RCVBUF", size(cell.rcvbuf), number(socket.recv_buffer_size())),
    ];
    if cell.waiting == Waiting::BusyPoll {
        let asked = Some(OptionValue::Number(BUSY_POLL_US.into()));
        let set = api::get_int(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_BUSY_POLL);
        options.push(option("SO_BUSY_POLL", asked, number(set.map(|us| us as usize))));
    }
    if let Some(tos) = cell.tos {
        let (level, number_of, name_of) = tos_option(cell.family);
        let set = api::get_int(socket.as_raw_fd(), level, number_of);
        options.push(option(name_of, Some(OptionValue::Number(tos.byte().into())), number(set.map(|byte| byte as usize))));
    }
    if cell.receive() == Receive::Lowat && receives(task, 0) {
        let set = api::get_int(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT);
        options.push(option("SO_RCVLOWAT", size(Some(cell.read_size)), number(set.map(|bytes| bytes as usize))));
    }
    if cell.protocol() == Protocol::Tcp && !over.is_local() {
        let asked = Some(OptionValue::Number(i64::from(cell.nodelay)));
        let (level, number_of, name_of) = nodelay(over);
        let set = api::get_int(socket.as_raw_fd(), level, number_of);
        options.push(option(name_of, asked, number(set.map(|set| usize::from(set != 0)))));
    }
    if cell.protocol() == Protocol::Tcp && !over.is_local() && over != Over::Sctp {
        options.push(option("TCP_CONGESTION", cell.cc.clone().map(OptionValue::Text), name(socket.tcp_congestion())));
        options.push(option("TCP_MAXSEG", None, number(socket.tcp_mss().map(|mss| mss as usize))));
    }
    options.extend(of_association(&socket, task));
    options
}

/// What an association has, where it was asked for.
fn of_association(socket: &Socket, task: &Task) -> Vec<SocketOption> {
    let streams = task.cell.nstreams.map(|streams| {
        let got = sctp::streams_of(socket).map(usize::from);
        option("SCTP_STATUS", Some(OptionValue::Number(streams.into())), number(got))
    });
    let asked = task.cell.xbind.as_ref().filter(|_| !listens(task));
    let addresses = asked.map(|asked| {
        let got = sctp::addresses_of(socket).map_or_else(|error| error.to_string(), |addresses| sctp::joined(&addresses));
        option("SCTP_GET_LOCAL_ADDRS", Some(OptionValue::Text(sctp::joined(asked.all()))), OptionValue::Text(got))
    });
    streams.into_iter().chain(addresses).collect()
}

/// The options at the start of a trial, with what they have become by its end.
pub fn with_end(mut options: Vec<SocketOption>, at_end: Vec<SocketOption>) -> Vec<SocketOption> {
    for (option, end) in options.iter_mut().zip(at_end) {
        option.got = end.set;
    }
    options
}

fn option(name: &str, asked: Option<OptionValue>, set: OptionValue) -> SocketOption {
    SocketOption { name: name.into(), asked, got: set.clone(), set }
}

fn number(answer: io::Result<usize>) -> OptionValue {
    answer.map_or_else(|error| OptionValue::Text(error.to_string()), |value| OptionValue::Number(value as i64))
}

fn name(answer: io::Result<Vec<u8>>) -> OptionValue {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned();
    OptionValue::Text(answer.map_or_else(|error| error.to_string(), text))
}
