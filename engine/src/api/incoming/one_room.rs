//! Ways of receiving with one call for one message, or for what has come of a byte
//! stream.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::{io, ptr};

use model::Cell;
use nix::sys::socket::{SockaddrLike, SockaddrStorage};
use sys::socket::set_int;

use super::is_readable;
use crate::api::{Buffer, CallOutcome, Carrier, Incoming, KernelRefusal, Open, Place, headers};
use crate::wake::Alarm;

/// The call, into memory that it does not hold.
pub trait Fetch: Sized {
    /// Readies a flow's socket once its ends have joined.
    ///
    /// # Errors
    /// A refusal of the system.
    fn settle(_socket: BorrowedFd<'_>, _cell: &Cell) -> io::Result<()> {
        Ok(())
    }

    /// Readies the socket for it.
    ///
    /// # Errors
    /// A refusal that keeps it from working here.
    fn open(place: &Place<'_>) -> io::Result<Self>;

    /// Takes one message, or what has come, with the flags of `recv(2)`.
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> CallOutcome;

    /// The descriptor that is readable when there is something; `None`: the flow's socket.
    fn waits_on(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// A way of receiving with such a call.
#[derive(Debug)]
pub struct OneRoom<F> {
    socket: RawFd,
    room: Buffer,
    fetch: F,
}

impl<F: Fetch> Open for OneRoom<F> {
    fn settle(socket: BorrowedFd<'_>, cell: &Cell) -> io::Result<Option<Carrier>> {
        F::settle(socket, cell).map(|()| None)
    }

    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { fetch: F::open(place)?, room: place.room(), socket: place.socket.as_raw_fd() })
    }
}

impl<F: Fetch> Incoming for OneRoom<F> {
    #[inline(always)]
    fn receive(&mut self, limit: usize, wait: bool) -> CallOutcome {
        let limit = limit.min(self.room.len());
        self.fetch.receive(self.socket, &mut self.room[..limit], if wait { 0 } else { libc::MSG_DONTWAIT })
    }

    fn last(&self) -> &[u8] {
        &self.room
    }

    fn waits_on(&self) -> Option<BorrowedFd<'_>> {
        self.fetch.waits_on()
    }
}

/// Plain `recv(2)`.
pub type Recv = OneRoom<RecvCall<0>>;

/// `recv(2)` with these flags as well.
#[derive(Debug)]
pub struct RecvCall<const FLAGS: libc::c_int>;

impl<const FLAGS: libc::c_int> Fetch for RecvCall<FLAGS> {
    fn open(_: &Place<'_>) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> CallOutcome {
        receive_with(socket, room, flags | FLAGS)
    }
}

/// `recv(2)` with flags.
#[inline(always)]
pub fn receive_with(socket: RawFd, room: &mut [u8], flags: libc::c_int) -> CallOutcome {
    let nobody = ptr::null::<libc::sockaddr>();
    // SAFETY: `room` is writable for its length and outlives the call; a descriptor that
    // is not open is an errno.
    CallOutcome::from_syscall(unsafe { libc::syscall(libc::SYS_recvfrom, socket, room.as_mut_ptr(), room.len(), flags, nobody, nobody) })
}

/// `recvfrom(2)`. What strangers send to the address is taken and not handed out.
pub type Recvfrom = OneRoom<RecvfromCall>;

/// The call, and whom it is to take messages from.
#[derive(Debug)]
pub struct RecvfromCall {
    peer: SockaddrStorage,
    from: libc::sockaddr_storage,
}

impl Fetch for RecvfromCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        // SAFETY: zeros are a valid address of no family.
        Ok(Self { peer: place.disconnected()?, from: unsafe { std::mem::zeroed() } })
    }

    #[inline(always)]
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> CallOutcome {
        let mut length = size_of::<libc::sockaddr_storage>() as u32;
        // SAFETY: the room and the address are writable for their lengths and outlive the call.
        let moved = CallOutcome::from_syscall(unsafe {
            libc::syscall(libc::SYS_recvfrom, socket, room.as_mut_ptr(), room.len(), flags, &raw mut self.from, &raw mut length)
        });
        // A stranger's is as none: a flood of them must not keep the loop from its stage.
        if moved.0 < 0 || self.is_from_peer(length) { moved } else { CallOutcome::NOTHING }
    }
}

impl RecvfromCall {
    #[inline(always)]
    fn is_from_peer(&self, length: u32) -> bool {
        // SAFETY: the kernel wrote `length` bytes of an address, at most those that are there.
        let from = unsafe { SockaddrStorage::from_raw((&raw const self.from).cast(), Some(length)) };
        from == Some(self.peer)
    }
}

/// `recvmsg(2)`, with one piece of memory and no control data.
pub type Recvmsg = OneRoom<RecvmsgCall>;

/// The call.
#[derive(Debug)]
pub struct RecvmsgCall;

impl Fetch for RecvmsgCall {
    fn open(_: &Place<'_>) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> CallOutcome {
        let mut piece = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        let mut header = headers::of_one(&mut piece);
        // SAFETY: the header has one piece, writable for its length; all outlive the call.
        CallOutcome::from_syscall(unsafe { libc::syscall(libc::SYS_recvmsg, socket, &raw mut header, flags) })
    }
}

/// `recv(2)` with `MSG_WAITALL`. What has come by the time limit of a call, or before the
/// end of the stream, is returned as it is.
pub type Waitall = OneRoom<RecvCall<{ libc::MSG_WAITALL }>>;

/// `recv(2)` on a socket with `SO_RCVLOWAT` of the read size. The kernel keeps it to half
/// of the receive buffer, which it enlarges where its size was not set
/// (`tcp_set_rcvlowat()` in net/ipv4/tcp.c).
pub type Lowat = OneRoom<LowatCall>;

/// The call.
#[derive(Debug)]
pub struct LowatCall;

impl Fetch for LowatCall {
    /// Set when the ends have joined: what joins them is shorter.
    fn settle(socket: BorrowedFd<'_>, cell: &Cell) -> io::Result<()> {
        let wanted = libc::c_int::try_from(cell.read_size.get()).unwrap_or(libc::c_int::MAX);
        set_int(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, wanted)
            .map_err(|answer| KernelRefusal::error("this kernel refuses SO_RCVLOWAT", answer))
    }

    fn open(_: &Place<'_>) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> CallOutcome {
        receive_with(socket, room, flags)
    }
}

/// `recv(2)` with `MSG_TRUNC`: the kernel hands over no bytes of a TCP stream and counts
/// them as taken. What is left is the cost without the receiver's copy.
pub type Trunc = OneRoom<RecvCall<{ libc::MSG_TRUNC }>>;

/// `read(2)` from the pipe that joins the ends.
pub type Read = OneRoom<ReadCall>;

/// The call, and the end of the pipe.
#[derive(Debug)]
pub struct ReadCall {
    pipe: OwnedFd,
    _alarm: Alarm,
}

impl Fetch for ReadCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { pipe: place.passed()?, _alarm: Alarm::every(place.patience)? })
    }

    #[inline(always)]
    fn receive(&mut self, _socket: RawFd, room: &mut [u8], flags: libc::c_int) -> CallOutcome {
        let pipe = self.pipe.as_raw_fd();
        // A read waits unless the pipe itself is set not to, for all calls.
        if flags & libc::MSG_DONTWAIT != 0 && !is_readable(pipe) {
            return CallOutcome::NOTHING;
        }
        // SAFETY: `room` is writable for its length and outlives the call.
        CallOutcome::from_syscall(unsafe { libc::syscall(libc::SYS_read, pipe, room.as_mut_ptr(), room.len()) })
    }

    fn waits_on(&self) -> Option<BorrowedFd<'_>> {
        Some(self.pipe.as_fd())
    }
}
