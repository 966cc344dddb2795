//! Many datagrams with one call, as one packet that is cut late: UDP generic
//! segmentation offload.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};

use super::completions::Completions;
use super::one_message::send_lent;
use super::one_message::send_with;
use crate::api::{BatchOutcome, Batching, Buffer, CallOutcome, KernelRefusal, Open, Outgoing, Place, ZeroCopy};
use sys::socket::{get_int, set_int};

/// Payload of the largest packet: what 16 bits can say, less the headers of IPv4 and UDP.
const MOST_BYTES: usize = 65_507;
/// Most datagrams of a packet: `UDP_MAX_SEGMENTS` of the kernel's include/linux/udp.h,
/// which newer ones double.
const MOST_SEGMENTS: usize = 64;
/// Bytes that the headers of IPv4, of IPv6, and of UDP behind them take from the MTU.
const HEADERS: [usize; 2] = [28, 48];

/// `send(2)` with `UDP_SEGMENT`. Where the messages of a batch do not fit one packet, a
/// call hands over as many as do.
pub type Gso = Packets<false>;

/// The same from the program's own pages: with `MSG_ZEROCOPY`.
pub type GsoZerocopy = Packets<true>;

/// Packets of many messages, lent to the kernel or not.
#[derive(Debug)]
pub struct Packets<const LENT: bool> {
    socket: RawFd,
    /// One message after the other.
    messages: Buffer,
    size: usize,
    batch: usize,
    completions: Completions,
}

impl<const LENT: bool> Open for Packets<LENT> {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let (socket, size) = (place.socket.as_raw_fd(), place.cell.size.as_len());
        fits(socket, place.cell.family == model::Family::V6, size)?;
        set_int(socket, libc::SOL_UDP, libc::UDP_SEGMENT, size as libc::c_int)
            .map_err(|answer| KernelRefusal::error("this kernel refuses UDP_SEGMENT", answer))?;
        let batch = place.batch().min(MOST_BYTES / size).clamp(1, MOST_SEGMENTS);
        let completions = if LENT { Completions::enable(socket)? } else { Completions::default() };
        Ok(Self { socket, messages: Buffer::repeating(size * batch, 251, |place| place as u8 | 1), size, batch, completions })
    }
}

impl<const LENT: bool> Packets<LENT> {
    #[inline(always)]
    fn call(&mut self, bytes: Range<usize>) -> CallOutcome {
        match LENT {
            true => send_lent(self.socket, &self.messages[bytes], &mut self.completions),
            false => send_with(self.socket, &self.messages[bytes], 0),
        }
    }
}

impl<const LENT: bool> Outgoing for Packets<LENT> {
    fn send_span(&mut self, place: usize, from: usize, to: usize) -> CallOutcome {
        let (start, to) = (place * self.size, to.min(self.size));
        self.call(start + from.min(to)..start + to)
    }

    fn message_at(&mut self, place: usize) -> &mut [u8] {
        &mut self.messages[place * self.size..(place + 1) * self.size]
    }

    fn batching(&mut self) -> Option<&mut dyn Batching> {
        if self.batch > 1 { Some(self) } else { None }
    }

    fn flush(&mut self) -> CallOutcome {
        if LENT {
            self.completions.take(self.socket);
        }
        CallOutcome(0)
    }

    fn zero_copy(&self) -> Option<ZeroCopy> {
        LENT.then(|| self.completions.seen())
    }
}

impl<const LENT: bool> Batching for Packets<LENT> {
    fn capacity(&self) -> usize {
        self.batch
    }

    /// All have the one size that the cell says.
    fn set_length(&mut self, _: usize, _: usize) {}

    fn send_batch(&mut self, places: Range<usize>) -> BatchOutcome {
        let bytes = places.start * self.size..places.end * self.size;
        let answer = self.call(bytes);
        // A packet goes whole or not at all.
        if answer.0 > 0 {
            BatchOutcome { messages: places.len(), calls: 1, next: CallOutcome(0) }
        } else {
            BatchOutcome { next: answer, ..BatchOutcome::default() }
        }
    }
}

/// Sees to it that a datagram fits the path's MTU: the kernel does not cut what it has
/// cut into datagrams once more (udp_send_skb() in net/ipv4/udp.c).
fn fits(socket: RawFd, is_v6: bool, size: usize) -> io::Result<()> {
    let (level, option) = if is_v6 { (libc::IPPROTO_IPV6, libc::IPV6_MTU) } else { (libc::IPPROTO_IP, libc::IP_MTU) };
    let Ok(mtu) = get_int(socket, level, option) else { return Ok(()) };
    let most = usize::try_from(mtu).unwrap_or(0).saturating_sub(HEADERS[usize::from(is_v6)]).min(MOST_BYTES);
    if size > most {
        let text = format!("a message of {size} B does not fit the MTU of {mtu} B: datagrams over gso have at most {most} B here");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(())
}
