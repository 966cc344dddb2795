//! The requester, with or without a schedule: one transaction at a time.

use std::io;
use std::ops::Range;
use std::time::Instant;

use model::end::{Counts, Window};
use model::{Nanos, Pacing};
use socket2::Socket;

use super::super::open::timetable::Timetable;
use super::super::open::wait::{wait, wake_exactly};
use super::super::schedule_stats::ScheduleStats;
use super::super::{DRAIN_LIMIT, Done, Step, Trial, sum};
use super::dial::{Dialler, exhausted, is_exhausted};
use super::{Failures, is_over, receive_all, send_all, timed_out};
use crate::api::{Api, Buffer};
use crate::recorder::Recorder;
use crate::stage::{Part, Stage};
use sys::clock;

pub(in crate::traffic) fn run<A: Api>(api: &mut A, trial: &mut Trial, recorder: &mut Recorder) -> io::Result<Done> {
    let (cell, stage, extent) = (&trial.task.cell, trial.stage, trial.extent);
    let dialler = Dialler::like(api.socket(), trial.task)?;
    let room = Buffer::ones(cell.size.as_len().min(cell.read_size.as_len()).max(1));
    if cell.rate.is_some() {
        wake_exactly()?;
    }
    let begun = clock::monotonic();
    let timetable = Timetable::for_cell(&trial.task.cell, trial.task.seed, begun);
    let stats = ScheduleStats::with_answers();
    let window = u64::MAX..u64::MAX;
    let mut asker = Asker {
        dialler,
        room,
        timetable,
        pacing: cell.pacing,
        work: cell.work,
        number: 0,
        window,
        recorder,
        stats,
        made: 0,
        refused: None,
    };
    let ask = |api: &mut A, asker: &mut Asker, part, limit: u64, measured| {
        trial.to_the_end(api, |api, leave| {
            let done = leave.so_far.messages + leave.so_far.lost;
            asker.ask_while(api, stage, part, limit.saturating_sub(done).min(leave.may_send), measured)
        })
    };
    let first = ask(api, &mut asker, extent.warmup_part, trial.least_warmup(), false);
    trial.flows(&first);
    let warmup = ask(api, &mut asker, extent.warmup_part, extent.warmup, false);
    let start = trial.start(api.socket());
    asker.begin_window(extent.is_counted());
    let counts = ask(api, &mut asker, Part::Measure, extent.measured, true);
    let end = trial.edges.end();
    let usage = start.until(&end);
    let next = asker.number;
    asker.window.end = match &asker.timetable {
        Some(timetable) => timetable.numbers_in(usage.window, extent, asker.window.start).end.max(asker.window.start),
        None => next,
    };
    let tail = ask(api, &mut asker, Part::Tail, u64::MAX, false);
    let flow = Window { start: begun, end: clock::monotonic() };
    if let Some(answer) = asker.refused {
        return Err(answer);
    }
    let total = sum(sum(first, warmup), sum(counts, tail));
    (trial.said)(Step::Sent(&total));
    if asker.timetable.is_some() {
        trial.schedule = Some(asker.stats.in_window(&asker.window, next).with_requests(&asker.window, asker.number));
    }
    Ok(Done { usage, flow: Some(flow), counts, total })
}

struct Asker<'a> {
    dialler: Dialler<'a>,
    room: Buffer,
    timetable: Option<Timetable>,
    pacing: Pacing,
    /// Time that it computes before each request.
    work: Nanos,
    /// Number of the next transaction: those before it are done or lost.
    number: u64,
    /// Numbers of the transactions that the window has, by the schedule if there is one.
    window: Range<u64>,
    recorder: &'a mut Recorder,
    stats: ScheduleStats,
    /// Connections made so far.
    made: u64,
    /// Reason for which no more can be made.
    refused: Option<io::Error>,
}

/// Fate of one transaction.
enum Transaction {
    Done,
    /// The request went, no answer came.
    Lost,
    /// No request went.
    None,
    Over,
}

impl Asker<'_> {
    fn begin_window(&mut self, counted: bool) {
        let scheduled = self.timetable.as_ref().filter(|_| !counted);
        self.window.start = scheduled.map_or(self.number, |timetable| timetable.before(clock::monotonic()));
    }

    fn ask_while<A: Api>(&mut self, api: &mut A, stage: &Stage, part: Part, limit: u64, measured: bool) -> Counts {
        let mut counts = Counts::default();
        let mut failures = Failures::default();
        let mut now = clock::monotonic().get();
        while stage.is(part) && counts.messages + counts.lost < limit && self.refused.is_none() {
            let (begun, due) = (now, self.timetable.as_ref().map_or(now, Timetable::due));
            if now < due {
                wait(self.pacing, now, due);
                now = clock::monotonic().get();
                continue;
            }
            let transaction = self.transact(api.message(), &mut counts, &mut failures);
            // The end of one transaction is the start of the next.
            now = clock::monotonic().get();
            match transaction {
                Transaction::Done => {
                    counts.messages += 1;
                    self.record(begun, due, now, measured);
                }
                Transaction::Lost => counts.lost += 1,
                Transaction::None => continue,
                Transaction::Over => break,
            }
            self.number += 1;
            if let Some(timetable) = &mut self.timetable {
                timetable.advance();
            }
        }
        counts
    }

    /// Keeps the times of a transaction that is done. Also those of one that ends after
    /// the window in which it was due: the longest would be missing.
    fn record(&mut self, begun: u64, due: u64, now: u64, measured: bool) {
        let open = self.timetable.is_some();
        if open && measured {
            self.stats.lateness.record(begun - due);
        }
        if self.window.contains(&self.number) {
            self.recorder.record(now - due);
            if let Some(uncorrected) = self.stats.uncorrected.as_mut().filter(|_| open) {
                uncorrected.record(now - begun);
            }
        }
    }

    fn transact(&mut self, message: &[u8], counts: &mut Counts, failures: &mut Failures) -> Transaction {
        let give_up = Instant::now() + DRAIN_LIMIT;
        let socket = match self.dialler.dial(give_up) {
            Ok(socket) => socket,
            Err(answer) if is_exhausted(&answer) => {
                self.refused = Some(exhausted(self.dialler.peer(), self.made, &answer));
                return Transaction::Over;
            }
            Err(answer) if failures.count(&answer, counts) || is_over(give_up) => return Transaction::Over,
            Err(_) => return Transaction::None,
        };
        self.made += 1;
        let sent = counts.sent;
        let moved = self.ask_over(&socket, message, give_up, counts);
        // Closes first, and so keeps the port.
        drop(socket);
        match moved {
            Ok(()) => {
                failures.end();
                Transaction::Done
            }
            Err(answer) if failures.count(&answer, counts) || is_over(give_up) => Transaction::Over,
            Err(_) if counts.sent > sent => Transaction::Lost,
            Err(_) => Transaction::None,
        }
    }

    fn ask_over(&mut self, socket: &Socket, message: &[u8], give_up: Instant, counts: &mut Counts) -> io::Result<()> {
        send_all(socket, message, self.work, || is_over(give_up), counts)?;
        counts.sent += 1;
        match receive_all(socket, &mut self.room, message.len(), |_| is_over(give_up), counts)? {
            true => counts.received += 1,
            false => return Err(timed_out()),
        }
        Ok(())
    }
}
