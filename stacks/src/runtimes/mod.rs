//! Runtimes as ends of trials, each over the kernel's sockets as its users have it, and stacks that
//! others maintain.

mod numbers;
mod of_compio;
mod of_mio;
mod of_quinn;
mod of_smoltcp;
mod of_tokio;
mod plain;

use std::future::Future;
use std::io;

use model::{Protocol, Role};

use crate::contract::{Harness, Running, STOP, Setup};
use crate::error::StackError;

pub use {of_compio::run as compio, of_mio::run as mio, of_quinn::run as quinn, of_smoltcp::run as smoltcp, of_tokio::run as tokio};

/// What a runtime makes of a connected socket. Buffers are handed over and come back, as runtimes
/// of io_uring want it; others lend them.
trait Wire {
    /// Sends a message, whole.
    fn send(&mut self, message: Vec<u8>) -> impl Future<Output = (io::Result<()>, Vec<u8>)>;

    /// Receives a datagram, or what has come of a stream; 0 at its end.
    fn receive(&mut self, room: Vec<u8>) -> impl Future<Output = (io::Result<usize>, Vec<u8>)>;
}

/// Sends until the harness has it stop, or receives for as long as something comes.
async fn carry(mut wire: impl Wire, setup: &Setup, running: Running) -> Result<(), StackError> {
    let (mut messages, mut bytes) = (0, 0);
    match setup.role {
        Role::Sender => {
            let mut message = vec![0; setup.size];
            while running.page.stage() != STOP {
                let (sent, back) = wire.send(message).await;
                message = back;
                match sent {
                    Ok(()) => {}
                    // A full queue of the device drops a datagram; the kernel counts it.
                    Err(answer) if setup.protocol == Protocol::Udp && answer.raw_os_error() == Some(libc::ENOBUFS) => continue,
                    Err(answer) => return Err(StackError::system(format!("send {} B", setup.size), answer)),
                }
                messages += 1;
                bytes += setup.size as u64;
                running.page.count(messages, bytes, 0);
            }
            running.done()
        }
        Role::Receiver => {
            let mut room = vec![0; setup.read];
            loop {
                let (received, back) = wire.receive(room).await;
                room = back;
                match received {
                    Ok(0) if setup.protocol == Protocol::Tcp => return Ok(()),
                    Ok(length) => bytes += length as u64,
                    Err(answer) => return Err(StackError::system("receive", answer)),
                }
                messages += 1;
                running.page.count(messages, bytes, 0);
            }
        }
    }
}

/// A joined end: a socket of the standard library's, which a runtime makes its own.
fn joined(mut harness: Harness) -> Result<(plain::Socket, Setup, Running), StackError> {
    let setup = harness.setup().clone();
    let socket = plain::join(&setup, &mut harness)?;
    let running = harness.begin(&[])?;
    Ok((socket, setup, running))
}
