//! A recording, added up: over all of its time, and in at most 96 parts of it.

use std::collections::{BTreeMap, HashMap};

use attribution::{Category, Layer};
use model::Nanos;
use model::recording::{MOST_RECORDED, OTHERS, RecordedUnit, RecordedWindow, Recording};
use model::sorting::{Gather, Order};
use serde::Serialize;
use stats::change::{Change, changes};

use super::snapshot::{Cpus, Row, Snapshot};

mod compared;

pub use compared::{RecordingsCompared, Shift, UnitChange, UnitOutcome};

/// The most parts of a recording.
pub const MOST_PARTS: usize = 96;
/// The most units of a recording; those that come later are one, [`OTHERS`].
const MOST_UNITS: usize = 2_000;
/// Parts of a recording that a comparison takes for independent, at most and at least.
const BATCHES: usize = 24;
const LEAST_BATCHES: usize = 4;
/// The dearest units, in which steps are looked for.
const MOST_STEPS: usize = 40;
/// Parts of a recording that a step takes.
pub const LEAST_PARTS: usize = stats::change::LEAST;
/// Two-sided 95 % of a normal distribution.
const Z: f64 = 1.96;
/// Chance of naming a unit of two recordings that are alike, over all units.
const FALSE_ALARMS: f64 = 0.01;

/// A window as it is stored; `None` where CPUs could not be sampled.
pub fn recorded(snapshot: &Snapshot) -> Option<RecordedWindow> {
    let network = snapshot.network.as_ref()?;
    let period = 1e9 / snapshot.hz;
    let samples = |cpus: f64| (cpus * snapshot.elapsed_ns as f64 / period).round() as u64;
    let seconds = snapshot.elapsed_ns as f64 / 1e9;
    let unit = |row: &Row| {
        let softirq = samples(row.softirq).min(row.samples);
        RecordedUnit {
            name: row.name.clone(),
            call: row.samples - softirq,
            softirq,
            shared: softirq.saturating_sub(samples(row.softirq_met)),
            messages: (row.message_rate().unwrap_or(0.0) * seconds).round() as u64,
            bytes: (row.byte_rate().unwrap_or(0.0) * seconds).round() as u64,
        }
    };
    let mut rows: Vec<&Row> = snapshot.units.iter().filter(|row| row.samples > 0 || row.message_rate() > Some(0.0)).collect();
    rows.order_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.name.cmp(&b.name)));
    let rest = rows.split_off(rows.len().min(MOST_RECORDED));
    let mut units: Vec<RecordedUnit> = rows.into_iter().map(unit).collect();
    if !rest.is_empty() {
        let mut others = RecordedUnit { name: OTHERS.to_owned(), ..RecordedUnit::default() };
        for one in rest.into_iter().map(unit) {
            others.call += one.call;
            others.softirq += one.softirq;
            others.shared += one.shared;
            others.messages = others.messages.saturating_add(one.messages);
            others.bytes = others.bytes.saturating_add(one.bytes);
        }
        units.push(others);
    }
    Some(RecordedWindow {
        time_ms: snapshot.time_ns / 1_000_000,
        elapsed: Nanos::new(snapshot.elapsed_ns),
        cpus: snapshot.cpus,
        period: Nanos::new(period.round() as u64),
        samples: [snapshot.samples.due, snapshot.samples.made],
        own: Nanos::new((snapshot.own.all() * snapshot.elapsed_ns as f64) as u64),
        layers: network.layer.iter().map(|(layer, cpus)| (layer.name().to_owned(), samples(*cpus))).into_map(),
        kinds: network.category.iter().map(|(kind, cpus)| (kind.name().to_owned(), samples(*cpus))).into_map(),
        has_messages: snapshot.units.iter().any(|row| row.messages.is_some()),
        units,
    })
}

/// The toll of one unit over some windows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Toll {
    /// Samples.
    samples: f64,
    /// CPU time in calls, in softirqs, and the part of it that was shared out, in ns.
    call: f64,
    softirq: f64,
    shared: f64,
    messages: f64,
    bytes: f64,
}

impl Toll {
    const fn time(&self) -> f64 {
        self.call + self.softirq
    }

    fn add(&mut self, other: &Self) {
        self.samples += other.samples;
        self.call += other.call;
        self.softirq += other.softirq;
        self.shared += other.shared;
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

/// A part of a recording.
#[derive(Debug, Clone, Default)]
struct Part {
    /// Its first window's end and its last one's, in milliseconds since 1970.
    times: [u64; 2],
    windows: usize,
    /// Measured time, in ns.
    elapsed: f64,
    /// CPU times in ns.
    layers: BTreeMap<String, f64>,
    kinds: BTreeMap<String, f64>,
    units: BTreeMap<usize, Toll>,
    own: f64,
    samples: [f64; 2],
}

impl Part {
    fn add(&mut self, other: &Self) {
        self.times[1] = other.times[1];
        self.windows += other.windows;
        self.elapsed += other.elapsed;
        self.own += other.own;
        for place in [0, 1] {
            self.samples[place] += other.samples[place];
        }
        for (of, more) in [(&mut self.layers, &other.layers), (&mut self.kinds, &other.kinds)] {
            more.iter().for_each(|(name, time)| *of.entry(name.clone()).or_default() += time);
        }
        other.units.iter().for_each(|(unit, toll)| self.units.entry(*unit).or_default().add(toll));
    }
}

/// A recording whose windows come one after the other.
#[derive(Debug)]
pub struct Recorded {
    /// What was recorded; of several recordings of a machine the first.
    pub run: Recording,
    /// Lines that hold no window.
    pub damaged: u64,
    parts: Vec<Part>,
    /// Windows of a part.
    width: usize,
    names: Vec<String>,
    places: HashMap<String, usize>,
    cpus: u32,
    has_messages: bool,
}

/// One unit of a recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnitToll {
    /// Its path, or the words of a row that is no unit.
    pub name: String,
    /// Mean of the CPUs that the network took for it.
    #[serde(flatten)]
    pub all: Cpus,
    /// In calls.
    pub call: f64,
    /// In softirqs.
    pub softirq: f64,
    /// Messages a second; `None` where they were not counted.
    pub messages: Option<f64>,
    /// Their bytes a second.
    pub bytes: Option<f64>,
    /// CPU time of a message, in ns.
    pub message_ns: Option<f64>,
}

/// A change of a unit's level within a recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnitStep {
    /// The unit.
    pub name: String,
    /// End of the last part before it, in milliseconds since 1970.
    pub time_ms: u64,
    /// Median CPUs before and after.
    pub cpus: [f64; 2],
    /// Probability of one so clear in any unit by chance.
    pub p: f64,
}

/// CPUs of each of some names, part by part.
pub type Series = Vec<(String, Vec<f64>)>;

impl Recorded {
    /// A recording of which no window has come yet.
    pub fn new(run: Recording) -> Self {
        let (parts, names, places) = (Vec::new(), Vec::new(), HashMap::new());
        Self { run, damaged: 0, parts, width: 1, names, places, cpus: 0, has_messages: false }
    }

    /// Takes the next window; one without a length, or of more work than its CPUs can do, is damage.
    pub fn push(&mut self, window: &RecordedWindow) {
        let elapsed = window.elapsed.get() as f64;
        let period = window.period.get() as f64;
        let samples = window.units.iter().fold(0_u64, |sum, unit| sum.saturating_add(unit.samples()));
        // Timers of CPUs differ by less than a tenth.
        let most = 1.1 * elapsed * f64::from(window.cpus) + 100.0 * period;
        let sum = |of: &BTreeMap<String, u64>| of.values().fold(0_u64, |sum, samples| sum.saturating_add(*samples));
        let times = [samples, sum(&window.layers), sum(&window.kinds)].map(|samples| samples as f64 * period);
        if elapsed <= 0.0 || times.into_iter().chain([window.own.get() as f64]).any(|time| time > most) {
            self.damaged += 1;
            return;
        }
        self.cpus = self.cpus.max(window.cpus);
        self.has_messages |= window.has_messages;
        let times = |of: &BTreeMap<String, u64>, known: fn(&str) -> bool| {
            let mut times: BTreeMap<String, f64> = BTreeMap::new();
            for (name, samples) in of {
                let name = if known(name) { name } else { OTHERS };
                *times.entry(name.to_owned()).or_default() += *samples as f64 * period;
            }
            times
        };
        let [due, made] = window.samples.map(|samples| samples as f64);
        let mut part = Part {
            times: [window.time_ms; 2],
            windows: 1,
            elapsed,
            layers: times(&window.layers, |name| Layer::ALL.iter().any(|layer| layer.name() == name)),
            kinds: times(&window.kinds, |name| Category::ALL.iter().any(|category| category.name() == name)),
            units: BTreeMap::new(),
            own: window.own.get() as f64,
            samples: [due, made],
        };
        for unit in &window.units {
            let toll = Toll {
                samples: unit.samples() as f64,
                call: unit.call as f64 * period,
                softirq: unit.softirq as f64 * period,
                shared: unit.shared as f64 * period,
                messages: unit.messages as f64,
                bytes: unit.bytes as f64,
            };
            part.units.entry(self.place(&unit.name)).or_default().add(&toll);
        }
        match self.parts.last_mut() {
            Some(last) if last.windows < self.width => last.add(&part),
            _ => {
                if self.parts.len() == MOST_PARTS {
                    self.parts = joined(&self.parts, 2);
                    self.width *= 2;
                }
                self.parts.push(part);
            }
        }
    }

    fn place(&mut self, name: &str) -> usize {
        let name = if self.names.len() < MOST_UNITS || self.places.contains_key(name) { name } else { OTHERS };
        *self.places.entry(name.to_owned()).or_insert_with(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    /// Number of windows.
    pub fn windows(&self) -> usize {
        self.parts.iter().map(|part| part.windows).sum()
    }

    /// The most CPUs that were online.
    pub const fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Ends of the first window and of the last, in milliseconds since 1970.
    pub fn times(&self) -> [u64; 2] {
        [self.parts.first().map_or(0, |part| part.times[0]), self.parts.last().map_or(0, |part| part.times[1])]
    }

    /// The end of each part, in milliseconds since 1970.
    pub fn ends(&self) -> Vec<u64> {
        self.parts.iter().map(|part| part.times[1]).collect()
    }

    fn whole(&self) -> Part {
        joined(&self.parts, self.parts.len().max(1)).pop().unwrap_or_default()
    }

    /// Cost of watching, in CPUs; samples that were due, and that were made.
    pub fn watching(&self) -> (f64, [f64; 2]) {
        let whole = self.whole();
        (whole.own / whole.elapsed.max(1.0), whole.samples)
    }

    /// The network's CPUs, and those of each unit, the dearest first.
    pub fn units(&self) -> (Cpus, Vec<UnitToll>) {
        let whole = self.whole();
        let mut sum = Toll::default();
        whole.units.values().for_each(|toll| sum.add(toll));
        let mut units: Vec<UnitToll> = whole.units.iter().map(|(unit, toll)| self.unit(*unit, toll, whole.elapsed)).collect();
        units.order_by(|a, b| b.all.cpus.total_cmp(&a.all.cpus).then_with(|| a.name.cmp(&b.name)));
        (cpus(&Toll { shared: 0.0, ..sum }, whole.elapsed), units)
    }

    fn unit(&self, unit: usize, toll: &Toll, elapsed: f64) -> UnitToll {
        let per_second = |count: f64| self.has_messages.then(|| count / elapsed * 1e9);
        UnitToll {
            name: self.names[unit].clone(),
            all: cpus(toll, elapsed),
            call: toll.call / elapsed,
            softirq: toll.softirq / elapsed,
            messages: per_second(toll.messages),
            bytes: per_second(toll.bytes),
            message_ns: (toll.messages > 0.0).then(|| toll.time() / toll.messages),
        }
    }

    /// CPUs of the `most` dearest units, part by part, and of all others.
    pub fn unit_series(&self, most: usize) -> Series {
        let names: Vec<String> = self.units().1.into_iter().map(|unit| unit.name).filter(|name| name != OTHERS).take(most).collect();
        let of = |part: &Part| {
            let time = |name: &String| self.places.get(name).and_then(|unit| part.units.get(unit)).map_or(0.0, Toll::time);
            let mut times: Vec<f64> = names.iter().map(time).collect();
            times.push(part.units.values().map(Toll::time).sum::<f64>() - times.iter().sum::<f64>());
            times
        };
        self.series(names.iter().cloned().chain([OTHERS.to_owned()]).collect(), of)
    }

    /// CPUs by layer, part by part, the dearest first.
    pub fn layer_series(&self) -> Series {
        self.parts_series(|part| &part.layers)
    }

    /// CPUs by kind of work, part by part, the dearest first.
    pub fn kind_series(&self) -> Series {
        self.parts_series(|part| &part.kinds)
    }

    fn parts_series(&self, of: fn(&Part) -> &BTreeMap<String, f64>) -> Series {
        let whole = self.whole();
        let mut names: Vec<(String, f64)> = of(&whole).iter().map(|(name, time)| (name.clone(), *time)).collect();
        names.order_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
        let times = |part: &Part| names.iter().map(|name| of(part).get(name).copied().unwrap_or(0.0)).collect();
        self.series(names.clone(), times)
    }

    /// Series of names that have anything.
    fn series(&self, names: Vec<String>, of: impl Fn(&Part) -> Vec<f64>) -> Series {
        let mut all: Series = names.into_iter().map(|name| (name, Vec::with_capacity(self.parts.len()))).collect();
        for part in &self.parts {
            for ((_, series), time) in all.iter_mut().zip(of(part)) {
                series.push((time / part.elapsed).max(0.0));
            }
        }
        all.retain(|(_, series)| series.iter().any(|cpus| *cpus > 1e-9));
        all
    }

    /// The clearest step of each of the dearest units, of those that chance shows in one of 100 recordings of a level load
    /// (maximally selected t, against shuffled parts): the earliest first.
    pub fn steps(&self) -> Vec<UnitStep> {
        let series = self.unit_series(MOST_STEPS);
        let ends = self.ends();
        let found = changes(&series.iter().map(|(_, cpus)| cpus.clone()).collect::<Vec<_>>());
        let steps = series.into_iter().zip(found).filter_map(|((name, _), change)| {
            let Change { before, levels, p } = change.filter(|change| change.p <= FALSE_ALARMS)?;
            Some(UnitStep { name, time_ms: *ends.get(before.checked_sub(1)?)?, cpus: levels, p })
        });
        let mut steps: Vec<UnitStep> = steps.collect();
        steps.order_by(|a, b| a.time_ms.cmp(&b.time_ms).then_with(|| a.name.cmp(&b.name)));
        steps
    }

    /// Parts that a comparison takes: fewer and longer ones, so that one says little of the next.
    fn batches(&self) -> Vec<Part> {
        // The last part may be short.
        let whole = self.parts.iter().take_while(|part| part.windows == self.width).count().max(self.parts.len().min(1));
        joined(&self.parts[..whole], whole.div_ceil(BATCHES).max(1))
    }
}

/// Neighbours joined, `some` at a time.
fn joined(parts: &[Part], some: usize) -> Vec<Part> {
    let join = |some: &[Part]| {
        let mut sum = some.first().cloned()?;
        some[1..].iter().for_each(|part| sum.add(part));
        Some(sum)
    };
    parts.chunks(some).filter_map(join).collect()
}

/// CPUs with the interval that the number of samples allows, and half of what was shared out.
fn cpus(toll: &Toll, elapsed: f64) -> Cpus {
    let mean = toll.time() / elapsed;
    let chance = if toll.samples > 0.0 { Z / toll.samples.sqrt() * mean } else { 0.0 };
    let half = chance + toll.shared / 2.0 / elapsed;
    Cpus { cpus: mean, low: (mean - half).max(0.0), high: mean + half }
}

#[cfg(test)]
mod tests;
