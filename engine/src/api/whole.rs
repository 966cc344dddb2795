//! Sends a whole message, in as many calls as it takes.

use std::time::Instant;

use model::end::Counts;

use super::trouble::{DRAIN_LIMIT, Trouble, Verdict};
use super::{CallOutcome, Transmit};

/// Sends what is left of a message of which `done` bytes are sent, so that
/// messages stay whole. Counts calls, short calls and bytes; the message is the
/// caller's to count. `progress` is what the caller's loop has moved so far.
pub fn send_rest<A: Transmit + ?Sized>(
    api: &mut A,
    size: usize,
    mut done: usize,
    progress: u64,
    counts: &mut Counts,
    trouble: &mut Trouble,
) -> Verdict {
    // A message may be long and the path slow: what counts is that it goes on.
    let mut stalled: Option<Instant> = None;
    while done < size {
        let moved = api.send_part(done, size);
        if moved.0 > 0 {
            done += moved.0 as usize;
            counts.calls += 1;
            counts.bytes += moved.0 as u64;
            counts.short += u64::from(done < size);
            stalled = None;
        } else if trouble.judge(moved, progress + counts.calls, counts) == Verdict::Over
            || stalled.get_or_insert_with(Instant::now).elapsed() > DRAIN_LIMIT
        {
            return Verdict::Over;
        }
    }
    Verdict::Again
}

/// Sends what a short call left of its message.
#[cold]
pub fn finish<A: Transmit + ?Sized>(
    api: &mut A,
    size: usize,
    moved: CallOutcome,
    whole: u64,
    counts: &mut Counts,
    trouble: &mut Trouble,
) -> Verdict {
    if moved.0 <= 0 {
        return trouble.judge(moved, whole + counts.calls, counts);
    }
    counts.calls += 1;
    counts.short += 1;
    counts.bytes += moved.0 as u64;
    let verdict = send_rest(api, size, moved.0 as usize, whole, counts, trouble);
    counts.messages += u64::from(verdict == Verdict::Again);
    verdict
}
