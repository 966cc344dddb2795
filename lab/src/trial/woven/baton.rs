//! The baton: which arm sends, and from where to where each slice is measured.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use engine::scheduling;
use engine::woven::{Board, Interrupted, Mark, Order};
use model::condition::Priority;
use model::woven::{Edge, Slice, SliceEnd, SliceTimes};
use model::{Cell, Nanos, Protocol};

use super::super::Both;
use crate::error::TrialError;
use crate::refusal::Refusal;
use crate::remote::HostError;
use sys::clock::monotonic;

/// Time that a receiver may take to see a mark once its sender has stopped: with messages it does at the next, without
/// it is blocked in its call, and is interrupted at once.
const RECEIVER_SEES: Duration = Duration::ZERO;
/// The same of a sender, whose messages follow each other, unless its socket is full.
const SENDER_SEES: Duration = Duration::from_millis(1);
/// Time after an interruption until the next one: a signal that comes just before the call is lost.
const INTERRUPTED_SEES: Duration = Duration::from_micros(50);
/// The longest such time.
const MOST_INTERRUPTED: Duration = Duration::from_millis(5);
/// Longest time for either: an end that does not answer by then is gone.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// Time that ends may take to reach their measured part.
const START_LIMIT: Duration = Duration::from_secs(10);
/// Between two looks at a receiver that drains.
const LOOK: Duration = Duration::from_micros(50);
/// Looks in a row at which the count of datagrams stands still when all have come.
const STILL: u32 = 2;
/// Longest drain of a slice that counts as woven.
const DRAIN_LIMIT: Duration = Duration::from_millis(100);
/// Time before the end of the measured part in which no round begins, besides that of a round.
const MARGIN: Nanos = Nanos::from_millis(3);
/// What a slice takes besides its times, until it is known.
const HAND_OVER: Nanos = Nanos::from_millis(1);

/// How it is seen that a receiver has everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drain {
    /// An answer has come before the next request: there is never more.
    Nothing,
    /// It has as many bytes as were sent.
    Bytes,
    /// Likewise, or its count stands still: datagrams may be lost.
    Still,
}

impl Drain {
    /// That of a cell.
    pub fn of(cell: &Cell) -> Self {
        match (cell.test.is_stream(), cell.protocol()) {
            (false, _) => Self::Nothing,
            (true, Protocol::Tcp) => Self::Bytes,
            (true, Protocol::Udp) => Self::Still,
        }
    }
}

/// An arm as the baton sees it.
#[derive(Debug, Clone, Copy)]
pub struct WovenCell {
    /// Seats of its ends.
    pub seats: Both<u32>,
    /// How it drains.
    pub drain: Drain,
}

/// Leads the ends of all arms.
pub struct Baton<'a> {
    board: &'a Board,
    arms: &'a [WovenCell],
    times: SliceTimes,
    /// Bytes of each arm that were lost by the end of its last slice.
    lost: Vec<u64>,
}

/// Puts this thread before those that it leads.
///
/// # Errors
/// The system's answer where it has not the right: marks are then late.
pub fn come_first() -> io::Result<()> {
    // The main threads of endpoints, which keep their time, have the lowest level.
    scheduling::set(0, Priority::Realtime(2)).inspect_err(|_| {
        // Better than nothing, where that is allowed.
        let _ = scheduling::set(0, Priority::Nice(-20));
    })
}

impl<'a> Baton<'a> {
    pub fn new(board: &'a Board, arms: &'a [WovenCell], times: SliceTimes) -> Self {
        Self { board, arms, times, lost: vec![0; arms.len()] }
    }

    /// Leads them through as many rounds as there is time for `until` the measured part of the first ends.
    ///
    /// # Errors
    /// An end that does not answer. `slices` has what was measured by then.
    pub fn weave(mut self, until: Nanos, order: &mut dyn FnMut(u32) -> Vec<usize>, slices: &mut Vec<Slice>) -> Result<(), TrialError> {
        for seat in self.arms.iter().flat_map(|arm| [arm.seats.sender, arm.seats.receiver]) {
            self.board.await_edge(seat, Mark::FIRST, START_LIMIT).ok_or_else(|| silent("the start of its measured part"))?;
        }
        let mut last = Nanos::new((self.times.settle + self.times.measured + HAND_OVER).get() * self.arms.len() as u64);
        for round in 0.. {
            let begun = monotonic();
            if begun + last + MARGIN > until {
                break;
            }
            for (place, arm) in order(round).into_iter().enumerate() {
                match self.slice(arm) {
                    Ok(slice) => slices.extend(slice.map(|slice| Slice { arm: arm as u32, round, place: place as u32, ..slice })),
                    // On a machine that is busy with other work a round may last beyond the trial: no end answers then.
                    Err(_) if monotonic() + MARGIN > until => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
            last = monotonic().since(begun);
        }
        Ok(())
    }

    /// One slice of an arm, from its sender's start until its receiver has taken everything; `None` where an end saw
    /// no begin of the measured part.
    fn slice(&mut self, arm: usize) -> Result<Option<Slice>, TrialError> {
        let Some(WovenCell { seats, drain }) = self.arms.get(arm).copied() else { return Ok(None) };
        let begun = monotonic();
        self.board.mark(seats.sender, Order::GoOn);
        sleep_until(begun + self.times.settle);
        // The receiver first: it is to see its mark while messages come.
        let starts = Both { receiver: self.board.mark(seats.receiver, Order::GoOn), sender: self.board.mark(seats.sender, Order::GoOn) };
        let planned = begun + self.times.settle + self.times.measured;
        sleep_until(begun + self.times.settle + Nanos::new(self.times.measured.get() / 2));
        let middles = Both { receiver: self.board.mark(seats.receiver, Order::GoOn), sender: self.board.mark(seats.sender, Order::GoOn) };
        sleep_until(planned);
        let ends = Both { receiver: self.board.mark(seats.receiver, Order::Tell), sender: self.board.mark(seats.sender, Order::Stop) };
        let marked = monotonic();
        let sent = self.answer(seats.sender, ends.sender, SENDER_SEES)?;
        let received = self.answer(seats.receiver, ends.receiver, RECEIVER_SEES)?;
        let stopped = monotonic();
        let started = self.board.edge(seats.sender, starts.sender).zip(self.board.edge(seats.receiver, starts.receiver));
        let middle =
            Both { sender: self.board.edge(seats.sender, middles.sender), receiver: self.board.edge(seats.receiver, middles.receiver) };
        let drained = self.drain(arm, seats.receiver, drain, &sent, received)?;
        let Some((sender, receiver)) = started else { return Ok(None) };
        Ok(Some(Slice {
            begun,
            sender: SliceEnd::between(&sender, middle.sender.as_ref(), &sent),
            receiver: SliceEnd::between(&receiver, middle.receiver.as_ref(), &received),
            late: sent.time.since(planned),
            hand_over: stopped.since(marked),
            drain: monotonic().since(stopped),
            not_drained: !drained,
            ..Slice::default()
        }))
    }

    /// The edge of a mark, for which the end is interrupted where it does not see it for `sees`.
    fn answer(&self, seat: u32, mark: Mark, sees: Duration) -> Result<Edge, TrialError> {
        let deadline = Instant::now() + ANSWER_LIMIT;
        let mut limit = sees;
        loop {
            if let Some(edge) = self.board.await_edge(seat, mark, limit) {
                return Ok(edge);
            }
            if self.board.interrupt(seat) == Interrupted::Gone || Instant::now() > deadline {
                return Err(silent("an edge of a slice"));
            }
            limit = (limit * 2).clamp(INTERRUPTED_SEES, MOST_INTERRUPTED);
        }
    }

    /// Waits until the receiver has taken what was sent; false where it has not in time.
    fn drain(&mut self, arm: usize, receiver: u32, drain: Drain, sent: &Edge, received: Edge) -> Result<bool, TrialError> {
        if drain == Drain::Nothing {
            return Ok(true);
        }
        let (begun, lost) = (Instant::now(), self.lost[arm]);
        let (mut last, mut still) = (received, 0);
        loop {
            let missing = sent.bytes.saturating_sub(last.bytes);
            let all = match drain {
                Drain::Still => missing <= lost || still >= STILL,
                Drain::Nothing | Drain::Bytes => missing == 0,
            };
            if all {
                self.lost[arm] = missing;
                return Ok(true);
            }
            if begun.elapsed() > DRAIN_LIMIT {
                return Ok(false);
            }
            thread::sleep(LOOK);
            let mark = self.board.mark(receiver, Order::Tell);
            let next = self.answer(receiver, mark, LOOK)?;
            still = if next.bytes == last.bytes { still + 1 } else { 0 };
            last = next;
        }
    }
}

fn sleep_until(time: Nanos) {
    loop {
        let left = time.since(monotonic());
        if left == Nanos::default() {
            return;
        }
        thread::sleep(left.into());
    }
}

fn silent(awaited: &str) -> TrialError {
    let answer = "an end of a woven trial does not answer";
    HostError::from(Refusal::new(
        format!("waiting for {awaited}"),
        answer,
        "did something end or stop it? Measure the arms in turn with --in-turn",
    ))
    .into()
}
