//! The sender of a stream.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use model::end::{Counts, Window};
use model::{Nanos, Protocol};
use nix::sys::socket::{Shutdown, shutdown};

use super::{DRAIN_LIMIT, Done, Step, Trial, fault, sum};
use crate::api::{Api, readable};
use crate::stage::Part;
use sys::clock;

/// Between the messages of a trial that opens.
const PAUSE: Duration = Duration::from_millis(1);

pub(super) fn run(api: &mut dyn Api, trial: &mut Trial) -> Done {
    let (size, stage) = (trial.task.cell.size.as_len(), trial.stage);
    send_parts(api, trial, |api, Stretch { part, limit, .. }| api.send_until(size, stage, part, limit))
}

/// Extent of one run of a sender's loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// The part in which it sends.
    pub(super) part: Part,
    /// Most messages that it sends.
    pub(super) limit: u64,
    /// True where they are measured.
    pub(super) measured: bool,
    /// See [`Allowance::paused`](super::Allowance::paused).
    pub(super) paused: Nanos,
}

/// Leads a sender of a stream through the parts of its trial and announces its end. `send` sends for a stretch.
pub(super) fn send_parts<A: Api + ?Sized>(api: &mut A, trial: &mut Trial, mut send: impl FnMut(&mut A, Stretch) -> Counts) -> Done {
    let before = |part, limit| Stretch { part, limit, measured: false, paused: Nanos::default() };
    let extent = trial.extent;
    let begun = clock::monotonic();
    let first = open_flow(api, trial, |api, part, limit| send(api, before(part, limit)));
    let warmup = trial.to_the_end(api, |api, allowed| send(api, before(extent.warmup_part, allowed.at_most(extent.warmup))));
    let start = trial.start(api.socket());
    let counts = trial.to_the_end(api, |api, allowed| {
        let limit = allowed.at_most(extent.measured);
        send(api, Stretch { part: Part::Measure, limit, measured: true, paused: allowed.paused })
    });
    let end = trial.edges.end();
    let tail = trial.to_the_end(api, |api, allowed| send(api, before(Part::Tail, allowed.at_most(u64::MAX))));
    let flow = Window { start: begun, end: clock::monotonic() };
    let total = sum(sum(first, warmup), sum(counts, tail));
    end_stream(api, trial, &total);
    Done { usage: start.until(&end), flow: Some(flow), counts, total }
}

/// Sends the first message, and more, one by one, as long as the trial opens: the first may be lost.
fn open_flow<A: Api + ?Sized>(api: &mut A, trial: &Trial, mut send: impl FnMut(&mut A, Part, u64) -> Counts) -> Counts {
    let part = if trial.stage.is(Part::Opening) { Part::Opening } else { trial.extent.warmup_part };
    let mut send_one = |api: &mut A, least: u64| trial.to_the_end(api, |api, allowed| send(api, part, allowed.at_most(least)));
    let mut counts = send_one(api, trial.least_warmup());
    trial.flows(&counts);
    while trial.stage.is(Part::Opening) {
        thread::park_timeout(PAUSE);
        counts = sum(counts, send_one(api, 1));
    }
    counts
}

/// Announces the end of a stream of which `total` was sent.
fn end_stream<A: Api + ?Sized>(api: &mut A, trial: &mut Trial, total: &Counts) {
    if trial.task.cell.protocol() == Protocol::Udp {
        see_it_left(api);
    }
    (trial.said)(Step::Sent(total));
    if trial.task.cell.protocol() == Protocol::Tcp {
        trial.failure = see_it_taken(api);
    }
}

/// Waits until the last datagram has left the queue of this host's device: the
/// receiver takes a silence after the announcement for the end.
fn see_it_left<A: Api + ?Sized>(api: &A) {
    let give_up = Instant::now() + DRAIN_LIMIT;
    while queued(api.leaves_by()) > 0 && Instant::now() < give_up {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Memory of datagrams that have not left this host; 0 where the kernel does not tell.
fn queued(socket: &OwnedFd) -> libc::c_int {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the call writes one int, to a place that outlives it.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if answer == 0 { bytes } else { 0 }
}

/// Returns whether a socket was of an SCTP association that has ended: the end that ended it is
/// told of that by no call that receives. Other sockets do not know the question.
fn association_is_over(socket: &OwnedFd) -> bool {
    /// Of the kernel's include/uapi/linux/sctp.h; the answer is a `struct sctp_status`.
    const SCTP_STATUS: libc::c_int = 14;
    let status = sys::socket::get(socket.as_raw_fd(), libc::IPPROTO_SCTP, SCTP_STATUS, &mut [0; 256]);
    status.is_err_and(|answer| answer.raw_os_error() == Some(libc::EINVAL))
}

/// Says that no more will come and waits until the receiver has closed, so
/// that TCP's account covers everything sent. A receiver that takes nothing any
/// more is a failure.
pub(super) fn see_it_taken<A: Api + ?Sized>(api: &mut A) -> Option<io::Error> {
    api.end();
    if shutdown(api.socket().as_raw_fd(), Shutdown::Write).is_err() {
        return None;
    }
    let (mut left, mut since) = (queued(api.socket()), Instant::now());
    while since.elapsed() < DRAIN_LIMIT {
        match api.receive_now(1).0 {
            moved if moved > 0 => {}
            _ if association_is_over(api.socket()) => return None,
            moved if moved == -(libc::EAGAIN as isize) => _ = readable(api.socket(), Duration::from_millis(100)),
            moved if moved == -(libc::EINTR as isize) => {}
            _ => return None,
        }
        let now = queued(api.socket());
        if now != left {
            (left, since) = (now, Instant::now());
        }
    }
    Some(fault::not_taken(left.into(), DRAIN_LIMIT))
}
