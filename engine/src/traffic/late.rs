//! Answers of a request/response test that come after their request was given up.

use std::time::Duration;

use model::Nanos;
use model::end::Counts;

use crate::api::{Api, Trouble, Verdict, readable};
use sys::clock;

/// Most bytes of a datagram that say which request it is or answers.
pub(super) const MARK: usize = 4;

/// Takes the answers that come after the last request was given up, `given_up`
/// at most, until none has come for `silence`: one left in the socket when it is
/// closed stands in no counter. `note` sees the mark of each, and when it came.
pub(super) fn take_late<A: Api>(api: &mut A, size: usize, given_up: u64, silence: Duration, mut note: impl FnMut(&[u8], Nanos)) -> Counts {
    let mut counts = Counts::default();
    let mut trouble = Trouble::default();
    while counts.late < given_up && readable(api.waits_on(), silence) {
        let moved = api.receive_now(size);
        if moved.0 > 0 {
            counts.calls += 1;
            counts.bytes += moved.0 as u64;
            counts.received += 1;
            counts.late += 1;
            note(&api.room()[..(moved.0 as usize).min(MARK).min(size)], clock::monotonic());
        } else if trouble.judge(moved, counts.calls, &mut counts) == Verdict::Over {
            break;
        }
    }
    counts
}
