//! Sockets that are bound and joined before a runtime takes them.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};

use model::{Protocol, Role};
use socket2::{Domain, SockAddr, Socket as Raw, Type};

use crate::contract::{Harness, Setup};
use crate::error::StackError;

/// A socket that is connected to the other end.
#[derive(Debug)]
pub enum Socket {
    /// Of datagrams.
    Udp(UdpSocket),
    /// Of a stream.
    Tcp(TcpStream),
}

/// Binds a socket with the options that are asked for, says so, and joins the other end.
pub fn join(setup: &Setup, harness: &mut Harness) -> Result<Socket, StackError> {
    let failed = |tried: String| move |answer| StackError::system(tried, answer);
    let kind = if setup.protocol == Protocol::Udp { Type::DGRAM } else { Type::STREAM };
    let socket = Raw::new(Domain::for_address(setup.bind), kind, None).map_err(failed("open a socket".to_owned()))?;
    options(&socket, setup)?;
    socket.bind(&SockAddr::from(setup.bind)).map_err(failed(format!("bind to {}", setup.bind)))?;
    let listens = setup.protocol == Protocol::Tcp && setup.role == Role::Receiver;
    if listens {
        socket.listen(1).map_err(failed("listen".to_owned()))?;
    }
    let port = socket.local_addr().ok().and_then(|address| address.as_socket()).map(|address| address.port());
    let peer = harness.join(port)?;
    if listens {
        return accept(&TcpListener::from(socket), peer).map(Socket::Tcp).map_err(failed(format!("accept a connection from {peer}")));
    }
    socket.connect(&SockAddr::from(peer)).map_err(failed(format!("connect to {peer}")))?;
    Ok(match setup.protocol {
        Protocol::Udp => Socket::Udp(socket.into()),
        Protocol::Tcp => Socket::Tcp(socket.into()),
    })
}

/// The first connection that comes from where the other end is.
fn accept(listener: &TcpListener, peer: SocketAddr) -> io::Result<TcpStream> {
    loop {
        let (stream, from) = listener.accept()?;
        if from.ip() == peer.ip() {
            return Ok(stream);
        }
    }
}

fn options(socket: &Raw, setup: &Setup) -> Result<(), StackError> {
    let failed = |name: &str| {
        let tried = format!("set {name}");
        move |answer| StackError::system(tried, answer)
    };
    if let Some(bytes) = setup.sndbuf {
        socket.set_send_buffer_size(bytes).map_err(failed("SO_SNDBUF"))?;
    }
    if let Some(bytes) = setup.rcvbuf {
        socket.set_recv_buffer_size(bytes).map_err(failed("SO_RCVBUF"))?;
    }
    if setup.protocol == Protocol::Tcp {
        socket.set_tcp_nodelay(setup.nodelay).map_err(failed("TCP_NODELAY"))?;
        if let Some(cc) = &setup.cc {
            socket.set_tcp_congestion(cc.as_bytes()).map_err(failed("TCP_CONGESTION"))?;
        }
    }
    Ok(())
}
