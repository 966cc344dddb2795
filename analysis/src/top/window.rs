//! A window of stretches, made into a snapshot.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use attribution::{Category, Layer, Rules};
use model::Refusal;
use model::sorting::{Gather, Order};
use model::top::{Bucket, CpuTime};

use super::cause::{Count, causes};
use super::counters::Counters;
use super::network::Parts;
use super::owners::{Owned, Owners, shares};
use super::snapshot::{Cause, CpuRow, Cpus, FORMAT, InterruptedUnit, Network, Own, Rate, Row, RowKind, Samples, Snapshot};
use super::tally::{MessageTally, OnCpu, Ownership, Party, ProcessTally, Tally, Unit, Work};

/// Stretches of a window: with one of about a second, 10 s.
pub const STRETCHES: usize = 10;

/// The most paths of units that are remembered.
const MOST_UNITS: usize = 100_000;
/// The most refusals that are kept: each is said once.
const MOST_REFUSED: usize = 20;

/// Two-sided 95 % of a normal distribution.
pub(super) const Z: f64 = 1.96;
/// CPUs' worth from which on one unit's work in another's name is shown: a hundredth of a CPU.
const LEAST_CAUSE: f64 = 0.01;

/// A machine, as its last stretches show it.
#[derive(Debug)]
pub struct Machine<'r> {
    parts: Parts<'r>,
    units: Vec<String>,
    places: HashMap<String, Unit>,
    tallies: VecDeque<Tally>,
    /// Stretches of a window.
    window: usize,
    refused: Vec<Refusal>,
}

impl<'r> Machine<'r> {
    /// A machine of which nothing has been seen yet but what it refuses.
    pub fn new(rules: &'r Rules, refused: Vec<Refusal>, window: usize) -> Self {
        let (units, places, tallies) = (Vec::new(), HashMap::new(), VecDeque::new());
        Self { parts: Parts::new(rules), units, places, tallies, window: window.max(1), refused }
    }

    /// Begins another window, of which nothing is known yet.
    pub fn start_over(&mut self) {
        self.tallies.clear();
    }

    /// Takes another stretch, and what was refused in it; the oldest stretch goes where the window is full.
    pub fn add(&mut self, bucket: &Bucket, refused: Vec<Refusal>) {
        for refusal in refused {
            if !self.refused.contains(&refusal) && self.refused.len() < MOST_REFUSED {
                self.refused.push(refusal);
            }
        }
        // Units that come and go for months take no more room than this; the window begins again, with other places.
        if self.units.len() > MOST_UNITS {
            self.units.clear();
            self.places.clear();
            self.start_over();
        }
        let (units, places) = (&mut self.units, &mut self.places);
        let unit = |path: &str| {
            *places.entry(path.to_owned()).or_insert_with(|| {
                units.push(path.to_owned());
                units.len() as Unit - 1
            })
        };
        let tally = Tally::of(bucket, &mut self.parts, unit);
        if self.tallies.len() >= self.window {
            self.tallies.pop_front();
        }
        self.tallies.push_back(tally);
    }

    /// Adds the last stretch to counters; those of a machine are given each stretch once.
    pub fn count(&self, counters: &mut Counters) {
        counters.add(&self.tallies, &self.units);
    }

    /// What the machine refused so far, each once.
    pub fn refused(&self) -> &[Refusal] {
        &self.refused
    }

    /// The window so far; `None` before the first stretch.
    pub fn snapshot(&self) -> Option<Snapshot> {
        Window::of(&self.tallies).map(|window| window.snapshot(&self.units, &self.refused))
    }
}

/// The sum of some stretches.
struct Window<'a> {
    tallies: &'a VecDeque<Tally>,
    /// Length in ns.
    elapsed: u64,
    /// CPUs' worth of one sample.
    worth: f64,
    /// Samples that were due.
    due: f64,
    on_cpu: BTreeMap<u32, OnCpu>,
    processes: BTreeMap<u32, ProcessTally>,
    /// Samples of work with an owner each, as shared out.
    owned: Vec<Owned>,
}

impl<'a> Window<'a> {
    fn of(tallies: &'a VecDeque<Tally>) -> Option<Self> {
        let elapsed = tallies.iter().fold(0, |sum: u64, tally| sum.saturating_add(tally.elapsed));
        if elapsed == 0 {
            return None;
        }
        let due = |tally: &Tally| if tally.period > 0 { tally.elapsed as f64 / tally.period as f64 * tally.cpus.len() as f64 } else { 0.0 };
        let sampled: f64 = tallies.iter().filter(|tally| tally.period > 0).map(|tally| tally.elapsed as f64 / tally.period as f64).sum();
        let mut this = Self {
            tallies,
            elapsed,
            worth: if sampled > 0.0 { 1.0 / sampled } else { 0.0 },
            due: tallies.iter().map(due).sum(),
            on_cpu: BTreeMap::new(),
            processes: BTreeMap::new(),
            owned: Vec::new(),
        };
        for tally in tallies {
            for (cpu, one) in &tally.on_cpu {
                let sum = this.on_cpu.entry(*cpu).or_default();
                sum.made += one.made;
                sum.idle += one.idle;
                sum.softirq += one.softirq;
                sum.ksoftirqd += one.ksoftirqd;
            }
            for (pid, one) in &tally.processes {
                let sum = this.processes.entry(*pid).or_default();
                if !one.name.is_empty() {
                    sum.name.clone_from(&one.name);
                }
                sum.unit = one.unit.or(sum.unit);
                sum.connections = one.connections.or(sum.connections);
                sum.busy += one.busy;
                sum.wait = sum.wait.saturating_add(one.wait);
                sum.arrivals = sum.arrivals.saturating_add(one.arrivals);
            }
        }
        this.own_work();
        Some(this)
    }

    /// Gives every sample of the network one owner: its own; where a softirq's does not show, that of others on
    /// the same CPU, in proportion.
    fn own_work(&mut self) {
        let mut work: BTreeMap<Work, u64> = BTreeMap::new();
        for (one, samples) in self.tallies.iter().flat_map(Tally::work) {
            *work.entry(one).or_default() += samples;
        }
        let owners = Owners::among(&work);
        let mut unmet: BTreeMap<(u32, Ownership), Vec<(Work, u64)>> = BTreeMap::new();
        for (work, samples) in work {
            match work.owner {
                Ownership::Known(owner) => self.owned.push(Owned { work, owner, samples, shared: false }),
                unknown => unmet.entry((work.cpu, unknown)).or_default().push((work, samples)),
            }
        }
        for ((cpu, ownership), unmet) in unmet {
            self.share(&unmet, &owners.of(cpu, ownership));
        }
    }

    /// Shares samples out. Kind by kind: every owner gets its quota of whole samples, none twice.
    fn share(&mut self, unmet: &[(Work, u64)], owners: &[(Party, u64)]) {
        let mut quotas = shares(unmet.iter().map(|(_, samples)| samples).sum(), owners);
        for (work, samples) in unmet {
            let parts = shares(*samples, &quotas);
            for ((_, left), (owner, part)) in quotas.iter_mut().zip(parts) {
                *left -= part.min(*left);
                if part > 0 {
                    self.owned.push(Owned { work: *work, owner, samples: part, shared: true });
                }
            }
        }
    }

    fn snapshot(&self, units: &[String], refused: &[Refusal]) -> Snapshot {
        let last = self.tallies.back();
        let made: u64 = self.on_cpu.values().map(|on| on.made).sum();
        let idle: u64 = self.on_cpu.values().map(|on| on.idle).sum();
        let lost = self.tallies.iter().fold(0, |sum: u64, tally| sum.saturating_add(tally.lost));
        let samples =
            Samples { due: self.due.round() as u64, made, lost, idle, outside: self.tallies.iter().map(|tally| tally.outside).sum() };
        let sampled = self.worth > 0.0;
        let seconds = self.elapsed as f64;
        let by_counter = |of: fn(&CpuTime) -> model::Nanos| {
            let sum: u64 = self.tallies.iter().flat_map(|tally| tally.cpus.values()).map(|cpu| of(cpu).get()).sum();
            sum as f64 / seconds
        };
        let read = self.tallies.iter().any(|tally| tally.cpus.values().any(|cpu| cpu.all.get() > 0));
        let idle_cpus = if sampled { self.cpus(idle) } else { by_counter(|cpu| cpu.idle) };
        let steal = by_counter(|cpu| cpu.steal);
        let own = |place: usize| self.tallies.iter().map(|tally| tally.own[place] as f64).sum::<f64>() / seconds;
        Snapshot {
            format: FORMAT,
            time_ns: last.map_or(0, |tally| tally.time),
            elapsed_ns: self.elapsed,
            cpus: last.map_or(0, |tally| tally.cpus.len() as u32),
            hz: last.filter(|tally| tally.period > 0).map_or(0.0, |tally| 1e9 / tally.period as f64),
            samples,
            network: sampled.then(|| self.network()),
            busy: if sampled { self.cpus(made - idle) } else { by_counter(|cpu| cpu.all) - idle_cpus - steal },
            idle: idle_cpus,
            missing: if sampled { self.worth * (self.due - made as f64 - lost as f64).max(0.0) } else { steal },
            proc_stat_softirq: read.then(|| by_counter(|cpu| cpu.softirq)),
            sampled_softirq: sampled.then(|| self.cpus(self.on_cpu.values().map(|on| on.softirq).sum())),
            units: self.rows(|one| one.owner, Party::in_units, units),
            processes: self.rows(|one| one.owner, |party| party, units),
            interrupted: self.interrupted(units),
            cause: self.cause(units),
            per_cpu: self.per_cpu(units),
            own: Own { reader: own(0), samples: own(1), hooks: own(2) },
            refused: refused.iter().map(Refusal::to_string).collect(),
        }
    }

    /// Rows by the task that the work ran in. Messages are their owners', whichever task they interrupt.
    fn interrupted(&self, units: &[String]) -> Vec<Row> {
        let mut rows = self.rows(|one| one.work.ran_in, |party| party, units);
        rows.retain(|row| row.samples > 0);
        rows.iter_mut().for_each(|row| (row.messages, row.bytes, row.drops) = (None, None, None));
        rows
    }

    /// CPUs' worth of samples.
    fn cpus(&self, samples: u64) -> f64 {
        samples as f64 * self.worth
    }

    /// The same with its interval: that of a share of the due samples, and half of what was shared out. Where there
    /// was none, up to the three samples that chance hides in one of 20 windows.
    fn interval(&self, samples: u64, shared: u64) -> Cpus {
        let cpus = self.cpus(samples);
        if samples == 0 {
            return Cpus { cpus, low: 0.0, high: 3.0 * self.worth };
        }
        let n = samples as f64;
        let half = (Z * (n * (1.0 - n / self.due.max(n))).sqrt() + shared as f64 / 2.0) * self.worth;
        Cpus { cpus, low: (cpus - half).max(0.0), high: cpus + half }
    }

    fn network(&self) -> Network {
        let sum = |wanted: &dyn Fn(&Owned) -> bool| self.owned.iter().filter(|one| wanted(one)).map(|one| one.samples).sum::<u64>();
        let softirq = sum(&|one| one.work.softirq);
        let met = sum(&|one| one.work.softirq && !one.shared && one.owner != Party::Unowned);
        let (mut layer, mut category): (BTreeMap<Layer, u64>, BTreeMap<Category, u64>) = Default::default();
        for one in &self.owned {
            *layer.entry(one.work.layer).or_default() += one.samples;
            *category.entry(one.work.category).or_default() += one.samples;
        }
        Network {
            all: self.interval(sum(&|_| true), 0),
            call: self.cpus(sum(&|one| !one.work.softirq)),
            softirq: self.cpus(softirq),
            met: (softirq > 0).then(|| met as f64 / softirq as f64),
            layer: self.dearest(layer),
            category: self.dearest(category),
        }
    }

    fn dearest<K: Ord>(&self, by: BTreeMap<K, u64>) -> Vec<(K, f64)> {
        let mut all: Vec<(K, u64)> = by.into_iter().collect();
        all.order_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then_with(|| a.cmp(b)));
        all.into_iter().map(|(key, samples)| (key, self.cpus(samples))).collect()
    }

    /// Rows of a table: of each sample's party, as `row_of` has it, and of the messages' parties.
    fn rows(&self, party: impl Fn(&Owned) -> Party, row_of: impl Fn(Party) -> Party + Copy, units: &[String]) -> Vec<Row> {
        let mut rows: BTreeMap<Party, RowTally> = BTreeMap::new();
        for one in &self.owned {
            let party = party(one);
            rows.entry(row_of(party)).or_default().add(one, party);
        }
        let counted: u64 = self.tallies.iter().filter_map(|tally| tally.messages.as_ref()).map(|(counted, _)| *counted).sum();
        let mut messages: BTreeMap<Party, Vec<(u64, MessageTally)>> = BTreeMap::new();
        for (counted, by_party) in self.tallies.iter().filter_map(|tally| tally.messages.as_ref()) {
            let mut of_rows: BTreeMap<Party, MessageTally> = BTreeMap::new();
            for (party, one) in by_party {
                let sum = of_rows.entry(row_of(*party)).or_default();
                for way in [0, 1] {
                    sum.messages[way] += one.messages[way];
                    sum.bytes[way] += one.bytes[way];
                }
            }
            for (row, sum) in of_rows {
                messages.entry(row).or_default().push((*counted, sum));
            }
        }
        for party in messages.keys() {
            rows.entry(*party).or_default();
        }
        let (drops_counted, drops) = self.drops(row_of);
        for party in drops.keys() {
            rows.entry(*party).or_default();
        }
        let windows = self.tallies.iter().filter(|tally| tally.messages.is_some()).count();
        // Counted all the time: nothing is scaled up.
        let whole = counted as f64 >= 0.9 * self.elapsed as f64;
        // Of the processes of each row: samples, wait and arrivals.
        let mut of_processes: BTreeMap<Party, [u64; 3]> = BTreeMap::new();
        for (pid, process) in &self.processes {
            let sums = of_processes.entry(row_of(Party::Process(*pid, process.unit))).or_default();
            for (sum, one) in sums.iter_mut().zip([process.busy, process.wait, process.arrivals]) {
                *sum = sum.saturating_add(one);
            }
        }
        let mut connections: BTreeMap<Party, u64> = BTreeMap::new();
        for (pid, process) in &self.processes {
            if let Some(held) = process.connections {
                *connections.entry(row_of(Party::Process(*pid, process.unit))).or_default() += u64::from(held);
            }
        }
        let mut made: Vec<Row> = Vec::with_capacity(rows.len());
        for (party, tally) in rows {
            let (kind, name, pid, unit) = self.label(party, units);
            let [busy, wait, arrivals] = of_processes.get(&party).copied().unwrap_or_default();
            let rates = |of: fn(&MessageTally) -> [f64; 2]| {
                (windows > 0 && counted > 0).then(|| {
                    let seen = messages.get(&party).map(Vec::as_slice).unwrap_or_default();
                    [0, 1].map(|way| rate(seen.iter().map(|(counted, one)| (*counted, of(one)[way])), windows, counted, whole))
                })
            };
            made.push(Row {
                kind,
                name,
                pid,
                unit,
                processes: tally.processes.len() as u32,
                samples: tally.samples,
                all: self.interval(tally.samples, tally.shared),
                call: self.cpus(tally.samples - tally.softirq),
                softirq: self.cpus(tally.softirq),
                softirq_met: self.cpus(tally.softirq - tally.shared),
                busy: self.cpus(busy),
                messages: rates(|one| one.messages),
                bytes: rates(|one| one.bytes),
                drops: (drops_counted > 0).then(|| drops.get(&party).copied().unwrap_or_default() as f64 / drops_counted as f64 * 1e9),
                wait_ns: (arrivals > 0).then(|| wait as f64 / arrivals as f64),
                connections: connections.get(&party).copied(),
                parts: tally.parts.iter().map(|(part, samples)| (*part, self.cpus(*samples))).collect(),
            });
        }
        let named = |row: &Row| matches!(row.kind, RowKind::Unit | RowKind::Process);
        made.order_by(|a, b| {
            named(b).cmp(&named(a)).then(b.samples.cmp(&a.samples)).then_with(|| a.name.cmp(&b.name)).then(a.pid.cmp(&b.pid))
        });
        made
    }

    /// Time for which drops were counted, in ns, and those of each row.
    fn drops(&self, row_of: impl Fn(Party) -> Party) -> (u64, BTreeMap<Party, u64>) {
        let (mut counted, mut drops) = (0_u64, BTreeMap::new());
        for (time, by_party) in self.tallies.iter().filter_map(|tally| tally.drops.as_ref()) {
            counted = counted.saturating_add(*time);
            by_party.iter().for_each(|(party, packets)| *drops.entry(row_of(*party)).or_default() += packets);
        }
        (counted, drops)
    }

    fn label(&self, party: Party, units: &[String]) -> (RowKind, String, Option<u32>, Option<String>) {
        let path = |unit: Option<Unit>| unit.and_then(|unit| units.get(unit as usize).cloned());
        let words = |kind, words: &str| (kind, words.to_owned(), None, None);
        match party {
            Party::Process(pid, unit) => {
                let name = self.processes.get(&pid).map(|process| process.name.clone()).unwrap_or_default();
                let name = if name.is_empty() { "ended".to_owned() } else { name };
                (RowKind::Process, name, Some(pid), path(unit))
            }
            Party::Unit(unit) => (RowKind::Unit, path(Some(unit)).unwrap_or_default(), None, None),
            Party::Kernel => words(RowKind::Kernel, "kernel"),
            Party::Forwarded => words(RowKind::Forwarded, "forwarded"),
            Party::Unowned => words(RowKind::Unowned, "unowned"),
            Party::Idle => words(RowKind::Idle, "idle"),
            Party::Outside => words(RowKind::Outside, "outside this container"),
            Party::Ended => words(RowKind::Ended, "ended"),
        }
    }

    /// The largest cause that is beyond chance, and not too small to matter.
    fn cause(&self, units: &[String]) -> Option<Cause> {
        let beyond_chance = |count: Count| {
            let all = self.interval(count.samples.round() as u64, count.shared.round() as u64);
            (all.low > 0.0 && all.cpus >= LEAST_CAUSE).then_some(all)
        };
        let name = |party| self.label(party, units).1;
        causes(&self.owned).into_iter().find_map(|(pair, tally)| {
            let interrupted =
                tally.interrupted().and_then(|(unit, count)| Some(InterruptedUnit { unit: name(unit), all: beyond_chance(count)? }));
            let all = beyond_chance(tally.all)?;
            Some(Cause { sender: pair.sender.map(name), receiver: name(pair.receiver), all, cpu: tally.cpu(), interrupted })
        })
    }

    fn per_cpu(&self, units: &[String]) -> Vec<CpuRow> {
        let online: BTreeSet<u32> = self.tallies.back().map(|tally| tally.cpus.keys().copied().into_set()).unwrap_or_default();
        let mut by_cpu: BTreeMap<u32, Vec<&Owned>> = BTreeMap::new();
        self.owned.iter().for_each(|one| by_cpu.entry(one.work.cpu).or_default().push(one));
        let row = |cpu: u32| {
            let here = || by_cpu.get(&cpu).into_iter().flatten();
            let mut by_party: BTreeMap<Party, u64> = BTreeMap::new();
            let softirqs = here().filter(|one| one.work.softirq);
            softirqs.for_each(|one| *by_party.entry(one.owner.in_units()).or_default() += one.samples);
            let most = by_party.into_iter().max_by_key(|(_, samples)| *samples).map(|(party, _)| self.label(party, units).1);
            let on = self.on_cpu.get(&cpu).copied().unwrap_or_default();
            if self.worth == 0.0 {
                // By the kernel's own counters, of which none is the network's alone.
                let counted = |of: fn(&CpuTime) -> u64| {
                    self.tallies.iter().filter_map(|tally| tally.cpus.get(&cpu)).map(of).sum::<u64>() as f64 / self.elapsed as f64
                };
                let busy = counted(|time| time.all.get().saturating_sub(time.idle.get() + time.steal.get()));
                let softirq = counted(|time| time.softirq.get());
                return CpuRow { cpu, made: 0, network: 0.0, softirq, ksoftirqd: 0.0, busy, softirq_for: None };
            }
            CpuRow {
                cpu,
                made: on.made,
                network: self.cpus(here().map(|one| one.samples).sum()),
                softirq: self.cpus(here().filter(|one| one.work.softirq).map(|one| one.samples).sum()),
                ksoftirqd: self.cpus(on.ksoftirqd),
                busy: self.cpus(on.made - on.idle),
                softirq_for: most,
            }
        };
        online.into_iter().map(row).collect()
    }
}

impl Party {
    /// The row of a table of units that it is in.
    pub(super) const fn in_units(self) -> Self {
        match self {
            Self::Process(_, Some(unit)) => Self::Unit(unit),
            Self::Process(_, None) => Self::Ended,
            other => other,
        }
    }
}

/// Samples of one row.
#[derive(Debug, Default)]
struct RowTally {
    samples: u64,
    softirq: u64,
    shared: u64,
    processes: BTreeSet<u32>,
    parts: BTreeMap<(Layer, Category), u64>,
}

impl RowTally {
    fn add(&mut self, one: &Owned, party: Party) {
        self.samples += one.samples;
        self.softirq += if one.work.softirq { one.samples } else { 0 };
        self.shared += if one.shared { one.samples } else { 0 };
        if let Party::Process(pid, _) = party {
            self.processes.insert(pid);
        }
        *self.parts.entry((one.work.layer, one.work.category)).or_default() += one.samples;
    }
}

/// A rate over the time for which messages were counted, with its error by the scatter of the windows. Windows in which
/// none was seen are counted as well.
fn rate(seen: impl Iterator<Item = (u64, f64)>, windows: usize, counted: u64, whole: bool) -> Rate {
    let rates: Vec<(u64, f64)> = seen.collect();
    let sum: f64 = rates.iter().map(|(_, count)| count).sum();
    // The sum of none is a negative zero.
    let mean = (sum / counted as f64 * 1e9).max(0.0) + 0.0;
    if whole {
        return Rate { rate: mean, half: 0.0 };
    }
    if windows < 2 {
        return Rate { rate: mean, half: mean };
    }
    let none = (windows - rates.len().min(windows)) as f64;
    let squares: f64 =
        rates.iter().map(|(counted, count)| (count / *counted as f64 * 1e9 - mean).powi(2)).sum::<f64>() + none * mean * mean;
    let deviation = (squares / (windows as f64 - 1.0)).sqrt();
    Rate { rate: mean, half: stats::distribution::student_critical(0.95, windows as f64 - 1.0) * deviation / (windows as f64).sqrt() }
}
