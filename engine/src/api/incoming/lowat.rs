//! One `recv` system call that is woken once all that it asks for has come.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use model::Cell;

use super::one_room::{Fetch, OneRoom};
use super::recv::receive_with;
use crate::api::{Moved, Place, Refusal};
use sys::socket::set_int;

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
            .map_err(|answer| Refusal::of("this kernel refuses SO_RCVLOWAT", answer))
    }

    fn open(_: &Place<'_>) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> Moved {
        receive_with(socket, room, flags)
    }
}
