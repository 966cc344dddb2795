//! The sender of a stream that offers a rate, or whose messages bear a number and a time.

use model::Pacing;
use model::end::Counts;

use super::super::schedule_stats::ScheduleStats;
use super::super::send::{Stretch, send_parts};
use super::super::{Done, Trial, stamp};
use super::timetable::Timetable;
use super::wait::{wait, wake_exactly};
use crate::api::{Api, Trouble, Verdict, finish, flush};
use crate::recorder::Recorder;
use crate::stage::{Part, Stage};
use sys::clock;

pub(in crate::traffic) fn run<A: Api>(api: &mut A, trial: &mut Trial) -> std::io::Result<Done> {
    wake_exactly()?;
    let (cell, stage) = (&trial.task.cell, trial.stage);
    let mut stats = ScheduleStats::new();
    let timetable = Timetable::for_cell(&trial.task.cell, trial.task.seed, clock::monotonic());
    let mut offer = Offer { size: cell.size.as_len(), timetable, pacing: cell.pacing, stamp: cell.stamp, number: 0 };
    let mut numbers = None;
    let done = send_parts(api, trial, |api, Stretch { part, limit, measured, paused }| {
        let before = offer.number;
        offer.timetable.iter_mut().for_each(|timetable| timetable.stand_still(paused));
        let counts = offer.send_while(api, stage, part, limit, measured.then_some(&mut stats.lateness));
        if measured {
            let (first, _) = numbers.unwrap_or((before, before));
            numbers = Some((first, offer.number));
        }
        counts
    });
    if let (Some(timetable), Some((first, next))) = (&offer.timetable, numbers) {
        trial.schedule = Some(stats.in_window(&timetable.numbers_of(trial, done.usage.window, first), next));
    }
    Ok(done)
}

struct Offer {
    size: usize,
    /// `None`: each message is due when the one before it is sent.
    timetable: Option<Timetable>,
    pacing: Pacing,
    stamp: bool,
    /// Number of the next message.
    number: u64,
}

impl Offer {
    /// Sends each message when its time has come while the trial is in `part`,
    /// `limit` at most. Those whose time passed during a stall are sent one
    /// after the other: the schedule stands.
    fn send_while<A: Api>(&mut self, api: &mut A, stage: &Stage, part: Part, limit: u64, mut lateness: Option<&mut Recorder>) -> Counts {
        let mut counts = Counts::default();
        let mut trouble = Trouble::default();
        let mut now = clock::monotonic().get();
        while stage.is(part) && counts.messages < limit {
            let due = self.timetable.as_ref().map_or(now, Timetable::due);
            if now < due {
                flush(api, &mut counts);
                wait(self.pacing, now, due);
                now = clock::monotonic().get();
                continue;
            }
            match self.send(api, now, &mut counts, &mut trouble) {
                Sent::Whole => {
                    if let Some(lateness) = &mut lateness {
                        lateness.record(now - due);
                    }
                    self.number += 1;
                    if let Some(timetable) = &mut self.timetable {
                        timetable.advance();
                    }
                }
                Sent::Not => {}
                Sent::Over => break,
            }
            now = clock::monotonic().get();
        }
        counts.sent = counts.messages;
        counts
    }

    #[inline(always)]
    fn send<A: Api>(&self, api: &mut A, now: u64, counts: &mut Counts, trouble: &mut Trouble) -> Sent {
        if self.stamp {
            stamp::write(api.message(), self.number, now);
        }
        let moved = api.send(0);
        if moved.0 == self.size as isize {
            counts.calls += 1;
            counts.messages += 1;
            counts.bytes += self.size as u64;
            return Sent::Whole;
        }
        let finished = counts.messages;
        match finish(api, self.size, moved, 0, counts, trouble) {
            Verdict::Over => Sent::Over,
            Verdict::Again if counts.messages > finished => Sent::Whole,
            Verdict::Again => Sent::Not,
        }
    }
}

/// Fate of a message.
enum Sent {
    Whole,
    Not,
    Over,
}
