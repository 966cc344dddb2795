//! Frames of AF_XDP that one end of a flow is to receive.

use std::mem::ManuallyDrop;
use std::os::fd::OwnedFd;

use bpf::xsk::{Descriptor, Ring};

use super::Buffer;

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
