//! Two recordings, unit by unit: the CPU time that each takes, and that of its messages.

use model::sorting::Order;
use serde::Serialize;
use stats::holm::holm;
use stats::welch::Welch;

use super::{FALSE_ALARMS, LEAST_BATCHES, Part, Recorded, Toll};

/// The least size of a batch that is taken, as a share of the mean.
const LEAST_SIZE: f64 = 0.1;

/// Two recordings, unit by unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordingsCompared {
    /// Names of the runs.
    pub runs: [String; 2],
    /// The share beyond which a change counts.
    pub threshold: f64,
    /// Units, the largest change of CPUs first.
    pub units: Vec<UnitChange>,
}

/// A unit in two recordings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnitChange {
    /// Its name.
    pub name: String,
    /// CPUs that the network took for it.
    pub cpus: Shift,
    /// CPU time of a message in ns, where both have it: a change of the load alone leaves it.
    pub message_ns: Option<Shift>,
}

/// A quantity of a unit in two recordings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shift {
    /// Its mean in each.
    pub means: [f64; 2],
    /// The difference of these, with its 95 % interval.
    pub difference: [f64; 3],
    /// p-value over all quantities of all units (Holm).
    pub p: f64,
    /// What follows.
    pub outcome: UnitOutcome,
}

/// What is shown of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitOutcome {
    /// More, beyond the threshold.
    More,
    /// Less, likewise.
    Less,
    /// The whole interval lies within the threshold.
    Equivalent,
    /// None of these.
    Open,
}

impl UnitChange {
    /// Its quantities: CPUs, and the CPU time of a message.
    pub fn shifts(&self) -> impl Iterator<Item = &Shift> {
        [&self.cpus].into_iter().chain(&self.message_ns)
    }

    /// Returns whether one of its quantities has changed.
    pub fn has_changed(&self) -> bool {
        self.shifts().any(|shift| matches!(shift.outcome, UnitOutcome::More | UnitOutcome::Less))
    }
}

/// A quantity in the batches of two recordings.
struct Compared {
    means: [f64; 2],
    welch: Welch,
}

impl Compared {
    /// That of CPUs.
    fn cpus(sides: [&[(f64, Toll)]; 2]) -> Option<Self> {
        Self::ratio(sides.map(|batches| batches.iter().map(|(elapsed, toll)| (toll.time(), *elapsed)).collect()))
    }

    /// That of the time of a message, where both have messages.
    fn message_ns(sides: [&[(f64, Toll)]; 2]) -> Option<Self> {
        Self::ratio(sides.map(|batches| batches.iter().map(|(_, toll)| (toll.time(), toll.messages)).collect()))
    }

    /// Of a ratio of sums over batches: the ratio, and what each batch adds to its error (the ratio estimator: Cochran 1977,
    /// "Sampling Techniques", chapter 6). A batch counts by its size, and one with next to nothing says nothing.
    fn ratio(sides: [Vec<(f64, f64)>; 2]) -> Option<Self> {
        let [first, second] = sides.map(|batches| {
            let sums = |batches: &[(f64, f64)]| batches.iter().fold((0.0, 0.0), |sum, batch| (sum.0 + batch.0, sum.1 + batch.1));
            let least = LEAST_SIZE * sums(&batches).1 / batches.len() as f64;
            let batches: Vec<(f64, f64)> = batches.into_iter().filter(|(_, below)| *below >= least).collect();
            let (above, below) = sums(&batches);
            let (ratio, size) = (above / below, below / batches.len() as f64);
            let values: Vec<f64> = batches.iter().map(|(above, below)| ratio + (above - ratio * below) / size).collect();
            (ratio, values)
        });
        if first.1.len().min(second.1.len()) < LEAST_BATCHES {
            return None;
        }
        let welch = Welch::of_series(&first.1, &second.1)?;
        Some(Self { means: [first.0, second.0], welch })
    }

    fn shift(&self, p: f64, threshold: f64) -> Shift {
        let (value, reach) = (self.means[1] - self.means[0], self.welch.reach(0.95));
        let difference = [value, value - reach, value + reach];
        let least = threshold * self.means[0].max(f64::MIN_POSITIVE);
        let outcome = match () {
            () if p <= FALSE_ALARMS && value > least => UnitOutcome::More,
            () if p <= FALSE_ALARMS && value < -least => UnitOutcome::Less,
            () if difference[1] > -least && difference[2] < least => UnitOutcome::Equivalent,
            () => UnitOutcome::Open,
        };
        Shift { means: self.means, difference, p, outcome }
    }
}

impl RecordingsCompared {
    /// Compares the second with the first; `None` where one is too short.
    ///
    /// Each is cut into at most 24 batches, so that one says little of the next (batch means: Law and Kelton 1979); their
    /// means are compared by Welch's t, for which correlated neighbours count for fewer, and all quantities of all units by
    /// Holm's correction.
    pub fn of(first: &Recorded, second: &Recorded, threshold: f64) -> Option<Self> {
        let sides = [first, second];
        let batches = sides.map(Recorded::batches);
        if batches.iter().any(|batches| batches.len() < LEAST_BATCHES) {
            return None;
        }
        let mut names: Vec<&String> = sides.iter().flat_map(|side| &side.names).collect();
        names.order();
        names.dedup();
        let of_unit = |side: usize, name: &String| -> Vec<(f64, Toll)> {
            let place = sides[side].places.get(name);
            let toll = |part: &Part| place.and_then(|unit| part.units.get(unit)).copied().unwrap_or_default();
            batches[side].iter().map(|part| (part.elapsed, toll(part))).collect()
        };
        let mut found: Vec<(&String, Compared, Option<Compared>)> = Vec::new();
        for name in names {
            let unit = [0, 1].map(|side| of_unit(side, name));
            let unit = [unit[0].as_slice(), &unit[1]];
            if let Some(cpus) = Compared::cpus(unit) {
                found.push((name, cpus, Compared::message_ns(unit)));
            }
        }
        let p = |compared: &Compared| compared.welch.p(0.0);
        let all: Vec<f64> = found.iter().flat_map(|(_, cpus, message)| [Some(p(cpus)), message.as_ref().map(p)]).flatten().collect();
        let mut adjusted = holm(&all).into_iter();
        let mut shift = |compared: &Compared| compared.shift(adjusted.next().unwrap_or(1.0), threshold);
        let mut units: Vec<UnitChange> = found
            .iter()
            .map(|(name, cpus, message)| UnitChange {
                name: (*name).clone(),
                cpus: shift(cpus),
                message_ns: message.as_ref().map(&mut shift),
            })
            .collect();
        units.order_by(|a, b| b.cpus.difference[0].abs().total_cmp(&a.cpus.difference[0].abs()).then_with(|| a.name.cmp(&b.name)));
        Some(Self { runs: sides.map(|side| side.run.id.clone()), threshold, units })
    }

    /// Units with a change that counts.
    pub fn changed(&self) -> impl Iterator<Item = &UnitChange> {
        self.units.iter().filter(|unit| unit.has_changed())
    }

    /// Returns whether any quantity has this outcome.
    pub fn has(&self, outcome: UnitOutcome) -> bool {
        self.units.iter().flat_map(UnitChange::shifts).any(|shift| shift.outcome == outcome)
    }
}
