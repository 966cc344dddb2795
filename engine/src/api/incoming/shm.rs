//! Messages taken from a ring in memory that both ends have: no system call but to wait.

use std::io;

use model::Waiting;

use crate::api::shared::Ring;
use crate::api::{Buffer, CallOutcome, Incoming, Open, Place};

/// A copy of each message, or of what has come of a byte stream, out of the ring.
#[derive(Debug)]
pub struct Shm {
    ring: Ring,
    room: Buffer,
    /// Messages are kept apart.
    whole: bool,
}

impl Open for Shm {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let sleeps = place.cell.waiting != Waiting::Spin;
        let ring = Ring::open(&place.passed()?, place.is_back(false), place.patience, sleeps)?;
        Ok(Self { ring, room: place.room(), whole: !place.is_byte_stream() })
    }
}

impl Incoming for Shm {
    #[inline(always)]
    fn receive(&mut self, limit: usize, wait: bool) -> CallOutcome {
        let limit = limit.min(self.room.len());
        self.ring.read(&mut self.room[..limit], self.whole, wait)
    }

    fn last(&self) -> &[u8] {
        &self.room
    }

    /// The kernel is called to wait and to wake alone.
    fn take_calls(&mut self) -> Option<u64> {
        Some(0)
    }
}

impl Drop for Shm {
    fn drop(&mut self) {
        self.ring.end_reading();
    }
}
