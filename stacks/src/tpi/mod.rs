//! The transport provider interface of System V and of OpenSS7, on which Bidulock measured in
//! 2007: a user hands primitives in message blocks down a stream, and a provider carries them out.
//!
//! ```text
//! user --putmsg (copy)--> stream head --put--> [queue] --service procedure--> provider --> below
//! user <--getmsg (copy)-- stream head [queue] <------------put--------------- provider <-- below
//! ```
//!
//! Source: System V Release 4 Programmer's Guide: STREAMS, and the Transport Provider Interface
//! Specification, as restated in OpenSS7's manual pages putq(9), getq(9), canput(9) and tpi(7).

mod block;
mod head;
mod over_device;
mod over_sockets;
mod primitive;
mod queue;

use std::cell::Cell;
use std::io;
use std::net::SocketAddrV4;
use std::ops::Range;

use model::Role;

use crate::contract::{Harness, Running, STOP};
use crate::error::StackError;
use crate::net::{checksum, udp};

use block::{Block, Pool};
use head::Head;
pub use head::Provider;
pub use over_device::OverDevice;
pub use over_sockets::OverSockets;

/// Settings of a stream that are no factor of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Bytes in a queue from which on it is full; STREAMS' high-water mark.
    pub high_water: usize,
    /// Bytes in a full queue down to which it stays full; STREAMS' low-water mark.
    pub low_water: usize,
    /// Messages after which service procedures run: with 1 they run at once.
    pub defer: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { high_water: 64 * 1_024, low_water: 16 * 1_024, defer: 1 }
    }
}

impl Options {
    /// Checks that the marks are in order.
    ///
    /// # Errors
    /// Those that no queue can have, in words.
    pub fn check(&self) -> Result<(), StackError> {
        let refuse = |told: &str| Err(StackError::contract(told));
        match self {
            Self { high_water: 0, .. } => refuse("a high-water mark of 0 lets nothing into a queue: at least 1"),
            Self { high_water, low_water, .. } if low_water >= high_water => refuse("the low-water mark has to lie below the high one"),
            Self { defer: 0, .. } => refuse("service procedures run after 1 message or more, not after 0"),
            _ => Ok(()),
        }
    }
}

/// The counters of its own that a stream shows in its page, in this order.
const COUNTERS: [&str; 6] = ["copies", "putq", "getq", "flow-controlled", "back-enabled", "dropped"];

/// Is an end of a trial whose messages take a stream with `provider` at its end.
///
/// # Errors
/// A breach of the contract, a refusal of the system.
pub fn run<P: Provider>(provider: P, mut harness: Harness, options: &Options) -> Result<(), StackError> {
    options.check()?;
    let setup = harness.setup().clone();
    let peer = harness.join(Some(provider.port()))?;
    let pool = Pool::new(P::HEADROOM + setup.size.max(setup.read));
    let mut head = Head::new(provider, pool, *options);
    head.provider.connect(peer)?;
    let running = harness.begin(&COUNTERS)?;
    match setup.role {
        Role::Sender => {
            let message = vec![0; setup.size];
            let to = primitive::Address::from(peer);
            while running.page.stage() != STOP {
                head.put_message(&to, &message)?;
                tell(&head, &running, |done| done.sent, 0);
            }
            head.flush()?;
            tell(&head, &running, |done| done.sent, 0);
            running.done()
        }
        Role::Receiver => {
            let (mut message, lost) = (vec![0; setup.read], Cell::new(0));
            // The harness ends a receiver of datagrams once its counts stand still.
            loop {
                // What was lost below is looked at when nothing comes, and so once all has come.
                head.get_message(&mut message, |head| {
                    lost.set(head.provider.dropped_below());
                    tell(head, &running, |done| done.received, lost.get());
                })?;
                tell(&head, &running, |done| done.received, lost.get());
            }
        }
    }
}

/// Writes the counts of a stream into the page.
fn tell<P: Provider>(head: &Head<P>, running: &Running, of: impl Fn(&head::Done) -> head::Traffic, lost: u64) {
    let (done, queues) = (head.done(), head.queued());
    let moved = of(done);
    running.page.own([done.copies, queues.puts, queues.gets, queues.refused, queues.back_enabled, head.provider.dropped() + lost]);
    running.page.count(moved.messages, moved.bytes, head.provider.calls());
}

/// Writes the headers before the data of a block; returns where the packet lies in its room.
fn write_headers(data: &mut Block, from: SocketAddrV4, to: SocketAddrV4) -> io::Result<Range<usize>> {
    let (start, end) = (data.headroom(), data.headroom() + data.bytes().len());
    let sum = data.sum.unwrap_or_else(|| checksum::sum(data.bytes()));
    let none = || io::Error::other("a block without room for headers");
    let first = start.checked_sub(udp::HEADERS).ok_or_else(none)?;
    let headers = data.room()[first..start].first_chunk_mut().ok_or_else(none)?;
    udp::write(headers, from, to, end - start, sum);
    Ok(first..end)
}

/// Returns whether the data of a block is as it was sent; `sum` is that of its first `copied` bytes.
fn is_whole(data: &Block, copied: usize, sum: u32) -> bool {
    // What was cut off is in the checksum as well.
    let sum = if copied < data.bytes().len() { checksum::sum(data.bytes()) } else { sum };
    udp::Datagram::is_whole(data.sum, sum)
}
