//! Frames that the kernel puts into a ring of this process's: a packet socket with
//! `TPACKET_V3` (the kernel's Documentation/networking/packet_mmap.rst).
//!
//! The kernel's IP and UDP get the same frames; the flow's socket is told to throw them
//! away. A filter lets nothing but UDP to the flow's port into the ring. The ring is made
//! once the ends have joined, before the first message comes.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use model::Cell;
use sys::{Access, Mapping};

use super::readable_within;
use crate::api::frame::{self, ETHERNET};
use crate::api::outgoing::raw::{bind_to_device, fits, packet_socket};
use crate::api::route::{self, Route};
use crate::api::{CallOutcome, Carrier, Incoming, KernelRefusal, Open, Place, set_int};

/// Of the kernel's include/uapi/linux/if_packet.h and if_ether.h.
const TPACKET_V3: libc::c_int = 2;
const ETH_P_ALL: u16 = 3;
/// The ring: blocks that the kernel hands over when they are full, or after a time.
const BLOCK: usize = 1 << 18;
const BLOCKS: usize = 32;
const BLOCK_TIME_MS: u32 = 1;
/// Room for a frame, of which a block holds many.
const FRAME: usize = 1 << 11;

/// A ring of frames, and the datagrams in it one by one.
#[derive(Debug)]
pub struct Packet {
    socket: OwnedFd,
    ring: Ring,
    ends: [SocketAddr; 2],
    /// Size of the messages, where they all have one: greetings have another.
    size: Option<usize>,
    /// The block that is next, or being read.
    block: usize,
    /// Frames that are left in it, and where the next one lies; 0 where none is read.
    left: u32,
    next: usize,
    /// Where the message that was handed out last lies in the ring.
    last: Range<usize>,
    patience: Duration,
    calls: u64,
}

/// The mapped ring.
#[derive(Debug)]
struct Ring(Mapping);

impl Ring {
    fn map(socket: &OwnedFd) -> io::Result<Self> {
        let mapped = Mapping::of(socket, 0, BLOCK * BLOCKS, Access::Write);
        mapped.map(Self).map_err(|answer| KernelRefusal::error("map the ring of a packet socket", answer))
    }

    /// A number of the ring's, where it lies within a block.
    fn number(&self, at: usize) -> u32 {
        self.bytes(at..at + 4).first_chunk().map_or(0, |number| u32::from_ne_bytes(*number))
    }

    /// The state of a block: whose it is.
    fn status(&self, block: usize) -> &AtomicU32 {
        /// Behind the version and the offset to private data: `block_status`.
        const STATUS: usize = 8;
        self.0.word(block * BLOCK + STATUS)
    }

    fn bytes(&self, range: Range<usize>) -> &[u8] {
        // SAFETY: callers keep the range within a block that is theirs: the kernel wrote it before it
        // handed the block over.
        unsafe { self.0.bytes(range) }
    }
}

impl Open for Packet {
    fn settle(flow: BorrowedFd<'_>, _cell: &Cell) -> io::Result<Option<Carrier>> {
        let flow = flow.try_clone_to_owned()?;
        let ends = route::ends(&flow)?;
        let socket = packet_socket()?;
        let device = Route::look_up(&flow)?.device;
        let refused = |what: &str| {
            let what = what.to_owned();
            move |answer| KernelRefusal::error(what, answer)
        };
        set_int(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_VERSION, TPACKET_V3)
            .map_err(refused("this kernel refuses TPACKET_V3"))?;
        filter(&socket, &udp_to(ends[0])).map_err(refused("filter frames (SO_ATTACH_FILTER)"))?;
        request(&socket).map_err(refused("make the ring of a packet socket (PACKET_RX_RING)"))?;
        bind_to_device(&socket, device, ETH_P_ALL)?;
        // What comes from now on is the ring's.
        throw_away(&flow)?;
        Ok(Some(socket.into()))
    }

    fn open(place: &Place<'_>) -> io::Result<Self> {
        let socket = place.passed()?;
        let (ring, ends) = (Ring::map(&socket)?, route::ends(&place.socket)?);
        // Of a datagram in fragments only the first would be one of UDP.
        fits(place, ends[1].is_ipv6(), "received by packet")?;
        let size = place.cell.mix.is_none().then(|| place.cell.size.as_len());
        Ok(Self { ring, socket, ends, size, block: 0, left: 0, next: 0, last: 0..0, patience: place.patience, calls: 0 })
    }
}

/// Asks for a ring of received frames.
fn request(socket: &OwnedFd) -> io::Result<()> {
    let wanted = libc::tpacket_req3 {
        tp_block_size: BLOCK as u32,
        tp_block_nr: BLOCKS as u32,
        tp_frame_size: FRAME as u32,
        tp_frame_nr: (BLOCK / FRAME * BLOCKS) as u32,
        tp_retire_blk_tov: BLOCK_TIME_MS,
        tp_sizeof_priv: 0,
        tp_feature_req_word: 0,
    };
    set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &wanted)
}

/// Sets an option that is a structure of plain numbers.
fn set<T>(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the call reads the value, which outlives it.
    let answer = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, ptr::from_ref(value).cast(), size_of::<T>() as u32) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has a flow's socket throw away what comes: UDP gets it as well.
pub fn throw_away(flow: &OwnedFd) -> io::Result<()> {
    filter(flow, &[statement(libc::BPF_RET | libc::BPF_K, 0)])
        .map_err(|answer| KernelRefusal::error("have the flow's socket throw away what comes (SO_ATTACH_FILTER)", answer))
}

/// Attaches a classic filter (the kernel's Documentation/networking/filter.rst).
fn filter(socket: &OwnedFd, code: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_ptr().cast_mut() };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

const fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

/// Frames of UDP to a port, of the version of IP that an address has.
fn udp_to(end: SocketAddr) -> Vec<libc::sock_filter> {
    let load = |size: u32, mode: u32, at: usize| statement(libc::BPF_LD | size | mode, at as u32);
    let or_out =
        |value: u32, out: u8| libc::sock_filter { code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, jt: 0, jf: out, k: value };
    let (kind, protocol) = if end.is_ipv6() { (0x86dd, ETHERNET + 6) } else { (0x0800, ETHERNET + 9) };
    let mut code = vec![load(libc::BPF_H, libc::BPF_ABS, 12), or_out(kind, 6), load(libc::BPF_B, libc::BPF_ABS, protocol), or_out(17, 4)];
    match end.is_ipv6() {
        // Its head has one length: a statement that does nothing keeps the jumps the same.
        true => code.extend([statement(libc::BPF_LDX | libc::BPF_IMM, 40), load(libc::BPF_H, libc::BPF_IND, ETHERNET + 2)]),
        false => code.extend([
            statement(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, ETHERNET as u32),
            load(libc::BPF_H, libc::BPF_IND, ETHERNET + 2),
        ]),
    }
    code.extend([
        or_out(u32::from(end.port()), 1),
        statement(libc::BPF_RET | libc::BPF_K, u32::MAX),
        statement(libc::BPF_RET | libc::BPF_K, 0),
    ]);
    code
}

impl Packet {
    /// Returns whether the next block is this process's to read.
    fn is_there(&self) -> bool {
        self.ring.status(self.block).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Begins to read the next block, where it is there.
    fn begin_block(&mut self) -> bool {
        /// Behind the block's state: the number of frames, and where the first one lies.
        const FRAMES: usize = 12;
        const FIRST: usize = 16;
        if !self.is_there() {
            return false;
        }
        let start = self.block * BLOCK;
        (self.left, self.next) = (self.ring.number(start + FRAMES), start + self.ring.number(start + FIRST) as usize);
        true
    }

    /// Gives the block back to the kernel.
    fn end_block(&mut self) {
        self.ring.status(self.block).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        (self.block, self.left, self.next) = ((self.block + 1) % BLOCKS, 0, 0);
    }

    /// The next message of the block that is being read.
    fn next_message(&mut self) -> Option<Range<usize>> {
        /// `tp_snaplen` and `tp_mac` of a frame's head, which is this long at least.
        const CAPTURED: usize = 12;
        const MAC: usize = 24;
        const HEAD: usize = 32;
        let end = (self.block + 1) * BLOCK;
        while self.left > 0 {
            let head = self.next;
            if head < self.block * BLOCK || head + HEAD > end {
                // No such frame: the rest of the block is none of a kernel's.
                self.left = 0;
                return None;
            }
            let mac = self.ring.number(head + MAC) as usize & 0xffff;
            let frame = head + mac..(head + mac).saturating_add(self.ring.number(head + CAPTURED) as usize);
            self.left -= 1;
            self.next = head.saturating_add(self.ring.number(head) as usize);
            if frame.end <= end
                && let Some(message) = frame::message_of(self.ring.bytes(frame.clone()), ETHERNET, &[self.ends[1], self.ends[0]])
                && self.size.is_none_or(|size| size == message.len())
            {
                return Some(frame.start + message.start..frame.start + message.end);
            }
        }
        None
    }

    /// Waits for the next block.
    fn wait(&mut self) -> libc::c_int {
        self.calls += 1;
        readable_within(self.socket.as_raw_fd(), self.patience)
    }
}

impl Incoming for Packet {
    #[inline(always)]
    fn receive(&mut self, limit: usize, wait: bool) -> CallOutcome {
        loop {
            if let Some(message) = self.next_message() {
                self.last = message;
                return CallOutcome(self.last.len().min(limit) as isize);
            }
            // A block whose last message is still looked at stays until the next one is
            // asked for.
            if self.next != 0 {
                self.end_block();
            }
            if self.begin_block() {
                continue;
            }
            let found = if wait { self.wait() } else { 0 };
            if found <= 0 || !self.begin_block() {
                return CallOutcome::of_wait(found.min(0));
            }
        }
    }

    fn last(&self) -> &[u8] {
        self.ring.bytes(self.last.clone())
    }

    fn has_more(&self) -> bool {
        self.left > 0 || self.is_there()
    }

    fn waits_on(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn take_calls(&mut self) -> Option<u64> {
        Some(mem::take(&mut self.calls))
    }

    /// `tp_drops`: frames for which the ring had no room. The kernel starts again when it
    /// tells, so that it is asked once.
    fn drops(&self) -> Vec<(&'static str, u64)> {
        let mut counts = [0; 12];
        match sys::socket::get(self.socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut counts) {
            Ok(8..) => vec![("packet ring tp_drops", u32::from_ne_bytes([counts[4], counts[5], counts[6], counts[7]]).into())],
            _ => Vec::new(),
        }
    }
}
