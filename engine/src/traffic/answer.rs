//! The answerer of a request/response test.

use model::end::Counts;
use model::{Protocol, Test};
use std::time::{Duration, Instant};

use super::trouble::{Trouble, Verdict, readable};
use super::{Trial, sum};
use crate::api::{Api, Moved};
use crate::edge::Between;
use crate::stage::Part;

/// How long it goes on answering without hearing that the requester has ended.
const DRAIN_LIMIT: Duration = Duration::from_secs(20);

pub(super) fn run<A: Api>(api: &mut A, trial: &mut Trial) -> (Between, Counts, Counts) {
    let mut answerer = Answerer { size: trial.task.cell.size.as_len(), datagrams: trial.task.cell.test == Test::UdpRr, pending: 0 };
    let warmup = answerer.answer_while(api, |_| trial.stage.is(Part::Warmup));
    let start = trial.edges.start();
    let counts = answerer.answer_while(api, |_| trial.stage.is(Part::Measure));
    let end = trial.edges.end();
    // The requester may still be measuring: answer until it has said its end.
    let give_up = Instant::now() + DRAIN_LIMIT;
    let datagrams = trial.task.cell.protocol() == Protocol::Udp;
    let rest = answerer.answer_while(api, |api| {
        let waiting = || readable(api.socket(), Duration::ZERO);
        Instant::now() < give_up && (!datagrams || trial.stage.announced().is_none() || waiting())
    });
    (start.until(&end), counts, sum(sum(warmup, counts), rest))
}

struct Answerer {
    size: usize,
    datagrams: bool,
    /// Bytes of a TCP request that have come so far.
    pending: usize,
}

impl Answerer {
    fn answer_while<A: Api>(&mut self, api: &mut A, go_on: impl Fn(&A) -> bool) -> Counts {
        let mut counts = Counts::default();
        let mut trouble = Trouble::default();
        while go_on(api) {
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
        let mut done = 0;
        while done < self.size {
            let moved = api.send(done);
            if moved.0 > 0 {
                done += moved.0 as usize;
                counts.calls += 1;
                counts.bytes += moved.0 as u64;
                counts.short += u64::from(done < self.size);
            } else if trouble.judge(moved, counts.calls, counts) == Verdict::Over {
                return Verdict::Over;
            }
        }
        counts.messages += 1;
        counts.sent += 1;
        Verdict::Again
    }
}
