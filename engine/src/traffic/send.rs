//! The sender of a stream.

use std::time::{Duration, Instant};

use model::Protocol;
use model::end::Counts;
use nix::sys::socket::{Shutdown, shutdown};
use std::os::fd::AsRawFd;

use super::trouble::{Trouble, Verdict, readable};
use super::{Trial, message_limit, sum};
use crate::api::{Api, Moved, Transmit};
use crate::edge::Between;
use crate::stage::{Part, Stage};

/// How long a TCP sender waits for the receiver to take everything.
const DRAIN_LIMIT: Duration = Duration::from_secs(20);

pub(super) fn run<A: Api>(api: &mut A, trial: &mut Trial) -> (Between, Counts, Counts) {
    let size = trial.task.cell.size.as_len();
    let warmup = send_until(api, size, trial.stage, Part::Warmup, u64::MAX);
    let start = trial.edges.start();
    let counts = send_until(api, size, trial.stage, Part::Measure, message_limit(trial.task));
    let end = trial.edges.end();
    let total = sum(warmup, counts);
    (trial.sent)(&total);
    if trial.task.cell.protocol() == Protocol::Tcp {
        see_it_taken(api);
    }
    (start.until(&end), counts, total)
}

/// Sends messages while the trial is in `part`, `limit` at most.
///
/// This is the loop that the tool's own cost is measured on: one call, one
/// comparison of its answer, one look at the stage, one count.
pub fn send_until<A: Transmit>(api: &mut A, size: usize, stage: &Stage, part: Part, limit: u64) -> Counts {
    let mut counts = Counts::default();
    let mut trouble = Trouble::default();
    let mut whole = 0u64;
    while stage.is(part) && whole < limit {
        let moved = api.send(0);
        if moved.0 == size as isize {
            whole += 1;
        } else if finish(api, size, moved, whole, &mut counts, &mut trouble) == Verdict::Over {
            break;
        }
    }
    counts.calls += whole;
    counts.messages += whole;
    counts.bytes += whole * size as u64;
    counts.sent = counts.messages;
    counts
}

/// Sends what a short call left of its message, so that messages stay whole.
#[cold]
fn finish<A: Transmit>(api: &mut A, size: usize, moved: Moved, whole: u64, counts: &mut Counts, trouble: &mut Trouble) -> Verdict {
    if moved.0 <= 0 {
        return trouble.judge(moved, whole + counts.calls, counts);
    }
    let give_up = Instant::now() + DRAIN_LIMIT;
    let mut done = moved.0 as usize;
    counts.calls += 1;
    counts.short += 1;
    while done < size {
        let moved = api.send(done);
        if moved.0 > 0 {
            done += moved.0 as usize;
            counts.calls += 1;
        } else if trouble.judge(moved, whole + counts.calls, counts) == Verdict::Over || Instant::now() > give_up {
            counts.bytes += done as u64;
            return Verdict::Over;
        }
    }
    counts.messages += 1;
    counts.bytes += size as u64;
    Verdict::Again
}

/// Says that no more will come and waits until the receiver has closed, so
/// that TCP's account covers everything sent.
fn see_it_taken<A: Api>(api: &mut A) {
    let give_up = Instant::now() + DRAIN_LIMIT;
    if shutdown(api.socket().as_raw_fd(), Shutdown::Write).is_err() {
        return;
    }
    while Instant::now() < give_up {
        match api.receive_now(1).0 {
            moved if moved > 0 => {}
            moved if moved == -(libc::EAGAIN as isize) => _ = readable(api.socket(), Duration::from_millis(100)),
            moved if moved == -(libc::EINTR as isize) => {}
            _ => return,
        }
    }
}
