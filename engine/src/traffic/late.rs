//! Answers that come when nobody waits for them any more.

use std::time::Duration;

use model::end::Counts;

use super::trouble::{Trouble, Verdict, readable};
use crate::api::Api;

/// Takes the answers that come after the last request was given up, `given_up`
/// at most, until none has come for `silence`: one left in the socket when it is
/// closed stands in no counter.
pub(super) fn take_late<A: Api>(api: &mut A, size: usize, given_up: u64, silence: Duration) -> Counts {
    let mut counts = Counts::default();
    let mut trouble = Trouble::default();
    while counts.late < given_up && readable(api.socket(), silence) {
        let moved = api.receive_now(size);
        if moved.0 > 0 {
            counts.calls += 1;
            counts.bytes += moved.0 as u64;
            counts.received += 1;
            counts.late += 1;
        } else if trouble.judge(moved, counts.calls, &mut counts) == Verdict::Over {
            break;
        }
    }
    counts
}
