//! The other end is a user's own program, which shows no cookie; `connect` has the side of TCP that
//! connects. It is taken at its word where it comes from the address that the controller named; an agent takes part in such a trial only
//! where its operator lists programs.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use model::Protocol;
use nix::poll::{PollFd, PollFlags};
use socket2::{SockAddr, Socket};

use super::{JOIN_LIMIT, Patience, address};
use crate::error::{EndpointError, SocketError};

/// Takes the first that comes from each address.
pub(super) fn accept(listeners: &[Socket], goals: &[SocketAddr], patience: &Patience<'_>) -> Result<Vec<Socket>, EndpointError> {
    listeners.iter().zip(goals).map(|(listener, goal)| accept_one(listener, *goal, patience)).collect()
}

/// Sets where datagrams go and come from.
pub(super) fn associate(sockets: Vec<Socket>, goals: &[SocketAddr]) -> Result<Vec<Socket>, EndpointError> {
    for (socket, goal) in sockets.iter().zip(goals) {
        socket.connect(&SockAddr::from(*goal)).map_err(|answer| SocketError::new(format!("connect to {goal}"), answer))?;
    }
    Ok(sockets)
}

fn accept_one(listener: &Socket, goal: SocketAddr, patience: &Patience<'_>) -> Result<Socket, EndpointError> {
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
