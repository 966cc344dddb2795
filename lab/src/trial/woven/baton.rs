//! The baton: which arm sends, and from where to where each slice is measured.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use engine::scheduling;
use engine::woven::{Board, Interrupted, Mark, Order};
use model::condition::Priority;
use model::woven::{BackTraffic, Reading, Slice, SliceEnd, SliceTimes};
use model::{Cell, Nanos, Protocol, Role};

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
/// Between two looks at threads that have their turns on a CPU.
const TURNS_LOOK: Nanos = Nanos::from_millis(1);
/// Looks in a row at which the count of datagrams stands still when all have come.
const STILL: u32 = 2;
/// Looks in a row at which a count stands still when the last request has been answered, or the last part of a message taken.
const STILL_ANSWER: u32 = 10;
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
    /// A program that asks may be stopped before its answer has come: the answerer's count stands still.
    Answer,
    /// It has as many bytes as were sent.
    Bytes,
    /// Likewise, and its count stands still: a program may be stopped within a message, of which it counts nothing yet.
    Parts,
    /// Likewise, or its count stands still: datagrams may be lost.
    Still,
}

impl Drain {
    /// That of a cell.
    pub fn of(cell: &Cell) -> Self {
        match (cell.test.is_stream(), cell.protocol()) {
            (false, _) if cell.external(Role::Sender).is_some() => Self::Answer,
            (false, _) => Self::Nothing,
            (true, Protocol::Tcp) if cell.external(Role::Sender).is_some() => Self::Parts,
            (true, Protocol::Tcp) => Self::Bytes,
            (true, Protocol::Udp) => Self::Still,
        }
    }

    /// Returns whether it has everything: `missing` bytes of what was sent after so many looks at which its count stood
    /// `still`, where `lost` bytes never come.
    const fn is_over(self, missing: u64, lost: u64, still: u32) -> bool {
        match self {
            Self::Nothing => true,
            Self::Answer => still >= STILL_ANSWER,
            Self::Bytes => missing == 0,
            Self::Parts => missing == 0 && still >= STILL_ANSWER,
            Self::Still => missing <= lost || still >= STILL,
        }
    }
}

/// A flow as the baton sees it.
#[derive(Debug, Clone, Copy)]
pub struct WovenFlow {
    /// Seats of the thread that sends, and of the one that receives.
    pub seats: Both<u32>,
    /// It goes back: the receiver's end sends it.
    back: bool,
    /// Ends that are programs. What receives is stopped between its turns too: it may do more than wait for messages.
    programs: Both<bool>,
}

impl WovenFlow {
    /// The orders of both threads before their first turn.
    pub const fn first_orders(self) -> Both<Order> {
        Both { sender: Order::Stop, receiver: if self.programs.receiver { Order::Stop } else { Order::Tell } }
    }
}

/// An arm as the baton sees it.
#[derive(Debug, Clone)]
pub struct WovenCell {
    /// Its flows, those back last.
    pub flows: Vec<WovenFlow>,
    /// How they drain.
    drain: Drain,
}

impl WovenCell {
    /// A cell whose ends have their seats from `first` on: as an endpoint numbers its threads, those of its own role
    /// first.
    pub fn new(cell: &Cell, first: Both<u32>) -> Self {
        let programs = Both { sender: cell.external(Role::Sender).is_some(), receiver: cell.external(Role::Receiver).is_some() };
        let flow = |number: u32| {
            let back = number >= cell.flows;
            let (one, other) = (first.sender + number, first.receiver + number);
            let seats = if back { Both { sender: other, receiver: one } } else { Both { sender: one, receiver: other } };
            WovenFlow { seats, back, programs }
        };
        Self { flows: (0..cell.threads()).map(flow).collect(), drain: Drain::of(cell) }
    }
}

/// One mark of each flow, or what was read there.
type OfFlows<T> = Vec<Both<T>>;

/// Leads the ends of all arms.
pub struct Baton<'a> {
    board: &'a Board,
    arms: &'a [WovenCell],
    times: SliceTimes,
    /// Bytes of each flow of each arm that were lost by the end of its last slice.
    lost: Vec<Vec<u64>>,
    /// This thread may come after the ends, which therefore end their slices themselves.
    may_be_late: bool,
}

/// Orders at the end of a slice.
const ENDS: Both<Order> = Both { sender: Order::Stop, receiver: Order::Tell };

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
    /// Led by a thread that `may_be_late` where it has no right to come first.
    pub fn new(board: &'a Board, arms: &'a [WovenCell], times: SliceTimes, may_be_late: bool) -> Self {
        Self { board, arms, times, lost: arms.iter().map(|arm| vec![0; arm.flows.len()]).collect(), may_be_late }
    }

    /// Leads them through as many rounds as there is time for `until` the measured part of the first ends. `before` is
    /// called with the arm of each slice, while no end runs.
    ///
    /// # Errors
    /// An end that does not answer, with the place of its arm. `slices` has what was measured by then.
    pub fn weave(
        mut self,
        until: Nanos,
        order: &mut dyn FnMut(u32) -> Vec<usize>,
        before: &mut dyn FnMut(usize) -> Result<(), TrialError>,
        slices: &mut Vec<Slice>,
    ) -> Result<(), (usize, TrialError)> {
        for (arm, flow) in self.arms.iter().enumerate().flat_map(|(arm, cell)| cell.flows.iter().map(move |flow| (arm, flow))) {
            for seat in [flow.seats.sender, flow.seats.receiver] {
                let awaited = self.board.await_edge(seat, Mark::FIRST, START_LIMIT);
                awaited.ok_or_else(|| (arm, silent("the start of its measured part")))?;
            }
        }
        let mut last = Nanos::new((self.times.settle + self.times.turns + self.times.measured + HAND_OVER).get() * self.arms.len() as u64);
        for round in 0.. {
            let begun = monotonic();
            if begun + last + MARGIN > until {
                break;
            }
            for (place, arm) in order(round).into_iter().enumerate() {
                match before(arm).and_then(|()| self.slice(arm)) {
                    Ok(slice) => slices.extend(slice.map(|slice| Slice { arm: arm as u32, round, place: place as u32, ..slice })),
                    // On a machine that is busy with other work a round may last beyond the trial: no end answers then.
                    Err(_) if monotonic() + MARGIN > until => return Ok(()),
                    Err(error) => return Err((arm, error)),
                }
            }
            last = monotonic().since(begun);
        }
        Ok(())
    }

    /// One slice of an arm, from its senders' start until its receivers have taken everything; `None` where a thread
    /// saw no begin of the measured part.
    fn slice(&mut self, arm: usize) -> Result<Option<Slice>, TrialError> {
        let arms = self.arms;
        let Some(WovenCell { flows, drain }) = arms.get(arm) else { return Ok(None) };
        let begun = monotonic();
        self.plan_ends(flows, begun + self.times.settle + self.times.turns + self.times.measured);
        // A thread whose last order was to tell has ended its slice until another one comes.
        for flow in flows {
            self.board.mark(flow.seats.receiver, Order::GoOn);
        }
        for flow in flows {
            self.board.mark(flow.seats.sender, Order::GoOn);
        }
        sleep_until(begun + self.times.settle);
        let starts = self.mark_all(flows, Both { sender: Order::GoOn, receiver: Order::GoOn });
        let measured = self.await_starts(flows, &starts, monotonic());
        let planned = measured + self.times.measured;
        self.plan_ends(flows, planned);
        sleep_until(measured + Nanos::new(self.times.measured.get() / 2));
        // A second mark would take the place of a first that was not seen yet.
        let middles = if self.edges(flows, &starts).is_some() {
            self.mark_all(flows, Both { sender: Order::GoOn, receiver: Order::GoOn })
        } else {
            Vec::new()
        };
        sleep_until(planned);
        let ends = self.mark_all(flows, ENDS);
        let marked = monotonic();
        let sent = flows.iter().zip(&ends).map(|(flow, end)| self.answer(flow.seats.sender, end.sender, SENDER_SEES));
        let sent = sent.collect::<Result<Vec<Reading>, TrialError>>()?;
        let received = flows.iter().zip(&ends).map(|(flow, end)| self.answer(flow.seats.receiver, end.receiver, RECEIVER_SEES));
        let received = received.collect::<Result<Vec<Reading>, TrialError>>()?;
        let stopped = monotonic();
        let (started, middle) = (self.edges(flows, &starts), self.edges(flows, &middles));
        let drained = self.drain(arm, flows, *drain, &self.handed_over(flows, &sent)?, &received)?;
        for flow in flows.iter().filter(|flow| flow.programs.receiver) {
            let mark = self.board.mark(flow.seats.receiver, Order::Stop);
            self.answer(flow.seats.receiver, mark, SENDER_SEES)?;
        }
        let Some(started) = started else { return Ok(None) };
        let late = sent.iter().map(|edge| edge.time.since(planned)).max().unwrap_or_default();
        let ended: OfFlows<Reading> = sent.into_iter().zip(received).map(|(sender, receiver)| Both { sender, receiver }).collect();
        Ok(Some(Slice {
            begun,
            sender: slice_end(flows, Role::Sender, &started, middle.as_deref(), &ended),
            receiver: slice_end(flows, Role::Receiver, &started, middle.as_deref(), &ended),
            late,
            hand_over: stopped.since(marked),
            drain: monotonic().since(stopped),
            not_drained: !drained,
            ..Slice::default()
        }))
    }

    /// Has the threads of flows end their slice themselves at `time`, where this one may be late. Programs cannot, and
    /// the other end measures as long as they do.
    fn plan_ends(&self, flows: &[WovenFlow], time: Nanos) {
        for flow in flows.iter().filter(|flow| self.may_be_late && !flow.programs.sender && !flow.programs.receiver) {
            self.board.plan_end(flow.seats.sender, ENDS.sender, time);
            self.board.plan_end(flow.seats.receiver, ENDS.receiver, time);
        }
    }

    /// Marks all threads within their slice. Those that receive first: they are to see their mark while messages come.
    fn mark_all(&self, flows: &[WovenFlow], orders: Both<Order>) -> OfFlows<Mark> {
        let receivers: Vec<Mark> = flows.iter().map(|flow| self.board.mark_in_slice(flow.seats.receiver, orders.receiver)).collect();
        let senders = flows.iter().map(|flow| self.board.mark_in_slice(flow.seats.sender, orders.sender));
        senders.zip(receivers).map(|(sender, receiver)| Both { sender, receiver }).collect()
    }

    /// The time from which on a slice is measured that was marked at `marked`: threads that share a CPU see their marks
    /// when they have their turns, and are waited for.
    fn await_starts(&self, flows: &[WovenFlow], starts: &[Both<Mark>], marked: Nanos) -> Nanos {
        if flows.len() == 1 {
            return marked;
        }
        let limit = marked + self.times.turns;
        let mut now = marked;
        while now < limit && self.edges(flows, starts).is_none() {
            sleep_until(now + TURNS_LOOK);
            now = monotonic();
        }
        now
    }

    /// The edges of these marks; `None` where a thread did not see its own, or there are none.
    fn edges(&self, flows: &[WovenFlow], marks: &[Both<Mark>]) -> Option<OfFlows<Reading>> {
        let edge = |(flow, mark): (&WovenFlow, &Both<Mark>)| {
            let sender = self.board.edge(flow.seats.sender, mark.sender)?;
            Some(Both { sender, receiver: self.board.edge(flow.seats.receiver, mark.receiver)? })
        };
        flows.iter().zip(marks).map(edge).collect::<Option<Vec<_>>>().filter(|edges| !edges.is_empty())
    }

    /// The edge of a mark, for which the end is interrupted where it does not see it for `sees`.
    fn answer(&self, seat: u32, mark: Mark, sees: Duration) -> Result<Reading, TrialError> {
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

    /// What each flow has sent for good: a program sent on for a moment after its edge, until it stood still.
    fn handed_over(&self, flows: &[WovenFlow], sent: &[Reading]) -> Result<Vec<Reading>, TrialError> {
        let last = |(flow, edge): (&WovenFlow, &Reading)| {
            if !flow.programs.sender {
                return Ok(*edge);
            }
            let mark = self.board.mark(flow.seats.sender, Order::Tell);
            self.answer(flow.seats.sender, mark, SENDER_SEES)
        };
        flows.iter().zip(sent).map(last).collect()
    }

    /// Waits until the receivers have taken what was sent; false where one has not in time.
    fn drain(&mut self, arm: usize, flows: &[WovenFlow], drain: Drain, sent: &[Reading], received: &[Reading]) -> Result<bool, TrialError> {
        if drain == Drain::Nothing {
            return Ok(true);
        }
        let begun = Instant::now();
        for (place, flow) in flows.iter().enumerate() {
            let (lost, mut last, mut still) = (self.lost[arm][place], received[place], 0);
            loop {
                let missing = sent[place].bytes.saturating_sub(last.bytes);
                if drain.is_over(missing, lost, still) {
                    self.lost[arm][place] = missing;
                    break;
                }
                if begun.elapsed() > DRAIN_LIMIT {
                    return Ok(false);
                }
                thread::sleep(LOOK);
                let mark = self.board.mark(flow.seats.receiver, Order::Tell);
                let next = self.answer(flow.seats.receiver, mark, LOOK)?;
                still = if next.bytes == last.bytes { still + 1 } else { 0 };
                last = next;
            }
        }
        Ok(true)
    }
}

/// What the end of a role did in a slice: CPU time and switches of all its threads, and the traffic of each direction.
fn slice_end(
    flows: &[WovenFlow],
    role: Role,
    starts: &[Both<Reading>],
    middles: Option<&[Both<Reading>]>,
    ends: &[Both<Reading>],
) -> SliceEnd {
    let sum = |edges: &[Both<Reading>]| {
        // The thread of a flow back is in the other role.
        let its = |flow: &WovenFlow| if flow.back { role.other() } else { role };
        let threads =
            || flows.iter().zip(starts.iter().zip(edges)).map(|(flow, (start, end))| (flow, (start.of(its(flow)), end.of(its(flow)))));
        let all = Reading::of_flows(threads().map(|(_, edges)| edges));
        let [own, back] =
            [false, true].map(|back| Reading::of_flows(threads().filter(|(flow, _)| flow.back == back).map(|(_, edges)| edges)));
        let whole = Reading { messages: own.messages, bytes: own.bytes, calls: own.calls, ..all };
        (whole, BackTraffic { messages: back.messages, bytes: back.bytes })
    };
    let (whole, back) = sum(ends);
    SliceEnd { whole, half: middles.map_or_else(Reading::default, |middles| sum(middles).0), back }
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

#[cfg(test)]
mod tests {
    use model::{Api, Bytes, Cell, Program, Test};

    use super::{Drain, STILL_ANSWER};

    #[test]
    fn the_part_of_a_message_that_a_program_was_stopped_in_is_waited_for() {
        let mut cell = Cell::plain(Test::TcpStream, Bytes::new(1 << 20));
        assert_eq!(Drain::of(&cell), Drain::Bytes);
        cell.api = Api::External(Program::new("x").unwrap());
        let drain = Drain::of(&cell);
        // Of whole messages none is missing.
        assert!(Drain::Bytes.is_over(0, 0, 0) && !drain.is_over(0, 0, 0) && !drain.is_over(1, 0, STILL_ANSWER));
        assert!(drain.is_over(0, 0, STILL_ANSWER));
    }
}
