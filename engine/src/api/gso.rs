//! Many datagrams with one call, as one packet that is cut late and put together early:
//! UDP generic segmentation and receive offload.

use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::{io, mem};

use super::send::send_with;
use super::{Api, Batch, Buffer, Handed, Moved, Open, Place, Transmit, TransmitPart};

/// Payload of the largest packet: what 16 bits can say, less the headers of IPv4 and UDP.
const MOST_BYTES: usize = 65_507;
/// Bytes that the headers of IPv4, of IPv6, and of UDP behind them take from the MTU.
const HEADERS: [usize; 2] = [28, 48];
/// Room for what one call receives.
const ROOM: usize = 1 << 16;
/// Room for the control message of a size.
const CONTROL: usize = 64;

/// `send(2)` with `UDP_SEGMENT`, `recvmsg(2)` with `UDP_GRO`. Where the messages of a
/// batch do not fit one packet, a call hands over as many as do.
#[derive(Debug)]
pub struct Gso {
    raw: RawFd,
    /// One message after the other.
    outgoing: Buffer,
    size: usize,
    batch: usize,
    room: Buffer,
    control: Control,
    /// Bytes that the last call fetched, those handed out, and the size of each datagram.
    fetched: usize,
    handed_out: usize,
    each: usize,
    /// Where the datagram that was handed out last lies.
    last: Range<usize>,
    calls: u64,
    socket: OwnedFd,
}

/// Memory for control messages, aligned as the kernel writes them.
#[derive(Debug)]
#[repr(align(8))]
struct Control([u8; CONTROL]);

impl Gso {
    fn receive_with(&mut self, limit: usize, flags: libc::c_int) -> Moved {
        if self.handed_out == self.fetched {
            let answer = self.fetch(flags);
            if answer.0 <= 0 {
                return answer;
            }
        }
        let end = self.fetched.min(self.handed_out + self.each);
        self.last = self.handed_out..end;
        self.handed_out = end;
        Moved(self.last.len().min(limit) as isize)
    }

    /// Fetches a packet of one or more datagrams.
    fn fetch(&mut self, flags: libc::c_int) -> Moved {
        let mut piece = libc::iovec { iov_base: self.room.as_mut_ptr().cast(), iov_len: self.room.len() };
        // SAFETY: zeros are a valid header without an address, pieces or control data.
        let mut header: libc::msghdr = unsafe { mem::zeroed() };
        (header.msg_iov, header.msg_iovlen) = (&raw mut piece, 1);
        (header.msg_control, header.msg_controllen) = (self.control.0.as_mut_ptr().cast(), CONTROL);
        // SAFETY: the header has one piece and control data, writable for their lengths; all
        // outlive the call.
        let moved = Moved::from_call(unsafe { libc::recvmsg(self.raw, &raw mut header, flags) });
        if moved.0 > 0 {
            self.fetched = moved.0 as usize;
            (self.handed_out, self.each) = (0, datagram_size(&header).unwrap_or(self.fetched));
            self.calls += 1;
        }
        moved
    }
}

/// Size of the datagrams of a packet; `None` of one that is a single datagram.
fn datagram_size(header: &libc::msghdr) -> Option<usize> {
    // SAFETY: the kernel has filled the header's control data.
    let first = unsafe { libc::CMSG_FIRSTHDR(header).as_ref() }?;
    let is_size = (first.cmsg_level, first.cmsg_type) == (libc::SOL_UDP, libc::UDP_GRO);
    // SAFETY: this kind of message has an int behind its head.
    let size = is_size.then(|| unsafe { libc::CMSG_DATA(first).cast::<libc::c_int>().read_unaligned() })?;
    usize::try_from(size).ok().filter(|size| *size > 0)
}

impl Transmit for Gso {
    fn send(&mut self, from: usize) -> Moved {
        self.send_part(from, self.size)
    }
}

impl TransmitPart for Gso {
    fn send_part(&mut self, from: usize, to: usize) -> Moved {
        let to = to.min(self.size);
        send_with(self.raw, &self.outgoing[from.min(to)..to], 0)
    }
}

impl Batch for Gso {
    fn capacity(&self) -> usize {
        self.batch
    }

    fn message_at(&mut self, place: usize) -> &mut [u8] {
        &mut self.outgoing[place * self.size..(place + 1) * self.size]
    }

    /// All have the one size that the cell says.
    fn set_length(&mut self, _: usize, _: usize) {}

    fn send_batch(&mut self, places: Range<usize>) -> Handed {
        let bytes = places.start * self.size..places.end * self.size;
        let answer = send_with(self.raw, &self.outgoing[bytes], 0);
        // A packet goes whole or not at all.
        if answer.0 > 0 {
            Handed { messages: places.len(), calls: 1, next: Moved(0) }
        } else {
            Handed { next: answer, ..Handed::default() }
        }
    }

    fn send_rest(&mut self, place: usize, from: usize) -> Moved {
        let bytes = place * self.size + from..(place + 1) * self.size;
        send_with(self.raw, &self.outgoing[bytes], 0)
    }
}

impl Open for Gso {
    /// What comes before the other end knows of it would come cut.
    fn prepare(socket: BorrowedFd<'_>) -> io::Result<()> {
        set(socket.as_raw_fd(), libc::UDP_GRO, 1).map_err(|error| refusal("UDP_GRO", &error))
    }

    fn open(place: Place<'_>) -> io::Result<Self> {
        let (raw, size) = (place.socket.as_raw_fd(), place.task.cell.size.as_len());
        fits(raw, place.task.cell.family == model::Family::V6, size)?;
        set(raw, libc::UDP_SEGMENT, size).map_err(|error| refusal("UDP_SEGMENT", &error))?;
        let batch = place.batch().min(MOST_BYTES / size).max(1);
        Ok(Self {
            raw,
            outgoing: Buffer::repeating(size * batch, 251, |place| place as u8 | 1),
            size,
            batch,
            room: Buffer::ones(ROOM),
            control: Control([0; CONTROL]),
            fetched: 0,
            handed_out: 0,
            each: 0,
            last: 0..0,
            calls: 0,
            socket: place.socket,
        })
    }
}

/// Sees to it that a datagram fits the path's MTU: the kernel does not cut what it has
/// cut into datagrams once more (udp_send_skb() in net/ipv4/udp.c).
fn fits(socket: RawFd, is_v6: bool, size: usize) -> io::Result<()> {
    let (level, option) = if is_v6 { (libc::IPPROTO_IPV6, libc::IPV6_MTU) } else { (libc::IPPROTO_IP, libc::IP_MTU) };
    let (mut mtu, mut length): (libc::c_int, u32) = (0, size_of::<libc::c_int>() as u32);
    // SAFETY: the call writes one int and its length, which outlive it.
    let answer = unsafe { libc::getsockopt(socket, level, option, (&raw mut mtu).cast(), &raw mut length) };
    let most = usize::try_from(mtu).unwrap_or(0).saturating_sub(HEADERS[usize::from(is_v6)]).min(MOST_BYTES);
    if answer == 0 && size > most {
        let text = format!("a message of {size} B does not fit the MTU of {mtu} B: datagrams over gso have at most {most} B here");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(())
}

fn set(socket: RawFd, option: libc::c_int, value: usize) -> io::Result<()> {
    let (value, length) = (libc::c_int::try_from(value).unwrap_or(libc::c_int::MAX), size_of::<libc::c_int>() as u32);
    // SAFETY: the call reads one int, which outlives it.
    let answer = unsafe { libc::setsockopt(socket, libc::SOL_UDP, option, (&raw const value).cast(), length) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn refusal(option: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("this kernel refuses {option}: {error}"))
}

impl Api for Gso {
    fn receive(&mut self, limit: usize) -> Moved {
        self.receive_with(limit, 0)
    }

    fn receive_now(&mut self, limit: usize) -> Moved {
        self.receive_with(limit, libc::MSG_DONTWAIT)
    }

    fn message(&mut self) -> &mut [u8] {
        self.message_at(0)
    }

    fn room(&self) -> &[u8] {
        &self.room[self.last.clone()]
    }

    fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    fn has_more(&self) -> bool {
        self.handed_out < self.fetched
    }

    fn batch(&mut self) -> Option<&mut dyn Batch> {
        if self.capacity() > 1 { Some(self) } else { None }
    }

    fn take_calls(&mut self) -> Option<u64> {
        Some(mem::take(&mut self.calls))
    }
}
