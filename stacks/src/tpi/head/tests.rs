//! Streams over a provider of the tests', which can be told to take nothing.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use super::super::Options;
use super::super::block::{Block, Pool};
use super::super::primitive::Address;
use super::super::queue::Queued;
use super::{Head, Provider, Traffic};
use crate::error::StackError;

/// A wire from the provider to itself, which takes `room` datagrams and no more.
#[derive(Debug, Default)]
struct Wire<const QUEUES: bool> {
    under_way: VecDeque<Vec<u8>>,
    room: usize,
    calls: u64,
}

impl<const QUEUED: bool> Provider for Wire<QUEUED> {
    const HEADROOM: usize = 28;
    const QUEUES: bool = QUEUED;

    fn port(&self) -> u16 {
        7
    }

    fn connect(&mut self, _peer: SocketAddr) -> Result<(), StackError> {
        Ok(())
    }

    fn copy(&self, from: &[u8], to: &mut [u8]) -> u32 {
        to.copy_from_slice(from);
        from.iter().map(|byte| u32::from(*byte)).sum::<u32>()
    }

    fn request(&mut self, to: SocketAddr, data: &mut Block) -> io::Result<()> {
        assert_eq!((to, data.headroom()), (peer(), Self::HEADROOM));
        if self.under_way.len() >= self.room {
            // As a device whose ring is full and drains with time.
            self.room += 2;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.calls += 1;
        self.under_way.push_back(data.bytes().to_vec());
        Ok(())
    }

    fn fetch(&mut self, data: &mut Block, _wait: bool) -> io::Result<Option<SocketAddr>> {
        let Some(bytes) = self.under_way.pop_front() else { return Ok(None) };
        data.room()[..bytes.len()].copy_from_slice(&bytes);
        data.set(0, bytes.len());
        Ok(Some(peer()))
    }

    fn accepts(&mut self, data: &Block, _copied: usize, sum: u32) -> bool {
        sum == data.bytes().iter().map(|byte| u32::from(*byte)).sum::<u32>()
    }

    fn calls(&self) -> u64 {
        self.calls
    }

    fn dropped(&self) -> u64 {
        0
    }

    fn dropped_below(&self) -> u64 {
        0
    }
}

fn peer() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 9))
}

/// Sends messages through a stream and receives them; returns the stream.
fn carried<const QUEUED: bool>(messages: u64, size: usize, room: usize, options: Options) -> Head<Wire<QUEUED>> {
    let wire = Wire::<QUEUED> { room, ..Wire::default() };
    let mut head = Head::new(wire, Pool::new(28 + size), options);
    let to = Address::from(peer());
    for number in 0..messages {
        head.put_message(&to, &vec![number as u8; size]).unwrap();
    }
    head.flush().unwrap();
    let mut message = vec![0; size];
    for number in 0..messages {
        assert_eq!(head.get_message(&mut message, |_| panic!("nothing came")).unwrap(), size);
        assert!(message.iter().all(|byte| *byte == number as u8), "in order");
    }
    head
}

#[test]
fn copies_and_queue_operations_of_a_message_are_exact() {
    let moved = Traffic { messages: 100, bytes: 6_400 };
    let plain = carried::<true>(100, 64, usize::MAX, Options::default());
    assert_eq!((plain.done().sent, plain.done().received, plain.done().copies), (moved, moved, 200));
    // One queue at either end: the provider's above sockets, the head's where it comes up.
    assert_eq!(plain.queued(), Queued { puts: 200, gets: 200, refused: 0, back_enabled: 0 });
    // The put procedure of a stack of its own queues nothing.
    let own = carried::<false>(100, 64, usize::MAX, Options::default());
    assert_eq!((own.done().sent, own.done().copies), (moved, 200));
    assert_eq!(own.queued(), Queued { puts: 100, gets: 100, refused: 0, back_enabled: 0 });
}

#[test]
fn a_full_queue_stops_the_head_until_it_is_enabled_again() {
    // 92 bytes a message with its request: four fill the queue before the service procedure is due.
    let options = Options { high_water: 360, low_water: 100, defer: 16 };
    let head = carried::<true>(40, 64, usize::MAX, options);
    let queued = head.queued();
    assert_eq!((head.done().sent.messages, queued.puts, queued.gets), (40, 80, 80));
    assert!(queued.refused > 0, "{queued:?}");
    assert_eq!(queued.refused, queued.back_enabled, "whoever was stopped was enabled: {queued:?}");
}

#[test]
fn a_provider_that_can_do_no_more_loses_nothing() {
    for size in [1, 64, 1_000] {
        assert_eq!(carried::<true>(50, size, 1, Options::default()).done().received.messages, 50);
        assert_eq!(carried::<false>(50, size, 1, Options::default()).done().received.messages, 50);
    }
}

#[test]
fn marks_that_no_queue_can_have_are_refused() {
    let of = |high_water, low_water, defer| Options { high_water, low_water, defer }.check().is_ok();
    assert!(of(1, 0, 1) && !of(0, 0, 1) && !of(10, 10, 1) && !of(10, 5, 0));
}
