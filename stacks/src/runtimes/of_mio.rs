//! mio: a call, and a wait for readiness where it would block.

use std::future::Future;
use std::io::{self, Read, Write};
use std::pin::pin;
use std::task::{Context, Poll as Progress, Waker};

use mio::net::{TcpStream, UdpSocket};
use mio::{Events, Interest, Poll, Token};

use super::plain::Socket;
use super::{Wire, carry, joined};
use crate::contract::Harness;
use crate::error::StackError;

/// Is an end on mio.
///
/// # Errors
/// A breach of the contract, a refusal of the system.
pub fn run(harness: Harness) -> Result<(), StackError> {
    let failed = |answer: io::Error| StackError::system("start mio", answer);
    let (socket, setup, running) = joined(harness)?;
    let poll = Poll::new().map_err(failed)?;
    let events = Events::with_capacity(8);
    let both = Interest::READABLE | Interest::WRITABLE;
    match socket {
        Socket::Udp(socket) => {
            socket.set_nonblocking(true).map_err(failed)?;
            let mut socket = UdpSocket::from_std(socket);
            poll.registry().register(&mut socket, Token(0), both).map_err(failed)?;
            at_once(carry(Polled { socket, poll, events }, &setup, running))
        }
        Socket::Tcp(stream) => {
            stream.set_nonblocking(true).map_err(failed)?;
            let mut socket = TcpStream::from_std(stream);
            poll.registry().register(&mut socket, Token(0), both).map_err(failed)?;
            at_once(carry(Polled { socket, poll, events }, &setup, running))
        }
    }
}

/// Runs what waits in its calls and nowhere else.
fn at_once<T>(future: impl Future<Output = Result<T, StackError>>) -> Result<T, StackError> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Progress::Ready(done) => done,
        Progress::Pending => Err(StackError::contract("mio's loop gave up in the middle (a fault of nettoll)")),
    }
}

/// A socket with what its readiness is waited for.
struct Polled<S> {
    socket: S,
    poll: Poll,
    events: Events,
}

impl<S> Polled<S> {
    /// Calls until the call does not block.
    fn retried<T>(&mut self, mut call: impl FnMut(&mut S) -> io::Result<T>) -> io::Result<T> {
        loop {
            match call(&mut self.socket) {
                Err(answer) if answer.kind() == io::ErrorKind::WouldBlock => match self.poll.poll(&mut self.events, None) {
                    Err(answer) if answer.kind() != io::ErrorKind::Interrupted => return Err(answer),
                    _ => {}
                },
                Err(answer) if answer.kind() == io::ErrorKind::Interrupted => {}
                answer => return answer,
            }
        }
    }
}

impl Wire for Polled<UdpSocket> {
    async fn send(&mut self, message: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        (self.retried(|socket| socket.send(&message)).map(drop), message)
    }

    async fn receive(&mut self, mut room: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        (self.retried(|socket| socket.recv(&mut room)), room)
    }
}

impl Wire for Polled<TcpStream> {
    async fn send(&mut self, message: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        let mut sent = 0;
        while sent < message.len() {
            match self.retried(|stream| stream.write(&message[sent..])) {
                Ok(0) => return (Err(io::ErrorKind::WriteZero.into()), message),
                Ok(more) => sent += more,
                Err(answer) => return (Err(answer), message),
            }
        }
        (Ok(()), message)
    }

    async fn receive(&mut self, mut room: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        (self.retried(|stream| stream.read(&mut room)), room)
    }
}
