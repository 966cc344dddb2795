//! Softirq work of which a chain shows that one unit makes another bear it.
//!
//! A softirq at the end of a task's own transmission is that task's doing. Packets that another CPU receives from a queue
//! are those of the tasks whose transmissions hand packets over, in proportion.

use std::collections::BTreeMap;

use model::sorting::Order;

use super::network::Origin;
use super::owners::Owned;
use super::tally::{Ownership, Party};

/// Samples, of which some were shared out.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Count {
    /// All of them.
    pub samples: f64,
    /// Those whose owner or sender others' samples show.
    pub shared: f64,
}

impl Count {
    fn add(&mut self, samples: f64, is_shared: bool) {
        self.samples += samples;
        self.shared += if is_shared { samples } else { 0.0 };
    }
}

/// Work that packets of one unit cause for another.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CauseTally {
    /// The whole work.
    pub all: Count,
    /// CPU by CPU.
    by_cpu: BTreeMap<u32, f64>,
    /// In the time of units that are neither the sender nor the receiver.
    interrupted: BTreeMap<Party, Count>,
}

impl CauseTally {
    /// The CPU with most of the work.
    pub fn cpu(&self) -> u32 {
        self.by_cpu.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0))).map_or(0, |(cpu, _)| *cpu)
    }

    /// The unit in whose time most of the work ran, other than the sender and the receiver.
    pub fn interrupted(&self) -> Option<(Party, Count)> {
        let most = self.interrupted.iter().max_by(|a, b| a.1.samples.total_cmp(&b.1.samples).then(b.0.cmp(a.0)));
        most.map(|(unit, count)| (*unit, *count))
    }
}

/// Sender and receiver. Without a sender, the work of one interrupted unit alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// A unit.
    pub sender: Option<Party>,
    /// A unit, or packets that are passed on.
    pub receiver: Party,
    interrupted: Option<Party>,
}

/// Pairs with their work, the most first.
pub fn causes(owned: &[Owned]) -> Vec<(Pair, CauseTally)> {
    let handovers = Handovers::among(owned);
    let mut found: BTreeMap<Pair, CauseTally> = BTreeMap::new();
    for one in owned.iter().filter(|one| one.work.softirq) {
        let (receiver, ran_in) = (one.owner.in_units(), one.work.ran_in.in_units());
        let unit = unit(ran_in);
        let senders = match one.work.origin {
            Origin::OwnSend => vec![(unit, 1.0)],
            Origin::Queue => handovers.to(one.work.cpu),
            Origin::Other => vec![(None, 1.0)],
        };
        for (sender, part) in senders {
            let interrupted = unit.filter(|unit| *unit != receiver && Some(*unit) != sender);
            let pair = match (sender, receiver) {
                (Some(from), Party::Unit(_) | Party::Forwarded) if from != receiver => Pair { sender, receiver, interrupted: None },
                (None, Party::Unit(_)) if interrupted.is_some() => Pair { sender, receiver, interrupted },
                _ => continue,
            };
            let samples = part * one.samples as f64;
            let is_shared = one.shared || sender.is_some() && one.work.origin == Origin::Queue;
            let tally = found.entry(pair).or_default();
            tally.all.add(samples, is_shared);
            *tally.by_cpu.entry(one.work.cpu).or_default() += samples;
            if let Some(unit) = interrupted {
                tally.interrupted.entry(unit).or_default().add(samples, is_shared);
            }
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.order_by(|(a, of_a), (b, of_b)| of_b.all.samples.total_cmp(&of_a.all.samples).then_with(|| a.cmp(b)));
    found
}

fn unit(party: Party) -> Option<Party> {
    matches!(party, Party::Unit(_)).then_some(party)
}

/// Samples that hand packets to other CPUs, by CPU and by the unit that sends them.
#[derive(Debug, Default)]
struct Handovers {
    by_cpu: BTreeMap<u32, BTreeMap<Option<Party>, u64>>,
}

impl Handovers {
    fn among(owned: &[Owned]) -> Self {
        let mut this = Self::default();
        for one in owned.iter().filter(|one| one.work.owner == Ownership::Steered) {
            let sender = if one.work.origin == Origin::OwnSend { unit(one.work.ran_in.in_units()) } else { None };
            *this.by_cpu.entry(one.work.cpu).or_default().entry(sender).or_default() += one.samples;
        }
        this
    }

    /// Senders of the packets that a CPU gets from the others, each with its part.
    fn to(&self, cpu: u32) -> Vec<(Option<Party>, f64)> {
        let mut senders: BTreeMap<Option<Party>, u64> = BTreeMap::new();
        for (sender, samples) in self.by_cpu.iter().filter(|(other, _)| **other != cpu).flat_map(|(_, senders)| senders) {
            *senders.entry(*sender).or_default() += samples;
        }
        let all: u64 = senders.values().sum();
        if all == 0 {
            return vec![(None, 1.0)];
        }
        senders.into_iter().map(|(sender, samples)| (sender, samples as f64 / all as f64)).collect()
    }
}
