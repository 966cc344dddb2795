//! How far a trial has come: the one thing both threads of an endpoint share.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// A part of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// Messages flow and are not measured.
    Warmup = 0,
    /// Messages flow and are measured.
    Measure = 1,
    /// The sender's window has closed, but it goes on for a moment, so that a
    /// receiver whose clock says so a little later measures traffic to the end.
    Tail = 2,
    /// The sender stops; the receiver takes what is left.
    Drain = 3,
}

/// Written a few times a trial by the main thread, read once a message by the
/// traffic thread. It has a cache line of its own (two, for machines that fetch
/// them in pairs), so that reading it stays a hit.
#[derive(Debug)]
#[repr(align(128))]
pub struct Stage {
    part: AtomicU8,
    announced: AtomicU64,
}

impl Default for Stage {
    fn default() -> Self {
        Self { part: AtomicU8::new(Part::Warmup as u8), announced: AtomicU64::new(u64::MAX) }
    }
}

impl Stage {
    /// At the start of a trial: its warm-up, or, where messages are counted,
    /// the part that holds them all.
    pub fn starting_in(part: Part) -> Self {
        let stage = Self::default();
        stage.enter(part);
        stage
    }

    /// Whether the trial is in `part`.
    #[inline(always)]
    pub fn is(&self, part: Part) -> bool {
        // Relaxed: nothing else is published by it, and a late look costs one message.
        self.part.load(Ordering::Relaxed) == part as u8
    }

    /// Goes on to `part`.
    pub fn enter(&self, part: Part) {
        self.part.store(part as u8, Ordering::Relaxed);
    }

    /// How many messages the sender says it sent; `None` before it said so.
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
