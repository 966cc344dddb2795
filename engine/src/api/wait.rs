//! Ways of waiting for what is to come, other than in the receive call.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use model::{Cell, Nanos, Protocol, Waiting};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};

use super::{CallOutcome, Incoming};
use sys::clock;

/// A way of waiting. A wait ends after its limit with nothing, so that the loop can look
/// at the stage.
#[derive(Debug)]
pub enum Wait {
    /// Asks over and over.
    Spin(Nanos),
    /// `poll(2)` before each receive call.
    Poll(RawFd, libc::c_int),
    /// `select(2)`, then receive calls until what was asked for is there or nothing is left.
    Select(Select),
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
    /// A refusal of the system to set up an epoll, or a descriptor that `select` has no room for.
    pub fn new(cell: &Cell, fd: BorrowedFd<'_>, look: Nanos, limit: Duration) -> io::Result<Option<Self>> {
        let limit = libc::c_int::try_from(limit.as_millis()).unwrap_or(libc::c_int::MAX).max(1);
        let epoll = |trigger: EpollFlags| -> io::Result<Epoll> {
            let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
            epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN | trigger, 0))?;
            Ok(epoll)
        };
        Ok(match cell.waiting {
            // Busy polling is set when the socket is made.
            Waiting::Block | Waiting::BusyPoll => None,
            Waiting::Spin => Some(Self::Spin(look)),
            Waiting::Poll => Some(Self::Poll(fd.as_raw_fd(), limit)),
            Waiting::Select => Some(Self::Select(Select::new(fd.as_raw_fd(), limit, cell.test.protocol() == Protocol::Tcp)?)),
            Waiting::Epoll => Some(Self::Level(epoll(EpollFlags::empty())?, limit)),
            Waiting::EpollEdge => Some(Self::Edge(epoll(EpollFlags::EPOLLET)?, limit)),
        })
    }

    /// Receives by a way once there is something.
    #[inline(always)]
    pub fn receive(&mut self, way: &mut dyn Incoming, limit: usize) -> CallOutcome {
        match self {
            Self::Spin(look) => spin(way, limit, *look),
            Self::Select(select) => select.receive(limit, way.has_more(), |limit| way.receive(limit, false)),
            _ if way.has_more() => way.receive(limit, false),
            Self::Poll(fd, longest) => receive_found(polled(*fd, *longest), || way.receive(limit, false)),
            Self::Level(epoll, longest) => receive_found(woken(epoll, *longest), || way.receive(limit, false)),
            Self::Edge(epoll, longest) => {
                let moved = way.receive(limit, false);
                if moved.0 != CallOutcome::NOTHING.0 {
                    return moved;
                }
                // What has come since then is an edge, too.
                receive_found(woken(epoll, *longest), || way.receive(limit, false))
            }
        }
    }
}

/// `select(2)`, then reads until the buffer is full or one finds nothing, as iperf3 3.12 does. Each datagram
/// is read after a `select` of its own.
#[derive(Debug)]
pub struct Select {
    fd: RawFd,
    longest: libc::c_int,
    /// `true` if bytes come without bounds, so that one call may bring a part of what it asked for.
    bytes: bool,
    /// What has not come yet of what was asked for after the last `select`, in bytes.
    rest: usize,
}

impl Select {
    fn new(fd: RawFd, longest: libc::c_int, bytes: bool) -> io::Result<Self> {
        if fd >= libc::FD_SETSIZE as RawFd {
            let text = format!("select takes descriptors below {}, and this end has more files open; take poll", libc::FD_SETSIZE);
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        Ok(Self { fd, longest, bytes, rest: 0 })
    }

    #[inline(always)]
    fn receive(&mut self, limit: usize, has_more: bool, mut receive_now: impl FnMut(usize) -> CallOutcome) -> CallOutcome {
        if self.rest > 0 || has_more {
            let asked = if self.rest > 0 { self.rest.min(limit) } else { limit };
            let moved = self.took(receive_now(asked), asked);
            if moved != CallOutcome::NOTHING {
                return moved;
            }
        }
        receive_found(selected(self.fd, self.longest), || self.took(receive_now(limit), limit))
    }

    #[inline(always)]
    fn took(&mut self, moved: CallOutcome, asked: usize) -> CallOutcome {
        self.rest = if self.bytes && moved.0 > 0 { asked.saturating_sub(moved.0 as usize) } else { 0 };
        moved
    }
}

#[inline(always)]
fn spin(way: &mut dyn Incoming, limit: usize, look: Nanos) -> CallOutcome {
    let mut since = None;
    loop {
        let moved = way.receive(limit, false);
        if moved.0 != CallOutcome::NOTHING.0 {
            return moved;
        }
        let now = clock::monotonic();
        if now.since(*since.get_or_insert(now)) >= look {
            return moved;
        }
        std::hint::spin_loop();
    }
}

/// Receives where a wait has `found` something.
#[inline(always)]
fn receive_found(found: libc::c_int, receive: impl FnOnce() -> CallOutcome) -> CallOutcome {
    if found > 0 { receive() } else { CallOutcome::of_wait(found) }
}

/// Waits until something is there; 0 after `longest` milliseconds, and less at a signal.
fn polled(fd: RawFd, longest: libc::c_int) -> libc::c_int {
    let mut entry = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which outlives the call.
    unsafe { libc::poll(&raw mut entry, 1, longest) }
}

/// The same by `select(2)`.
fn selected(fd: RawFd, longest: libc::c_int) -> libc::c_int {
    // SAFETY: a set is a plain array of bits, for which all zeros is the empty one.
    let mut set: libc::fd_set = unsafe { std::mem::zeroed() };
    let mut limit = libc::timeval { tv_sec: (longest / 1_000).into(), tv_usec: (longest % 1_000 * 1_000).into() };
    // SAFETY: the descriptor is below FD_SETSIZE, as `Select::new` has it; set and limit outlive the calls.
    unsafe {
        libc::FD_SET(fd, &raw mut set);
        libc::select(fd + 1, &raw mut set, std::ptr::null_mut(), std::ptr::null_mut(), &raw mut limit)
    }
}

fn woken(epoll: &Epoll, longest: libc::c_int) -> libc::c_int {
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: room for one event, which outlives the call.
    unsafe { libc::epoll_wait(epoll.0.as_raw_fd(), &raw mut event, 1, longest) }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::{CallOutcome, Select, polled, receive_found, selected};
    use crate::wake::Alarm;

    /// Reads what is there, and notes how much was asked for.
    fn reads<'a>(socket: &'a UnixStream, asked: &'a mut Vec<usize>) -> impl FnMut(usize) -> CallOutcome {
        |limit| {
            asked.push(limit);
            (&*socket).read(&mut vec![0; limit]).map_or(CallOutcome::NOTHING, |count| CallOutcome(count as isize))
        }
    }

    #[test]
    fn select_comes_before_a_new_buffer_and_where_nothing_is_left() {
        for (bytes, asks) in [(true, vec![8, 3, 8, 5, 8]), (false, vec![8; 4])] {
            let (mut near, far) = UnixStream::pair().unwrap();
            far.set_nonblocking(true).unwrap();
            let mut select = Select::new(far.as_raw_fd(), 1, bytes).unwrap();
            let mut asked = Vec::new();
            let mut taken = Vec::new();
            for sent in [5, 3, 3, 0] {
                near.write_all(&vec![1; sent]).unwrap();
                taken.push(select.receive(8, false, reads(&far, &mut asked)));
            }
            assert_eq!(taken, [CallOutcome(5), CallOutcome(3), CallOutcome(3), CallOutcome::NOTHING], "{asked:?}");
            near.write_all(&[1; 8]).unwrap();
            assert_eq!(select.receive(8, false, reads(&far, &mut asked)), CallOutcome(8));
            assert_eq!(asked, asks);
        }
    }

    #[test]
    fn a_signal_that_ends_a_wait_is_no_silence() {
        let (_near, far) = UnixStream::pair().unwrap();
        let nothing = || panic!("nothing has come");
        for wait in [polled, selected] {
            let alarm = Alarm::every(Duration::from_millis(5)).unwrap();
            assert_eq!(receive_found(wait(far.as_raw_fd(), 10_000), nothing).0, -(libc::EINTR as isize));
            drop(alarm);
            assert_eq!(receive_found(wait(far.as_raw_fd(), 1), nothing), CallOutcome::NOTHING);
        }
    }

    #[test]
    fn select_has_no_room_for_a_descriptor_beyond_its_set() {
        assert!(Select::new(1_023, 1, true).is_ok());
        let error = Select::new(1_024, 1, true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("take poll"), "{error}");
    }
}
