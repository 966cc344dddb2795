//! The controller's side of the board.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use model::Nanos;
use model::woven::{MOST_SEATS, Reading};
use sys::shared;

use super::layout::{Memory, Order, SeatMemory};
use super::seat::Seat;
use crate::part::Part;
use crate::wake::WAKE_UP;

/// Number of a mark at one seat: an edge is asked for with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(u32);

impl Mark {
    /// The mark that an end meets when its measured part begins.
    pub const FIRST: Self = Self(1);
    /// A mark that was not made: it has no edge.
    const NONE: Self = Self(0);
}

/// Outcome of the attempt to get a thread out of the call that it may be blocked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupted {
    /// The signal was sent.
    Sent,
    /// No such thread is there any more.
    Gone,
}

/// Memory that the ends of a woven trial share with their controller.
#[derive(Debug)]
pub struct Board {
    file: File,
    memory: Arc<Memory>,
}

impl Board {
    /// Makes a board. Processes started from here on inherit it, by its number: so it comes before its hosts.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn new() -> io::Result<Self> {
        // Not closed on exec: hosts and their endpoints have it by its number.
        let file = shared::empty_file(c"nettoll-board", libc::MFD_ALLOW_SEALING)?;
        let memory = Arc::new(Memory::make(&file)?);
        Ok(Self { file, memory })
    }

    /// The seat of a number, as a task names it; `None` beyond the last.
    pub fn seat(&self, number: u32) -> Option<model::woven::Seat> {
        (number < MOST_SEATS).then(|| model::woven::Seat { board: self.file.as_raw_fd().cast_unsigned(), number })
    }

    /// The same seat for a thread of this process.
    pub fn seat_here(&self, number: u32) -> Option<Seat> {
        (number < MOST_SEATS).then(|| Seat::of_board(Arc::clone(&self.memory), number))
    }

    /// Clears a seat for its next end, which `order`s it at [`Mark::FIRST`]. No end may have it then.
    pub fn clear(&self, number: u32, order: Order) {
        let Some(seat) = self.memory.seat(number) else { return };
        seat.forget_edges();
        seat.line.part.store(Part::Held as u8, Ordering::SeqCst);
        seat.talk.thread.store(0, Ordering::SeqCst);
        seat.talk.answered.store(0, Ordering::SeqCst);
        seat.talk.end_at.store(0, Ordering::SeqCst);
        seat.talk.mark.store(order.word(Mark::FIRST.0), Ordering::SeqCst);
    }

    /// Asks a seat for an edge, and orders what comes after it. A thread that sleeps is woken. Within a slice see
    /// [`Self::mark_in_slice`].
    pub fn mark(&self, number: u32, order: Order) -> Mark {
        let Some(seat) = self.memory.seat(number) else { return Mark::NONE };
        let (last, _) = Order::split(seat.talk.mark.load(Ordering::SeqCst));
        let word = order.following(last);
        seat.talk.mark.store(word, Ordering::SeqCst);
        show(seat, word)
    }

    /// Has the traffic thread at a seat end its next slice itself at `time`, with this order, unless it is marked with
    /// such an order before. It sees that with the next mark that lets it go on. A slice that goes on may be planned again,
    /// for later: the thread sees that when its alarm goes off.
    pub fn plan_end(&self, number: u32, order: Order, time: Nanos) {
        let Some(seat) = self.memory.seat(number) else { return };
        seat.talk.end_order.store(order.word(0), Ordering::SeqCst);
        seat.talk.end_at.store(time.get(), Ordering::SeqCst);
    }

    /// The same as [`Self::mark`] for a thread that was let go on and may have ended its slice itself: the mark of that
    /// end, where `order` ends the slice, and none where it does not.
    pub fn mark_in_slice(&self, number: u32, order: Order) -> Mark {
        let Some(seat) = self.memory.seat(number) else { return Mark::NONE };
        loop {
            let now = seat.talk.mark.load(Ordering::SeqCst);
            let (last, ordered) = Order::split(now);
            if ordered.is_awaited() {
                return if order.is_awaited() { Mark(last) } else { Mark::NONE };
            }
            let word = order.following(last);
            if seat.talk.mark.compare_exchange(now, word, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return show(seat, word);
            }
        }
    }

    /// The edge of a mark, if it was written.
    pub fn edge(&self, number: u32, mark: Mark) -> Option<Reading> {
        self.memory.seat(number)?.read(mark.0)
    }

    /// Sleeps until the edge of a mark is there; `None` after `limit`. The mark's order has to be
    /// one that tells.
    pub fn await_edge(&self, number: u32, mark: Mark, limit: Duration) -> Option<Reading> {
        let seat = self.memory.seat(number)?;
        let deadline = Instant::now() + limit;
        loop {
            let answered = seat.talk.answered.load(Ordering::Acquire);
            if let Some(edge) = seat.read(mark.0) {
                return Some(edge);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let _ = shared::futex_wait(&seat.talk.answered, answered, left);
        }
    }

    /// Gets a thread out of the call that it may be blocked in, so that it sees a mark.
    pub fn interrupt(&self, number: u32) -> Interrupted {
        match self.memory.seat(number).map(interrupt) {
            Some(0) => Interrupted::Sent,
            _ => Interrupted::Gone,
        }
    }
}

/// Gets the thread at a seat out of its loop, or its sleep, for a mark that was made.
fn show(seat: &SeatMemory, word: u32) -> Mark {
    let _ = seat.line.part.compare_exchange(Part::Measure as u8, Part::Marked as u8, Ordering::SeqCst, Ordering::SeqCst);
    // A traffic thread sleeps after a stop alone; the thread that answers for a program sleeps whenever it waits.
    shared::futex_wake(&seat.talk.mark);
    Mark(Order::split(word).0)
}

fn interrupt(seat: &SeatMemory) -> libc::c_long {
    let thread = seat.talk.thread.load(Ordering::Acquire);
    if thread == 0 {
        return -1;
    }
    // SAFETY: the call takes numbers alone; a thread that has ended answers ESRCH.
    unsafe { libc::syscall(libc::SYS_tgkill, seat.talk.process.load(Ordering::Relaxed), thread, WAKE_UP as libc::c_int) }
}

#[cfg(test)]
mod tests;
