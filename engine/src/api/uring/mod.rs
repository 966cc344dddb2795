//! Sends and receives by io_uring: a batch of sends with one system call, and one request
//! to receive that stays, with a ring of buffers.

mod incoming;
mod outgoing;

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use io_uring::{IoUring, Probe, opcode};

use super::{Api, Batch, Handed, Moved, Open, Place, Transmit, TransmitPart};
use incoming::Incoming;
use outgoing::Outgoing;

/// `io_uring_enter(2)` with many sends at once; a multishot receive. Each way has a ring of
/// its own.
#[derive(Debug)]
pub struct Uring {
    outgoing: Outgoing,
    incoming: Incoming,
    // Last: the rings' requests are of this socket.
    socket: OwnedFd,
}

impl Open for Uring {
    fn open(place: Place<'_>) -> io::Result<Self> {
        let raw = place.socket.as_raw_fd();
        Ok(Self { outgoing: Outgoing::open(&place, raw)?, incoming: Incoming::open(&place, raw)?, socket: place.socket })
    }
}

/// A ring for `entries` requests at once.
fn ring(entries: usize) -> io::Result<IoUring> {
    let refused = |error: io::Error| {
        let why = match error.raw_os_error() {
            Some(libc::ENOSYS) => "this kernel has no io_uring",
            Some(libc::EPERM) => "kernel.io_uring_disabled or a seccomp filter refuses io_uring",
            Some(libc::ENOMEM) => "io_uring needs more locked memory: raise `ulimit -l`",
            _ => "io_uring",
        };
        io::Error::new(error.kind(), format!("{why}: {error}"))
    };
    let ring = IoUring::new(entries.max(1).next_power_of_two() as u32).map_err(refused)?;
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe)?;
    // It came with the receive that stays (Linux 6.0), which cannot be asked for by itself.
    if !probe.is_supported(opcode::SendZc::CODE) {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "this kernel's io_uring has no multishot receive"));
    }
    Ok(ring)
}

impl Transmit for Uring {
    fn send(&mut self, from: usize) -> Moved {
        self.outgoing.send_span(0, from, usize::MAX)
    }
}

impl TransmitPart for Uring {
    fn send_part(&mut self, from: usize, to: usize) -> Moved {
        self.outgoing.send_span(0, from, to)
    }
}

impl Batch for Uring {
    fn capacity(&self) -> usize {
        self.outgoing.count()
    }

    fn message_at(&mut self, place: usize) -> &mut [u8] {
        self.outgoing.message(place)
    }

    fn set_length(&mut self, place: usize, length: usize) {
        self.outgoing.set_length(place, length);
    }

    fn send_batch(&mut self, places: Range<usize>) -> Handed {
        self.outgoing.send_batch(places)
    }

    fn send_rest(&mut self, place: usize, from: usize) -> Moved {
        self.outgoing.send_span(place, from, usize::MAX)
    }
}

impl Api for Uring {
    fn receive(&mut self, limit: usize) -> Moved {
        self.incoming.receive(limit, true)
    }

    fn receive_now(&mut self, limit: usize) -> Moved {
        self.incoming.receive(limit, false)
    }

    fn message(&mut self) -> &mut [u8] {
        self.outgoing.message(0)
    }

    fn room(&self) -> &[u8] {
        self.incoming.last()
    }

    fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    fn waits_on(&self) -> BorrowedFd<'_> {
        self.incoming.waits_on()
    }

    fn has_more(&self) -> bool {
        self.incoming.has_more()
    }

    fn batch(&mut self) -> Option<&mut dyn Batch> {
        if self.capacity() > 1 { Some(self) } else { None }
    }

    fn take_calls(&mut self) -> Option<u64> {
        Some(self.incoming.take_calls())
    }
}
