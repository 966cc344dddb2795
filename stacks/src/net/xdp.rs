//! Frames of the link's device, past the kernel's IP: AF_XDP in copy mode, with a program that runs
//! above the driver (generic XDP), which every device of Ethernet takes. What is not for this stack
//! goes on into the kernel.

use std::io;
use std::mem;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr;
use std::time::{Duration, Instant};

use bpf::asm::{Assembler, Label, Reg, Test};
use bpf::xsk::{self, CHUNK, Descriptor, Mover, Ring};
use bpf::{FRAME, XdpMode};

use model::Nanos;

use super::arp::{self, Arp, Station};
use sys::device::{Ethernet, Mac};

use super::frames::{Frame, Room};
use super::{Device, readable};
use crate::error::StackError;

/// Bytes of Ethernet's head.
pub const ETHERNET: usize = 14;
/// The largest packet that a frame holds, both when it is sent and when it comes.
pub const LARGEST: usize = CHUNK - xsk::HEADROOM - ETHERNET;

const TYPE_IPV4: u16 = 0x0800;
/// Frames that may come while nobody looks.
const COMING: usize = 1_024;
/// Frames of this process's, and those that are being sent.
const OWN: usize = 512;
/// Calls for one frame that find the device busy before the sender is told to try again.
const KICKS: u32 = 1_000;
/// Time that the other stack may take to answer, and after which it is asked again.
const FIND_LIMIT: Duration = Duration::from_secs(5);
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// What a refusal of BPF is about.
const MECHANISM: &str = "receiving by AF_XDP";

/// A socket of AF_XDP on the first queue of a device.
#[derive(Debug)]
pub struct Xdp {
    socket: OwnedFd,
    coming: Ring<Descriptor>,
    filling: Ring<u64>,
    sending: Ring<Descriptor>,
    sent: Ring<u64>,
    /// Frames that nobody has.
    free: Vec<Frame>,
    /// One for packets that are copied.
    spare: Option<Frame>,
    /// Frames that the kernel has, by their numbers.
    lent: Vec<Option<Frame>>,
    own: Station,
    /// Ethernet's head of all that is sent to the other stack.
    head: [u8; ETHERNET],
    calls: u64,
    /// Has frames go to the socket, until this is gone.
    _program: Option<bpf::Attached>,
}

impl Xdp {
    /// Takes frames of `device` that are for `own`, and finds the stack that is `peer` on its link.
    ///
    /// # Errors
    /// A refusal of the system, no answer of the other stack.
    pub fn open(device: &Ethernet, own: Ipv4Addr, peer: Ipv4Addr) -> Result<Self, StackError> {
        let failed = |answer| StackError::system("open AF_XDP on the link's device", answer);
        let (memory, mut free) = Frame::map(COMING + OWN).map_err(failed)?;
        let socket = xsk::xdp_socket().map_err(failed)?;
        // SAFETY: a socket keeps the pages of its memory, also once they are not mapped any more. Who
        // reads or writes a frame owns it, and the kernel's are put away.
        unsafe { xsk::register(&socket, memory.start(), memory.length()) }.map_err(failed)?;
        let (coming, filling, sending, sent) = rings(&socket).map_err(failed)?;
        let lent = free.iter().map(|_| None).collect();
        let first = free.split_off(OWN);
        let spare = free.pop();
        let own = Station { mac: device.mac, ip: own };
        let head = [0; ETHERNET];
        let mut opened = Self { socket, coming, filling, sending, sent, free, spare, lent, own, head, calls: 0, _program: None };
        // Before anything can come: what finds no memory counts as dropped.
        first.into_iter().for_each(|frame| opened.lend(frame));
        xsk::bind(&opened.socket, device.number, Mover::Kernel).map_err(failed)?;
        let refused = |answer: model::Refusal| StackError::contract(answer.to_string());
        opened._program = Some(attach(&opened.socket, device.number, own.ip).map_err(refused)?);
        let found = opened.find(peer)?;
        opened.head[..6].copy_from_slice(&found);
        opened.head[6..12].copy_from_slice(&own.mac);
        opened.head[12..].copy_from_slice(&TYPE_IPV4.to_be_bytes());
        opened.calls = 0;
        Ok(opened)
    }

    /// A frame to write into; `None` while all are on their way.
    fn frame(&mut self) -> Option<Frame> {
        if self.free.is_empty() {
            self.reap();
        }
        self.free.pop()
    }

    /// Sends the packet of IP in `frame`, which has room for Ethernet's head before it, and puts
    /// another frame in its place. `WouldBlock`: it cannot be sent now, and the frame stays.
    ///
    /// # Errors
    /// A refusal of the system.
    ///
    /// # Panics
    /// A packet without that room: a fault of this program.
    fn send_frame(&mut self, frame: &mut Frame, packet: Range<usize>) -> io::Result<()> {
        let start = packet.start - ETHERNET;
        frame[start..packet.start].copy_from_slice(&self.head);
        self.push(frame, start..packet.end)
    }

    /// Takes the next packet of IP that came: puts its frame in the place of `frame` and returns
    /// where the packet lies in it.
    fn receive_frame(&mut self, frame: &mut Frame) -> Option<Range<usize>> {
        loop {
            let came = self.next(frame)?;
            if frame[came.clone()].get(12..ETHERNET) == Some(&TYPE_IPV4.to_be_bytes()) {
                return Some(came.start + ETHERNET..came.end);
            }
            if let Some(asked) = arp::read(&frame[came]) {
                // The other does not wait for an answer any more that cannot be sent now.
                let _ = self.answer(&asked);
            }
        }
    }

    /// Sends a packet of IP from elsewhere, with a copy. `WouldBlock`: it cannot be sent now.
    ///
    /// # Errors
    /// A refusal of the system.
    ///
    /// # Panics
    /// A packet of more than [`LARGEST`] bytes: a fault of this program.
    fn send_copy(&mut self, packet: &[u8]) -> io::Result<()> {
        let mut frame = self.spare.take().ok_or(io::ErrorKind::WouldBlock)?;
        let bytes = ETHERNET..ETHERNET + packet.len();
        frame[bytes.clone()].copy_from_slice(packet);
        let sent = self.send_frame(&mut frame, bytes);
        self.spare = Some(frame);
        sent
    }

    /// Takes the next packet of IP that came, with a copy of what has room; returns its bytes there.
    fn receive_copy(&mut self, room: &mut [u8]) -> Option<usize> {
        let mut frame = self.spare.take()?;
        let length = self.receive_frame(&mut frame).map(|packet| {
            let length = packet.len().min(room.len());
            room[..length].copy_from_slice(&frame[packet.start..packet.start + length]);
            length
        });
        self.spare = Some(frame);
        length
    }

    /// Asks for the hardware address of the other stack until it is known. The other does the same:
    /// whoever is asked knows who asks.
    fn find(&mut self, peer: Ipv4Addr) -> Result<Mac, StackError> {
        let failed = |answer| StackError::system(format!("ask for the hardware address of {peer}"), answer);
        let begun = Instant::now();
        let mut frame = self.frame().ok_or_else(|| failed(io::ErrorKind::OutOfMemory.into()))?;
        while begun.elapsed() < FIND_LIMIT {
            let asked = Instant::now();
            self.tell(&arp::ask(self.own, peer)).map_err(failed)?;
            while asked.elapsed() < ASK_AGAIN {
                while let Some(came) = self.next(&mut frame) {
                    let Some(told) = arp::read(&frame[came]).filter(|told| told.from.ip == peer) else { continue };
                    self.answer(&told).map_err(failed)?;
                    self.free.push(frame);
                    return Ok(told.from.mac);
                }
                self.wait(ASK_AGAIN.saturating_sub(asked.elapsed()).max(Duration::from_millis(1))).map_err(failed)?;
            }
        }
        Err(StackError::contract(format!(
            "the other stack, {peer}, did not answer on the link within {}: both ends have to be the same",
            Nanos::from(FIND_LIMIT)
        )))
    }

    fn answer(&mut self, asked: &Arp) -> io::Result<()> {
        if asked.asks && asked.to == self.own.ip {
            self.tell(&arp::answer(self.own, asked.from))?;
        }
        Ok(())
    }

    /// Sends a frame of address resolution.
    fn tell(&mut self, words: &[u8; arp::FRAME]) -> io::Result<()> {
        let mut frame = self.frame().ok_or(io::ErrorKind::WouldBlock)?;
        frame[..arp::FRAME].copy_from_slice(words);
        let told = self.push(&mut frame, 0..arp::FRAME);
        self.free.push(frame);
        told
    }

    /// Hands the bytes of a frame to the kernel, and puts another frame in its place.
    fn push(&mut self, frame: &mut Frame, bytes: Range<usize>) -> io::Result<()> {
        let next = self.frame().ok_or(io::ErrorKind::WouldBlock)?;
        let at = self.sending.produced();
        let address = frame.address() + bytes.start as u64;
        self.sending.write(at, Descriptor { address, length: bytes.len() as u32, options: 0 });
        self.sending.set_produced(at.wrapping_add(1));
        let mut refused = io::ErrorKind::WouldBlock.into();
        for _ in 0..KICKS {
            // SAFETY: the call reads no memory.
            let kicked = unsafe { libc::sendto(self.socket.as_raw_fd(), ptr::null(), 0, libc::MSG_DONTWAIT, ptr::null(), 0) };
            let answer = io::Error::last_os_error();
            if self.sending.consumed() == at.wrapping_add(1) {
                self.calls += 1;
                let gone = mem::replace(frame, next);
                let place = gone.number();
                self.lent[place] = Some(gone);
                return Ok(());
            }
            // A device that is busy, or memory of the socket's that is still in use.
            let passing = [libc::EAGAIN, libc::EBUSY, libc::ENOBUFS, libc::EINTR];
            if kicked < 0 && !answer.raw_os_error().is_some_and(|errno| passing.contains(&errno)) {
                refused = answer;
                break;
            }
        }
        // The kernel looks at the ring in that call alone: what it has not taken is taken back.
        self.sending.set_produced(at);
        self.free.push(next);
        Err(refused)
    }

    /// Takes the next frame that came, whatever it is.
    fn next(&mut self, frame: &mut Frame) -> Option<Range<usize>> {
        loop {
            let at = self.coming.consumed();
            if at == self.coming.produced() {
                return None;
            }
            let Descriptor { address, length, .. } = self.coming.read(at);
            self.coming.set_consumed(at.wrapping_add(1));
            // One that the kernel was not lent is none.
            let Some(came) = self.returned(address) else { continue };
            let start = address as usize % CHUNK;
            let end = start.saturating_add(length as usize).min(CHUNK);
            let spare = mem::replace(frame, came);
            self.lend(spare);
            return Some(start..end);
        }
    }

    /// Lends the kernel memory for a frame that is to come.
    fn lend(&mut self, frame: Frame) {
        let at = self.filling.produced();
        self.filling.write(at, frame.address());
        let place = frame.number();
        self.lent[place] = Some(frame);
        self.filling.set_produced(at.wrapping_add(1));
    }

    /// Takes back the frames that were sent.
    fn reap(&mut self) {
        let (mut at, end) = (self.sent.consumed(), self.sent.produced());
        while at != end {
            let address = self.sent.read(at);
            let back = self.returned(address);
            self.free.extend(back);
            at = at.wrapping_add(1);
        }
        self.sent.set_consumed(end);
    }

    /// The frame that the kernel gives back by an address in it.
    fn returned(&mut self, address: u64) -> Option<Frame> {
        self.lent.get_mut(usize::try_from(address).ok()? / CHUNK)?.take()
    }
}

impl Device for Xdp {
    const HEAD: usize = ETHERNET;

    /// A frame holds whatever fits the MTU, however much a read asks for. There is more memory than
    /// frames only where queues hold hundreds of messages.
    fn room(&mut self, bytes: usize) -> Room {
        self.frame().map_or_else(|| Room::heap(bytes), Room::Frame)
    }

    fn send(&mut self, room: &mut Room, packet: Range<usize>) -> io::Result<()> {
        match room {
            Room::Frame(frame) => self.send_frame(frame, packet),
            Room::Heap(bytes) => self.send_copy(&bytes[packet]),
        }
    }

    fn receive(&mut self, room: &mut Room) -> io::Result<Option<Range<usize>>> {
        Ok(match room {
            Room::Frame(frame) => self.receive_frame(frame),
            Room::Heap(bytes) => self.receive_copy(bytes).map(|length| 0..length),
        })
    }

    fn wait(&mut self, within: Duration) -> io::Result<()> {
        if self.coming.consumed() == self.coming.produced() {
            self.calls += u64::from(readable(self.socket.as_raw_fd(), within)?);
        }
        Ok(())
    }

    fn calls(&self) -> u64 {
        self.calls
    }

    /// Frames that the kernel dropped for want of memory or of a place in the ring.
    fn dropped(&self) -> u64 {
        xsk::dropped(&self.socket).map_or(0, |counters| counters.iter().map(|(_, count)| count).sum())
    }
}

/// Rings of frames that came, of memory for them, of frames to send, of those sent.
type Rings = (Ring<Descriptor>, Ring<u64>, Ring<Descriptor>, Ring<u64>);

fn rings(socket: &OwnedFd) -> io::Result<Rings> {
    for option in [xsk::XDP_UMEM_FILL_RING, xsk::XDP_UMEM_COMPLETION_RING, xsk::XDP_RX_RING, xsk::XDP_TX_RING] {
        xsk::make_ring(socket, option)?;
    }
    let [coming, sending, filling, sent] = xsk::offsets(socket)?;
    Ok((
        xsk::map(socket, coming, xsk::PGOFF_RX_RING)?,
        xsk::map(socket, filling, xsk::PGOFF_FILL_RING)?,
        xsk::map(socket, sending, xsk::PGOFF_TX_RING)?,
        xsk::map(socket, sent, xsk::PGOFF_COMPLETION_RING)?,
    ))
}

/// Has packets for an address, and questions after it, go to a socket.
fn attach(socket: &OwnedFd, device: u32, own: Ipv4Addr) -> Result<bpf::Attached, model::Refusal> {
    /// Where the destination lies: behind the headers of Ethernet and IP, and in address resolution.
    const OF_IP: i16 = 30;
    const OF_ARP: i16 = 38;
    let in_order = |number: u16| i32::from(number.to_be());
    let [a, b, c, d] = own.octets();
    let choose = |asm: &mut Assembler, go_on: Label| {
        let (resolves, ours) = (asm.label(), asm.label());
        let for_us = |asm: &mut Assembler, at: i16| {
            for (place, half) in [(at, [a, b]), (at + 2, [c, d])] {
                asm.load_half(Reg::R5, FRAME, place);
                asm.jump(Test::Differs(Reg::R5, in_order(u16::from_be_bytes(half))), go_on);
            }
        };
        asm.load_half(Reg::R5, FRAME, 12);
        asm.jump(Test::Equal(Reg::R5, in_order(arp::KIND)), resolves);
        asm.jump(Test::Differs(Reg::R5, in_order(TYPE_IPV4)), go_on);
        for_us(asm, OF_IP);
        asm.jump(Test::Always, ours);
        asm.place(resolves);
        for_us(asm, OF_ARP);
        asm.place(ours);
    };
    bpf::redirect(socket.as_fd(), device, XdpMode::Generic, arp::FRAME as i32, choose, MECHANISM)
}
