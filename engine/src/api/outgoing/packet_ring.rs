//! Many frames with one `send` system call, from a ring that a packet socket shares with the
//! kernel: `PACKET_TX_RING` (the kernel's Documentation/networking/packet_mmap.rst).
//!
//! The kernel sends the ring's own pages. It calls a frame free once the packet has left the
//! socket, which on a virtual Ethernet is before the receiver has read it: no frame is written
//! again while messages flow, and all are alike.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use sys::{Access, Mapping, page_size};

use super::raw::{bind_to_device, fits, packet_socket};
use super::xdp::Slot;
use crate::api::frame::{ETHERNET, Frame, heads};
use crate::api::route::Route;
use crate::api::{BatchOutcome, Batching, CallOutcome, KernelRefusal, Open, Outgoing, Place, set_int};

/// Of the kernel's include/uapi/linux/if_packet.h.
const TPACKET_V2: libc::c_int = 1;
/// Bytes of a frame's head, `struct tpacket2_hdr`, and where its length stands.
const HEAD: usize = 32;
const LENGTH: usize = 4;
/// Least frames of a ring, and least bytes of one: a power of two, as all of them are.
const LEAST_FRAMES: usize = 256;
const LEAST_BYTES: usize = 2_048;

/// Frames in a ring that the kernel sends from.
#[derive(Debug)]
pub struct PacketRing {
    socket: OwnedFd,
    number: RawFd,
    frames: Vec<Frame<Slot>>,
    /// Number of the frame that the kernel looks at next.
    head: usize,
    /// Length of the message at each place of a batch.
    lengths: Vec<usize>,
    // Last: the frames lie in it.
    ring: Ring,
}

/// The mapped ring: frames of one size, one after the other.
#[derive(Debug)]
struct Ring {
    memory: Mapping,
    frame: usize,
}

impl Ring {
    /// Asks for a ring of `count` frames and maps it; both numbers are powers of two.
    fn map(socket: &OwnedFd, frame: usize, count: usize) -> io::Result<Self> {
        let block = frame.max(page_size());
        let wanted = libc::tpacket_req {
            tp_block_size: block as u32,
            tp_block_nr: (frame * count / block) as u32,
            tp_frame_size: frame as u32,
            tp_frame_nr: count as u32,
        };
        let length = size_of_val(&wanted) as libc::socklen_t;
        // SAFETY: the call reads the request, which outlives it.
        let answer =
            unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_TX_RING, ptr::from_ref(&wanted).cast(), length) };
        if answer != 0 {
            let what = format!("make a ring of {count} frames of {frame} B to send from (PACKET_TX_RING)");
            return Err(KernelRefusal::error(what, io::Error::last_os_error()));
        }
        let memory = Mapping::of(socket, 0, frame * count, Access::Write)
            .map_err(|answer| KernelRefusal::error("map the ring of a packet socket", answer))?;
        Ok(Self { memory, frame })
    }

    /// A number in the head of a frame.
    fn number(&self, frame: usize, at: usize) -> &AtomicU32 {
        self.memory.word(frame * self.frame + at)
    }

    /// The state of a frame: whose it is.
    fn status(&self, frame: usize) -> &AtomicU32 {
        self.number(frame, 0)
    }

    /// The memory behind a frame's head.
    fn slot(&self, frame: usize, length: usize) -> Slot {
        assert!(HEAD + length <= self.frame, "a frame of the ring");
        // SAFETY: the frame lies within the mapping, whose pages the kernel has cleared.
        unsafe { Slot::new(self.memory.place(frame * self.frame + HEAD, length), length) }
    }
}

impl Open for PacketRing {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let socket = packet_socket()?;
        let route = Route::look_up(&place.socket)?;
        let is_v6 = route.ends[1].is_ipv6();
        fits(place, is_v6, "over packet-ring")?;
        let (size, batch) = (place.cell.largest().as_len(), place.batch());
        let length = ETHERNET + heads(is_v6) + size;
        set_int(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_VERSION, TPACKET_V2)
            .map_err(|answer| KernelRefusal::error("this kernel refuses TPACKET_V2", answer))?;
        // As long as the frames of one batch may still be under way, those of the next are others.
        let count = LEAST_FRAMES.max((2 * batch).next_power_of_two());
        let ring = Ring::map(&socket, LEAST_BYTES.max((HEAD + length).next_power_of_two()), count)?;
        if let Some(size) = place.cell.sndbuf {
            let size = libc::c_int::try_from(size.get()).unwrap_or(libc::c_int::MAX);
            set_int(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF, size)?;
        }
        bind_to_device(&socket, route.device, 0)?;
        let message = place.message();
        let frame = |number: usize| Frame::over(ring.slot(number, length), route.ends, route.macs, &message);
        let frames = (0..count).map(frame).collect();
        Ok(Self { number: socket.as_raw_fd(), socket, frames, head: 0, lengths: vec![size; batch], ring })
    }
}

impl PacketRing {
    /// Number of the frame that is `further` behind the next one.
    fn frame(&self, further: usize) -> usize {
        // There are a power of two of them.
        (self.head + further) & (self.frames.len() - 1)
    }

    /// Marks the frames of messages to be sent; those before the first that is still in flight.
    fn mark(&mut self, places: Range<usize>) -> usize {
        for (marked, place) in places.clone().enumerate() {
            let at = self.frame(marked);
            if self.ring.status(at).load(Ordering::Acquire) != libc::TP_STATUS_AVAILABLE {
                return marked;
            }
            let length = self.frames[at].of_length(self.lengths[place]).len();
            self.ring.number(at, LENGTH).store(length as u32, Ordering::Relaxed);
            self.ring.status(at).store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
        }
        places.len()
    }

    /// Has the kernel send the frames of `places`. Those that it has not taken are taken back.
    fn hand_over(&mut self, places: Range<usize>) -> BatchOutcome {
        let (wanted, marked) = (places.len(), self.mark(places));
        if marked == 0 {
            return BatchOutcome { messages: 0, calls: 0, next: CallOutcome::NOTHING };
        }
        // SAFETY: the call reads no memory but the ring.
        let moved = CallOutcome::from_call(unsafe { libc::send(self.number, ptr::null(), 0, libc::MSG_DONTWAIT) });
        let left = libc::TP_STATUS_SEND_REQUEST | libc::TP_STATUS_WRONG_FORMAT;
        let is_taken = |further: &usize| self.ring.status(self.frame(*further)).load(Ordering::Acquire) & left == 0;
        let taken = (0..marked).take_while(is_taken).count();
        for further in taken..marked {
            self.ring.status(self.frame(further)).store(libc::TP_STATUS_AVAILABLE, Ordering::Release);
        }
        self.head = self.frame(taken);
        let next = if taken == wanted { CallOutcome(0) } else { passing(moved) };
        BatchOutcome { messages: taken, calls: u64::from(taken > 0), next }
    }
}

/// What a full queue or buffer did not take comes again.
#[cold]
fn passing(moved: CallOutcome) -> CallOutcome {
    let full = [libc::EAGAIN, libc::ENOBUFS, libc::EBUSY].iter().any(|errno| moved.0 == -(*errno as isize));
    if moved.0 >= 0 || full { CallOutcome::NOTHING } else { moved }
}

impl Outgoing for PacketRing {
    /// A datagram goes whole: it begins at its first byte.
    fn send_span(&mut self, place: usize, _from: usize, to: usize) -> CallOutcome {
        let length = to.min(self.lengths[place]);
        let handed = self.hand_over(place..place + 1);
        if handed.messages == 1 { CallOutcome(length as isize) } else { handed.next }
    }

    fn message_at(&mut self, place: usize) -> &mut [u8] {
        let at = self.frame(place);
        self.frames[at].message_mut()
    }

    fn batching(&mut self) -> Option<&mut dyn Batching> {
        (self.lengths.len() > 1).then_some(self)
    }

    fn leaves_by(&self) -> Option<&OwnedFd> {
        Some(&self.socket)
    }
}

impl Batching for PacketRing {
    fn capacity(&self) -> usize {
        self.lengths.len()
    }

    fn set_length(&mut self, place: usize, length: usize) {
        self.lengths[place] = length;
    }

    fn send_batch(&mut self, places: Range<usize>) -> BatchOutcome {
        self.hand_over(places)
    }
}
