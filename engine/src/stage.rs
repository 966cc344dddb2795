//! Stage of a trial: the one thing that the main thread shares with
//! each of its traffic threads.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use model::Nanos;
use model::end::{Counts, TcpInfo};

use crate::edge::EdgeReader;
pub use crate::part::Part;
use crate::wake::Alarm;
use crate::woven::Seat;

/// The marks that a receiver has read off its messages in its measured part so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaySoFar {
    /// As in [`model::end::OneWay::jitter`].
    pub jitter: u64,
    /// Numbers that were skipped and have not come.
    pub missing: u64,
}

/// Counts of a traffic thread in its measured part so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct SoFar {
    /// Start of its measured part; `None` before it.
    pub began: Option<Nanos>,
    /// Counts since.
    pub counts: Counts,
    /// TCP's account.
    pub tcp: Option<TcpInfo>,
    /// What a receiver read off messages that bear a number and a time.
    pub way: Option<WaySoFar>,
}

/// Written a few times a trial by the main thread, read once a message by the
/// traffic thread. The part has a cache line of its own (two, for machines that fetch
/// them in pairs), so that reading it stays a hit.
#[derive(Debug)]
#[repr(align(128))]
pub struct Stage {
    /// Points into `memory`.
    part: NonNull<AtomicU8>,
    memory: Memory,
    announced: AtomicU64,
    /// Only taken at ticks, by the traffic thread before it answers and by the
    /// main thread afterwards: neither waits for the other.
    so_far: Mutex<SoFar>,
}

/// Owner of the part's memory.
#[derive(Debug)]
enum Memory {
    Own(#[allow(dead_code, reason = "it is held, and read through the pointer")] Box<Line>),
    /// A controller changes it as well, and an alarm of the traffic thread's.
    Seat(Seat, OnceLock<Alarm>),
}

#[derive(Debug)]
#[repr(align(128))]
struct Line(AtomicU8);

// SAFETY: the pointer is to an atomic, in memory that the stage owns or has mapped.
unsafe impl Send for Stage {}
// SAFETY: likewise.
unsafe impl Sync for Stage {}

impl Default for Stage {
    fn default() -> Self {
        Self::starting_in(Part::Warmup)
    }
}

impl Stage {
    /// At the start of a trial: its warm-up, or, where messages are counted,
    /// the part that holds them all.
    pub fn starting_in(part: Part) -> Self {
        let line = Box::new(Line(AtomicU8::new(part as u8)));
        Self::over(NonNull::from(&line.0), Memory::Own(line))
    }

    /// Of an end with a seat in a woven trial, held.
    pub fn at(seat: Seat) -> Self {
        let part = NonNull::from(seat.part());
        let stage = Self::over(part, Memory::Seat(seat, OnceLock::new()));
        stage.enter(Part::Held);
        stage
    }

    fn over(part: NonNull<AtomicU8>, memory: Memory) -> Self {
        Self { part, memory, announced: AtomicU64::new(u64::MAX), so_far: Mutex::default() }
    }

    #[inline(always)]
    fn part(&self) -> &AtomicU8 {
        // SAFETY: what it points to lies in the box or the mapping that `memory` keeps as long as `self` is.
        unsafe { self.part.as_ref() }
    }

    /// The calling thread is the one whose stage it is.
    pub fn take(&self) {
        if let Memory::Seat(seat, alarm) = &self.memory {
            seat.take();
            if let Ok(made) = seat.alarm() {
                let _ = alarm.set(made);
            }
        }
    }

    /// Answers the controller of a woven trial, if it asks, with what was counted `so_far`, and waits
    /// for its turn; how long it did, where the measured part goes on, or another has begun meanwhile. `None`
    /// where none asks.
    pub fn answer_mark(&self, edges: &EdgeReader, so_far: impl FnOnce() -> Counts) -> Option<Nanos> {
        match &self.memory {
            Memory::Seat(seat, alarm) if self.is(Part::Marked) => Some(seat.answer(alarm.get(), edges, &so_far())),
            _ => None,
        }
    }

    /// Sleeps while the trial is held. The thread that lets it go on unparks this one.
    pub fn wait_while_held(&self) {
        while self.is(Part::Held) {
            thread::park();
        }
    }

    /// Returns whether the trial is in `part`.
    #[inline(always)]
    pub fn is(&self, part: Part) -> bool {
        // Relaxed: nothing else is published by it, and a late look costs one message.
        self.part().load(Ordering::Relaxed) == part as u8
    }

    /// Goes on to `part`.
    pub fn enter(&self, part: Part) {
        self.part().store(part as u8, Ordering::Relaxed);
    }

    /// Begins the warm-up, where it has not begun.
    pub fn warm_up(&self) {
        self.swap(Part::Opening, Part::Warmup);
    }

    /// Asks the traffic thread how far it has come; false when it is not in its
    /// measured part, or has not answered the last time.
    pub fn ask(&self) -> bool {
        self.swap(Part::Measure, Part::Tick)
    }

    /// Returns whether it has been asked and has not answered.
    pub fn asked(&self) -> bool {
        self.part().load(Ordering::Acquire) == Part::Tick as u8
    }

    /// Says how far it has come, and lets the measured part go on: unless the
    /// main thread has gone on to another part meanwhile.
    pub fn answer(&self, so_far: SoFar) {
        if let Ok(mut place) = self.so_far.try_lock() {
            *place = so_far;
        }
        self.swap(Part::Tick, Part::Measure);
    }

    /// Has nothing to add to what it answered last.
    pub fn answer_as_before(&self) {
        self.swap(Part::Tick, Part::Measure);
    }

    /// The last answer.
    pub fn so_far(&self) -> SoFar {
        *self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn swap(&self, from: Part, to: Part) -> bool {
        self.part().compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Number of messages that the sender says it sent; `None` before it said so.
    pub fn announced(&self) -> Option<u64> {
        match self.announced.load(Ordering::Acquire) {
            u64::MAX => None,
            messages => Some(messages),
        }
    }

    /// The sender has sent its last message.
    pub fn announce(&self, messages: u64) {
        self.announced.store(messages, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, SoFar, Stage};
    use model::Nanos;

    #[test]
    fn an_answer_lets_the_measured_part_go_on() {
        let stage = Stage::starting_in(Part::Measure);
        assert!(stage.ask() && stage.asked() && !stage.is(Part::Measure));
        assert!(!stage.ask(), "it is asked once");
        stage.answer(SoFar { began: Some(Nanos::new(7)), ..SoFar::default() });
        assert!(stage.is(Part::Measure) && !stage.asked());
        assert_eq!(stage.so_far().began, Some(Nanos::new(7)));
    }

    #[test]
    fn who_has_nothing_to_add_keeps_the_answer() {
        let stage = Stage::starting_in(Part::Measure);
        stage.answer(SoFar { began: Some(Nanos::new(7)), ..SoFar::default() });
        stage.ask();
        stage.answer_as_before();
        assert!(stage.is(Part::Measure));
        assert_eq!(stage.so_far().began, Some(Nanos::new(7)));
    }

    #[test]
    fn an_answer_does_not_undo_the_end() {
        let stage = Stage::starting_in(Part::Measure);
        stage.ask();
        stage.enter(Part::Drain);
        stage.answer(SoFar::default());
        assert!(stage.is(Part::Drain));
        assert!(!stage.ask(), "nobody is asked after the measured part");
    }
}
