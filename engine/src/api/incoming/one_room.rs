//! Ways of receiving with one call for one message, or for what has come of a byte
//! stream.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use model::Cell;

use crate::api::{Buffer, Incoming, Moved, Open, Passed, Place};

/// The call, into memory that it does not hold.
pub trait Fetch: Sized {
    /// Readies a flow's socket once its ends have joined.
    ///
    /// # Errors
    /// A refusal of the system.
    fn settle(_socket: BorrowedFd<'_>, _cell: &Cell) -> io::Result<()> {
        Ok(())
    }

    /// Readies the socket for it.
    ///
    /// # Errors
    /// Whatever keeps it from working here.
    fn open(place: &Place<'_>) -> io::Result<Self>;

    /// Takes one message, or what has come, with the flags of `recv(2)`.
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> Moved;

    /// The descriptor that is readable when there is something; `None`: the flow's socket.
    fn waits_on(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// A way of receiving with such a call.
#[derive(Debug)]
pub struct OneRoom<F> {
    socket: RawFd,
    room: Buffer,
    fetch: F,
}

impl<F: Fetch> Open for OneRoom<F> {
    fn settle(socket: BorrowedFd<'_>, cell: &Cell) -> io::Result<Option<Passed>> {
        F::settle(socket, cell).map(|()| None)
    }

    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { fetch: F::open(place)?, room: place.room(), socket: place.socket.as_raw_fd() })
    }
}

impl<F: Fetch> Incoming for OneRoom<F> {
    #[inline(always)]
    fn receive(&mut self, limit: usize, wait: bool) -> Moved {
        let limit = limit.min(self.room.len());
        self.fetch.receive(self.socket, &mut self.room[..limit], if wait { 0 } else { libc::MSG_DONTWAIT })
    }

    fn last(&self) -> &[u8] {
        &self.room
    }

    fn waits_on(&self) -> Option<BorrowedFd<'_>> {
        self.fetch.waits_on()
    }
}
