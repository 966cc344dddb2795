//! Figures of how well a sender kept to its schedule.

use std::ops::Range;

use model::end::Schedule;

use crate::recorder::Recorder;

/// Results of a sender with a schedule; of several flows, the sum.
#[derive(Debug)]
pub struct ScheduleStats {
    /// Messages that the schedule has in the window.
    pub intended: u64,
    /// Those of them that had not been sent by its end.
    pub behind: u64,
    /// Those that were not sent later either; `None` where no answers come.
    pub unsent: Option<u64>,
    /// Times from when each send within the window was due to when it began.
    pub lateness: Recorder,
    /// Times from the actual send, where answers come.
    pub uncorrected: Option<Recorder>,
}

impl ScheduleStats {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self { intended: 0, behind: 0, unsent: None, lateness: Recorder::new(), uncorrected: None }
    }

    /// Nothing yet, of a sender that takes answers.
    pub(super) fn with_answers() -> Self {
        Self { uncorrected: Some(Recorder::new()), ..Self::new() }
    }

    /// Statistics of a window whose schedule has these numbers, by whose end the messages
    /// before `next` had been sent.
    pub(super) const fn in_window(mut self, numbers: &Range<u64>, next: u64) -> Self {
        self.intended = numbers.end.saturating_sub(numbers.start);
        self.behind = numbers.end.saturating_sub(next);
        self
    }

    /// The same with the requests of the window that were never sent: `sent` were in all.
    pub(super) const fn with_requests(mut self, numbers: &Range<u64>, sent: u64) -> Self {
        let first_unsent = if sent > numbers.start { sent } else { numbers.start };
        self.unsent = Some(numbers.end.saturating_sub(first_unsent));
        self
    }

    /// Adds another flow's.
    pub fn add(&mut self, other: &Self) {
        self.intended = self.intended.saturating_add(other.intended);
        self.behind = self.behind.saturating_add(other.behind);
        if let (Some(all), Some(more)) = (&mut self.unsent, other.unsent) {
            *all = all.saturating_add(more);
        }
        self.lateness.add(&other.lateness);
        if let (Some(all), Some(more)) = (&mut self.uncorrected, &other.uncorrected) {
            all.add(more);
        }
    }

    /// The form in which it is reported.
    pub fn schedule(&self) -> Schedule {
        Schedule {
            intended: self.intended,
            behind: self.behind,
            unsent: self.unsent,
            lateness: self.lateness.encode(),
            uncorrected: self.uncorrected.as_ref().and_then(Recorder::encode),
        }
    }
}
