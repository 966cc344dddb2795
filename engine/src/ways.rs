//! Ways of sending and receiving that this kernel allows, found by trying each.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use model::plan::Level;
use model::{Api, Bytes, Cell, Receive, Test};

use crate::api::{self, Place};

/// Message that is tried: it fits every MTU.
const SIZE: Bytes = Bytes::new(64);
/// The longest that a try waits.
const PATIENCE: Duration = Duration::from_millis(50);

/// Sends one message over loopback in a way.
///
/// # Errors
/// The kernel's refusal.
pub fn try_sending(way: Api) -> io::Result<()> {
    let (cell, sockets) = joined(Level::Api(way), |test| way.carries(test))?;
    api::try_sending(&Place::new(&cell, sockets.0, PATIENCE))
}

/// Readies a socket of loopback to receive in a way.
///
/// # Errors
/// The kernel's refusal.
pub fn try_receiving(way: Receive) -> io::Result<()> {
    let (cell, sockets) = joined(Level::Receive(way), |test| way.carries(test))?;
    api::prepare(way, sockets.0.as_fd())?;
    api::settle(sockets.0.as_fd(), &cell)?;
    api::try_receiving(&Place::new(&cell, sockets.0, PATIENCE))
}

/// A cell of the way, and two sockets that are joined.
fn joined(way: Level, carries: impl Fn(Test) -> bool) -> io::Result<(Cell, (OwnedFd, OwnedFd))> {
    let test = if carries(Test::UdpStream) { Test::UdpStream } else { Test::TcpStream };
    let cell = Cell::plain(test, SIZE).with(&[way]).map_err(io::Error::other)?;
    let sockets = if test == Test::UdpStream { datagrams()? } else { stream()? };
    Ok((cell, sockets))
}

fn datagrams() -> io::Result<(OwnedFd, OwnedFd)> {
    let bound = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let (here, there) = (bound()?, bound()?);
    here.connect(there.local_addr()?)?;
    there.connect(here.local_addr()?)?;
    Ok((here.into(), there.into()))
}

fn stream() -> io::Result<(OwnedFd, OwnedFd)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let here = TcpStream::connect(listener.local_addr()?)?;
    Ok((here.into(), listener.accept()?.0.into()))
}

#[cfg(test)]
mod tests {
    use model::{Api, Receive};

    use super::{try_receiving, try_sending};

    #[test]
    fn plain_calls_are_there() {
        for (sends, receives) in [(Api::Send, Receive::Recv), (Api::Sendmsg, Receive::Recvmsg), (Api::Writev, Receive::Waitall)] {
            try_sending(sends).unwrap();
            try_receiving(receives).unwrap();
        }
    }

    #[test]
    fn every_way_is_there_or_says_why_not() {
        let refused = Api::ALL.iter().filter_map(|way| try_sending(*way).err());
        let refused = refused.chain(Receive::ALL.iter().filter_map(|way| try_receiving(*way).err()));
        refused.for_each(|answer| assert!(!answer.to_string().is_empty()));
    }
}
