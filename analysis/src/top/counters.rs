//! Counters of a machine since they began: what a monitoring system takes the differences of.

use std::collections::{BTreeMap, VecDeque};

use attribution::{Category, Layer};
use model::Nanos;
use model::printable::{Keep, printable};

use super::owners::{Owners, shares};
use super::tally::{MessageTally, Party, Tally, Unit, Work};

/// The most units that are listed; the work for others is in [`Counters::other`].
const MOST_UNITS: usize = 200;
/// Time without work after which a unit's place may go to another, in ns.
const QUIET: u64 = 300_000_000_000;
/// The longest time for which one window of counted messages stands, in ns.
const LONGEST_GAP: u64 = 10_000_000_000;
/// The longest name of a unit, in characters: the end of a path says more than its start.
const LONGEST_NAME: usize = 200;

/// Where work of the network ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkContext {
    /// In system calls of processes and in threads of the kernel.
    Call,
    /// In softirqs and in interrupts of network devices.
    Softirq,
}

impl WorkContext {
    /// Its name, as the key of [`super::Row`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Softirq => "softirq",
        }
    }

    const fn of(work: &Work) -> Self {
        if work.softirq { Self::Softirq } else { Self::Call }
    }
}

/// Counters that only rise. CPU times are in ns: samples times their distance. Those by layer and kind sum to those by
/// unit, [`Self::other`] and [`Self::ended`] included.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counters {
    /// Distance of two samples of a CPU; 0 where CPUs are not sampled.
    pub interval: Nanos,
    /// The network's CPU time.
    pub network: BTreeMap<(WorkContext, Layer, Category), u64>,
    /// By unit, at most 200, and by the other rows of [`super::Snapshot::units`]. A unit's path begins with `/`; paths
    /// that differ in control characters alone are one. A unit that comes when all places are in use is listed once a
    /// place is free: the place of a unit that did nothing for five minutes, whose counters go to [`Self::ended`].
    pub units: BTreeMap<String, UnitCounters>,
    /// All units without a place.
    pub other: UnitCounters,
    /// Units that lost their place, up to then. No series has this: one that had rises by old work as if it were new.
    pub ended: UnitCounters,
    /// True once messages were counted.
    pub counts_messages: bool,
    /// Samples.
    pub samples: SampleCounters,
    /// CPU time of watching: reader, samples, hooks.
    pub own: [u64; 3],
    /// Time since the start, in ns.
    elapsed: u64,
    /// Time since messages were counted last, in ns.
    gap: u64,
    /// Samples that were due.
    due: f64,
}

/// Counters of one unit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UnitCounters {
    /// CPU time of the network for it, in ns: in calls, in softirqs.
    pub cpu: [u64; 2],
    /// Messages that it sent and received; scaled up where a part of the time was counted.
    pub messages: [f64; 2],
    /// Their bytes.
    pub bytes: [f64; 2],
    /// Time for which its processes that were met waited for a CPU, in ns.
    pub run_delay: u64,
    /// When it had work last, by [`Counters::elapsed`].
    active: u64,
}

/// Samples by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampleCounters {
    /// Of work.
    pub busy: u64,
    /// Of the idle task.
    pub idle: u64,
    /// For which there was no room.
    pub lost: u64,
    /// That were due and not made.
    pub missing: u64,
}

impl UnitCounters {
    /// The CPU time in ns of one context.
    pub const fn cpu(&self, context: WorkContext) -> u64 {
        self.cpu[context as usize]
    }

    /// Returns whether it has counted anything.
    pub fn has_work(&self) -> bool {
        self.cpu != [0; 2] || self.messages != [0.0; 2]
    }

    fn add(&mut self, other: &Self) {
        for way in [0, 1] {
            self.cpu[way] += other.cpu[way];
            self.messages[way] += other.messages[way];
            self.bytes[way] += other.bytes[way];
        }
        self.run_delay += other.run_delay;
        self.active = self.active.max(other.active);
    }
}

impl Counters {
    /// Adds the last of some stretches. Softirqs without an owner are shared out as on the same CPU in all of them.
    pub(super) fn add(&mut self, tallies: &VecDeque<Tally>, units: &[String]) {
        let Some(last) = tallies.back() else { return };
        self.elapsed = self.elapsed.saturating_add(last.elapsed);
        self.gap = self.gap.saturating_add(last.elapsed).min(LONGEST_GAP);
        self.interval = Nanos::new(last.period);
        for (sum, one) in self.own.iter_mut().zip(last.own) {
            *sum = sum.saturating_add(one);
        }
        self.add_samples(last);
        let mut moved = self.add_work(last, &Owners::among(tallies.iter().flat_map(|tally| &tally.work)));
        self.add_messages(last, &mut moved);
        for (party, one) in moved {
            let name = name(party, units);
            let now = self.elapsed;
            let sum = self.place(&name);
            sum.add(&one);
            sum.active = now;
        }
        for process in last.processes.values() {
            let party = process.unit.map_or(Party::Ended, Party::Unit);
            // Units without the network's work have no place.
            if let Some(sum) = self.units.get_mut(&name(party, units)) {
                sum.run_delay = sum.run_delay.saturating_add(process.wait);
            }
        }
    }

    fn add_samples(&mut self, last: &Tally) {
        for on in last.on_cpu.values() {
            self.samples.busy += on.made - on.idle;
            self.samples.idle += on.idle;
        }
        self.samples.lost = self.samples.lost.saturating_add(last.lost);
        if last.period > 0 {
            self.due += last.elapsed as f64 / last.period as f64 * last.cpus.len() as f64;
        }
        // The first sample of a stretch may be due in the one before: the sum since the start has no such error.
        let made = self.samples.busy + self.samples.idle + self.samples.lost;
        self.samples.missing = self.samples.missing.max((self.due - made as f64) as u64);
    }

    /// Adds the network's CPU time, and returns that of each row.
    fn add_work(&mut self, last: &Tally, owners: &Owners) -> BTreeMap<Party, UnitCounters> {
        let mut moved: BTreeMap<Party, UnitCounters> = BTreeMap::new();
        for (work, samples) in last.work() {
            let (time, context) = (samples * last.period, WorkContext::of(&work));
            *self.network.entry((context, work.layer, work.category)).or_default() += time;
            let mut charge = |party: Party, time: u64| moved.entry(party.in_units()).or_default().cpu[context as usize] += time;
            // Parts of a sample: whole ones would go to the largest owner each second.
            let parts = shares(time, &owners.of(work.cpu, work.owner));
            parts.into_iter().filter(|(_, part)| *part > 0).for_each(|(owner, part)| charge(owner, part));
        }
        moved
    }

    /// Adds messages to rows: those of the time that was counted stand for all since the last were.
    fn add_messages(&mut self, last: &Tally, moved: &mut BTreeMap<Party, UnitCounters>) {
        let Some((counted, by_party)) = last.messages.as_ref().filter(|(counted, _)| *counted > 0) else { return };
        // Counted all the time: nothing is scaled up.
        let whole = *counted as f64 >= 0.9 * self.gap as f64;
        let scale = if whole { 1.0 } else { self.gap as f64 / *counted as f64 };
        self.gap = 0;
        self.counts_messages = true;
        for (party, MessageTally { messages, bytes }) in by_party.iter().filter(|(_, one)| one.messages != [0.0; 2]) {
            let sum = moved.entry(party.in_units()).or_default();
            for way in [0, 1] {
                sum.messages[way] += messages[way] * scale;
                sum.bytes[way] += bytes[way] * scale;
            }
        }
    }

    /// The counters of a name: its own where there is a place.
    fn place(&mut self, name: &str) -> &mut UnitCounters {
        if !self.units.contains_key(name) && self.units.len() >= MOST_UNITS {
            let units = self.units.iter().filter(|(name, _)| name.starts_with('/'));
            let quiet = units.min_by_key(|(_, one)| one.active).filter(|(_, one)| self.elapsed - one.active >= QUIET);
            match quiet.map(|(name, _)| name.clone()).and_then(|name| self.units.remove(&name)) {
                Some(gone) => self.ended.add(&gone),
                None => return &mut self.other,
            }
        }
        self.units.entry(name.to_owned()).or_default()
    }
}

/// The name of a row. The path of a unit begins with `/`, so that none is taken for another row.
fn name(party: Party, units: &[String]) -> String {
    let words = match party {
        Party::Unit(unit) | Party::Process(_, Some(unit)) => return unit_name(units, unit),
        Party::Kernel => "kernel",
        Party::Forwarded => "forwarded",
        Party::Unowned => "unowned",
        Party::Idle => "idle",
        Party::Outside => "outside",
        Party::Ended | Party::Process(_, None) => "ended",
    };
    words.to_owned()
}

fn unit_name(units: &[String], unit: Unit) -> String {
    let path = units.get(unit as usize).map_or("", String::as_str);
    let path = printable(path, Keep::Nothing);
    let length = path.chars().count();
    if length > LONGEST_NAME {
        return path.chars().skip(length - LONGEST_NAME).fold("/…".to_owned(), |mut name, letter| {
            name.push(letter);
            name
        });
    }
    if path.starts_with('/') { path.into_owned() } else { format!("/{path}") }
}
