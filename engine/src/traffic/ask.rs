//! The requester of a request/response test: a closed loop of one.

use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use model::end::{Counts, Window};
use model::{Protocol, Test};
use nix::sys::socket::{Shutdown, shutdown};

use super::trouble::{Trouble, Verdict, flush, readable};
use super::whole::send_rest;
use super::{DRAIN_LIMIT, Done, LAST_PATIENCE, Trial, fault, sum};
use crate::api::Api;
use crate::clock;
use crate::recorder::Recorder;
use crate::stage::{Part, Stage};

pub(super) fn run<A: Api>(api: &mut A, trial: &mut Trial, recorder: &mut Recorder) -> Done {
    let mut asker =
        Asker { size: trial.task.cell.size.as_len(), datagrams: trial.task.cell.test == Test::UdpRr, sequence: 0, stalled: false };
    let extent = trial.extent;
    let first = clock::monotonic();
    let warmup = asker.ask_all(api, trial, extent.warmup_part, extent.warmup, None);
    let start = trial.start(api);
    let counts = asker.ask_all(api, trial, Part::Measure, extent.measured, Some(recorder));
    let end = trial.edges.end();
    let tail = asker.ask_all(api, trial, Part::Tail, u64::MAX, None);
    let flow = Window { start: first, end: clock::monotonic() };
    let mut total = sum(sum(warmup, counts), tail);
    if asker.stalled {
        trial.failure = Some(fault::not_answered(&total));
    }
    (trial.sent)(&total);
    if asker.datagrams {
        let outstanding = total.lost.saturating_sub(total.late);
        total = sum(total, take_late(api, asker.size, outstanding, trial.task.silence.into()));
    }
    if trial.task.cell.protocol() == Protocol::Tcp {
        // The answerer takes this as the end.
        let _ = shutdown(api.socket().as_raw_fd(), Shutdown::Write);
    }
    Done { usage: start.until(&end), flow: Some(flow), counts, total }
}

struct Asker {
    size: usize,
    datagrams: bool,
    /// Marks a datagram, so that a late answer is not taken for the next one.
    sequence: u8,
    /// True when an answer of a connection did not come in all patience.
    stalled: bool,
}

/// Fate of one request.
enum Answer {
    Came,
    Lost,
    Over,
}

impl Asker {
    fn ask_all<A: Api>(&mut self, api: &mut A, trial: &Trial, part: Part, limit: u64, mut recorder: Option<&mut Recorder>) -> Counts {
        trial.to_the_end(api, |api, leave| {
            let done = leave.so_far.messages + leave.so_far.lost;
            self.ask_until(api, trial, part, limit.saturating_sub(done).min(leave.may_send), recorder.as_deref_mut())
        })
    }

    fn ask_until<A: Api>(&mut self, api: &mut A, trial: &Trial, part: Part, limit: u64, mut recorder: Option<&mut Recorder>) -> Counts {
        let mut counts = Counts::default();
        let mut trouble = Trouble::default();
        let mut asked_at = clock::monotonic();
        // A lost request is one of the limit's, too.
        while trial.stage.is(part) && counts.messages + counts.lost < limit {
            match self.ask(api, trial.stage, &mut counts, &mut trouble) {
                Answer::Came => {
                    // The end of one round trip is the start of the next.
                    let now = clock::monotonic();
                    if let Some(recorder) = &mut recorder {
                        recorder.record(now.since(asked_at).get());
                    }
                    asked_at = now;
                    counts.messages += 1;
                }
                Answer::Lost => asked_at = clock::monotonic(),
                Answer::Over => break,
            }
        }
        counts
    }

    fn ask<A: Api>(&mut self, api: &mut A, stage: &Stage, counts: &mut Counts, trouble: &mut Trouble) -> Answer {
        if self.datagrams {
            self.sequence = self.sequence.wrapping_add(1);
            api.message()[0] = self.sequence;
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

    fn await_datagram<A: Api>(&self, api: &mut A, counts: &mut Counts, trouble: &mut Trouble) -> Answer {
        loop {
            let moved = api.receive(self.size);
            if moved.0 > 0 {
                counts.calls += 1;
                counts.bytes += moved.0 as u64;
                counts.received += 1;
                if api.room()[0] == self.sequence {
                    return Answer::Came;
                }
                counts.late += 1;
            } else if moved.0 == -(libc::EAGAIN as isize) {
                counts.lost += 1;
                return Answer::Lost;
            } else if trouble.judge(moved, counts.calls, counts) == Verdict::Over {
                return Answer::Over;
            }
        }
    }
}

/// Takes the answers that come after the last request was given up, `given_up`
/// at most, until none has come for `silence`: one left in the socket when it is
/// closed stands in no counter.
pub(super) fn take_late<A: Api>(api: &mut A, size: usize, given_up: u64, silence: Duration) -> Counts {
    let mut counts = Counts::default();
    let mut trouble = Trouble::default();
    while counts.late < given_up && readable(api.waits_on(), silence) {
        let moved = api.receive_now(size);
        if moved.0 > 0 {
            counts.calls += 1;
            counts.bytes += moved.0 as u64;
            counts.received += 1;
            counts.late += 1;
        } else if trouble.judge(moved, counts.calls, &mut counts) == Verdict::Over {
            break;
        }
    }
    counts
}
