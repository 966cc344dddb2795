//! Calls that fail or fall short: what is counted, and whether to go on. Never the hot path.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use model::end::Counts;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{Api, CallOutcome};

/// Failures in a row after which a loop gives up: an interface that went away
/// would otherwise keep it busy to the end of the trial.
const PATIENCE: u32 = 10_000;

/// Time that an end waits for the other's last word, once it has all of its own.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(20);

/// Judgement of a failed call: whether a loop may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Look at the stage, then try again.
    Again,
    /// The connection has ended, or the failures do not.
    Over,
}

/// Counts failures and tells passing ones from lasting ones.
#[derive(Debug, Default)]
pub struct Trouble {
    in_a_row: u32,
    /// Messages or calls moved when the last failure came.
    progress: u64,
}

impl Trouble {
    /// Judges a call that moved nothing. `progress` is what the loop has moved
    /// so far: failures with successes between them are not in a row.
    #[cold]
    pub fn judge(&mut self, moved: CallOutcome, progress: u64, counts: &mut Counts) -> Verdict {
        let errno = match moved.0 {
            0 => return Verdict::Over,
            negative => -negative as i32,
        };
        // A time limit ran out, or the stage changed: not failures.
        if errno == libc::EAGAIN || errno == libc::EINTR {
            return Verdict::Again;
        }
        counts.errors += 1;
        counts.last_errno = Some(errno);
        self.in_a_row = if progress == self.progress { self.in_a_row + 1 } else { 1 };
        self.progress = progress;
        let lasting = matches!(errno, libc::EPIPE | libc::ECONNRESET | libc::ENOTCONN | libc::EBADF | libc::ETIMEDOUT | libc::EMSGSIZE);
        if lasting || self.in_a_row >= PATIENCE { Verdict::Over } else { Verdict::Again }
    }
}

/// Has an api hand over what it holds back; a failure is counted.
#[inline(always)]
pub fn flush<A: Api + ?Sized>(api: &mut A, counts: &mut Counts) {
    let moved = api.flush();
    if moved.0 < 0 {
        counts.errors += 1;
        counts.last_errno = Some(-moved.0 as i32);
    }
}

/// Waits until something can be read; false when `limit` passed first.
pub fn readable(socket: impl AsFd, limit: Duration) -> bool {
    let give_up = Instant::now() + limit;
    loop {
        let left = give_up.saturating_duration_since(Instant::now());
        let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], left) {
            // The signal that wakes this thread is no silence.
            Err(Errno::EINTR) => {}
            answer => return answer.is_ok_and(|ready| ready > 0),
        }
    }
}
