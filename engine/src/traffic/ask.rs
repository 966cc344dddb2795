//! The requester of a request/response test: a closed loop of one.

use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::time::Instant;

use model::control::Task;
use model::end::{Counts, Window};
use model::{Nanos, Protocol, Test};
use nix::sys::socket::{Shutdown, shutdown};

use super::late::{MARK, take_late};
use super::{DRAIN_LIMIT, Done, LAST_PATIENCE, Step, Trial, fault, sum};
use crate::api::{Api, Trouble, Verdict, flush, send_rest};
use crate::recorder::Recorder;
use crate::stage::{Part, Stage};
use sys::clock;

/// Requests that were given up and whose answers are still known: those of 100 s of silence.
const MOST_GIVEN_UP: usize = 1 << 10;

pub(super) fn run<A: Api>(api: &mut A, trial: &mut Trial, recorder: &mut Recorder) -> Done {
    let mut asker = Asker::new(trial.task, recorder);
    let extent = trial.extent;
    let begun = clock::monotonic();
    let first = asker.ask_all(api, trial, extent.warmup_part, trial.least_warmup());
    trial.flows(&first);
    let warmup = asker.ask_all(api, trial, extent.warmup_part, extent.warmup);
    let start = trial.start(api.socket());
    asker.measured = true;
    let counts = asker.ask_all(api, trial, Part::Measure, extent.measured);
    let end = trial.edges.end();
    asker.measured = false;
    let tail = asker.ask_all(api, trial, Part::Tail, u64::MAX);
    let flow = Window { start: begun, end: clock::monotonic() };
    let mut total = sum(sum(first, warmup), sum(counts, tail));
    if asker.stalled {
        trial.failure = Some(fault::not_answered(&total));
    }
    (trial.said)(Step::Sent(&total));
    if asker.datagrams {
        let outstanding = total.lost.saturating_sub(total.late);
        let late = take_late(api, asker.size, outstanding, trial.task.silence.into(), |mark, now| asker.take_late(mark, now));
        total = sum(total, late);
    }
    if trial.task.cell.protocol() == Protocol::Tcp {
        // The answerer takes this as the end.
        let _ = shutdown(api.socket().as_raw_fd(), Shutdown::Write);
    }
    Done { usage: start.until(&end), flow: Some(flow), counts, total }
}

struct Asker<'a> {
    size: usize,
    datagrams: bool,
    /// Time after which the answer to a datagram is lost.
    answer_limit: Nanos,
    /// Number of the request: a datagram bears its first bytes, so that a late answer is not taken
    /// for the next one.
    number: u32,
    /// The requests that were given up last, the first first, in memory that does not grow.
    given_up: VecDeque<GivenUp>,
    /// Round trips of the measured part.
    recorder: &'a mut Recorder,
    /// True in the measured part.
    measured: bool,
    /// True when an answer of a connection did not come in all patience.
    stalled: bool,
}

/// A request that was given up. Its answer may still come.
#[derive(Debug, Clone, Copy)]
struct GivenUp {
    number: u32,
    asked_at: Nanos,
    measured: bool,
}

/// Fate of one request.
enum Answer {
    Came,
    Lost,
    Over,
}

impl<'a> Asker<'a> {
    fn new(task: &Task, recorder: &'a mut Recorder) -> Self {
        let (size, datagrams) = (task.cell.size.as_len(), task.cell.test == Test::UdpRr);
        let given_up = VecDeque::with_capacity(if datagrams { MOST_GIVEN_UP } else { 0 });
        Self { size, datagrams, answer_limit: task.answer_limit, number: 0, given_up, recorder, measured: false, stalled: false }
    }

    fn ask_all<A: Api>(&mut self, api: &mut A, trial: &Trial, part: Part, limit: u64) -> Counts {
        trial.to_the_end(api, |api, leave| {
            let done = leave.so_far.messages + leave.so_far.lost;
            self.ask_until(api, trial, part, limit.saturating_sub(done).min(leave.may_send))
        })
    }

    fn ask_until<A: Api>(&mut self, api: &mut A, trial: &Trial, part: Part, limit: u64) -> Counts {
        let mut counts = Counts::default();
        let mut trouble = Trouble::default();
        let mut asked_at = clock::monotonic();
        // A lost request is one of the limit's, too.
        while trial.stage.is(part) && counts.messages + counts.lost < limit {
            match self.ask(api, trial.stage, &mut counts, &mut trouble) {
                Answer::Came => {
                    // The end of one round trip is the start of the next.
                    let now = clock::monotonic();
                    if self.measured {
                        self.recorder.record(now.since(asked_at).get());
                    }
                    asked_at = now;
                    counts.messages += 1;
                }
                Answer::Lost => {
                    self.give_up(asked_at);
                    asked_at = clock::monotonic();
                }
                Answer::Over => break,
            }
        }
        counts
    }

    /// Bytes of a datagram that bear its number.
    fn mark(&self) -> usize {
        self.size.min(MARK)
    }

    /// Keeps the request for its answer. Where the room is full the first is forgotten.
    #[cold]
    fn give_up(&mut self, asked_at: Nanos) {
        if self.given_up.len() >= MOST_GIVEN_UP {
            self.given_up.pop_front();
        }
        self.given_up.push_back(GivenUp { number: self.number, asked_at, measured: self.measured });
    }

    /// Takes the answer to a request that was given up, for its true time.
    #[cold]
    fn take_late(&mut self, mark: &[u8], now: Nanos) {
        let length = mark.len().min(self.mark());
        // Of those whose marks are alike, as in messages of 1 B, the last may be meant.
        let is_its = |request: &GivenUp| request.number.to_le_bytes()[..length] == mark[..length];
        let Some(request) = self.given_up.iter().rposition(is_its).and_then(|place| self.given_up.remove(place)) else { return };
        if request.measured {
            self.recorder.record(now.since(request.asked_at).get());
        }
    }

    fn ask<A: Api>(&mut self, api: &mut A, stage: &Stage, counts: &mut Counts, trouble: &mut Trouble) -> Answer {
        if self.datagrams {
            self.number = self.number.wrapping_add(1);
            let length = self.mark();
            api.message()[..length].copy_from_slice(&self.number.to_le_bytes()[..length]);
        }
        if send_rest(api, self.size, 0, 0, counts, trouble) == Verdict::Over {
            return Answer::Over;
        }
        flush(api, counts);
        counts.sent += 1;
        match self.datagrams {
            true => self.await_datagram(api, counts, trouble),
            false => self.await_stream(api, stage, counts, trouble),
        }
    }

    fn await_stream<A: Api>(&mut self, api: &mut A, stage: &Stage, counts: &mut Counts, trouble: &mut Trouble) -> Answer {
        let mut done = 0;
        let mut silent: Option<Instant> = None;
        while done < self.size {
            let moved = api.receive(self.size - done);
            if moved.0 > 0 {
                done += moved.0 as usize;
                counts.calls += 1;
                counts.bytes += moved.0 as u64;
                silent = None;
            } else if trouble.judge(moved, counts.calls, counts) == Verdict::Over {
                return Answer::Over;
            } else {
                // A connection that carries nothing must not hold the trial for ever.
                let patience = if stage.is(Part::Drain) { LAST_PATIENCE } else { DRAIN_LIMIT };
                self.stalled = silent.get_or_insert_with(Instant::now).elapsed() > patience;
                if self.stalled {
                    return Answer::Over;
                }
            }
        }
        counts.received += 1;
        Answer::Came
    }

    fn await_datagram<A: Api>(&mut self, api: &mut A, counts: &mut Counts, trouble: &mut Trouble) -> Answer {
        let mut interrupted: Option<Nanos> = None;
        loop {
            let moved = api.receive(self.size);
            if moved.0 > 0 {
                counts.calls += 1;
                counts.bytes += moved.0 as u64;
                counts.received += 1;
                let length = self.mark().min(moved.0 as usize);
                let mark = &api.room()[..length];
                if *mark == self.number.to_le_bytes()[..length] {
                    return Answer::Came;
                }
                counts.late += 1;
                self.take_late(mark, clock::monotonic());
            } else if moved.0 == -(libc::EAGAIN as isize) {
                counts.lost += 1;
                return Answer::Lost;
            } else if trouble.judge(moved, counts.calls, counts) == Verdict::Over {
                return Answer::Over;
            } else {
                // Each signal begins the wait of a call again: signals that follow each other would keep it for ever.
                let now = clock::monotonic();
                if now.since(*interrupted.get_or_insert(now)) > self.answer_limit {
                    counts.lost += 1;
                    return Answer::Lost;
                }
            }
        }
    }
}
