//! compio, on io_uring: one operation at a time.

use std::io;

use compio::buf::BufResult;
use compio::io::{AsyncRead, AsyncWriteExt};
use compio::net::{TcpStream, UdpSocket};
use compio::runtime::Runtime;

use super::plain::Socket;
use super::{Wire, carry, joined};
use crate::contract::Harness;
use crate::error::StackError;

/// Is an end on compio.
///
/// # Errors
/// A breach of the contract, a refusal of the system: a kernel without io_uring, for one.
pub fn run(harness: Harness) -> Result<(), StackError> {
    let failed = |answer: io::Error| StackError::System {
        tried: "start compio".to_owned(),
        answer,
        remedy: "; it needs io_uring: see `nettoll doctor`, and kernel.io_uring_disabled",
    };
    let (socket, setup, running) = joined(harness)?;
    let runtime = Runtime::new().map_err(failed)?;
    runtime.block_on(async {
        match socket {
            Socket::Udp(socket) => carry(UdpSocket::from_std(socket).map_err(failed)?, &setup, running).await,
            Socket::Tcp(stream) => carry(TcpStream::from_std(stream).map_err(failed)?, &setup, running).await,
        }
    })
}

impl Wire for UdpSocket {
    async fn send(&mut self, message: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        let BufResult(sent, message) = Self::send(self, message).await;
        (sent.map(drop), message)
    }

    async fn receive(&mut self, mut room: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        // It fills what lies beyond the length.
        room.clear();
        let BufResult(received, room) = self.recv(room).await;
        (received, room)
    }
}

impl Wire for TcpStream {
    async fn send(&mut self, message: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        let BufResult(sent, message) = self.write_all(message).await;
        (sent, message)
    }

    async fn receive(&mut self, mut room: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        room.clear();
        let BufResult(received, room) = self.read(room).await;
        (received, room)
    }
}
