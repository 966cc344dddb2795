//! One `send` system call a message, of which the kernel makes full segments.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use super::one_message::{Call, OneMessage};
use super::send::send_with;
use crate::api::{Moved, Place};
use sys::socket::set_int;

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
    fn send(&mut self, socket: RawFd, message: &[u8]) -> Moved {
        self.held = true;
        send_with(socket, message, libc::MSG_MORE)
    }

    /// Setting `TCP_NODELAY` pushes what is held back, `__tcp_sock_set_nodelay()` in the
    /// kernel's net/ipv4/tcp.c.
    fn flush(&mut self, socket: RawFd) -> Moved {
        if std::mem::take(&mut self.held) {
            // A connection that is gone says so with the next call.
            let _ = set_nodelay(socket, 1).and_then(|()| set_nodelay(socket, self.nodelay));
        }
        Moved(0)
    }
}

fn set_nodelay(socket: RawFd, value: libc::c_int) -> io::Result<()> {
    set_int(socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, value)
}
