//! The receiver of a stream.

use std::time::{Duration, Instant};

use model::Protocol;
use model::end::Counts;
use model::plan::TrialEnd;

use super::trouble::{Trouble, Verdict, readable};
use super::{Trial, sum};
use crate::api::Api;
use crate::edge::Between;
use crate::stage::{Part, Stage};

/// How long a receiver waits for the sender's announcement, or for the end of
/// a TCP stream after it.
const DRAIN_LIMIT: Duration = Duration::from_secs(20);

/// Why a receiving loop returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// The trial went on to another part.
    Part,
    /// Nothing more will come.
    Over,
}

pub(super) fn run<A: Api>(api: &mut A, trial: &mut Trial) -> (Between, Counts, Counts) {
    let room = trial.task.cell.read_size.as_len();
    let first = receive_first(api, room, trial.stage);
    let (warmup, _) = receive_while(api, room, trial.stage, Part::Warmup);
    let before = sum(first, warmup);
    let start = trial.edges.start();
    let (mut counts, mut ended) = receive_while(api, room, trial.stage, Part::Measure);
    if ended == Ended::Part && matches!(trial.task.end, TrialEnd::Messages(_)) {
        // The trial is a number of messages: those on their way belong to it.
        let (rest, rest_ended) = take_rest_of_count(api, room, trial, sum(before, counts).calls);
        counts = sum(counts, rest);
        ended = rest_ended;
    }
    let end = trial.edges.end();
    let so_far = sum(before, counts);
    let rest = if ended == Ended::Over { Counts::default() } else { drain(api, room, trial, so_far.calls) };
    (start.until(&end), counts, sum(so_far, rest))
}

/// The first message, before which there is nothing to time.
fn receive_first<A: Api>(api: &mut A, room: usize, stage: &Stage) -> Counts {
    let mut counts = Counts::default();
    let mut trouble = Trouble::default();
    while !stage.is(Part::Drain) {
        let moved = api.receive(room);
        if moved.0 > 0 {
            count(&mut counts, 1, moved.0 as u64, u64::from((moved.0 as usize) < room));
            break;
        }
        if trouble.judge(moved, 0, &mut counts) == Verdict::Over {
            break;
        }
    }
    counts
}

/// Receives while the trial is in `part`.
fn receive_while<A: Api>(api: &mut A, room: usize, stage: &Stage, part: Part) -> (Counts, Ended) {
    let mut counts = Counts::default();
    let mut trouble = Trouble::default();
    let (mut calls, mut bytes, mut short) = (0u64, 0u64, 0u64);
    let mut ended = Ended::Part;
    while stage.is(part) {
        let moved = api.receive(room);
        if moved.0 > 0 {
            calls += 1;
            bytes += moved.0 as u64;
            short += u64::from(moved.0 < room as isize);
        } else if trouble.judge(moved, calls, &mut counts) == Verdict::Over {
            ended = Ended::Over;
            break;
        }
    }
    count(&mut counts, calls, bytes, short);
    (counts, ended)
}

fn count(counts: &mut Counts, calls: u64, bytes: u64, short: u64) {
    counts.calls += calls;
    counts.messages += calls;
    counts.received += calls;
    counts.bytes += bytes;
    counts.short += short;
}

/// What is left of a trial that is a number of messages: TCP to its end, UDP
/// until nothing waits to be read.
fn take_rest_of_count<A: Api>(api: &mut A, room: usize, trial: &Trial, so_far: u64) -> (Counts, Ended) {
    if trial.task.cell.protocol() == Protocol::Tcp {
        return (drain(api, room, trial, so_far), Ended::Over);
    }
    let mut counts = Counts::default();
    loop {
        let moved = api.receive_now(room).0;
        if moved <= 0 {
            return (counts, Ended::Part);
        }
        count(&mut counts, 1, moved as u64, 0);
    }
}

/// Takes what comes after the measured part: TCP to the end of the stream, UDP
/// until the announced count or, after the announcement, a silence.
fn drain<A: Api>(api: &mut A, room: usize, trial: &Trial, so_far: u64) -> Counts {
    let mut counts = Counts::default();
    let mut trouble = Trouble::default();
    let datagrams = trial.task.cell.protocol() == Protocol::Udp;
    let silence = Duration::from(trial.task.silence);
    let give_up = Instant::now() + DRAIN_LIMIT;
    loop {
        let announced = trial.stage.announced();
        if datagrams && announced.is_some_and(|announced| so_far + counts.calls >= announced) {
            return counts;
        }
        let moved = api.receive_now(room);
        if moved.0 > 0 {
            count(&mut counts, 1, moved.0 as u64, u64::from(moved.0 < room as isize));
        } else if trouble.judge(moved, counts.calls, &mut counts) == Verdict::Over {
            return counts;
        } else {
            let quiet = !readable(api.socket(), silence);
            // An announcement that came during the wait begins a wait of its own.
            let over = quiet && announced.is_some() && datagrams;
            if over || Instant::now() > give_up {
                return counts;
            }
        }
    }
}
