//! The requester of a request/response test that offers a rate: requests are
//! sent when they are due, whatever is outstanding.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use model::control::Task;
use model::end::{Counts, Window};
use model::{Pacing, Protocol};
use nix::sys::socket::{Shutdown, shutdown};
use socket2::SockRef;

use super::super::late::{MARK, take_late};
use super::super::schedule_stats::ScheduleStats;
use super::super::{DRAIN_LIMIT, Done, Step, Trial, sum};
use super::outstanding::{Answered, Outstanding};
use super::timetable::Timetable;
use super::wait::{For, sleep_at, wake_exactly};
use crate::api::{Api, Trouble, Verdict, flush};
use crate::recorder::Recorder;
use crate::stage::{Part, Stage};
use sys::clock;

pub(in crate::traffic) fn run<A: Api>(api: &mut A, trial: &mut Trial, recorder: &mut Recorder) -> io::Result<Done> {
    let extent = trial.extent;
    wake_exactly()?;
    // One thread sends and receives: neither may keep it from the other.
    SockRef::from(api.socket()).set_nonblocking(true)?;
    let first = clock::monotonic();
    let Some(timetable) = Timetable::for_cell(&trial.task.cell, trial.task.seed, first) else {
        return Err(io::Error::other("send requests by a schedule: the task offers no rate"));
    };
    let mut asker = Asker::new(trial.task, timetable, recorder);
    let (stage, counted) = (trial.stage, extent.is_counted());
    let least = trial.least_warmup();
    let begun = trial.to_the_end(api, |api, leave| asker.ask_while(api, stage, extent.warmup_part, leave.requests(least), false));
    trial.flows(&begun);
    let warmup =
        trial.to_the_end(api, |api, leave| asker.ask_while(api, stage, extent.warmup_part, leave.requests(extent.warmup), counted));
    let start = trial.start(api.socket());
    asker.begin_window(counted);
    let counts = trial.to_the_end(api, |api, leave| asker.ask_while(api, stage, Part::Measure, leave.requests(extent.measured), counted));
    let end = trial.edges.end();
    let usage = start.until(&end);
    asker.end_window(usage.window, counted.then_some(extent.measured));
    let tail = trial.to_the_end(api, |api, leave| asker.ask_while(api, stage, Part::Tail, leave.requests(u64::MAX), false));
    let flow = Window { start: first, end: clock::monotonic() };
    let rest = asker.take_rest(api);
    let mut total = sum(sum(sum(begun, warmup), counts), sum(tail, rest));
    (trial.said)(Step::Sent(&total));
    if asker.datagrams {
        let given_up = total.lost.saturating_sub(total.late);
        let late = take_late(api, asker.size, given_up, trial.task.silence.into(), |mark, now| {
            if let Some(answered) = asker.waiting.take_marked(mark) {
                asker.record(&answered, now.get());
            }
        });
        total = sum(total, late);
    } else {
        // The answerer takes this as the end.
        let _ = shutdown(api.socket().as_raw_fd(), Shutdown::Write);
    }
    let sent = asker.waiting.next();
    let stats = ScheduleStats { lateness: asker.lateness, uncorrected: Some(asker.uncorrected), ..ScheduleStats::new() };
    trial.schedule = Some(stats.in_window(&asker.window, asker.sent_in_time).with_requests(&asker.window, sent));
    Ok(Done { usage, flow: Some(flow), counts, total })
}

struct Asker<'a> {
    size: usize,
    datagrams: bool,
    /// Time that an answer is waited for; without meaning for TCP, which loses none.
    answer_limit: u64,
    pacing: Pacing,
    timetable: Timetable,
    waiting: Outstanding,
    /// Bytes of the request that is being sent, and when that began.
    part_sent: usize,
    begun: u64,
    /// Bytes of the answer that is coming.
    part_come: usize,
    /// The socket took no more.
    full: bool,
    /// There is something to read.
    ready: bool,
    /// Numbers of the requests that the schedule has in the window.
    window: std::ops::Range<u64>,
    /// Times from when each was due.
    corrected: &'a mut Recorder,
    /// Number of requests sent when the window ended.
    sent_in_time: u64,
    lateness: Recorder,
    /// Times from when each was sent.
    uncorrected: Recorder,
}

/// Result of a look for answers.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    Came,
    Nothing,
    Over,
}

impl<'a> Asker<'a> {
    fn new(task: &Task, timetable: Timetable, corrected: &'a mut Recorder) -> Self {
        let (cell, size) = (&task.cell, task.cell.size.as_len());
        let datagrams = cell.protocol() == Protocol::Udp;
        Self {
            size,
            datagrams,
            answer_limit: if datagrams { task.answer_limit.get() } else { u64::MAX },
            pacing: cell.pacing,
            timetable,
            waiting: Outstanding::new(size, datagrams),
            part_sent: 0,
            begun: 0,
            part_come: 0,
            full: false,
            ready: false,
            window: u64::MAX..u64::MAX,
            corrected,
            sent_in_time: 0,
            lateness: Recorder::new(),
            uncorrected: Recorder::new(),
        }
    }

    /// The measured part begins. Where requests are counted, its schedule is
    /// its own: those of the warm-up have all been answered.
    fn begin_window(&mut self, counted: bool) {
        let now = clock::monotonic();
        if counted {
            self.timetable = self.timetable.from(now);
            self.window.start = self.waiting.next();
        } else {
            self.window.start = self.timetable.before(now);
        }
    }

    fn end_window(&mut self, window: Window, counted: Option<u64>) {
        let end = counted.map_or_else(|| self.timetable.before(window.end), |measured| self.window.start.saturating_add(measured));
        self.window.end = end.max(self.window.start);
        self.sent_in_time = self.waiting.next();
    }

    /// Asks and takes answers while the trial is in `part`: until `requests`
    /// have been sent and, to `settle`, none waits.
    fn ask_while<A: Api>(&mut self, api: &mut A, stage: &Stage, part: Part, requests: u64, settle: bool) -> Counts {
        let measured = part == Part::Measure && self.window.start != u64::MAX;
        let mut counts = Counts::default();
        let mut trouble = Trouble::default();
        let mut now = clock::monotonic().get();
        while stage.is(part) {
            let all_sent = counts.sent >= requests && self.part_sent == 0;
            if all_sent && (!settle || self.waiting.is_empty()) {
                break;
            }
            let due = if all_sent || self.waiting.is_full() { u64::MAX } else { self.timetable.due() };
            let sends = now >= due && !self.full;
            if sends && self.send(api, now, measured, &mut counts, &mut trouble) == Verdict::Over {
                break;
            }
            // Sending after a stall, it may not leave the answers in the socket.
            let behind = sends && now >= self.timetable.due();
            if self.ready || behind || self.pacing == Pacing::Spin {
                if self.look(api, &mut counts, &mut trouble) == Look::Over {
                    break;
                }
            } else if !sends {
                flush(api, &mut counts);
                self.wait(api.waits_on(), due);
            }
            now = clock::monotonic().get();
            counts.lost += self.waiting.give_up(now.saturating_sub(self.answer_limit));
        }
        counts
    }

    /// Sleeps until the next request is due, an answer comes, the socket takes
    /// more, or the oldest request is to be given up.
    fn wait(&mut self, socket: BorrowedFd<'_>, due: u64) {
        let (what, due) = if self.full { (For::Either, u64::MAX) } else { (For::Reading, due) };
        self.ready = sleep_at(socket, what, due.min(self.oldest_limit()));
        self.full = false;
    }

    fn send<A: Api>(&mut self, api: &mut A, now: u64, measured: bool, counts: &mut Counts, trouble: &mut Trouble) -> Verdict {
        if self.part_sent == 0 {
            self.begun = now;
            if self.datagrams {
                let length = self.size.min(MARK);
                api.message()[..length].copy_from_slice(&self.waiting.mark()[..length]);
            }
        }
        let moved = api.send(self.part_sent);
        if moved.0 <= 0 {
            // Who spins tries again; who sleeps is told when there is room.
            self.full = moved.0 == -(libc::EAGAIN as isize) && self.pacing == Pacing::Sleep;
            return trouble.judge(moved, counts.calls, counts);
        }
        counts.calls += 1;
        counts.bytes += moved.0 as u64;
        self.part_sent += moved.0 as usize;
        if self.part_sent < self.size {
            counts.short += 1;
            return Verdict::Again;
        }
        self.part_sent = 0;
        counts.sent += 1;
        if measured {
            self.lateness.record(self.begun.saturating_sub(self.timetable.due()));
        }
        self.waiting.push(self.timetable.due(), self.begun);
        self.timetable.advance();
        Verdict::Again
    }

    /// Takes what one call gets, without waiting.
    fn look<A: Api>(&mut self, api: &mut A, counts: &mut Counts, trouble: &mut Trouble) -> Look {
        self.ready = false;
        if self.waiting.is_empty() {
            return Look::Nothing;
        }
        let moved = api.receive_now(usize::MAX);
        if moved.0 <= 0 {
            return match trouble.judge(moved, counts.calls, counts) {
                Verdict::Over => Look::Over,
                Verdict::Again => Look::Nothing,
            };
        }
        let now = clock::monotonic().get();
        counts.calls += 1;
        counts.bytes += moved.0 as u64;
        if self.datagrams {
            let length = (moved.0 as usize).min(MARK).min(self.size);
            let answered = self.waiting.take_marked(&api.room()[..length]);
            self.count(answered, now, counts);
            return Look::Came;
        }
        self.part_come += moved.0 as usize;
        while self.part_come >= self.size {
            self.part_come -= self.size;
            let answered = self.waiting.take_oldest();
            self.count(answered, now, counts);
        }
        Look::Came
    }

    /// Counts an answer; one to no request that waits is late.
    fn count(&mut self, answered: Option<Answered>, now: u64, counts: &mut Counts) {
        counts.received += 1;
        match answered.is_none_or(|answered| answered.late) {
            true => counts.late += 1,
            false => counts.messages += 1,
        }
        if let Some(answered) = &answered {
            self.record(answered, now);
        }
    }

    /// Keeps the times of a request of the window. Also when the answer comes late, or after the
    /// window: its longest times would be missing.
    fn record(&mut self, answered: &Answered, now: u64) {
        if self.window.contains(&answered.number) {
            self.corrected.record(now.saturating_sub(answered.request.due));
            self.uncorrected.record(now.saturating_sub(answered.request.sent));
        }
    }

    /// After the last request: takes the answers until none is outstanding.
    fn take_rest<A: Api>(&mut self, api: &mut A) -> Counts {
        let mut counts = Counts::default();
        let mut trouble = Trouble::default();
        let give_up = clock::monotonic() + DRAIN_LIMIT.into();
        loop {
            let now = clock::monotonic();
            counts.lost += self.waiting.give_up(now.get().saturating_sub(self.answer_limit));
            let unfinished = self.part_sent > 0;
            if (self.waiting.is_empty() && !unfinished) || now > give_up {
                break;
            }
            // The peer waits for the rest of a message of which it has a part.
            if unfinished && self.send(api, now.get(), false, &mut counts, &mut trouble) == Verdict::Over {
                break;
            }
            match self.look(api, &mut counts, &mut trouble) {
                Look::Over => break,
                Look::Came => {}
                Look::Nothing => _ = sleep_at(api.waits_on(), if unfinished { For::Either } else { For::Reading }, self.oldest_limit()),
            }
        }
        counts.lost += self.waiting.give_up_all();
        counts
    }

    fn oldest_limit(&self) -> u64 {
        self.waiting.oldest().map_or(u64::MAX, |oldest| oldest.sent.saturating_add(self.answer_limit).saturating_add(1))
    }
}
