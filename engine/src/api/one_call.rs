//! Apis that hand over and fetch one message with one call, on a flow's socket.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::{Api, Buffer, Moved, Open, Place, Transmit, TransmitPart};

/// The calls of an api, on memory that the api holds.
pub trait Calls: Sized {
    /// Readies the socket for them.
    ///
    /// # Errors
    /// Whatever keeps these calls from working here.
    fn open(place: &Place<'_>) -> io::Result<Self>;

    /// Hands over a message, or a part of one.
    fn send(&mut self, socket: RawFd, message: &[u8]) -> Moved;

    /// Takes one message, or what has come of a byte stream, into `room`.
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> Moved;

    /// Hands over what is held back.
    #[inline(always)]
    fn flush(&mut self, _socket: RawFd) -> Moved {
        Moved(0)
    }
}

/// An api of such calls.
#[derive(Debug)]
pub struct OneCall<C> {
    raw: RawFd,
    message: Buffer,
    room: Buffer,
    calls: C,
    socket: OwnedFd,
}

impl<C: Calls> OneCall<C> {
    #[inline(always)]
    fn receive_with(&mut self, limit: usize, flags: libc::c_int) -> Moved {
        let limit = limit.min(self.room.len());
        self.calls.receive(self.raw, &mut self.room[..limit], flags)
    }
}

impl<C: Calls> Transmit for OneCall<C> {
    #[inline(always)]
    fn send(&mut self, from: usize) -> Moved {
        let from = from.min(self.message.len());
        self.calls.send(self.raw, &self.message[from..])
    }
}

impl<C: Calls> TransmitPart for OneCall<C> {
    #[inline(always)]
    fn send_part(&mut self, from: usize, to: usize) -> Moved {
        let to = to.min(self.message.len());
        self.calls.send(self.raw, &self.message[from.min(to)..to])
    }
}

impl<C: Calls> Open for OneCall<C> {
    fn open(place: Place<'_>) -> io::Result<Self> {
        let calls = C::open(&place)?;
        let (message, room) = (place.message(), place.room());
        Ok(Self { raw: place.socket.as_raw_fd(), message, room, calls, socket: place.socket })
    }
}

impl<C: Calls> Api for OneCall<C> {
    #[inline(always)]
    fn receive(&mut self, limit: usize) -> Moved {
        self.receive_with(limit, 0)
    }

    fn receive_now(&mut self, limit: usize) -> Moved {
        self.receive_with(limit, libc::MSG_DONTWAIT)
    }

    fn message(&mut self) -> &mut [u8] {
        &mut self.message
    }

    fn room(&self) -> &[u8] {
        &self.room
    }

    fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    #[inline(always)]
    fn flush(&mut self) -> Moved {
        self.calls.flush(self.raw)
    }
}
