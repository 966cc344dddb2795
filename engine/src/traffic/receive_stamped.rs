//! The receiver of datagrams that bear a number and a time.

use model::end::Counts;

use super::receive::{drain, take_counted};
use super::stamp::{Account, read};
use super::{Allowance, Done, Trial, sum};
use crate::api::{Api, Trouble, Verdict, count};
use crate::stage::Part;
use sys::clock;

pub(super) fn run<A: Api>(api: &mut A, trial: &mut Trial) -> Done {
    let (stage, extent) = (trial.stage, trial.extent);
    let mut reader = Reader { room: trial.task.cell.read_size.as_len(), account: Account::new() };
    let no_warmup = extent.is_counted() && extent.warmup == 0;
    if no_warmup {
        reader.account.begin();
    }
    let came = reader.receive_while(api, |counts| counts.messages == 0 && trial.awaits_first());
    let (first, measured) = trial.take_first(came);
    let limit = extent.warmup.saturating_sub(first.messages);
    let receive = |api: &mut A, part, limit: u64, leave: Allowance, reader: &mut Reader| {
        let limit = leave.at_most(limit);
        let counts = reader.receive_while(api, |counts| stage.is(part) && counts.messages < limit);
        trial.way.set(Some(reader.account.so_far()));
        counts
    };
    let warmup = trial.to_the_end(api, |api, leave| receive(api, extent.warmup_part, limit, leave, &mut reader));
    let before = sum(first, warmup);
    if !no_warmup {
        reader.account.begin();
    }
    let start = trial.start(api.socket());
    let limit = extent.warmup.saturating_add(extent.measured).saturating_sub(before.messages + measured.messages);
    let mut counts = sum(measured, trial.to_the_end(api, |api, leave| receive(api, Part::Measure, limit, leave, &mut reader)));
    let mut end = trial.edges.end();
    if extent.is_counted() && stage.is(Part::Drain) {
        let so_far = before.messages + counts.messages;
        let rest = take_counted(api, reader.room, trial, so_far, |api, length| reader.note(api, length, clock::monotonic().get()));
        (counts, end) = (sum(counts, rest.counts), rest.end.unwrap_or(end));
    }
    reader.account.end();
    let so_far = sum(before, counts);
    let Reader { room, mut account } = reader;
    let rest = drain(api, true, room, trial, so_far.messages, true, |api, length| {
        if let Some((number, _)) = api.room().get(..length).and_then(read) {
            account.take_late(number);
        }
    });
    trial.one_way = Some(account);
    Done { usage: start.until(&end), flow: None, counts, total: sum(so_far, rest) }
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

    #[inline(always)]
    fn take<A: Api>(&mut self, api: &mut A, length: usize, counts: &mut Counts) {
        let now = clock::monotonic().get();
        count(api, counts, 1, length as u64, u64::from(length < self.room));
        self.note(api, length, now);
    }

    #[inline(always)]
    fn note<A: Api>(&mut self, api: &A, length: usize, now: u64) {
        if let Some((number, sent)) = api.room().get(..length).and_then(read) {
            self.account.take(number, sent, now);
        }
    }
}
