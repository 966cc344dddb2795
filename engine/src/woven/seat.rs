//! An end's side of the board.

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use model::Nanos;
use model::end::Counts;
use model::woven::Reading;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use sys::{clock, shared};

use super::layout::{Memory, Order, SeatMemory};
use crate::edge::{EdgeReader, switches};
use crate::part::Part;
use crate::wake::Alarm;

/// Longest sleep of a thread that has no turn: then it looks whether its trial goes on.
const NAP: Duration = Duration::from_millis(100);

/// The seat of a traffic thread.
#[derive(Debug, Clone)]
pub struct Seat {
    board: Arc<Memory>,
    number: u32,
}

impl Seat {
    /// Opens the seat of a task on the board that this process inherited.
    ///
    /// # Errors
    /// A descriptor that is not open or no board's, or a number beyond the last.
    pub fn open(seat: model::woven::Seat) -> io::Result<Self> {
        let number = RawFd::try_from(seat.board).map_err(io::Error::other)?;
        // SAFETY: the descriptor is only borrowed for the calls that duplicate it; one that is not open is refused by them.
        let inherited = unsafe { BorrowedFd::borrow_raw(number) };
        // A program that this end starts is not to have it.
        fcntl(inherited, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        let board = Arc::new(Memory::open(&File::from(inherited.try_clone_to_owned()?))?);
        if board.seat(seat.number).is_none() {
            return Err(io::Error::other(format!("the board of a woven trial has no seat {}", seat.number)));
        }
        Ok(Self { board, number: seat.number })
    }

    pub(super) fn of_board(board: Arc<Memory>, number: u32) -> Self {
        Self { board, number }
    }

    fn memory(&self) -> &SeatMemory {
        self.board.seat(self.number).expect("the number was checked when the seat was made")
    }

    /// The part of the trial, which lies on the board.
    pub fn part(&self) -> &AtomicU8 {
        &self.memory().line.part
    }

    /// The calling thread is the one that the controller may interrupt.
    pub fn take(&self) {
        let talk = &self.memory().talk;
        talk.process.store(std::process::id(), Ordering::Relaxed);
        talk.thread.store(nix::unistd::gettid().as_raw().cast_unsigned(), Ordering::Release);
    }

    /// The alarm of the calling thread, which sees the end of its slices with it.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn alarm(&self) -> io::Result<Alarm> {
        // An endpoint has one trial: its board stays for the alarm.
        let kept: &'static Self = Box::leak(Box::new(self.clone()));
        Alarm::of_part(kept.part())
    }

    /// The mark that is to be answered: that of the planned end once its time has come, where no other has ended the slice.
    fn current_mark(&self) -> u32 {
        let talk = &self.memory().talk;
        let word = talk.mark.load(Ordering::SeqCst);
        let ((last, order), end) = (Order::split(word), talk.end_at.load(Ordering::SeqCst));
        if order != Order::GoOn || end == 0 || clock::monotonic().get() < end {
            return word;
        }
        let (_, order) = Order::split(talk.end_order.load(Ordering::SeqCst));
        let ended = order.following(last);
        talk.mark.compare_exchange(word, ended, Ordering::SeqCst, Ordering::SeqCst).map_or_else(|now| now, |_| ended)
    }

    /// Writes the edge that the last mark asks for and does as it says: goes on, or sleeps until
    /// a later one lets this thread go on. The end of the measured part ends the sleep. Returns how long it slept.
    /// A thread that goes on sets its alarm to the planned end of its slice; without one, the controller ends it.
    pub fn answer(&self, alarm: Option<&Alarm>, edges: &EdgeReader, so_far: &Counts) -> Nanos {
        let (part, talk) = (self.part(), &self.memory().talk);
        let mut slept = Nanos::default();
        let is_marked = || part.load(Ordering::SeqCst) == Part::Marked as u8;
        while is_marked() {
            let word = self.current_mark();
            let (mark, order) = Order::split(word);
            let end = talk.end_at.load(Ordering::SeqCst);
            if let (Order::GoOn, Some(alarm), 1..) = (order, alarm, end) {
                // A time is not refused to a timer that exists.
                let _ = alarm.set_at(Nanos::new(end));
            }
            if talk.answered.load(Ordering::Relaxed) != mark {
                self.memory().write(mark, &edge(edges, so_far, order));
                talk.answered.store(mark, Ordering::Release);
                if order.is_awaited() {
                    shared::futex_wake(&talk.answered);
                }
            }
            if order == Order::Stop {
                let begun = clock::monotonic();
                while is_marked() && talk.mark.load(Ordering::SeqCst) == word {
                    let _ = shared::futex_wait(&talk.mark, word, NAP);
                }
                slept = slept + clock::monotonic().since(begun);
                continue;
            }
            // Another part means that the trial has gone on without the controller.
            let swap = |from: Part, to: Part| part.compare_exchange(from as u8, to as u8, Ordering::SeqCst, Ordering::SeqCst).is_ok();
            if !swap(Part::Marked, Part::Measure) || self.current_mark() == word {
                break;
            }
            // A mark or the alarm came before the part said so, and found it said already.
            if !swap(Part::Measure, Part::Marked) {
                break;
            }
        }
        slept
    }

    /// Answers each mark with an edge, in place of a traffic thread that cannot, until the measured part
    /// ends: `answer` reads it, and does as the mark orders.
    ///
    /// # Errors
    /// That of `answer`, which ends it.
    pub fn attend<E>(&self, mut answer: impl FnMut(Order) -> Result<Reading, E>) -> Result<(), E> {
        let (part, talk) = (self.part(), &self.memory().talk);
        while part.load(Ordering::SeqCst) == Part::Marked as u8 {
            let word = talk.mark.load(Ordering::SeqCst);
            let (mark, order) = Order::split(word);
            if talk.answered.load(Ordering::Relaxed) == mark {
                let _ = shared::futex_wait(&talk.mark, word, NAP);
                continue;
            }
            self.memory().write(mark, &answer(order)?);
            talk.answered.store(mark, Ordering::Release);
            shared::futex_wake(&talk.answered);
        }
        Ok(())
    }

    /// Begins the measured part, for [`Self::attend`].
    pub fn begin(&self) {
        self.part().store(Part::Marked as u8, Ordering::SeqCst);
    }

    /// Ends it. The thread that attends may sleep for a moment more: it is to be woken until it has ended.
    pub fn end(&self) {
        self.part().store(Part::Drain as u8, Ordering::SeqCst);
        shared::futex_wake(&self.memory().talk.mark);
    }
}

/// The edge of this thread: its clocks are read last where a slice may begin, and first where one ends.
fn edge(edges: &EdgeReader, so_far: &Counts, order: Order) -> Reading {
    let kernel = || (edges.run_delay().unwrap_or_default(), switches());
    let clocks = || (clock::monotonic(), clock::thread_cpu());
    let ((time, cpu), (run_delay, switches)) = if order == Order::GoOn {
        let kernel = kernel();
        (clocks(), kernel)
    } else {
        let clocks = clocks();
        (clocks, kernel())
    };
    Reading { time, cpu, run_delay, messages: so_far.messages, bytes: so_far.bytes, calls: so_far.calls, switches }
}
