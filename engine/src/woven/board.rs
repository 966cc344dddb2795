//! The controller's side of the board.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

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
        seat.talk.mark.store(order.word(Mark::FIRST.0), Ordering::SeqCst);
    }

    /// Asks a seat for an edge, and orders what comes after it. A thread that sleeps is woken.
    pub fn mark(&self, number: u32, order: Order) -> Mark {
        let Some(seat) = self.memory.seat(number) else { return Mark(0) };
        let (last, _) = Order::split(seat.talk.mark.load(Ordering::SeqCst));
        // 30 bits: it begins again after a month of slices, beyond 0, which is no mark.
        let mark = (last.wrapping_add(1) & (u32::MAX >> 2)).max(1);
        seat.talk.mark.store(order.word(mark), Ordering::SeqCst);
        let _ = seat.line.part.compare_exchange(Part::Measure as u8, Part::Marked as u8, Ordering::SeqCst, Ordering::SeqCst);
        // A traffic thread sleeps after a stop alone; the thread that answers for a program sleeps whenever it waits.
        shared::futex_wake(&seat.talk.mark);
        Mark(mark)
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
