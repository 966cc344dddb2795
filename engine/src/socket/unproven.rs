//! The other end is a user's own program, which shows no cookie. It is taken at its word where it
//! comes from the address that the controller named; an agent takes part in such a trial only
//! where its operator lists programs.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use model::Protocol;
use model::control::Task;
use nix::poll::{PollFd, PollFlags};
use socket2::{SockAddr, Socket};

use super::{JOIN_LIMIT, Patience, address, listens};
use crate::error::{EndpointError, SocketError};

/// Connects each socket to its goal, or takes a connection from where that is.
pub(super) fn join(sockets: Vec<Socket>, goals: &[SocketAddr], task: &Task, patience: &Patience<'_>) -> Result<Vec<Socket>, EndpointError> {
    let mut joined = Vec::new();
    for (socket, goal) in sockets.into_iter().zip(goals) {
        joined.push(match task.cell.protocol() {
            Protocol::Udp => {
                socket.connect(&SockAddr::from(*goal)).map_err(|answer| SocketError::new(format!("connect to {goal}"), answer))?;
                socket
            }
            Protocol::Tcp if listens(task) => accept(&socket, *goal, patience)?,
            Protocol::Tcp => connect(socket, *goal, patience)?,
        });
    }
    Ok(joined)
}

/// Takes the first connection from the address of `goal`; others are closed.
fn accept(listener: &Socket, goal: SocketAddr, patience: &Patience<'_>) -> Result<Socket, EndpointError> {
    let failed = |answer| SocketError::new(format!("accept a connection from {}", goal.ip()), answer);
    listener.set_nonblocking(true).map_err(failed)?;
    loop {
        let port = address(listener)?.port();
        let what = format!("none came from {}", goal.ip());
        if patience.wait(&[PollFd::new(listener.as_fd(), PollFlags::POLLIN)], Duration::MAX)?.is_none() {
            return Err(SocketError::unheard("accept a connection", &what, JOIN_LIMIT, port, Protocol::Tcp).into());
        }
        match listener.accept() {
            Ok((socket, from)) if from.as_socket().is_some_and(|from| from.ip() == goal.ip()) => {
                socket.set_nonblocking(false).map_err(failed)?;
                return Ok(socket);
            }
            Ok(_) => {}
            Err(answer) if matches!(answer.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(answer) => return Err(failed(answer).into()),
        }
    }
}

fn connect(socket: Socket, goal: SocketAddr, patience: &Patience<'_>) -> Result<Socket, EndpointError> {
    let failed = |answer| SocketError::new(format!("connect to {goal}"), answer);
    socket.set_nonblocking(true).map_err(failed)?;
    match socket.connect(&SockAddr::from(goal)) {
        Err(answer) if answer.raw_os_error() != Some(libc::EINPROGRESS) => return Err(failed(answer).into()),
        _ => {}
    }
    if patience.wait(&[PollFd::new(socket.as_fd(), PollFlags::POLLOUT)], Duration::MAX)?.is_none() {
        return Err(SocketError::unheard(format!("connect to {goal}"), "no answer", JOIN_LIMIT, goal.port(), Protocol::Tcp).into());
    }
    socket.take_error().and_then(|error| error.map_or(Ok(()), Err)).map_err(failed)?;
    socket.set_nonblocking(false).map_err(failed)?;
    Ok(socket)
}
