//! Ways of sending with one call for one message.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;

use nix::sys::socket::{SockaddrLike, SockaddrStorage};
use sys::shared;
use sys::socket::set_int;

use super::completions::Completions;
use crate::api::{Buffer, CallOutcome, Open, Outgoing, Place, ZeroCopy, headers};
use crate::wake::Alarm;

/// The call, on memory that it does not hold.
pub trait Call: Sized {
    /// System calls of a message.
    const SYSTEM_CALLS: u64 = 1;

    /// Readies the socket for it.
    ///
    /// # Errors
    /// A refusal that keeps it from working here.
    fn open(place: &Place<'_>) -> io::Result<Self>;

    /// Hands over a message, or a part of one.
    fn send(&mut self, socket: RawFd, message: &[u8]) -> CallOutcome;

    /// Hands over what is held back.
    #[inline(always)]
    fn flush(&mut self, _socket: RawFd) -> CallOutcome {
        CallOutcome(0)
    }

    /// Says that no message comes any more.
    fn end(&mut self) {}

    /// Where it lends its memory to the kernel: what became of that.
    fn zero_copy(&self) -> Option<ZeroCopy> {
        None
    }
}

/// A way of sending with such a call.
#[derive(Debug)]
pub struct OneMessage<C> {
    socket: RawFd,
    message: Buffer,
    call: C,
}

impl<C: Call> Open for OneMessage<C> {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { call: C::open(place)?, message: place.message(), socket: place.socket.as_raw_fd() })
    }
}

impl<C: Call> Outgoing for OneMessage<C> {
    #[inline(always)]
    fn send_span(&mut self, _place: usize, from: usize, to: usize) -> CallOutcome {
        let to = to.min(self.message.len());
        self.call.send(self.socket, &self.message[from.min(to)..to])
    }

    fn message_at(&mut self, _place: usize) -> &mut [u8] {
        &mut self.message
    }

    #[inline(always)]
    fn flush(&mut self) -> CallOutcome {
        self.call.flush(self.socket)
    }

    fn end(&mut self) {
        self.call.end();
    }

    fn system_calls(&self) -> u64 {
        C::SYSTEM_CALLS
    }

    fn zero_copy(&self) -> Option<ZeroCopy> {
        self.call.zero_copy()
    }
}

/// Plain `send(2)`.
pub type Send = OneMessage<SendCall>;

/// The call.
#[derive(Debug)]
pub struct SendCall;

impl Call for SendCall {
    fn open(_: &Place<'_>) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn send(&mut self, socket: RawFd, message: &[u8]) -> CallOutcome {
        send_with(socket, message, 0)
    }
}

/// `send(2)` into an MPTCP connection.
pub type Mptcp = Send;

/// `send(2)` into an SCTP association with one stream, which keeps the messages apart.
pub type Sctp = Send;

/// `send(2)` of what becomes a record of TLS. The keys are set once the ends have joined.
pub type Ktls = Send;

/// `send(2)` into a VSOCK connection to the machine's own address.
pub type Vsock = Send;

/// `send(2)` of a message into a stream of bytes.
pub type UnixStream = Send;

/// `send(2)` of a datagram.
pub type UnixDgram = Send;

/// `send(2)` of a message of a sequence.
pub type UnixSeqpacket = Send;

/// `send(2)` with flags.
#[inline(always)]
pub fn send_with(socket: RawFd, message: &[u8], flags: libc::c_int) -> CallOutcome {
    // SAFETY: `message` is readable for its length and outlives the call; a descriptor
    // that is not open is an errno. MSG_NOSIGNAL: so is a vanished peer, and no signal.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            socket,
            message.as_ptr(),
            message.len(),
            flags | libc::MSG_NOSIGNAL,
            ptr::null::<libc::sockaddr>(),
            0,
        )
    };
    CallOutcome::from_syscall(answer)
}

/// `sendto(2)` to the peer's address: the kernel looks up the route of every message.
pub type Sendto = OneMessage<SendtoCall>;

/// The call, and whom it is for.
#[derive(Debug)]
pub struct SendtoCall {
    peer: SockaddrStorage,
}

impl Call for SendtoCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { peer: place.disconnected()? })
    }

    #[inline(always)]
    fn send(&mut self, socket: RawFd, message: &[u8]) -> CallOutcome {
        // SAFETY: the message and the address are readable for their lengths and outlive the
        // call. MSG_NOSIGNAL: a vanished peer is an errno, not a signal.
        CallOutcome::from_syscall(unsafe {
            libc::syscall(
                libc::SYS_sendto,
                socket,
                message.as_ptr(),
                message.len(),
                libc::MSG_NOSIGNAL,
                self.peer.as_ptr(),
                self.peer.len(),
            )
        })
    }
}

/// `sendmsg(2)`, with one piece of memory and no control data.
pub type Sendmsg = OneMessage<SendmsgCall>;

/// The call.
#[derive(Debug)]
pub struct SendmsgCall;

impl Call for SendmsgCall {
    fn open(_: &Place<'_>) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn send(&mut self, socket: RawFd, message: &[u8]) -> CallOutcome {
        let mut piece = libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
        let header = headers::of_one(&mut piece);
        // SAFETY: the header has one piece, readable for its length, which the call does not
        // write; all outlive it. MSG_NOSIGNAL: a vanished peer is an errno, not a signal.
        CallOutcome::from_syscall(unsafe { libc::syscall(libc::SYS_sendmsg, socket, &raw const header, libc::MSG_NOSIGNAL) })
    }
}

/// `send(2)` with `MSG_MORE`: the kernel holds back what fills no segment until more
/// comes. The last of a part is pushed.
pub type SendMore = OneMessage<SendMoreCall>;

/// The call, and whether something may be held back.
#[derive(Debug)]
pub struct SendMoreCall {
    nodelay: libc::c_int,
    held: bool,
}

impl Call for SendMoreCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let nodelay = libc::c_int::from(place.cell.nodelay);
        // A socket of another kind has no such option.
        set_nodelay(place.socket.as_raw_fd(), nodelay)?;
        Ok(Self { nodelay, held: false })
    }

    #[inline(always)]
    fn send(&mut self, socket: RawFd, message: &[u8]) -> CallOutcome {
        self.held = true;
        send_with(socket, message, libc::MSG_MORE)
    }

    /// Setting `TCP_NODELAY` pushes what is held back, `__tcp_sock_set_nodelay()` in the
    /// kernel's net/ipv4/tcp.c.
    fn flush(&mut self, socket: RawFd) -> CallOutcome {
        if std::mem::take(&mut self.held) {
            // A connection that is gone says so with the next call.
            let _ = set_nodelay(socket, 1).and_then(|()| set_nodelay(socket, self.nodelay));
        }
        CallOutcome(0)
    }
}

fn set_nodelay(socket: RawFd, value: libc::c_int) -> io::Result<()> {
    set_int(socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, value)
}

/// `send(2)` with `MSG_ZEROCOPY`, and the notices that the kernel is done with the memory.
/// Nothing is written to it meanwhile: the next message is sent before they have come.
pub type Zerocopy = OneMessage<ZerocopyCall>;

/// The call, and its notices.
#[derive(Debug)]
pub struct ZerocopyCall {
    completions: Completions,
}

impl Call for ZerocopyCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { completions: Completions::enable(place.socket.as_raw_fd())? })
    }

    #[inline(always)]
    fn send(&mut self, socket: RawFd, message: &[u8]) -> CallOutcome {
        send_lent(socket, message, &mut self.completions)
    }

    fn flush(&mut self, socket: RawFd) -> CallOutcome {
        self.completions.take(socket);
        CallOutcome(0)
    }

    fn zero_copy(&self) -> Option<ZeroCopy> {
        Some(self.completions.seen())
    }
}

/// `send(2)` with `MSG_ZEROCOPY`. Where the kernel keeps too many notices, it is as if it
/// had no room; where it keeps none, the message is more than it lets a user lock.
#[inline(always)]
pub fn send_lent(socket: RawFd, message: &[u8], completions: &mut Completions) -> CallOutcome {
    let moved = send_with(socket, message, libc::MSG_ZEROCOPY);
    if moved.0 > 0 {
        completions.after_send(socket);
    } else if moved.0 == -(libc::ENOBUFS as isize) && completions.are_outstanding() {
        completions.wait(socket);
        return CallOutcome::NOTHING;
    }
    moved
}

/// `sendfile(2)` from the pages of a file, without a copy.
pub type Sendfile = OneMessage<SendfileCall>;

/// The call, and the file that has the message.
#[derive(Debug)]
pub struct SendfileCall {
    file: File,
    length: usize,
}

impl Call for SendfileCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let message = place.message();
        Ok(Self { file: shared::file_of(&message)?, length: message.len() })
    }

    #[inline(always)]
    fn send(&mut self, socket: RawFd, message: &[u8]) -> CallOutcome {
        // The rest of a message ends where the file does; of a shorter one these bytes are as
        // good as others.
        let mut from = (self.length - message.len()) as libc::off_t;
        // SAFETY: the offset outlives the call; descriptors that are not open are an errno.
        CallOutcome::from_call(unsafe { libc::sendfile(socket, self.file.as_raw_fd(), &raw mut from, message.len()) })
    }
}

/// `vmsplice(2)` of the message into a pipe and `splice(2)` from that into the socket: two
/// calls a message, and no copy.
pub type Splice = OneMessage<SpliceCalls>;

/// The two calls, and the pipe between them.
#[derive(Debug)]
pub struct SpliceCalls {
    pipe: (PipeReader, PipeWriter),
    /// Bytes in the pipe that the socket has not taken.
    held: usize,
}

impl Call for SpliceCalls {
    const SYSTEM_CALLS: u64 = 2;

    fn open(place: &Place<'_>) -> io::Result<Self> {
        let pipe = io::pipe()?;
        let wanted = libc::c_int::try_from(place.cell.largest().get()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the call reads no memory. One that is refused leaves the usual size: a
        // longer message then goes in parts.
        unsafe { libc::fcntl(pipe.0.as_raw_fd(), libc::F_SETPIPE_SZ, wanted) };
        Ok(Self { pipe, held: 0 })
    }

    fn send(&mut self, socket: RawFd, message: &[u8]) -> CallOutcome {
        // What found no room is still in the pipe: the loop comes again with the same bytes.
        if self.held == 0 {
            let piece = libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
            // SAFETY: the piece is readable for its length; the pages that the pipe refers to
            // are kept by the kernel, and nothing writes to them.
            let moved = CallOutcome::from_syscall(unsafe {
                libc::syscall(libc::SYS_vmsplice, self.pipe.1.as_raw_fd(), &raw const piece, 1, libc::SPLICE_F_NONBLOCK)
            });
            if moved.0 <= 0 {
                return moved;
            }
            self.held = moved.0 as usize;
        }
        let here = ptr::null::<libc::loff_t>();
        // SAFETY: no offsets are given; descriptors that are not open are an errno.
        let moved = CallOutcome::from_syscall(unsafe {
            libc::syscall(libc::SYS_splice, self.pipe.0.as_raw_fd(), here, socket, here, self.held, libc::SPLICE_F_MOVE)
        });
        self.held -= moved.0.clamp(0, self.held as isize) as usize;
        moved
    }
}

/// `write(2)` into the pipe that joins the ends.
pub type Pipe = OneMessage<WriteCall>;

/// The call, and the end of the pipe until the last message.
#[derive(Debug)]
pub struct WriteCall {
    pipe: Option<OwnedFd>,
    /// Its number; -1 after the last message.
    number: RawFd,
    _alarm: Alarm,
}

impl Call for WriteCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let pipe = place.passed()?;
        if let Some(size) = place.cell.sndbuf {
            let size = libc::c_int::try_from(size.get()).unwrap_or(libc::c_int::MAX);
            // SAFETY: the call reads no memory.
            if unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETPIPE_SZ, size) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self { number: pipe.as_raw_fd(), pipe: Some(pipe), _alarm: Alarm::every(place.patience)? })
    }

    #[inline(always)]
    fn send(&mut self, _socket: RawFd, message: &[u8]) -> CallOutcome {
        // SAFETY: `message` is readable for its length and outlives the call; a descriptor
        // that is not open is an errno.
        CallOutcome::from_syscall(unsafe { libc::syscall(libc::SYS_write, self.number, message.as_ptr(), message.len()) })
    }

    fn end(&mut self) {
        (self.pipe, self.number) = (None, -1);
    }
}
