//! The answerer of a request/response test.

use std::time::{Duration, Instant};

use model::end::Counts;
use model::{Protocol, Test};

use super::trouble::{Trouble, Verdict, readable};
use super::whole::send_rest;
use super::{DRAIN_LIMIT, Done, Trial, sum};
use crate::api::{Api, Moved};
use crate::stage::Part;

pub(super) fn run<A: Api>(api: &mut A, trial: &mut Trial) -> Done {
    let mut answerer = Answerer { size: trial.task.cell.size.as_len(), datagrams: trial.task.cell.test == Test::UdpRr, pending: 0 };
    let (stage, extent) = (trial.stage, trial.extent);
    // Before the first request there is nothing to time.
    let first = answerer.answer_while(api, |_, done| done.messages == 0 && !stage.is(Part::Drain));
    let warmup = answerer.answer_while(api, |_, done| stage.is(extent.warmup_part) && first.messages + done.messages < extent.warmup);
    let before = sum(first, warmup);
    let start = trial.edges.start();
    let all = extent.warmup.saturating_add(extent.measured);
    let counts = answerer.answer_while(api, |_, done| stage.is(Part::Measure) && before.messages + done.messages < all);
    let end = trial.edges.end();
    // The requester may still be measuring: answer until it has said its end.
    let give_up = Instant::now() + DRAIN_LIMIT;
    let datagrams = trial.task.cell.protocol() == Protocol::Udp;
    let rest = answerer.answer_while(api, |api, _| {
        let waiting = || readable(api.socket(), Duration::ZERO);
        Instant::now() < give_up && (!datagrams || stage.announced().is_none() || waiting())
    });
    Done { between: start.until(&end), flow: None, counts, total: sum(sum(before, counts), rest) }
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

    fn request_is_whole(&mut self, moved: Moved) -> bool {
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
            api.message()[0] = api.room()[0];
        }
        if send_rest(api, self.size, 0, 0, counts, trouble) == Verdict::Over {
            return Verdict::Over;
        }
        counts.messages += 1;
        counts.sent += 1;
        Verdict::Again
    }
}
