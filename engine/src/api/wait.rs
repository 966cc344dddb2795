//! Ways of waiting for what is to come, other than in the receive call.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use model::{Nanos, Waiting};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};

use super::{Api, Habit, Moved};
use crate::clock;

/// A way of waiting. A wait ends after its limit with nothing, so that the loop can look
/// at the stage.
#[derive(Debug)]
pub enum Wait {
    /// Asks over and over.
    Spin(Nanos),
    /// `poll(2)` before each receive call.
    Poll(RawFd, libc::c_int),
    /// `epoll_wait(2)` before each receive call: level-triggered.
    Level(Epoll, libc::c_int),
    /// `epoll_wait(2)` where a receive call found nothing: edge-triggered.
    Edge(Epoll, libc::c_int),
}

impl Wait {
    /// The way that a cell names, for an api that becomes readable at `fd`; `None` where it
    /// waits in the receive call. A spinning end looks up after `look`, another after `limit`.
    ///
    /// # Errors
    /// A refusal of the system to set up an epoll.
    pub fn new(waiting: Waiting, fd: BorrowedFd<'_>, look: Nanos, limit: Duration) -> io::Result<Option<Self>> {
        let limit = libc::c_int::try_from(limit.as_millis()).unwrap_or(libc::c_int::MAX).max(1);
        let epoll = |trigger: EpollFlags| -> io::Result<Epoll> {
            let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
            epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN | trigger, 0))?;
            Ok(epoll)
        };
        Ok(match waiting {
            // The socket is told of busy polling when it is made.
            Waiting::Block | Waiting::BusyPoll => None,
            Waiting::Spin => Some(Self::Spin(look)),
            Waiting::Poll => Some(Self::Poll(fd.as_raw_fd(), limit)),
            Waiting::Epoll => Some(Self::Level(epoll(EpollFlags::empty())?, limit)),
            Waiting::EpollEdge => Some(Self::Edge(epoll(EpollFlags::EPOLLET)?, limit)),
        })
    }
}

impl Habit for Wait {
    #[inline(always)]
    fn receive<A: Api>(&mut self, api: &mut A, limit: usize) -> Moved {
        match self {
            Self::Spin(look) => spin(api, limit, *look),
            _ if api.has_more() => api.receive_now(limit),
            Self::Poll(fd, longest) => match polled(*fd, *longest) {
                true => api.receive_now(limit),
                false => Moved::NOTHING,
            },
            Self::Level(epoll, longest) => match woken(epoll, *longest) {
                true => api.receive_now(limit),
                false => Moved::NOTHING,
            },
            Self::Edge(epoll, longest) => {
                let moved = api.receive_now(limit);
                // What has come since then is an edge, too.
                if moved.0 == Moved::NOTHING.0 && woken(epoll, *longest) { api.receive_now(limit) } else { moved }
            }
        }
    }
}

#[inline(always)]
fn spin<A: Api>(api: &mut A, limit: usize, look: Nanos) -> Moved {
    let mut since = None;
    loop {
        let moved = api.receive_now(limit);
        if moved.0 != Moved::NOTHING.0 {
            return moved;
        }
        let now = clock::monotonic();
        if now.since(*since.get_or_insert(now)) >= look {
            return moved;
        }
        std::hint::spin_loop();
    }
}

/// Waits until something is there; false after `longest` milliseconds, and at a signal.
fn polled(fd: RawFd, longest: libc::c_int) -> bool {
    let mut entry = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which outlives the call.
    unsafe { libc::poll(&raw mut entry, 1, longest) > 0 }
}

fn woken(epoll: &Epoll, longest: libc::c_int) -> bool {
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: room for one event, which outlives the call.
    unsafe { libc::epoll_wait(epoll.0.as_raw_fd(), &raw mut event, 1, longest) > 0 }
}
