//! Many frames with one `sendto` system call, from memory that the kernel knows: AF_XDP (the
//! kernel's Documentation/networking/af_xdp.rst). Sending takes no program in the kernel.
//!
//! In copy mode the kernel copies the frames within the call, and their memory is free again
//! then. Without a copy the device reads them some time later: what is in the ring will be
//! sent, no frame is written again, and the end of a part waits until all have left.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut, Range};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr::{self, NonNull};
use std::time::{Duration, Instant};

use bpf::xsk::{self, CHUNK, Descriptor, Mover, PLACES, Ring};

use super::raw::fits;
use crate::api::frame::{ETHERNET, Frame, heads};
use crate::api::place::ROOM;
use crate::api::route::Route;
use crate::api::{BatchOutcome, Batching, Buffer, CallOutcome, Open, Outgoing, Place};

/// Kicks of one batch that find the device busy before its loop looks at the stage.
const KICKS: u32 = 1_000;

/// The memory of a frame.
#[derive(Debug)]
pub struct Slot {
    start: NonNull<u8>,
    length: usize,
}

impl Slot {
    /// Memory of a frame's own.
    ///
    /// # Safety
    /// `length` bytes from `start` on are initialised, live as long as this, and no other slot
    /// has any of them.
    pub unsafe fn new(start: NonNull<u8>, length: usize) -> Self {
        Self { start, length }
    }
}

// SAFETY: slots do not overlap, and their memory lives as long as the way that has them.
unsafe impl Send for Slot {}

impl Deref for Slot {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the slot's memory is initialised, its own, and alive.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for Slot {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; nothing else has it while `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

/// Who reads the frames.
pub trait Mode: fmt::Debug {
    /// The kernel, or the device.
    const MOVER: Mover;
}

/// The kernel.
#[derive(Debug)]
pub struct Copied;

/// The device.
#[derive(Debug)]
pub struct Lent;

impl Mode for Copied {
    const MOVER: Mover = Mover::Kernel;
}

impl Mode for Lent {
    const MOVER: Mover = Mover::Device;
}

/// In copy mode.
pub type Xdp = FromMemory<Copied>;

/// Without a copy.
pub type XdpZerocopy = FromMemory<Lent>;

/// Frames from memory that the kernel knows.
#[derive(Debug)]
pub struct FromMemory<M: Mode> {
    number: RawFd,
    sending: Ring<Descriptor>,
    done: Ring<u64>,
    /// A frame for each message of a batch, or one for all where they are alike.
    frames: Vec<Frame<Slot>>,
    /// Length of the message at each place of a batch.
    lengths: Vec<usize>,
    size: usize,
    /// Length of the messages that a device may still be reading.
    lent: usize,
    patience: Duration,
    mode: PhantomData<M>,
    _socket: OwnedFd,
    /// It is never given back to the heap: a device uses it for a while after the socket has closed.
    _memory: ManuallyDrop<Buffer>,
}

impl<M: Mode> Open for FromMemory<M> {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let size = place.cell.largest().as_len();
        let socket = xsk::xdp_socket()?;
        let route = Route::look_up(&place.socket)?;
        let is_v6 = route.ends[1].is_ipv6();
        fits(place, is_v6, "over xdp")?;
        if ETHERNET + heads(is_v6) + size > CHUNK {
            let text = format!("a message of {size} B does not fit the {CHUNK} B of a frame over xdp");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let batch = place.batch();
        let different = place.cell.stamp || place.cell.mix.is_some();
        let count = if different { batch } else { 1 };
        // A device that reads a socket's frames also writes what its queue receives into the socket's
        // memory, for any socket of the host, and the kernel takes it from there: without any, the link is deaf.
        let room = if M::MOVER == Mover::Device { ROOM as usize } else { 0 };
        let length = (count + room) * CHUNK;
        let mut memory = ManuallyDrop::new(Buffer::ones(length));
        // SAFETY: the memory is never given back; the kernel reads frames within calls, a device those of
        // messages that are all alike, which are not written again, and nothing here looks at those that come.
        unsafe { xsk::register(&socket, NonNull::from(&mut **memory).cast(), length)? };
        for option in [xsk::XDP_UMEM_FILL_RING, xsk::XDP_UMEM_COMPLETION_RING, xsk::XDP_TX_RING] {
            xsk::make_ring(&socket, option)?;
        }
        let offsets = xsk::offsets(&socket)?;
        let sending = xsk::map(&socket, offsets[1], xsk::PGOFF_TX_RING)?;
        let done = xsk::map(&socket, offsets[3], xsk::PGOFF_COMPLETION_RING)?;
        if M::MOVER == Mover::Device {
            xsk::offer(&socket, &offsets, count, ROOM)?;
        }
        xsk::bind(&socket, route.device, M::MOVER)?;
        let message = place.message();
        let start = memory.as_mut_ptr();
        let frame = |number: usize| {
            // SAFETY: the memory holds `count` frames of that length, and goes after them.
            let slot = unsafe { Slot::new(NonNull::new_unchecked(start.add(number * CHUNK)), ETHERNET + heads(is_v6) + size) };
            Frame::over(slot, route.ends, route.macs, &message)
        };
        let frames = (0..count).map(frame).collect();
        Ok(Self {
            number: socket.as_raw_fd(),
            sending,
            done,
            frames,
            lengths: vec![size; batch],
            size,
            lent: size,
            patience: place.patience,
            mode: PhantomData,
            _socket: socket,
            _memory: memory,
        })
    }
}

/// Returns whether a device is busy, or has dropped a frame, after which the kernel goes on with
/// the next.
fn is_passing(moved: CallOutcome) -> bool {
    [libc::EAGAIN, libc::EBUSY, libc::ENOBUFS].iter().any(|errno| moved.0 == -(*errno as isize))
}

impl<M: Mode> FromMemory<M> {
    /// Writes the frames of `places` behind those that are in the ring.
    fn write(&mut self, places: Range<usize>, whole: Option<usize>) {
        let (first, count) = (self.sending.produced(), places.len() as u32);
        for (number, place) in (first..).zip(places) {
            let at = place % self.frames.len();
            let length = whole.unwrap_or(self.lengths[place]);
            let address = (at * CHUNK) as u64;
            let length = self.frames[at].of_length(length).len() as u32;
            self.sending.write(number, Descriptor { address, length, options: 0 });
        }
        self.sending.set_produced(first.wrapping_add(count));
    }

    /// Has the kernel look at the ring, and takes back the memory whose frames were sent.
    fn kick(&mut self) -> CallOutcome {
        // SAFETY: the call reads no memory.
        let moved = CallOutcome::from_call(unsafe { libc::sendto(self.number, ptr::null(), 0, libc::MSG_DONTWAIT, ptr::null(), 0) });
        self.done.set_consumed(self.done.produced());
        moved
    }

    fn hand_over(&mut self, places: Range<usize>, whole: Option<usize>) -> BatchOutcome {
        match M::MOVER {
            Mover::Kernel => self.copy(places, whole),
            Mover::Device => self.lend(places, whole),
        }
    }

    /// Has the kernel copy frames from those of `places` on. Those it has taken, and the
    /// calls.
    fn copy(&mut self, places: Range<usize>, whole: Option<usize>) -> BatchOutcome {
        let (first, count) = (self.sending.produced(), places.len() as u32);
        self.write(places, whole);
        let (mut calls, mut tries, mut taken, mut refused) = (0, 0, 0, CallOutcome::NOTHING);
        loop {
            let moved = self.kick();
            tries += 1;
            let before = taken;
            taken = self.sending.consumed().wrapping_sub(first).min(count);
            calls += u64::from(taken > before);
            if taken == count {
                return BatchOutcome { messages: count as usize, calls, next: CallOutcome(0) };
            }
            if moved.0 < 0 && !is_passing(moved) {
                refused = moved;
            }
            if tries >= KICKS || refused.0 != CallOutcome::NOTHING.0 {
                // The kernel looks at the ring in that call alone: what it has not taken is
                // taken back.
                self.sending.set_produced(first.wrapping_add(taken));
                return BatchOutcome { messages: taken as usize, calls, next: refused };
            }
        }
    }

    /// Lends frames to the device, all of a batch or none: what is in the ring is not taken back,
    /// for the device may be about to read it. All have one length, but greetings have another.
    fn lend(&mut self, places: Range<usize>, whole: Option<usize>) -> BatchOutcome {
        let (wanted, length) = (places.len(), whole.unwrap_or(self.size));
        if length != self.lent {
            let settled = self.settle();
            if settled.0 < 0 {
                return BatchOutcome { messages: 0, calls: 0, next: settled };
            }
            self.lent = length;
        }
        let under_way = |sending: &Ring<Descriptor>| sending.produced().wrapping_sub(sending.consumed()) as usize;
        for _ in 0..KICKS {
            if under_way(&self.sending) + wanted <= PLACES as usize {
                self.write(places, whole);
                let moved = self.kick();
                let next = if moved.0 < 0 && !is_passing(moved) { moved } else { CallOutcome(0) };
                return BatchOutcome { messages: wanted, calls: 1, next };
            }
            let moved = self.kick();
            if moved.0 < 0 && !is_passing(moved) {
                return BatchOutcome { messages: 0, calls: 0, next: moved };
            }
        }
        BatchOutcome { messages: 0, calls: 0, next: CallOutcome::NOTHING }
    }

    /// Waits until the device has read every frame that it was lent.
    fn settle(&mut self) -> CallOutcome {
        let since = Instant::now();
        while self.done.consumed() != self.sending.produced() {
            let moved = self.kick();
            if moved.0 < 0 && !is_passing(moved) {
                return moved;
            }
            if since.elapsed() > self.patience {
                return CallOutcome(-(libc::ETIMEDOUT as isize));
            }
        }
        CallOutcome(0)
    }
}

impl<M: Mode> Drop for FromMemory<M> {
    /// What was lent is sent, however the trial ended.
    fn drop(&mut self) {
        self.flush();
    }
}

impl<M: Mode> Outgoing for FromMemory<M> {
    fn send_span(&mut self, place: usize, _from: usize, to: usize) -> CallOutcome {
        let length = to.min(self.size);
        let handed = self.hand_over(place..place + 1, Some(length));
        if handed.messages == 1 { CallOutcome(length as isize) } else { handed.next }
    }

    fn message_at(&mut self, place: usize) -> &mut [u8] {
        let at = place % self.frames.len();
        self.frames[at].message_mut()
    }

    fn batching(&mut self) -> Option<&mut dyn Batching> {
        (self.lengths.len() > 1).then_some(self)
    }

    fn flush(&mut self) -> CallOutcome {
        match M::MOVER {
            Mover::Kernel => CallOutcome(0),
            Mover::Device => self.settle(),
        }
    }
}

impl<M: Mode> Batching for FromMemory<M> {
    fn capacity(&self) -> usize {
        self.lengths.len()
    }

    fn set_length(&mut self, place: usize, length: usize) {
        self.lengths[place] = length;
    }

    fn send_batch(&mut self, places: Range<usize>) -> BatchOutcome {
        self.hand_over(places, None)
    }
}
