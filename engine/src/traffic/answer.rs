//! The answerer of a request/response test.

use std::time::{Duration, Instant};

use model::end::Counts;
use model::{Protocol, Test};

use super::late::MARK;
use super::{Allowance, DRAIN_LIMIT, Done, Trial, sum};
use crate::api::{Api, CallOutcome, Trouble, Verdict, flush, readable, send_rest};
use crate::stage::Part;

pub(super) fn run<A: Api>(api: &mut A, trial: &mut Trial) -> Done {
    let mut answerer = Answerer { size: trial.task.cell.size.as_len(), datagrams: trial.task.cell.test == Test::UdpRr, pending: 0 };
    let (stage, extent) = (trial.stage, trial.extent);
    let came = answerer.answer_while(api, |_, done| done.messages == 0 && trial.awaits_first());
    let (first, measured) = trial.take_first(came);
    let mut answer = |api: &mut A, part, limit: u64, leave: Allowance| {
        let limit = leave.at_most(limit);
        answerer.answer_while(api, |_, done| stage.is(part) && done.messages < limit)
    };
    let limit = extent.warmup.saturating_sub(first.messages);
    let warmup = trial.to_the_end(api, |api, leave| answer(api, extent.warmup_part, limit, leave));
    let before = sum(first, warmup);
    let start = trial.start(api.socket());
    let limit = extent.warmup.saturating_add(extent.measured).saturating_sub(before.messages + measured.messages);
    let counts = sum(measured, trial.to_the_end(api, |api, leave| answer(api, Part::Measure, limit, leave)));
    let end = trial.edges.end();
    // The requester may still be measuring: answer until it has said its end.
    let give_up = Instant::now() + DRAIN_LIMIT;
    let datagrams = trial.task.cell.protocol() == Protocol::Udp;
    let rest = trial.to_the_end(api, |api, leave| {
        answerer.answer_while(api, |api, done| {
            let waiting = || readable(api.waits_on(), Duration::ZERO);
            done.messages < leave.may_send && Instant::now() < give_up && (!datagrams || stage.announced().is_none() || waiting())
        })
    });
    Done { usage: start.until(&end), flow: None, counts, total: sum(sum(before, counts), rest) }
}

struct Answerer {
    size: usize,
    datagrams: bool,
    /// Bytes of a TCP request that have come so far.
    pending: usize,
}

impl Answerer {
    fn answer_while<A: Api>(&mut self, api: &mut A, go_on: impl Fn(&A, &Counts) -> bool) -> Counts {
        let mut counts = Counts::default();
        let mut trouble = Trouble::default();
        while go_on(api, &counts) {
            let moved = api.receive(self.size - self.pending);
            if moved.0 <= 0 {
                if trouble.judge(moved, counts.calls, &mut counts) == Verdict::Over {
                    break;
                }
                continue;
            }
            counts.calls += 1;
            counts.bytes += moved.0 as u64;
            if self.request_is_whole(moved) {
                counts.received += 1;
                if self.answer(api, &mut counts, &mut trouble) == Verdict::Over {
                    break;
                }
            }
        }
        counts
    }

    fn request_is_whole(&mut self, moved: CallOutcome) -> bool {
        if self.datagrams {
            return true;
        }
        self.pending += moved.0 as usize;
        let whole = self.pending >= self.size;
        if whole {
            self.pending = 0;
        }
        whole
    }

    fn answer<A: Api>(&self, api: &mut A, counts: &mut Counts, trouble: &mut Trouble) -> Verdict {
        if self.datagrams {
            // Its mark goes back as it came.
            for place in 0..MARK.min(self.size) {
                api.message()[place] = api.room()[place];
            }
        }
        if send_rest(api, self.size, 0, 0, counts, trouble) == Verdict::Over {
            return Verdict::Over;
        }
        flush(api, counts);
        counts.messages += 1;
        counts.sent += 1;
        Verdict::Again
    }
}
