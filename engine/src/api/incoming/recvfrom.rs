//! One `recvfrom` system call a datagram, on a socket that is not connected.

use std::io;
use std::os::fd::RawFd;

use nix::sys::socket::{SockaddrLike, SockaddrStorage};

use super::one_room::{Fetch, OneRoom};
use crate::api::{Moved, Place};

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
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> Moved {
        let mut length = size_of::<libc::sockaddr_storage>() as u32;
        // SAFETY: the room and the address are writable for their lengths and outlive the call.
        let moved = Moved::from_syscall(unsafe {
            libc::syscall(libc::SYS_recvfrom, socket, room.as_mut_ptr(), room.len(), flags, &raw mut self.from, &raw mut length)
        });
        // A stranger's is as none: a flood of them must not keep the loop from its stage.
        if moved.0 < 0 || self.is_from_peer(length) { moved } else { Moved::NOTHING }
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
