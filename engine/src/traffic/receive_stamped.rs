//! The receiver of datagrams that bear a number and a time.

use std::time::{Duration, Instant};

use model::end::Counts;

use super::stamp::{Account, read};
use super::trouble::{Trouble, Verdict, readable};
use super::{Allowance, DRAIN_LIMIT, Done, Trial, sum};
use crate::api::Api;
use crate::clock;
use crate::stage::{Part, Stage};

/// Interval at which a receiver that has nothing to read looks for the announcement.
const LOOK: Duration = Duration::from_millis(1);

pub(super) fn run<A: Api>(api: &mut A, trial: &mut Trial) -> Done {
    let (stage, extent) = (trial.stage, trial.extent);
    let mut reader = Reader { room: trial.task.cell.read_size.as_len(), account: Account::new() };
    // Before the first message there is nothing to time.
    let first = reader.receive_while(api, |counts| counts.messages == 0 && !stage.is(Part::Drain));
    let limit = extent.warmup.saturating_sub(first.messages);
    let receive = |api: &mut A, part, limit: u64, leave: Allowance, reader: &mut Reader| {
        let limit = leave.at_most(limit);
        let counts = reader.receive_while(api, |counts| stage.is(part) && counts.messages < limit);
        trial.jitter.set(Some(reader.account.jitter()));
        counts
    };
    let warmup = trial.to_the_end(api, |api, leave| receive(api, extent.warmup_part, limit, leave, &mut reader));
    let before = sum(first, warmup);
    reader.account.begin();
    let start = trial.start(api);
    let limit = extent.warmup.saturating_add(extent.measured).saturating_sub(before.messages);
    let mut counts = trial.to_the_end(api, |api, leave| receive(api, Part::Measure, limit, leave, &mut reader));
    if extent.is_counted() && stage.is(Part::Drain) {
        // Some were lost, or are still on their way: those belong to the measured ones.
        counts = sum(counts, reader.take_waiting(api));
    }
    let end = trial.edges.end();
    reader.account.end();
    let so_far = sum(before, counts);
    let rest = reader.drain(api, stage, trial.task.silence.into(), so_far.messages);
    trial.one_way = Some(reader.account);
    Done { between: start.until(&end), flow: None, counts, total: sum(so_far, rest) }
}

struct Reader {
    room: usize,
    account: Account,
}

impl Reader {
    fn receive_while<A: Api>(&mut self, api: &mut A, go_on: impl Fn(&Counts) -> bool) -> Counts {
        let mut counts = Counts::default();
        let mut trouble = Trouble::default();
        while go_on(&counts) {
            let moved = api.receive(self.room);
            if moved.0 > 0 {
                self.take(api, moved.0 as usize, &mut counts);
            } else if trouble.judge(moved, counts.calls, &mut counts) == Verdict::Over {
                break;
            }
        }
        counts
    }

    /// Takes the messages that wait to be read.
    fn take_waiting<A: Api>(&mut self, api: &mut A) -> Counts {
        let mut counts = Counts::default();
        loop {
            let moved = api.receive_now(self.room);
            if moved.0 <= 0 {
                Trouble::default().judge(moved, counts.calls, &mut counts);
                return counts;
            }
            self.take(api, moved.0 as usize, &mut counts);
        }
    }

    #[inline(always)]
    fn take<A: Api>(&mut self, api: &mut A, length: usize, counts: &mut Counts) {
        let now = clock::monotonic().get();
        count(api, counts, length, self.room);
        if let Some((number, sent)) = api.room().get(..length).and_then(read) {
            self.account.take(number, sent, now);
        }
    }

    /// Takes what comes after the measured part, until the announced count or,
    /// after the announcement, a silence.
    fn drain<A: Api>(&mut self, api: &mut A, stage: &Stage, silence: Duration, so_far: u64) -> Counts {
        let mut counts = Counts::default();
        let mut trouble = Trouble::default();
        let give_up = Instant::now() + DRAIN_LIMIT;
        loop {
            let announced = stage.announced();
            if announced.is_some_and(|announced| so_far + counts.messages >= announced) {
                return counts;
            }
            let moved = api.receive_now(self.room);
            if moved.0 > 0 {
                count(api, &mut counts, moved.0 as usize, self.room);
                if let Some((number, _)) = api.room().get(..moved.0 as usize).and_then(read) {
                    self.account.take_late(number);
                }
            } else if trouble.judge(moved, counts.calls, &mut counts) == Verdict::Over {
                return counts;
            } else {
                // The silence counts from the announcement: until it comes, look for it often.
                let quiet = !readable(api.waits_on(), if announced.is_some() { silence } else { LOOK });
                if (quiet && announced.is_some()) || Instant::now() > give_up {
                    return counts;
                }
            }
        }
    }
}

fn count<A: Api>(api: &mut A, counts: &mut Counts, length: usize, room: usize) {
    counts.calls += api.take_calls().unwrap_or(1);
    counts.messages += 1;
    counts.received += 1;
    counts.bytes += length as u64;
    counts.short += u64::from(length < room);
}
