//! The place from which an api is opened.

use std::cell::{OnceCell, RefCell};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use bpf::xsk::{Descriptor, Ring};
use model::{Cell, Protocol, Role};
use nix::sys::socket::{SockaddrStorage, bind, getpeername, getsockname};

use super::Buffer;
use super::headers::Headers;

/// Bytes of a cache line: messages of a batch do not share one.
const CACHE_LINE: usize = 64;

/// Frames of AF_XDP that are to come that there is memory for.
pub const ROOM: u32 = 1_024;

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

/// What joins the ends of a flow next to its socket.
#[derive(Debug)]
pub enum Carrier {
    /// A pipe, memory, or a socket that messages come by.
    Descriptor(OwnedFd),
    /// Frames that a device brings.
    Frames(Box<Frames>),
}

impl From<OwnedFd> for Carrier {
    fn from(descriptor: OwnedFd) -> Self {
        Self::Descriptor(descriptor)
    }
}

/// The place where an api opens: a flow of a trial.
///
/// Every flow has a socket, over which its ends have found each other. An api
/// that sends past it finds its own way from here: the socket's addresses, the
/// device that has them, the cell.
#[derive(Debug)]
pub struct Place<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// Connected to the other end.
    pub socket: OwnedFd,
    /// The longest that a call waits before its loop looks at the stage.
    pub patience: Duration,
    /// The pipe or the memory that joins the ends, and this end's role in the flow.
    passed: RefCell<Option<Carrier>>,
    role: Role,
    /// The other end, once the socket is no longer connected to it.
    former_peer: OnceCell<SockaddrStorage>,
}

impl<'a> Place<'a> {
    /// The place of a flow's end that has this socket.
    pub const fn new(cell: &'a Cell, socket: OwnedFd, patience: Duration) -> Self {
        Self { cell, socket, patience, passed: RefCell::new(None), role: Role::Sender, former_peer: OnceCell::new() }
    }

    /// The same place, where a pipe or memory may join the ends as well; `role` is this
    /// end's in the flow.
    #[must_use]
    pub fn with_passed(self, passed: Option<Carrier>, role: Role) -> Self {
        Self { passed: RefCell::new(passed), role, ..self }
    }

    /// The pipe, the memory or the socket that joins the ends next to the flow's.
    ///
    /// # Errors
    /// There is none, or the system has no more descriptors.
    pub fn passed(&self) -> io::Result<OwnedFd> {
        match &*self.passed.borrow() {
            Some(Carrier::Descriptor(descriptor)) => descriptor.try_clone(),
            _ => Err(self.none()),
        }
    }

    /// The frames that a device brings; they are there once.
    ///
    /// # Errors
    /// There are none.
    pub fn frames(&self) -> io::Result<Box<Frames>> {
        match self.passed.take() {
            Some(Carrier::Frames(frames)) => Ok(frames),
            _ => Err(self.none()),
        }
    }

    fn none(&self) -> io::Error {
        io::Error::other(format!("nothing joins the ends of this flow over {}", self.cell.api.over()))
    }

    /// Returns whether what this end sends, or receives, goes the way back from the
    /// receiver to the sender.
    pub fn is_back(&self, sends: bool) -> bool {
        (self.role == Role::Receiver) == sends
    }

    /// Memory for the message. Not zeros: pages of zeros could all be one page, always cached.
    pub fn message(&self) -> Buffer {
        Buffer::repeating(self.cell.largest().as_len(), 251, |place| place as u8 | 1)
    }

    /// Places for `count` messages: cache lines of its own for each, or one for all where
    /// the cell has them all alike.
    pub fn messages(&self, count: usize) -> Headers {
        let length = self.cell.largest().as_len();
        if !self.cell.stamp {
            return Headers::over(self.message(), count, 0, length);
        }
        let stride = length.next_multiple_of(CACHE_LINE);
        let memory = Buffer::repeating(stride * count, stride, |place| (place % 251) as u8 | 1);
        Headers::over(memory, count, stride, length)
    }

    /// Memory for what one call receives.
    pub fn room(&self) -> Buffer {
        Buffer::ones(self.cell.read_size.as_len())
    }

    /// Places for `count` datagrams of one call.
    pub fn rooms(&self, count: usize) -> Headers {
        let length = self.cell.read_size.as_len();
        let stride = length.next_multiple_of(CACHE_LINE);
        Headers::over(Buffer::ones(stride * count), count, stride, length)
    }

    /// Messages of one call.
    pub fn batch(&self) -> usize {
        self.cell.batch.max(1) as usize
    }

    /// Returns whether the flow is a stream of bytes, in which no message ends.
    pub fn is_byte_stream(&self) -> bool {
        self.cell.protocol() == Protocol::Tcp
    }

    /// Ends the association of the socket with the other end, and returns the other end's
    /// address. It keeps its own.
    ///
    /// # Errors
    /// A refusal of the kernel.
    pub fn disconnected(&self) -> io::Result<SockaddrStorage> {
        if let Some(peer) = self.former_peer.get() {
            return Ok(*peer);
        }
        let socket = self.socket.as_raw_fd();
        let (own, peer): (SockaddrStorage, SockaddrStorage) = (getsockname(socket)?, getpeername(socket)?);
        // SAFETY: zeros are a valid address of no family.
        let nobody: libc::sockaddr = unsafe { std::mem::zeroed() };
        // SAFETY: an address of no family dissolves the socket's association; the call reads
        // as many bytes as it is given.
        if unsafe { libc::connect(socket, &raw const nobody, size_of_val(&nobody) as u32) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // A port that the kernel chose goes with the association (__udp_disconnect() in the
        // kernel's net/ipv4/udp.c); the peer knows it.
        let now: SockaddrStorage = getsockname(socket)?;
        if now != own {
            bind(socket, &own)?;
        }
        Ok(*self.former_peer.get_or_init(|| peer))
    }
}
