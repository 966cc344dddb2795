//! A wire between two hosts: when each frame arrives, and whether it does. The
//! relay moves real frames by these rules, and the model of a
//! transfer imagined ones.
//!
//! ```text
//! hand -> host time -> wait for the wire -> on the wire -> delay, loss -> host time -> take
//! ```
//!
//! Nothing here reads a clock. Whoever is late in asking gets the same times as
//! one who is not, so that no lateness adds up from frame to frame.

mod medium;

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use model::link::{HostOrder, Wire};
use model::{BitRate, Nanos};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::frame;
use medium::Mediums;

/// A host whose time for a frame is passed so often since it got one is not
/// answering that one any more.
const ANSWER_WITHIN: u64 = 4;

/// An end of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Host `a`.
    A,
    /// Host `b`.
    B,
}

impl End {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Its place in a pair.
    pub const fn index(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }

    /// The other.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// The fate of the frames that one end handed over. Every frame is in one of
/// `refused`, `aborted`, `lost` and `delivered`, or in flight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Frames handed over.
    pub handed: u64,
    /// Refused: the queue was full.
    pub refused: u64,
    /// Given up after 16 collisions.
    pub aborted: u64,
    /// Lost by chance, as the wire was to.
    pub lost: u64,
    /// Delivered to the other host.
    pub delivered: u64,
    /// Collisions that its frames took part in.
    pub collisions: u64,
    /// Frames that overtook others.
    pub overtaking: u64,
}

/// A frame that has come to the other host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered<T> {
    /// Its time.
    pub at: Nanos,
    /// The end that gets it.
    pub to: End,
    /// The frame's content.
    pub load: T,
}

struct Waiting<T> {
    ready: u64,
    counted: u32,
    load: T,
}

/// One end: its host and its interface.
struct Side<T> {
    /// Frames that are ready for the wire.
    queue: VecDeque<Waiting<T>>,
    /// Bytes that wait, those with the host included.
    queued: u64,
    /// Until when the host's processor is at work.
    busy: u64,
    /// Time at which the host was last to get a frame.
    heard: Option<u64>,
    /// Until when the interface does not try.
    not_before: u64,
    attempts: u32,
    /// Arrival of the last of its frames that keeps its place.
    last_due: u64,
    tally: Tally,
}

/// An emulated link: a wire with the frames that are in flight on it.
pub struct LinkEmulator<T> {
    wire: Wire,
    sides: [Side<T>; 2],
    mediums: Mediums,
    events: BinaryHeap<Event<T>>,
    order: u64,
    random: ChaCha8Rng,
}

impl<T> LinkEmulator<T> {
    /// An idle wire. What is left to chance follows from `seed`.
    pub fn new(wire: Wire, seed: u64) -> Self {
        let side = || Side {
            queue: VecDeque::new(),
            queued: 0,
            busy: 0,
            heard: None,
            not_before: 0,
            attempts: 0,
            last_due: 0,
            tally: Tally::default(),
        };
        Self {
            wire,
            sides: [side(), side()],
            mediums: Mediums::default(),
            events: BinaryHeap::new(),
            order: 0,
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// The fate of the frames of an end so far.
    pub const fn tally(&self, end: End) -> &Tally {
        &self.sides[end.index()].tally
    }

    /// Bytes that wait at an end for the wire.
    pub const fn queued(&self, end: End) -> u64 {
        self.sides[end.index()].queued
    }

    /// True where nothing is in flight.
    pub fn is_idle(&self) -> bool {
        self.events.is_empty()
    }

    /// A host hands a frame over. `counted` are its bytes as a device counts
    /// them. `false`: the queue is full, and it is dropped and counted.
    ///
    /// Frames due by `now` must have been taken before.
    pub fn hand(&mut self, now: Nanos, from: End, counted: u32, load: T) -> bool {
        let side = &mut self.sides[from.index()];
        side.tally.handed += 1;
        let queued = side.queued + u64::from(counted);
        if self.wire.queue.is_some_and(|limit| queued > limit.get()) {
            side.tally.refused += 1;
            return false;
        }
        side.queued = queued;
        let begun = now.get() - self.credit(from, now.get());
        let ready = self.work(from, begun);
        if ready > now.get() {
            self.push(ready, What::Ready(from, Waiting { ready, counted, load }));
        } else {
            self.wait(from, Waiting { ready, counted, load });
        }
        true
    }

    /// Time of the next event: nothing can be taken before.
    pub fn next_at(&self) -> Option<Nanos> {
        self.events.peek().map(|event| Nanos::new(event.at))
    }

    /// The next frame that has come to a host by `now`.
    pub fn take(&mut self, now: Nanos) -> Option<Delivered<T>> {
        while self.events.peek().is_some_and(|event| event.at <= now.get()) {
            let Event { at, what, .. } = self.events.pop()?;
            match what {
                What::Ready(from, waiting) => self.wait(from, waiting),
                What::Free(medium) => {
                    self.mediums.heard(medium, at);
                    self.start(medium, at);
                }
                What::Arrive(to, load) => {
                    let done = self.work(to, at);
                    self.push(done, What::Deliver(to, load));
                }
                What::Deliver(to, load) => {
                    self.sides[to.index()].heard = Some(at);
                    self.sides[to.other().index()].tally.delivered += 1;
                    return Some(Delivered { at: Nanos::new(at), to, load });
                }
            }
        }
        None
    }

    /// Time that a host has already spent on the frame that it hands over at `now`. It
    /// stands for a slower one, whose time for a frame holds what the real one
    /// took to answer the frame before, and by how much that one was delivered
    /// late: up to its whole time, of a frame that comes soon enough to be an
    /// answer. So nothing becomes ready before it was there.
    fn credit(&self, from: End, now: u64) -> u64 {
        let time = self.wire.hosts[from.index()].time.get();
        let Some(heard) = self.sides[from.index()].heard else { return 0 };
        let since = now.saturating_sub(heard);
        if since <= ANSWER_WITHIN * time { since.min(time) } else { 0 }
    }

    /// Time at which a host has done its part for a frame that it gets at `at`.
    fn work(&mut self, end: End, at: u64) -> u64 {
        let host = self.wire.hosts[end.index()];
        match host.order {
            HostOrder::Delay => at.saturating_add(host.time.get()),
            HostOrder::Serial => {
                let busy = &mut self.sides[end.index()].busy;
                *busy = at.max(*busy).saturating_add(host.time.get());
                *busy
            }
        }
    }

    fn push(&mut self, at: u64, what: What<T>) {
        self.order += 1;
        self.events.push(Event { at, order: self.order, what });
    }

    /// A frame is ready for the wire.
    fn wait(&mut self, from: End, waiting: Waiting<T>) {
        let at = waiting.ready;
        self.sides[from.index()].queue.push_back(waiting);
        self.start(Mediums::index(self.wire.medium, from), at);
    }

    /// Sends the first frame of a side at `at`, when the medium is its.
    fn send(&mut self, medium: usize, from: End, at: u64) {
        let side = &mut self.sides[from.index()];
        let Some(Waiting { counted, load, .. }) = side.queue.pop_front() else { return };
        side.queued = side.queued.saturating_sub(u64::from(counted));
        side.attempts = 0;
        self.mediums.give(medium, from, at + time(self.wire.rate, frame::cost(counted)));
        if self.chance(self.wire.loss.as_f64()) {
            self.sides[from.index()].tally.lost += 1;
            return;
        }
        let end = at + time(self.wire.rate, frame::occupancy(counted));
        let due = self.due(from, end);
        self.push(due, What::Arrive(from.other(), load));
    }

    /// Arrival of a frame whose last bit was sent at `end` arrives.
    fn due(&mut self, from: End, end: u64) -> u64 {
        if self.chance(self.wire.reorder.as_f64()) {
            let side = &mut self.sides[from.index()];
            side.tally.overtaking += u64::from(end < side.last_due);
            return end;
        }
        let jitter = self.wire.jitter.get();
        let more = if jitter > 0 { self.random.random_range(0..=jitter) } else { 0 };
        // A frame that took less time than the one before it still comes behind it.
        let side = &mut self.sides[from.index()];
        side.last_due = side.last_due.max(end.saturating_add(self.wire.delay.get()).saturating_add(more));
        side.last_due
    }

    fn chance(&mut self, share: f64) -> bool {
        share > 0.0 && self.random.random::<f64>() < share
    }
}

/// Something that is to happen.
enum What<T> {
    /// A host has done its part: the frame waits for the wire.
    Ready(End, Waiting<T>),
    /// A medium may be used again.
    Free(usize),
    /// A frame has come to an end of the wire.
    Arrive(End, T),
    /// The host there has done its part.
    Deliver(End, T),
}

/// Something that happens at a time; of the same time, in the order of their making.
struct Event<T> {
    at: u64,
    order: u64,
    what: What<T>,
}

impl<T> Ord for Event<T> {
    /// The earliest is the greatest: that is what a heap gives first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl<T> PartialOrd for Event<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Event<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Event<T> {}

/// Duration of a number of byte times.
fn time(rate: Option<BitRate>, bytes: u32) -> u64 {
    // A frame of 65,535 bytes at 1 kbit/s takes 524 s.
    rate.map_or(0, |rate| (u64::from(bytes) * 8_000_000_000).div_ceil(rate.get().max(1)))
}
