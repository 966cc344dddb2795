//! One `send` or `recv` system call a message.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::{Api, Buffer, Moved, Open, Place, Transmit, TransmitPart};

/// Plain `send(2)` and `recv(2)`.
#[derive(Debug)]
pub struct Send {
    raw: RawFd,
    message: Buffer,
    room: Buffer,
    socket: OwnedFd,
}

impl Send {
    #[inline(always)]
    fn receive_with(&mut self, limit: usize, flags: libc::c_int) -> Moved {
        let limit = limit.min(self.room.len());
        // SAFETY: `room` is writable for `limit` bytes and outlives the call; `raw` is
        // open as long as `socket` is.
        Moved::from_call(unsafe { libc::recv(self.raw, self.room.as_mut_ptr().cast(), limit, flags) })
    }
}

impl Transmit for Send {
    #[inline(always)]
    fn send(&mut self, from: usize) -> Moved {
        let from = from.min(self.message.len());
        let rest = &self.message[from..];
        // SAFETY: `rest` is readable for its length and outlives the call; `raw` is open
        // as long as `socket` is. MSG_NOSIGNAL: a vanished peer is an errno, not a signal.
        Moved::from_call(unsafe { libc::send(self.raw, rest.as_ptr().cast(), rest.len(), libc::MSG_NOSIGNAL) })
    }
}

impl TransmitPart for Send {
    #[inline(always)]
    fn send_part(&mut self, from: usize, to: usize) -> Moved {
        let to = to.min(self.message.len());
        let part = &self.message[from.min(to)..to];
        // SAFETY: `part` is readable for its length and outlives the call; `raw` is open
        // as long as `socket` is. MSG_NOSIGNAL: a vanished peer is an errno, not a signal.
        Moved::from_call(unsafe { libc::send(self.raw, part.as_ptr().cast(), part.len(), libc::MSG_NOSIGNAL) })
    }
}

impl Open for Send {
    fn open(place: Place<'_>) -> std::io::Result<Self> {
        let (message, room) = (place.message(), place.room());
        Ok(Self { raw: place.socket.as_raw_fd(), message, room, socket: place.socket })
    }
}

impl Api for Send {
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
}
