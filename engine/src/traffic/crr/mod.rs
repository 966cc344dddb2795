//! Request and response, each on a connection of its own.
//!
//! The requester connects, asks, takes the answer and closes first, so that the
//! connection waits out its time at its side and the port of the answerer is
//! free at once. The connection that showed the cookie stays open meanwhile;
//! nobody is served who does not come from where it came from.

pub(super) mod ask;
mod dial;
pub(super) mod serve;

use std::io::{self, Read};
use std::time::Instant;

use model::Nanos;
use model::end::Counts;
use socket2::Socket;
use sys::clock::spin_for;

/// Transactions that fail in a row before a loop gives up.
const PATIENCE: u32 = 1_000;

/// Counts transactions that failed.
#[derive(Debug, Default)]
struct Failures {
    in_a_row: u32,
}

impl Failures {
    /// Counts one; true when there is no end to them.
    #[cold]
    fn count(&mut self, answer: &io::Error, counts: &mut Counts) -> bool {
        counts.errors += 1;
        counts.last_errno = answer.raw_os_error();
        self.in_a_row += 1;
        self.in_a_row >= PATIENCE
    }

    const fn end(&mut self) {
        self.in_a_row = 0;
    }
}

/// Returns whether a call should be made again: its time limit ran out, or the stage changed.
fn is_passing(answer: &io::Error) -> bool {
    matches!(answer.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn timed_out() -> io::Error {
    io::Error::from_raw_os_error(libc::ETIMEDOUT)
}

/// Computes for `work`, then sends all of a message; counts the calls.
fn send_all(socket: &Socket, message: &[u8], work: Nanos, give_up: impl Fn() -> bool, counts: &mut Counts) -> io::Result<()> {
    if work > Nanos::default() {
        spin_for(work);
    }
    let mut done = 0;
    while done < message.len() {
        match socket.send_with_flags(&message[done..], libc::MSG_NOSIGNAL) {
            Ok(moved) => {
                done += moved;
                counts.calls += 1;
                counts.bytes += moved as u64;
                counts.short += u64::from(done < message.len());
            }
            Err(answer) if is_passing(&answer) && !give_up() => {}
            Err(answer) => return Err(answer),
        }
    }
    Ok(())
}

/// Receives `size` bytes, and counts the calls; false when the stream ends before
/// the first. `give_up` is asked with how many have come.
fn receive_all(
    mut socket: &Socket,
    room: &mut [u8],
    size: usize,
    give_up: impl Fn(usize) -> bool,
    counts: &mut Counts,
) -> io::Result<bool> {
    let mut done = 0;
    while done < size {
        let limit = room.len().min(size - done);
        match socket.read(&mut room[..limit]) {
            Ok(0) if done == 0 => return Ok(false),
            Ok(0) => return Err(io::Error::from_raw_os_error(libc::ECONNRESET)),
            Ok(moved) => {
                done += moved;
                counts.calls += 1;
                counts.bytes += moved as u64;
            }
            Err(answer) if is_passing(&answer) && !give_up(done) => {}
            Err(answer) => return Err(answer),
        }
    }
    Ok(true)
}

/// Returns whether a transaction has lasted too long.
fn is_over(give_up: Instant) -> bool {
    Instant::now() > give_up
}
