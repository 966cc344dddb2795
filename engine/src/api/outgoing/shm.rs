//! Messages put into a ring in memory that both ends have: no system call but to wait.

use std::io;

use model::Waiting;

use crate::api::shared::Ring;
use crate::api::{Buffer, CallOutcome, Open, Outgoing, Place};

/// A copy of each message into the ring.
#[derive(Debug)]
pub struct Shm {
    ring: Ring,
    message: Buffer,
    /// Messages are kept apart.
    whole: bool,
}

impl Open for Shm {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let sleeps = place.cell.waiting != Waiting::Spin;
        let ring = Ring::open(&place.passed()?, place.is_back(true), place.patience, sleeps)?;
        Ok(Self { ring, message: place.message(), whole: !place.is_byte_stream() })
    }
}

impl Outgoing for Shm {
    #[inline(always)]
    fn send_span(&mut self, _place: usize, from: usize, to: usize) -> CallOutcome {
        let to = to.min(self.message.len());
        self.ring.write(&self.message[from.min(to)..to], self.whole)
    }

    fn message_at(&mut self, _place: usize) -> &mut [u8] {
        &mut self.message
    }

    fn end(&mut self) {
        self.ring.end_writing();
    }

    /// The kernel is called to wait and to wake alone.
    fn system_calls(&self) -> u64 {
        0
    }
}

impl Drop for Shm {
    fn drop(&mut self) {
        self.ring.end_writing();
    }
}
