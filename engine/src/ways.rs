//! Ways of sending and receiving that this kernel allows, found by trying each.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use model::plan::Level;
use model::{Api, Bytes, Cell, Over, Receive, Role, Test};
use socket2::{Domain, Socket, Type};

use crate::api::shared;
use crate::api::{self, KernelRefusal, Place};
use crate::socket::{End, ktls, other_than_tcp, pair};

/// Message that is tried: it fits every MTU.
const SIZE: Bytes = Bytes::new(64);
/// The longest that a try waits.
const PATIENCE: Duration = Duration::from_millis(50);

/// Sends one message over loopback in a way.
///
/// # Errors
/// The kernel's refusal.
pub fn try_sending(way: Api) -> io::Result<()> {
    match way {
        // Loopback has no frames, and no device is made on the machine itself.
        Api::Packet | Api::PacketRing => return api::raw::packet_socket().map(drop),
        Api::Tun => return api::tun::device_file().map(drop),
        // Whether a device takes frames without a copy is for its driver to say.
        Api::Xdp | Api::XdpZerocopy => return bpf::xsk::xdp_socket().map(drop),
        _ => {}
    }
    // A handshake of SCTP may wait for seconds; what a kernel lacks shows before.
    if let (Over::Sctp, Some((protocol, lack))) = (way.over(), other_than_tcp(way.over())) {
        return open(protocol, lack).map(drop);
    }
    let (cell, ends) = joined(Level::Api(way.into()), way.over(), |test| way.carries(test))?;
    api::try_sending(&place(&cell, ends.0, Role::Sender))
}

/// Readies a socket of loopback to receive in a way.
///
/// # Errors
/// The kernel's refusal.
pub fn try_receiving(way: Receive) -> io::Result<()> {
    match way {
        Receive::Packet => return api::raw::packet_socket().map(drop),
        Receive::Xdp | Receive::XdpGeneric | Receive::XdpZerocopy => return api::try_xdp(),
        _ => {}
    }
    let api = Api::ALL.iter().copied().find(|api| way.takes_from(api.over())).unwrap_or(Api::Send);
    let level = Level::Api(model::Ways { sender: api, receiver: Some(way) });
    let (cell, ends) = joined(level, api.over(), |test| way.carries(test) && api.carries(test))?;
    api::prepare(way, ends.1.socket.as_fd())?;
    let _opened = api::settle(ends.1.socket.as_fd(), &cell)?;
    api::try_receiving(&place(&cell, ends.1, Role::Receiver))
}

fn place(cell: &Cell, End { socket, passed }: End, role: Role) -> Place<'_> {
    Place::new(cell, socket, PATIENCE).with_passed(passed, role)
}

/// A cell of the way, and two ends that are joined: of who sends, and of who receives.
fn joined(way: Level, over: Over, carries: impl Fn(Test) -> bool) -> io::Result<(Cell, (End, End))> {
    let test = if carries(Test::UdpStream) { Test::UdpStream } else { Test::TcpStream };
    let cell = Cell::plain(test, SIZE).with(&[way]).map_err(io::Error::other)?;
    let ends = match over {
        over if over.is_local() => pair(over, shared::ring_bytes(&cell))?,
        over => {
            let (here, there) = match other_than_tcp(over) {
                Some((protocol, lack)) => stream(protocol, lack)?,
                None if test == Test::UdpStream => datagrams()?,
                None => stream(socket2::Protocol::TCP, "this machine has no TCP")?,
            };
            if over == Over::Ktls {
                ktls::secure(&here, [0; ktls::KEY], Role::Sender)?;
                ktls::secure(&there, [0; ktls::KEY], Role::Receiver)?;
            }
            (End { socket: here, passed: None }, End { socket: there, passed: None })
        }
    };
    Ok((cell, ends))
}

fn datagrams() -> io::Result<(OwnedFd, OwnedFd)> {
    let bound = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let (here, there) = (bound()?, bound()?);
    here.connect(there.local_addr()?)?;
    there.connect(here.local_addr()?)?;
    Ok((here.into(), there.into()))
}

fn open(protocol: socket2::Protocol, lack: &str) -> io::Result<Socket> {
    Socket::new(Domain::IPV4, Type::STREAM, Some(protocol)).map_err(|answer| KernelRefusal::error(lack, answer))
}

/// Two ends of a stream of bytes; `lack` says what a kernel lacks that refuses the protocol.
fn stream(protocol: socket2::Protocol, lack: &str) -> io::Result<(OwnedFd, OwnedFd)> {
    let listener = open(protocol, lack)?;
    listener.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    listener.listen(1)?;
    let here = open(protocol, lack)?;
    here.connect(&listener.local_addr()?)?;
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
