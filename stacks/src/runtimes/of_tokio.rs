//! tokio, on one thread.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::runtime::Builder;

use super::plain::Socket;
use super::{Wire, carry, joined};
use crate::contract::Harness;
use crate::error::StackError;

/// Is an end on tokio.
///
/// # Errors
/// A breach of the contract, a refusal of the system.
pub fn run(harness: Harness) -> Result<(), StackError> {
    let failed = |answer: io::Error| StackError::system("start tokio", answer);
    let (socket, setup, running) = joined(harness)?;
    let runtime = Builder::new_current_thread().enable_io().build().map_err(failed)?;
    runtime.block_on(async {
        match socket {
            Socket::Udp(socket) => {
                socket.set_nonblocking(true).map_err(failed)?;
                carry(UdpSocket::from_std(socket).map_err(failed)?, &setup, running).await
            }
            Socket::Tcp(stream) => {
                stream.set_nonblocking(true).map_err(failed)?;
                carry(TcpStream::from_std(stream).map_err(failed)?, &setup, running).await
            }
        }
    })
}

impl Wire for UdpSocket {
    async fn send(&mut self, message: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        (Self::send(self, &message).await.map(drop), message)
    }

    async fn receive(&mut self, mut room: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        (self.recv(&mut room).await, room)
    }
}

impl Wire for TcpStream {
    async fn send(&mut self, message: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        (self.write_all(&message).await, message)
    }

    async fn receive(&mut self, mut room: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        (self.read(&mut room).await, room)
    }
}
