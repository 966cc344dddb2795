//! The plain loops: one call for each message. A way has them compiled for itself, so that its call
//! stands in the loop.

use model::end::Counts;

use super::trouble::{Trouble, Verdict};
use super::whole::finish;
use super::{Receive, Transmit};
use crate::stage::{Part, Stage};

/// Sends messages while the trial is in `part`, `limit` at most.
///
/// This is the loop that the tool's own cost is measured on: one call, one
/// comparison of its answer, one look at the stage, one count.
pub fn send_until<A: Transmit + ?Sized>(api: &mut A, size: usize, stage: &Stage, part: Part, mut limit: u64) -> Counts {
    let mut counts = Counts::default();
    let mut trouble = Trouble::default();
    let mut whole = 0u64;
    while stage.is(part) && whole < limit {
        let moved = api.send(0);
        if moved.0 == size as isize {
            whole += 1;
        } else {
            let finished = counts.messages;
            if finish(api, size, moved, whole, &mut counts, &mut trouble) == Verdict::Over {
                break;
            }
            // A message in several calls is one of the limit's, too.
            limit -= counts.messages - finished;
        }
    }
    counts.calls += whole;
    counts.messages += whole;
    counts.bytes += whole * size as u64;
    counts.sent = counts.messages;
    counts
}

/// Reasons for which a receiving loop returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopEnd {
    /// The trial went on to another part, or all of this one has come.
    Part,
    /// Nothing more will come.
    Over,
}

/// The loop of [`receive_while`] for datagrams or for bytes.
pub fn receive<A: Receive + ?Sized>(
    api: &mut A,
    datagrams: bool,
    room: usize,
    stage: &Stage,
    part: Part,
    enough: u64,
) -> (Counts, LoopEnd) {
    match datagrams {
        true => receive_while::<A, true>(api, room, stage, part, enough),
        false => receive_while::<A, false>(api, room, stage, part, enough),
    }
}

/// Receives while the trial is in `part`, until `enough` datagrams or bytes.
fn receive_while<A: Receive + ?Sized, const DATAGRAMS: bool>(
    api: &mut A,
    room: usize,
    stage: &Stage,
    part: Part,
    enough: u64,
) -> (Counts, LoopEnd) {
    let mut counts = Counts::default();
    let mut trouble = Trouble::default();
    let (mut messages, mut bytes, mut short) = (0u64, 0u64, 0u64);
    let mut ended = LoopEnd::Part;
    while stage.is(part) && (if DATAGRAMS { messages } else { bytes }) < enough {
        let limit = if DATAGRAMS { room } else { room.min((enough - bytes) as usize) };
        let moved = api.receive(limit);
        if moved.0 > 0 {
            let alike = if DATAGRAMS { 1 + api.take_alike(enough - messages - 1) } else { 1 };
            messages += alike;
            bytes += alike * moved.0 as u64;
            short += alike * u64::from(moved.0 < room as isize);
        } else if trouble.judge(moved, messages, &mut counts) == Verdict::Over {
            ended = LoopEnd::Over;
            break;
        }
    }
    count(api, &mut counts, messages, bytes, short);
    (counts, ended)
}

/// Counts messages that were handed out, and the calls that fetched them.
#[inline(always)]
pub fn count<A: Receive + ?Sized>(api: &mut A, counts: &mut Counts, messages: u64, bytes: u64, short: u64) {
    counts.calls += api.take_calls().unwrap_or(messages);
    counts.messages += messages;
    counts.received += messages;
    counts.bytes += bytes;
    counts.short += short;
}
