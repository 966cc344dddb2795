//! Frames of AF_XDP that one end of a flow is to receive.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::OwnedFd;

use bpf::xsk::{self, CHUNK, Descriptor, Offsets, Ring};

use super::Buffer;

/// Frames that are to come that there is memory for.
pub const ROOM: u32 = 1_024;

/// Gives the kernel the memory of [`ROOM`] frames, from frame `first` of the socket's on.
///
/// # Errors
/// That of the mapping.
pub fn offer(socket: &OwnedFd, offsets: &[Offsets; 4], first: usize) -> io::Result<Ring<u64>> {
    let filled: Ring<u64> = xsk::map(socket, offsets[2], xsk::PGOFF_FILL_RING)?;
    (0..ROOM).for_each(|number| filled.write(number, ((first + number as usize) * CHUNK) as u64));
    filled.set_produced(ROOM);
    Ok(filled)
}

/// Frames that a device brings to a socket of AF_XDP.
#[derive(Debug)]
pub struct Frames {
    /// The socket.
    pub socket: OwnedFd,
    /// Frames that came.
    pub received: Ring<Descriptor>,
    /// Memory for those that are to come.
    pub filled: Ring<u64>,
    /// It is never given back to the heap: the socket may live on in another table of files of
    /// this process, and the kernel writes frames into it as long as it does.
    pub memory: ManuallyDrop<Buffer>,
    /// The program that sends them here, until this is gone.
    pub _program: bpf::Attached,
}
