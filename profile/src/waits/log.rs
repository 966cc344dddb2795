//! Meaning of the scheduler's events.

use std::collections::BTreeSet;

use model::Nanos;
use model::end::Window;
use model::profile::Waits;

use model::Refusal;

/// Event of a thread. The first two are numbered as the kernel tells
/// them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum EventKind {
    /// It left its CPU of its own accord.
    Left = 0,
    /// Another took its CPU.
    Preempted = 1,
    /// It came to a CPU.
    Came = 2,
    /// Something woke it.
    Woken = 3,
}

/// An event of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its time, in ns of `CLOCK_MONOTONIC`.
    pub time: u64,
    /// Thread.
    pub tid: u32,
    /// The event.
    pub kind: EventKind,
}

impl Event {
    /// Reads what the program in the kernel wrote.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let kinds = [EventKind::Left, EventKind::Preempted, EventKind::Came, EventKind::Woken];
        let kind = *kinds.get(usize::try_from(number(16)?).ok()?)?;
        Some(Self { time: number(0)?, tid: number(8)? as u32, kind })
    }
}

/// Everything that was seen of a process's threads.
#[derive(Debug, Clone)]
pub struct WaitLog {
    /// In order of time.
    events: Vec<Event>,
    lost: u64,
    started: Nanos,
}

impl WaitLog {
    /// A log of events, in any order, since `started`; `lost` could not be kept.
    pub fn new(mut events: Vec<Event>, lost: u64, started: Nanos) -> Self {
        events.sort_by_key(|event| event.time);
        Self { events, lost, started }
    }

    /// The threads that ever left a CPU.
    pub fn threads(&self) -> Vec<u32> {
        self.events.iter().map(|event| event.tid).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The waits of one thread within `window`; none if it never left its CPU.
    ///
    /// # Errors
    /// When events were lost, or the window began before the log.
    pub fn waits(&self, tid: u32, window: Window) -> Result<Waits, Refusal> {
        let refused = |answer: String, remedy| Err(Refusal::new("waits from scheduler tracepoints", answer, remedy));
        if self.lost > 0 {
            return refused(format!("{} events were not kept", self.lost), "Shorten the trial");
        }
        if window.start < self.started {
            return refused("the measured time began before the recording".to_owned(), "Open the recorder before the traffic starts");
        }
        let mut account = Account { window, waits: Waits::default(), away: None };
        let mut events = self.events.iter().filter(|event| event.tid == tid).peekable();
        let first = events.peek().map_or(0, |event| event.time);
        events.for_each(|event| account.take(*event));
        account.close();
        Ok(Waits { unseen: overlap(window, 0, first), ..account.waits })
    }
}

/// The part of a time that lies in the window.
fn overlap(window: Window, from: u64, to: u64) -> Nanos {
    Nanos::new(to.min(window.end.get()).saturating_sub(from.max(window.start.get())))
}

/// A thread's way through its events.
struct Account {
    window: Window,
    waits: Waits,
    /// Since when it is off its CPU, and when it was ready again.
    away: Option<(u64, Option<u64>)>,
}

impl Account {
    fn take(&mut self, event: Event) {
        match event.kind {
            EventKind::Left | EventKind::Preempted => {
                self.waits.switches += u64::from(self.window.contains(event.time));
                // Who was preempted is ready all the time, even if it was about to sleep.
                self.away = Some((event.time, (event.kind == EventKind::Preempted).then_some(event.time)));
            }
            EventKind::Woken => {
                if let Some((_, ready @ None)) = &mut self.away {
                    *ready = Some(event.time);
                }
            }
            EventKind::Came => {
                if let Some((since, ready)) = self.away.take() {
                    // Nothing woke it: it never slept, it only made room.
                    self.add(since, ready.unwrap_or(since), event.time);
                }
            }
        }
    }

    fn add(&mut self, since: u64, ready: u64, until: u64) {
        self.waits.blocked = self.waits.blocked + overlap(self.window, since, ready);
        self.waits.runnable = self.waits.runnable + overlap(self.window, ready, until);
    }

    /// A thread that is still away may never be woken: until
    /// then it sleeps.
    fn close(&mut self) {
        let end = self.window.end.get();
        if let Some((since, ready)) = self.away.take() {
            self.add(since, ready.unwrap_or(end), end);
        }
    }
}

#[cfg(test)]
mod tests;
