//! Ways of waiting for the time of the next message.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use model::Pacing;

use sys::clock;

/// The longest that a thread sleeps before it looks at the stage again, should
/// the signal that wakes it come just before it sleeps.
const LONGEST_SLEEP: u64 = 50_000_000;
/// Up to here the thousandth that `ppoll` may add to a time limit does not matter.
const EXACT: u64 = 1_000_000;

/// Lets the kernel wake this thread when it asked for it, and not up to the
/// usual 50 us later (prctl(2), PR_SET_TIMERSLACK).
///
/// # Errors
/// The kernel's answer.
pub fn wake_exactly() -> io::Result<()> {
    const SLACK: libc::c_ulong = 1;
    // SAFETY: this option reads one number and touches no memory.
    match unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits until `due`, in ns of the monotonic clock, or a while less: until a
/// signal, the next look at the stage, or, spinning, hardly at all. The caller
/// reads the clock again.
#[inline]
pub fn wait(pacing: Pacing, now: u64, due: u64) {
    match pacing {
        Pacing::Spin => std::hint::spin_loop(),
        Pacing::Sleep => sleep(due.min(now.saturating_add(LONGEST_SLEEP))),
    }
}

fn sleep(until: u64) {
    let time = timespec(until);
    // SAFETY: `time` outlives the call; an absolute sleep returns no rest.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const time, ptr::null_mut()) };
}

/// Events that a thread that both sends and receives waits for, other than a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// Something to read.
    Reading,
    /// Something to read, or room to send.
    Either,
}

/// Sleeps until `due`, or until the socket is ready, or less, like [`wait`].
/// Returns whether there is something to read.
pub fn sleep_at(socket: BorrowedFd<'_>, what: For, due: u64) -> bool {
    let mut left = due.saturating_sub(clock::monotonic().get()).min(LONGEST_SLEEP);
    if left > EXACT {
        // The kernel may add a thousandth to what it is asked (`select_estimate_accuracy`
        // in fs/select.c); the rest is slept in a second call.
        left -= left / 1_000;
    }
    let events = match what {
        For::Reading => libc::POLLIN,
        For::Either => libc::POLLIN | libc::POLLOUT,
    };
    let mut watched = libc::pollfd { fd: socket.as_raw_fd(), events, revents: 0 };
    let limit = timespec(left);
    // SAFETY: `watched` is one place and outlives the call, as does `limit`; no signal mask is given.
    let ready = unsafe { libc::ppoll(&raw mut watched, 1, &raw const limit, ptr::null()) };
    // An error or the end of a stream is read, too.
    ready > 0 && watched.revents & !libc::POLLOUT != 0
}

const fn timespec(nanos: u64) -> libc::timespec {
    libc::timespec { tv_sec: (nanos / 1_000_000_000) as libc::time_t, tv_nsec: (nanos % 1_000_000_000) as libc::c_long }
}

#[cfg(test)]
mod tests {
    use super::{For, LONGEST_SLEEP, sleep_at, wait, wake_exactly};
    use model::Pacing;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::fd::AsFd;
    use sys::clock;

    #[test]
    fn a_sleep_ends_no_earlier_than_it_should() {
        wake_exactly().unwrap();
        for length in [1, 10_000, 3_000_000] {
            let now = clock::monotonic().get();
            wait(Pacing::Sleep, now, now + length);
            assert!(clock::monotonic().get() >= now + length);
        }
    }

    #[test]
    fn nobody_sleeps_past_the_next_look_at_the_stage() {
        let now = clock::monotonic().get();
        wait(Pacing::Sleep, now, u64::MAX);
        let slept = clock::monotonic().get() - now;
        assert!((LONGEST_SLEEP..u64::MAX / 2).contains(&slept), "{slept}");
    }

    #[test]
    fn a_ready_socket_ends_a_sleep() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();

        assert!(sleep_at(socket.as_fd(), For::Reading, u64::MAX));
        assert!(sleep_at(socket.as_fd(), For::Either, u64::MAX));
    }

    #[test]
    fn room_to_send_is_nothing_to_read() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!sleep_at(socket.as_fd(), For::Either, u64::MAX));
        assert!(!sleep_at(socket.as_fd(), For::Reading, clock::monotonic().get() + 2_000_000));
    }
}
