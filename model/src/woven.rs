//! A woven trial: the arms of a cell take turns of some milliseconds, all of them alive throughout.

mod numbers;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::end::Switches;
use crate::quantity::Nanos;
use crate::traffic::Protocol;

/// Place of one end on the board that the ends of a woven trial share with their controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// Descriptor of the board, which the endpoint inherits through its host.
    pub board: u32,
    /// Number of the seat on it.
    pub number: u32,
}

/// An edge of a slice, as the end read it in one place between two messages. The counts are those
/// since the end's first message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// Time by the host's monotonic clock.
    pub time: Nanos,
    /// CPU time of the traffic thread.
    pub cpu: Nanos,
    /// Its wait for a CPU; 0 where the kernel keeps none.
    pub run_delay: Nanos,
    /// Messages; of a receiver of a TCP stream 0, which counts bytes.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
    /// Kernel calls.
    pub calls: u64,
    /// Context switches of the traffic thread.
    pub switches: Switches,
}

/// The measured part of a slice at one end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceEnd {
    /// Its length.
    pub time: Nanos,
    /// CPU time of the traffic thread within it.
    pub cpu: Nanos,
    /// Its wait for a CPU within it.
    pub run_delay: Nanos,
    /// Messages within it.
    pub messages: u64,
    /// Bytes within it.
    pub bytes: u64,
    /// Kernel calls within it.
    pub calls: u64,
    /// Context switches of the traffic thread within it.
    pub switches: Switches,
    /// Its first half; of no message where the end did not see the mark between the halves.
    pub half: Half,
}

/// The first half of a slice at one end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Half {
    /// Its length.
    pub time: Nanos,
    /// CPU time of the traffic thread within it.
    pub cpu: Nanos,
    /// Messages within it.
    pub messages: u64,
    /// Bytes within it.
    pub bytes: u64,
}

impl SliceEnd {
    /// From one edge to a later one, with the edge between their halves.
    pub fn between(start: &Edge, middle: Option<&Edge>, end: &Edge) -> Self {
        let half = middle.map(|middle| Half {
            time: middle.time.since(start.time),
            cpu: middle.cpu.since(start.cpu),
            messages: middle.messages.saturating_sub(start.messages),
            bytes: middle.bytes.saturating_sub(start.bytes),
        });
        Self {
            time: end.time.since(start.time),
            cpu: end.cpu.since(start.cpu),
            run_delay: end.run_delay.since(start.run_delay),
            messages: end.messages.saturating_sub(start.messages),
            bytes: end.bytes.saturating_sub(start.bytes),
            calls: end.calls.saturating_sub(start.calls),
            switches: Switches {
                voluntary: end.switches.voluntary.saturating_sub(start.switches.voluntary),
                involuntary: end.switches.involuntary.saturating_sub(start.switches.involuntary),
            },
            half: half.unwrap_or_default(),
        }
    }

    /// Both halves, each as a slice's end of its own; `None` where the mark between them was not seen.
    fn halves(&self) -> Option<[Self; 2]> {
        let Half { time, cpu, messages, bytes } = self.half;
        let first = Self { time, cpu, messages, bytes, ..Self::default() };
        let second = Self {
            time: self.time.since(time),
            cpu: self.cpu.since(cpu),
            messages: self.messages.saturating_sub(messages),
            bytes: self.bytes.saturating_sub(bytes),
            ..Self::default()
        };
        (self.half != Half::default()).then_some([first, second])
    }

    /// Adds another.
    pub(crate) fn add(&mut self, other: &Self) {
        self.time = self.time + other.time;
        self.cpu = self.cpu + other.cpu;
        self.run_delay = self.run_delay + other.run_delay;
        self.messages = self.messages.saturating_add(other.messages);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.calls = self.calls.saturating_add(other.calls);
        self.switches.voluntary = self.switches.voluntary.saturating_add(other.switches.voluntary);
        self.switches.involuntary = self.switches.involuntary.saturating_add(other.switches.involuntary);
    }
}

/// First round of an instance that counts: in the one before it connections begin and memory is touched for the
/// first time.
const FIRST_ROUND: u32 = 1;

/// Most by which the time that one end of a slice measured is longer than the other's.
const MOST_APART: u64 = 2;

/// One slice of one arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Number of the arm.
    pub arm: u32,
    /// Round of its instance, from 0.
    pub round: u32,
    /// Place in the round, from 0.
    pub place: u32,
    /// Time at which its sender was let go, by the controller's monotonic clock.
    pub begun: Nanos,
    /// The sender, or the requester.
    pub sender: SliceEnd,
    /// The receiver, or the answerer.
    pub receiver: SliceEnd,
    /// Lateness of the sender's last edge after the time planned for it.
    pub late: Nanos,
    /// Time from the mark that ends the slice to the sender's stop.
    pub hand_over: Nanos,
    /// Time from there until the receiver had taken everything.
    pub drain: Nanos,
    /// True where the receiver did not take everything in time: the slice is not woven.
    pub not_drained: bool,
}

impl Slice {
    /// Returns whether figures are made of it: it is past the first round, was drained, and both ends measured much the
    /// same time. An end that waits for a CPU sees its mark late.
    pub fn counts(&self) -> bool {
        let (sender, receiver) = (self.sender.time, self.receiver.time);
        let same = sender.min(receiver).get() >= sender.max(receiver).get() / MOST_APART;
        self.round >= FIRST_ROUND && !self.not_drained && same
    }

    /// Both halves, each as a slice of its own; `None` where an end did not see the mark between them.
    pub fn halves(&self) -> Option<[Self; 2]> {
        let (senders, receivers) = self.sender.halves().zip(self.receiver.halves())?;
        let of = |half: usize| Self { sender: senders[half], receiver: receivers[half], ..*self };
        Some([of(0), of(1)])
    }
}

/// Times of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceTimes {
    /// From the sender's start to the measured part.
    pub settle: Nanos,
    /// The measured part.
    pub measured: Nanos,
}

impl SliceTimes {
    /// Of datagrams and round trips, which need a few milliseconds to be as they are: short slices share the most drift.
    pub const SHORT: Self = Self { settle: Nanos::from_millis(2), measured: Nanos::from_millis(10) };
    /// Of TCP streams.
    pub const LONG: Self = Self { settle: Nanos::from_millis(4), measured: Nanos::from_millis(40) };

    /// Those of a cell in so many arms: none idles so long that a connection forgets.
    pub fn of(cell: &Cell, arms: usize) -> Self {
        let times = if is_tcp_stream(cell) { Self::LONG } else { Self::SHORT };
        let most = Nanos::new(LONGEST_IDLE.get() / arms.saturating_sub(1).max(1) as u64).since(times.settle);
        Self { measured: times.measured.min(most), ..times }
    }
}

/// Most arms of one round: with more, one waits so long for its turn that connections idle.
pub const MOST_ARMS: usize = 8;

/// Longest time that an arm waits for its turn: a TCP that was idle for its retransmission timeout, 200 ms at least,
/// starts slowly again.
const LONGEST_IDLE: Nanos = Nanos::from_millis(150);

fn is_tcp_stream(cell: &Cell) -> bool {
    cell.test.is_stream() && cell.protocol() == Protocol::Tcp
}

/// Time of an instance besides its length.
pub const OVERHEAD: Nanos = Nanos::from_millis(80);

/// Length of an instance of a cell in so many arms: fresh connections come often where they differ from each other.
pub fn instance_length(cell: &Cell, arms: usize) -> Nanos {
    let of_an_arm = Nanos::from_millis(if is_tcp_stream(cell) { 250 } else { 200 });
    Nanos::new(of_an_arm.get().saturating_mul(arms as u64))
}

/// Who does what in an instance: the namespaces' roles and the order of arms are exchanged from one to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Number of the pair of hosts of each arm.
    pub pairs: Vec<usize>,
    /// Host `b` of each pair is the sender.
    pub swapped: bool,
}

/// Instances of which each arm has each of two pairs of hosts, in both roles, equally often.
const GROUP: u64 = 4;

/// The exchange of an instance: in each group of [`GROUP`] instances, two arms have each pair of hosts in each
/// role once, in a random order; more arms have pairs that rotate.
pub fn exchange(seed: u64, instance: u32, arms: usize) -> Exchange {
    let (group, place) = (u64::from(instance) / GROUP, u64::from(instance) % GROUP);
    let mut generator = generator(seed, group, 1);
    let mut pairs: Vec<usize> = (0..arms).collect();
    pairs.shuffle(&mut generator);
    let mut ways: Vec<u64> = (0..GROUP).collect();
    ways.shuffle(&mut generator);
    let way = ways.get(place as usize).copied().unwrap_or_default();
    if way & 1 == 1 {
        pairs.rotate_left((arms / 2).max(1).min(arms));
    }
    Exchange { pairs, swapped: way & 2 == 2 }
}

/// The order of arms in a round.
pub fn order(seed: u64, instance: u32, round: u32, arms: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..arms).collect();
    order.shuffle(&mut generator(seed, u64::from(instance) << 32 | u64::from(round), 2));
    order
}

fn generator(seed: u64, place: u64, purpose: u64) -> ChaCha8Rng {
    let mut bytes = [0; 32];
    for (room, number) in bytes.chunks_exact_mut(8).zip([seed, place, purpose, u64::from_le_bytes(*b"woven\0\0\0")]) {
        room.copy_from_slice(&number.to_le_bytes());
    }
    ChaCha8Rng::from_seed(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::{SliceTimes, exchange, instance_length, order};
    use crate::{Bytes, Cell, Nanos, Test};

    #[test]
    fn no_arm_idles_for_long_and_every_instance_has_rounds() {
        for test in [Test::UdpStream, Test::TcpStream, Test::TcpRr] {
            let cell = Cell::plain(test, Bytes::new(64));
            for arms in 2..=super::MOST_ARMS {
                let times = SliceTimes::of(&cell, arms);
                let slice = (times.settle + times.measured).get();
                assert!(slice * (arms as u64 - 1) <= 150_000_000 && times.measured >= Nanos::from_millis(10), "{test} {arms}");
                // The first does not count, and each is longer by its drain.
                assert!(instance_length(&cell, arms).get() / (slice * arms as u64) >= 5, "{test} {arms}");
            }
        }
        assert_eq!(SliceTimes::of(&Cell::plain(Test::TcpStream, Bytes::new(64)), 2), SliceTimes::LONG);
    }

    proptest! {
        #[test]
        fn two_arms_have_each_pair_in_each_role_once_in_a_group(seed in any::<u64>(), group in 0u32..1_000) {
            let ways: BTreeSet<(Vec<usize>, bool)> =
                (0..4).map(|place| exchange(seed, 4 * group + place, 2)).map(|way| (way.pairs, way.swapped)).collect();
            prop_assert_eq!(ways.len(), 4);
        }

        #[test]
        fn every_arm_has_a_pair_and_a_slice(seed in any::<u64>(), instance in 0u32..10_000, round in 0u32..10_000, arms in 1usize..9) {
            let all: BTreeSet<usize> = (0..arms).collect();
            prop_assert_eq!(&exchange(seed, instance, arms).pairs.into_iter().collect::<BTreeSet<_>>(), &all);
            let order = order(seed, instance, round, arms);
            prop_assert_eq!(order.len(), arms);
            prop_assert_eq!(&order.into_iter().collect::<BTreeSet<_>>(), &all);
        }
    }
}
