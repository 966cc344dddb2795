//! The receiver of a stream.

use std::time::{Duration, Instant};

use model::Protocol;
use model::end::Counts;

use super::{Allowance, DRAIN_LIMIT, Done, LAST_PATIENCE, Trial, sum};
use crate::api::{Api, LoopEnd, Trouble, Verdict, count, readable};
use crate::edge::Edge;
use crate::stage::Part;

/// Interval at which a receiver that has nothing to read looks for the announcement.
const LOOK: Duration = Duration::from_millis(1);

/// A datagram is a message; of a TCP stream only bytes can be counted.
pub(super) fn run(api: &mut dyn Api, trial: &mut Trial) -> Done {
    let datagrams = trial.task.cell.protocol() == Protocol::Udp;
    let (room, stage, extent) = (trial.task.cell.read_size.as_len(), trial.stage, trial.extent);
    let unit = if datagrams { 1 } else { trial.task.cell.size.get() };
    let progress = |counts: &Counts| if datagrams { counts.messages } else { counts.bytes };
    let warmup_end = extent.warmup.saturating_mul(unit);
    let all = extent.warmup.saturating_add(extent.measured).saturating_mul(unit);

    // No read reaches beyond the warm-up, so that the windows of a counted
    // trial hold the same bytes at both ends. Without a warm-up it is measured from its first
    // message on, and that is one of those measured.
    let no_warmup = extent.is_counted() && extent.warmup == 0;
    let first_end = if no_warmup { all } else { warmup_end };
    let first_room = if datagrams { room } else { room.min(usize::try_from(first_end).unwrap_or(room)) };
    // Of a stream every byte arrives, also those that were on their way when
    // their sender had handed over the last.
    let to_the_last = extent.is_counted() && !datagrams;
    let came = receive_first(api, first_room, trial, to_the_last);
    let (first, measured) = trial.take_first(came);
    let mut ended = LoopEnd::Part;
    let mut receive = |api: &mut dyn Api, part, enough: u64, leave: Allowance| {
        let left = enough.saturating_sub(progress(&leave.so_far));
        let (counts, how) = api.receive_while(datagrams, room, stage, part, left);
        let left = left.saturating_sub(progress(&counts));
        if !to_the_last || left == 0 || how == LoopEnd::Over || ended == LoopEnd::Over || !stage.is(Part::Drain) {
            ended = if ended == LoopEnd::Over { ended } else { how };
            return counts;
        }
        let came = came.bytes + leave.so_far.bytes + counts.bytes > 0;
        let (rest, how) = receive_rest(api, room, left, came);
        ended = how;
        sum(counts, rest)
    };
    let enough = warmup_end.saturating_sub(progress(&first));
    let warmup = trial.to_the_end(api, |api, leave| receive(api, extent.warmup_part, enough, leave));
    let before = sum(first, warmup);
    let start = trial.start(api.socket());
    let enough = all.saturating_sub(progress(&before) + progress(&measured));
    let mut counts = sum(measured, trial.to_the_end(api, |api, leave| receive(api, Part::Measure, enough, leave)));
    let mut end = trial.edges.end();
    if extent.is_counted() && datagrams && ended == LoopEnd::Part && stage.is(Part::Drain) {
        let rest = take_counted(api, room, trial, before.messages + counts.messages, |_, _| {});
        (counts, end, ended) = (sum(counts, rest.counts), rest.end.unwrap_or(end), LoopEnd::Over);
    }
    let so_far = sum(before, counts);
    let rest = match ended {
        LoopEnd::Over => Counts::default(),
        LoopEnd::Part => drain(api, datagrams, room, trial, so_far.messages, counts.bytes > 0, |_, _| {}),
    };
    Done { usage: start.until(&end), flow: None, counts, total: sum(so_far, rest) }
}

/// The first message, before which there is nothing to time. Where every message
/// is awaited (`to_the_last`), it may come after its sender has sent them all.
fn receive_first(api: &mut dyn Api, room: usize, trial: &Trial, to_the_last: bool) -> Counts {
    let mut counts = Counts::default();
    let mut trouble = Trouble::default();
    let mut silence = Silence::default();
    while trial.awaits_first() || (to_the_last && silence.is_within(LAST_PATIENCE)) {
        let moved = api.receive(room);
        if moved.0 > 0 {
            count(api, &mut counts, 1, moved.0 as u64, u64::from((moved.0 as usize) < room));
            break;
        }
        if trouble.judge(moved, 0, &mut counts) == Verdict::Over {
            break;
        }
    }
    counts
}

/// Receives what is left of a stream, in the measured part, after its end was
/// announced. `came` says whether anything had come by then: a connection that
/// carries nothing is not waited for as long.
fn receive_rest(api: &mut dyn Api, room: usize, enough: u64, came: bool) -> (Counts, LoopEnd) {
    let mut counts = Counts::default();
    let mut trouble = Trouble::default();
    let mut silence = Silence::default();
    while counts.bytes < enough {
        let moved = api.receive(room.min(usize::try_from(enough - counts.bytes).unwrap_or(room)));
        if moved.0 > 0 {
            count(api, &mut counts, 1, moved.0 as u64, u64::from(moved.0 < room as isize));
            silence = Silence::default();
            continue;
        }
        let patience = if came || counts.bytes > 0 { DRAIN_LIMIT } else { LAST_PATIENCE };
        if trouble.judge(moved, counts.calls, &mut counts) == Verdict::Over || !silence.is_within(patience) {
            return (counts, LoopEnd::Over);
        }
    }
    (counts, LoopEnd::Part)
}

/// Time without a message. The clock is read only while none comes.
#[derive(Debug, Default)]
struct Silence {
    since: Option<Instant>,
}

impl Silence {
    fn is_within(&mut self, patience: Duration) -> bool {
        self.since.get_or_insert_with(Instant::now).elapsed() <= patience
    }
}

/// What came of a number of datagrams after their sender's end was announced.
pub(super) struct Rest {
    pub counts: Counts,
    /// The edge after the last of them; `None` where none came.
    pub end: Option<Edge>,
}

/// Takes the datagrams of a counted trial that were still on their way when their sender's end was
/// announced: they are among those measured. Until all have come, or a silence; `so_far` have
/// come, and `note` sees each message as in [`take_waiting`].
pub(super) fn take_counted<A: Api + ?Sized>(api: &mut A, room: usize, trial: &Trial, so_far: u64, mut note: impl FnMut(&A, usize)) -> Rest {
    let mut rest = Rest { counts: Counts::default(), end: None };
    let announced = trial.stage.announced().unwrap_or(u64::MAX);
    loop {
        let (more, ended) = take_waiting(api, room, &mut note);
        if more.messages > 0 {
            rest = Rest { counts: sum(rest.counts, more), end: Some(trial.edges.end()) };
        }
        let all = so_far + rest.counts.messages >= announced;
        if all || ended == LoopEnd::Over || !readable(api.waits_on(), trial.task.silence.into()) {
            return rest;
        }
    }
}

/// Takes the messages that wait to be read; `note` sees the length of each, which is
/// still in the api's room.
fn take_waiting<A: Api + ?Sized>(api: &mut A, room: usize, mut note: impl FnMut(&A, usize)) -> (Counts, LoopEnd) {
    let mut counts = Counts::default();
    let mut trouble = Trouble::default();
    loop {
        let moved = api.receive_now(room);
        if moved.0 > 0 {
            count(api, &mut counts, 1, moved.0 as u64, u64::from(moved.0 < room as isize));
            note(api, moved.0 as usize);
        } else {
            let over = trouble.judge(moved, counts.calls, &mut counts) == Verdict::Over;
            return (counts, if over { LoopEnd::Over } else { LoopEnd::Part });
        }
    }
}

/// Takes what comes after the measured part: TCP to the end of the stream, UDP
/// until the announced count or, after the announcement, a silence. `came` says
/// whether anything came in the measured part: a connection that carries nothing
/// is not waited for as long. `note` sees each message as in [`take_waiting`].
pub(super) fn drain<A: Api + ?Sized>(
    api: &mut A,
    datagrams: bool,
    room: usize,
    trial: &Trial,
    so_far: u64,
    came: bool,
    mut note: impl FnMut(&A, usize),
) -> Counts {
    let mut counts = Counts::default();
    let mut trouble = Trouble::default();
    let silence = Duration::from(trial.task.silence);
    let mut since = Instant::now();
    loop {
        let announced = trial.stage.announced();
        if datagrams && announced.is_some_and(|announced| so_far + counts.messages >= announced) {
            return counts;
        }
        let moved = api.receive_now(room);
        if moved.0 > 0 {
            count(api, &mut counts, 1, moved.0 as u64, u64::from(moved.0 < room as isize));
            note(api, moved.0 as usize);
            since = Instant::now();
        } else if trouble.judge(moved, counts.calls, &mut counts) == Verdict::Over {
            return counts;
        } else {
            // The silence counts from the announcement: until it comes, look for it often.
            let wait = if announced.is_some() { silence } else { LOOK };
            let quiet = !readable(api.waits_on(), wait);
            let over = quiet && announced.is_some() && datagrams;
            let patience = if came || announced.is_none() { DRAIN_LIMIT } else { LAST_PATIENCE.max(silence) };
            if over || since.elapsed() > patience {
                return counts;
            }
        }
    }
}
