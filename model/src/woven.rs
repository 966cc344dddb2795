//! A woven trial: the arms of a cell take turns of some milliseconds, all of them alive throughout.

mod numbers;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::end::Switches;
use crate::quantity::Nanos;
use crate::traffic::{Protocol, Role};

/// Place of one end on the board that the ends of a woven trial share with their controller: that of its first
/// thread, which those of the others follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// Descriptor of the board, which the endpoint inherits through its host.
    pub board: u32,
    /// Number of the seat on it.
    pub number: u32,
}

/// Times and counts of an end: at an edge of a slice, where it read them in one place between two messages, those
/// since its first message; or from one edge to another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Time by the host's monotonic clock; of several flows from the first edge of any to the last.
    pub time: Nanos,
    /// CPU time of the traffic threads.
    pub cpu: Nanos,
    /// Their wait for a CPU; 0 where the kernel keeps none.
    pub run_delay: Nanos,
    /// Messages; of a receiver of a TCP stream 0, which counts bytes.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
    /// Kernel calls.
    pub calls: u64,
    /// Context switches of the traffic threads.
    pub switches: Switches,
}

impl Reading {
    /// What came since an earlier edge.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            time: self.time.since(earlier.time),
            cpu: self.cpu.since(earlier.cpu),
            run_delay: self.run_delay.since(earlier.run_delay),
            messages: self.messages.saturating_sub(earlier.messages),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            calls: self.calls.saturating_sub(earlier.calls),
            switches: Switches {
                voluntary: self.switches.voluntary.saturating_sub(earlier.switches.voluntary),
                involuntary: self.switches.involuntary.saturating_sub(earlier.switches.involuntary),
            },
        }
    }

    /// Adds another, of another slice.
    pub fn add(&mut self, other: &Self) {
        self.time = self.time + other.time;
        self.cpu = self.cpu + other.cpu;
        self.run_delay = self.run_delay + other.run_delay;
        self.messages = self.messages.saturating_add(other.messages);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.calls = self.calls.saturating_add(other.calls);
        self.switches.voluntary = self.switches.voluntary.saturating_add(other.switches.voluntary);
        self.switches.involuntary = self.switches.involuntary.saturating_add(other.switches.involuntary);
    }

    /// What threads did, each from its own edge to a later one: they see a mark when they have their turns. Within the
    /// time of all of them no CPU gives more than it has.
    pub fn of_flows<'a>(flows: impl IntoIterator<Item = (&'a Self, &'a Self)>) -> Self {
        let (mut sum, mut time) = (Self::default(), None);
        for (start, end) in flows {
            sum.add(&end.since(start));
            let (first, last) = time.unwrap_or((start.time, end.time));
            time = Some((first.min(start.time), last.max(end.time)));
        }
        Self { time: time.map_or(Nanos::default(), |(first, last)| last.since(first)), ..sum }
    }
}

/// Traffic of an end in the other's role, where both send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackTraffic {
    /// Messages; of a receiver of a TCP stream 0.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The measured part of a slice at one end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceEnd {
    /// All of it: the counts of its role, the CPU time of all threads.
    pub whole: Reading,
    /// Its first half: zero where it did not see the mark between the halves. Only time, CPU time, messages and
    /// bytes are stored.
    pub half: Reading,
    /// Its traffic in the other's role.
    pub back: BackTraffic,
}

impl SliceEnd {
    /// Both halves; `None` where the mark between them was not seen.
    fn halves(&self) -> Option<[Self; 2]> {
        let of = |half| Self { whole: half, ..Self::default() };
        (self.half.time > Nanos::default()).then(|| [of(self.half), of(self.whole.since(&self.half))])
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
    /// Place of its arm or way among the members of its group: of eight arms at most the arm's number.
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
        let (sender, receiver) = (self.sender.whole.time, self.receiver.whole.time);
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
    /// From the sender's start to the mark of the measured part.
    pub settle: Nanos,
    /// Longest time from there until every thread has seen the mark: those that share a CPU have their turns.
    pub turns: Nanos,
    /// The measured part.
    pub measured: Nanos,
}

/// A turn of a thread on a CPU that it shares: a tick, where it is 250 Hz.
const TURN: Nanos = Nanos::from_millis(4);

/// Messages of an offered rate that a slice has to hold.
const LEAST_MESSAGES: f64 = 100.0;

/// Shortest measured part.
const LEAST_MEASURED: Nanos = Nanos::from_millis(10);

impl SliceTimes {
    /// Of datagrams and round trips, which need a few milliseconds to be as they are: short slices share the most drift.
    pub const SHORT: Self = Self { settle: Nanos::from_millis(2), turns: Nanos::new(0), measured: LEAST_MEASURED };
    /// Of TCP streams, of several flows, and of offered rates.
    pub const LONG: Self = Self { settle: Nanos::from_millis(4), turns: Nanos::new(0), measured: Nanos::from_millis(40) };

    /// Those of a cell in so many arms: none idles so long that a connection forgets.
    ///
    /// # Errors
    /// The reason for which it would have to idle longer.
    pub fn of(cell: &Cell, arms: usize) -> Result<Self, TooShort> {
        let threads = cell.threads();
        let is_long = is_tcp_stream(cell) || threads > 1 || cell.rate.is_some();
        let Self { settle, measured, .. } = if is_long { Self::LONG } else { Self::SHORT };
        let turns = if threads > 1 { Nanos::new(TURN.get().saturating_mul(threads.into())) } else { Nanos::default() };
        // A rate beyond all clocks needs no time, and one of nothing all of it.
        let messages = cell.rate.map(|rate| LEAST_MESSAGES / rate.messages_per_second(cell.size));
        let messages = messages.map_or(Nanos::default(), |seconds| Nanos::new((seconds * 1e9) as u64));
        // Threads settle while they wait for their turns as well.
        let settle = if threads > 1 { Self::SHORT.settle } else { settle };
        let most = Nanos::new(LONGEST_IDLE.get() / arms.saturating_sub(1).max(1) as u64).since(settle + turns);
        let measured = measured.max(turns).max(messages).min(most);
        match () {
            () if measured < LEAST_MEASURED.max(turns) => Err(TooShort::Flows),
            () if measured < messages => Err(TooShort::Rate),
            () => Ok(Self { settle, turns, measured }),
        }
    }

    /// As long as the longer of both.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        let Self { settle, turns, measured } = self;
        Self { settle: settle.max(other.settle), turns: turns.max(other.turns), measured: measured.max(other.measured) }
    }

    /// Length of an instance of a cell in so many arms: fresh processes and connections come often, for they differ from
    /// each other. Of many arms each has half as long a time.
    pub fn instance_length(self, cell: &Cell, arms: usize) -> Nanos {
        let rounds = Nanos::new((self.settle + self.turns + self.measured).get().saturating_mul(LEAST_ROUNDS));
        let of_two = if is_tcp_stream(cell) { 250 } else { 200 };
        let of_an_arm = Nanos::from_millis(if arms > 2 { of_two / 2 } else { of_two }).max(rounds);
        Nanos::new(of_an_arm.get().saturating_mul(arms as u64))
    }
}

/// Reason for which the longest slice of a cell is too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooShort {
    /// Its flows do not all have a turn in it, where they share a CPU.
    Flows,
    /// It has too few messages of its offered rate.
    Rate,
}

/// Most arms of one round: with more, one waits so long for its turn that connections idle.
pub const MOST_ARMS: usize = 8;

/// Most seats of a board: one for each thread of both ends of all arms. Slices in which all have turns are too long
/// before.
pub const MOST_SEATS: u32 = 128;

/// Longest time that an arm waits for its turn: a TCP that was idle for its retransmission timeout, 200 ms at least,
/// starts slowly again.
const LONGEST_IDLE: Nanos = Nanos::from_millis(150);

/// The end whose sampler is on, in each of the slices that a receipt's cell takes turns in: the same ends in all of them.
/// One at most, as in its time passes.
pub const SAMPLED: [Option<Role>; 3] = [None, Some(Role::Sender), Some(Role::Receiver)];

/// Usable instances of these slices from which the cost of sampling is computed: with fewer the interval of slices may be
/// wider than that of passes.
pub const USABLE_SAMPLED: u32 = 8;

/// Instances of these slices that the blocks of a study have at least: two may be lost on a busy machine.
const LEAST_SAMPLED: u32 = USABLE_SAMPLED + 2;

/// The numbers of a cell's instances of [`SAMPLED`] slices in a block of a study of `least` blocks or more: that of the
/// block, and beyond those of all blocks where there are several.
pub fn sampled_in(block: u32, least: u32) -> impl Iterator<Item = u32> {
    let before = |blocks: u32| u64::from(LEAST_SAMPLED) * u64::from(blocks) / u64::from(least.max(1));
    let count = if block < least { before(block + 1) - before(block) } else { 1 };
    (0..count.max(1) as u32).map(move |more| block.wrapping_add(more << 20))
}

/// The number of these instances in all of `most` blocks.
pub fn sampled_in_all(least: u32, most: u32) -> u32 {
    most.saturating_add(LEAST_SAMPLED.saturating_sub(least.max(1)))
}

/// Rounds that an instance has at least, besides its drains.
const LEAST_ROUNDS: u64 = 5;

fn is_tcp_stream(cell: &Cell) -> bool {
    cell.test.is_stream() && cell.protocol() == Protocol::Tcp
}

/// Time of an instance besides its length.
pub const OVERHEAD: Nanos = Nanos::from_millis(80);

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

    use super::{MOST_ARMS, MOST_SEATS, Reading, SliceTimes, TooShort, exchange, order, sampled_in, sampled_in_all};
    use crate::rate::OfferedRate;
    use crate::{Bytes, Cell, Nanos, Test};

    #[test]
    fn instances_of_sampled_slices_are_ten_at_least_and_each_has_its_number() {
        for (least, most) in [(1, 1), (1, 5), (6, 6), (8, 8), (9, 30), (12, 12)] {
            let numbers: Vec<u32> = (0..most).flat_map(|block| sampled_in(block, least)).collect();
            assert_eq!(numbers.len(), sampled_in_all(least, most) as usize, "{least} to {most}");
            assert!(numbers.len() >= 10 && (0..most).all(|block| sampled_in(block, least).next() == Some(block)));
            assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len());
        }
    }

    #[test]
    fn no_arm_idles_for_long_and_every_instance_has_rounds() {
        let flows = |cell: Cell, flows: u32| Cell { flows, ..cell };
        let both_ways = |cell: Cell| Cell { bidirectional: true, ..cell };
        let rate = |cell: Cell, rate: u64| Cell { rate: Some(OfferedRate::Messages(rate)), ..cell };
        for test in [Test::UdpStream, Test::TcpStream, Test::TcpRr] {
            let plain = || Cell::plain(test, Bytes::new(64));
            for arms in 2..=MOST_ARMS {
                assert!(SliceTimes::of(&plain(), arms).is_ok() && SliceTimes::of(&flows(plain(), 2), arms).is_ok(), "{test} {arms}");
                let cells = (1..40).map(|count| flows(plain(), count)).chain([both_ways(flows(plain(), 4)), rate(plain(), 20_000)]);
                for cell in cells {
                    let Ok(times) = SliceTimes::of(&cell, arms) else { continue };
                    let slice = (times.settle + times.turns + times.measured).get();
                    assert!(slice * (arms as u64 - 1) <= 150_000_000 && times.measured >= Nanos::from_millis(10), "{cell} {arms}");
                    // The first does not count, and each is longer by its drain.
                    assert!(times.instance_length(&cell, arms).get() / (slice * arms as u64) >= 5, "{cell} {arms}");
                    assert!(2 * arms as u32 * cell.threads() <= MOST_SEATS, "{cell} {arms}");
                }
            }
        }
        let of = |cell: &Cell, arms| SliceTimes::of(cell, arms);
        let tcp = Cell::plain(Test::TcpStream, Bytes::new(64));
        assert_eq!(of(&tcp, 2), Ok(SliceTimes::LONG));
        assert_eq!(
            of(&both_ways(flows(tcp.clone(), 2)), 2),
            Ok(SliceTimes { settle: SliceTimes::SHORT.settle, turns: Nanos::from_millis(16), ..SliceTimes::LONG })
        );
        assert_eq!(of(&flows(tcp.clone(), 19), 2), Err(TooShort::Flows));
        assert_eq!(of(&flows(tcp, 3), 8), Err(TooShort::Flows));
        let udp = Cell::plain(Test::UdpStream, Bytes::new(64));
        assert_eq!(of(&rate(udp.clone(), 10_000), 2), Ok(SliceTimes::LONG));
        assert_eq!(of(&rate(udp.clone(), 1_000), 2).map(|times| times.measured), Ok(Nanos::from_millis(100)));
        assert_eq!((of(&rate(udp.clone(), 100), 2), of(&rate(udp, 1_000), 8)), (Err(TooShort::Rate), Err(TooShort::Rate)));
    }

    #[test]
    fn flows_are_summed_over_the_time_of_all_of_them() {
        let edge = |time, messages| Reading { time: Nanos::new(time), messages, cpu: Nanos::new(time / 2), ..Reading::default() };
        let flows = [(edge(400, 1), edge(1_000, 7)), (edge(500, 2), edge(1_100, 5))];
        let sum = Reading::of_flows(flows.iter().map(|(start, end)| (start, end)));
        assert_eq!((sum.time, sum.cpu, sum.messages), (Nanos::new(700), Nanos::new(600), 9));
        assert_eq!(Reading::of_flows([]), Reading::default());
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
