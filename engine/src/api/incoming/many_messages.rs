//! Ways of receiving with one call for many messages, which are handed out one by one.

use std::os::fd::BorrowedFd;
use std::{io, mem};

use crate::api::{Incoming, Moved, Open, Place};

/// The call, and what it fetched.
pub trait FetchMany: Sized {
    /// Readies a flow's socket before its ends join.
    ///
    /// # Errors
    /// A refusal of the system.
    fn prepare(_socket: BorrowedFd<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Readies it at a place.
    ///
    /// # Errors
    /// Whatever keeps it from working here.
    fn open(place: &Place<'_>) -> io::Result<Self>;

    /// Fetches messages with one call, once all that were fetched before have been handed
    /// out. The answer is positive where it fetched something.
    fn fetch(&mut self, wait: bool) -> Moved;

    /// Bytes of the next message that was fetched and not handed out, which it is now.
    fn next(&mut self) -> Option<usize>;

    /// Returns whether there is such a message.
    fn has_more(&self) -> bool;

    /// Hands out further messages as long as the last one, at most so many. Returns their number.
    #[inline(always)]
    fn take_alike(&mut self, _most: u64) -> u64 {
        0
    }

    /// The message that was handed out last.
    fn last(&self) -> &[u8];
}

/// A way of receiving with such a call.
///
/// A fetch counts as a call where it is made, its messages where they are
/// handed out. What one fetch took may so lie on both sides of an edge of the measured
/// window: at most as many messages as one call fetches, less one, that were fetched before
/// an edge are counted after it. They come in at the start and go out at the end, so that
/// the window's messages are wrong by less than a fetch either way; the totals of a trial
/// are exact.
#[derive(Debug)]
pub struct ManyMessages<F> {
    fetch: F,
    /// Calls that moved data and have not been told.
    calls: u64,
}

impl<F: FetchMany> Open for ManyMessages<F> {
    fn prepare(socket: BorrowedFd<'_>) -> io::Result<()> {
        F::prepare(socket)
    }

    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { fetch: F::open(place)?, calls: 0 })
    }
}

impl<F: FetchMany> Incoming for ManyMessages<F> {
    #[inline(always)]
    fn receive(&mut self, limit: usize, wait: bool) -> Moved {
        if !self.fetch.has_more() {
            let answer = self.fetch.fetch(wait);
            if answer.0 <= 0 {
                return answer;
            }
            self.calls += 1;
        }
        self.fetch.next().map_or(Moved::NOTHING, |length| Moved(length.min(limit) as isize))
    }

    fn last(&self) -> &[u8] {
        self.fetch.last()
    }

    fn has_more(&self) -> bool {
        self.fetch.has_more()
    }

    #[inline(always)]
    fn take_alike(&mut self, most: u64) -> u64 {
        self.fetch.take_alike(most)
    }

    fn take_calls(&mut self) -> Option<u64> {
        Some(mem::take(&mut self.calls))
    }
}
