//! Round-trip times: stored histograms merged, never averaged. Times that are
//! missing count as longer than all that their trial saw.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use model::Test;
use model::trial::Measured;
use serde::Serialize;

use crate::confidence::Confidence;
use crate::ends;
use stats::bootstrap::{self, LEAST_BLOCKS, MOST_BATCHES};
use stats::estimate::Estimate;

/// The percentiles reported.
const PERCENTS: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// The percents of the curve: every decade of the tail.
const CURVE: [f64; 14] = [1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.995, 99.999];

/// A percentile with fewer transactions beyond it than this has no interval:
/// which few they were is chance that no resampling shows.
const LEAST_BEYOND: f64 = 10.0;

/// A stored histogram that cannot be read, and why.
#[derive(Debug, thiserror::Error)]
pub enum LatencyError {
    /// It is not base64.
    #[error("the latency histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// It is not an HdrHistogram V2.
    #[error("the latency histogram is not an HdrHistogram V2: {0}")]
    Histogram(hdrhistogram::serialization::DeserializeError),
    /// It announces more than it holds.
    #[error("the latency histogram is cut short: it announces {0} bytes of counts")]
    Short(u32),
}

/// The library makes room for what the header announces, up to 4 GiB, before
/// it looks whether that is there.
fn announces_what_it_holds(bytes: &[u8]) -> Result<(), LatencyError> {
    const HEADER: usize = 40;
    let announced = bytes.get(4..).and_then(|rest| rest.first_chunk()).map_or(0, |length| u32::from_be_bytes(*length));
    let held = bytes.len().saturating_sub(HEADER) as u64;
    if u64::from(announced) > held { Err(LatencyError::Short(announced)) } else { Ok(()) }
}

/// Times of one kind in one trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// Their number.
    pub count: u64,
    /// Shortest, in ns.
    pub min_ns: u64,
    /// Longest, in ns.
    pub max_ns: u64,
    /// Number of those that did not end, such as requests without an answer: they
    /// count as longer than `max_ns`.
    #[serde(skip_serializing_if = "is_none_missing")]
    pub missing: u64,
    /// Percents (50, 90, 99, 99.9) with the time in ns that so many do not exceed;
    /// `None`: it is one of the missing, and at least `max_ns`.
    pub percentiles: Vec<(f64, Option<f64>)>,
}

impl Spread {
    /// The time that `percent` of all do not exceed; `None` of a percent that is not
    /// kept or not known.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        self.percentiles.iter().find(|(known, _)| (known - percent).abs() < 1e-6).and_then(|(_, time)| *time)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_none_missing(missing: &u64) -> bool {
    *missing == 0
}

/// Times of one kind, such as round trips, all trials of a cell merged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latency {
    /// Number of transactions, or of messages that were timed.
    pub transactions: u64,
    /// Smallest, in ns.
    pub min_ns: u64,
    /// Largest, in ns.
    pub max_ns: u64,
    /// Number of those that did not end: requests never sent or never answered. They
    /// are not among `transactions`, but percentiles count them as longer than
    /// anything that their trial saw.
    #[serde(skip_serializing_if = "is_none_missing")]
    pub missing: u64,
    /// Percentiles in ns, each with an interval over blocks.
    pub percentiles: Vec<Percentile>,
    /// All times together as a curve: each percent, rising, with its time in ns. It ends
    /// before what is missing, and where fewer transactions than ten lie beyond.
    #[serde(skip)]
    pub curve: Vec<[f64; 2]>,
}

/// One percentile of merged round-trip times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentile {
    /// 50, 90, 99 or 99.9.
    pub percent: f64,
    /// In ns.
    pub estimate: Estimate,
    /// The estimate is a lower bound: times that are missing decide the true one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
}

/// Round-trip times in ns with their counts. Only values that occurred are
/// kept: a cell then costs kilobytes, where a full histogram costs hundreds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoundTrips {
    counts: BTreeMap<u64, u64>,
    /// Numbers of those that did not end, by the longest time of their trial.
    missing: BTreeMap<u64, u64>,
}

/// The times of one trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Times {
    /// Round trips, where a rate is offered from the intended time of each request.
    pub round_trips: Option<RoundTrips>,
    /// Round trips from the actual time of each request, where a rate is offered.
    pub uncorrected: Option<RoundTrips>,
    /// Time from the intended to the actual begin of each send.
    pub lateness: Option<RoundTrips>,
    /// Time that each stamped datagram took beyond the shortest.
    pub beyond_least: Option<RoundTrips>,
}

impl Times {
    /// The times of a trial of `test`, and the last histogram that cannot be read.
    ///
    /// Missing are, where a rate is offered, the requests of the window's schedule
    /// without an answer, sent or not; of a closed loop those that it gave up and that had none later either. Of
    /// sends those that were due and had not begun by the window's end, where the sender
    /// did not keep to its schedule.
    pub fn of_trial(measured: &Measured, test: Test) -> (Self, Option<LatencyError>) {
        let mut unreadable = None;
        let mut read = |text: Option<&String>| RoundTrips::decode(text?).map_err(|error| unreadable = Some(error)).ok();
        let (sender, schedule) = (&measured.sender, measured.sender.schedule.as_ref());
        let mut times = Self {
            round_trips: read(sender.latency.as_ref()),
            uncorrected: read(schedule.and_then(|schedule| schedule.uncorrected.as_ref())),
            lateness: read(schedule.and_then(|schedule| schedule.lateness.as_ref())),
            beyond_least: read(measured.receiver.one_way.as_ref().and_then(|way| way.beyond_base.as_ref())),
        };
        if unreadable.is_some() {
            // What was read cannot be told from what was not.
            return (times, unreadable);
        }
        add_missing(&mut times.lateness, ends::behind_by(sender).map_or(0, |(messages, _)| messages));
        if !test.is_stream() {
            let answered = times.round_trips.as_ref().map_or(0, RoundTrips::transactions);
            // Of a closed loop what has a time beyond those that came in time came late, and is not missing.
            let never = sender.counts.lost.saturating_sub(answered.saturating_sub(sender.counts.messages));
            let (missing, unsent) =
                schedule.map_or((never, None), |schedule| (schedule.intended.saturating_sub(answered), schedule.unsent));
            add_missing(&mut times.round_trips, missing);
            add_missing(&mut times.uncorrected, unsent.map_or(0, |unsent| missing.saturating_sub(unsent)));
        }
        (times, None)
    }
}

/// Counts `missing` as longer than all other times of the trial.
fn add_missing(times: &mut Option<RoundTrips>, missing: u64) {
    if missing > 0 {
        let times = times.get_or_insert_default();
        let longest = times.counts.keys().next_back().copied().unwrap_or_default();
        *times.missing.entry(longest).or_default() += missing;
    }
}

/// The time that a share of all do not exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reached {
    /// In ns.
    pub ns: f64,
    /// It is a lower bound: the true one is missing.
    pub at_least: bool,
}

impl RoundTrips {
    /// Reads what [`model::end::EndReport::latency`] holds.
    ///
    /// # Errors
    /// See [`LatencyError`].
    pub fn decode(text: &str) -> Result<Self, LatencyError> {
        let bytes = STANDARD.decode(text)?;
        announces_what_it_holds(&bytes)?;
        let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(LatencyError::Histogram)?;
        let recorded = histogram.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()));
        Ok(Self { counts: recorded.collect(), missing: BTreeMap::new() })
    }

    /// Adds the times of another.
    pub fn merge(&mut self, other: &Self) {
        add_counts(&mut self.counts, &other.counts);
        add_counts(&mut self.missing, &other.missing);
    }

    /// Number of those that ended.
    pub fn transactions(&self) -> u64 {
        sum(&self.counts)
    }

    /// Number of those that did not.
    pub fn missing(&self) -> u64 {
        sum(&self.missing)
    }

    /// Number of both.
    fn total(&self) -> u64 {
        self.transactions().saturating_add(self.missing())
    }

    /// The smallest times that at least so many percent of all, in rising order, do
    /// not exceed; nothing of none.
    ///
    /// What is missing took longer than the longest of its trial, and perhaps for
    /// ever: a time is known where both extremes agree, and at least the smaller where
    /// they do not.
    pub fn percentiles(&self, percents: &[f64]) -> Vec<Reached> {
        let mut soonest = self.counts.clone();
        add_counts(&mut soonest, &self.missing);
        let reached = |counts: &BTreeMap<u64, u64>| {
            let steps = counts.iter().map(|(time, count)| (*time, *count));
            percentiles(steps, self.total(), &mut percents.iter().copied())
        };
        let latest = reached(&self.counts);
        let all = reached(&soonest).into_iter().enumerate();
        all.map(|(place, ns)| Reached { ns, at_least: latest.get(place) != Some(&ns) }).collect()
    }

    /// The smallest time that at least `percent` of all do not exceed: infinite where
    /// that is one of the missing; `None` of none.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        self.percentiles(&[percent]).first().map(|reached| if reached.at_least { f64::INFINITY } else { reached.ns })
    }

    /// Number, ends and percentiles; `None` of none.
    pub fn spread(&self) -> Option<Spread> {
        let (min_ns, max_ns) = (*self.counts.keys().next()?, *self.counts.keys().next_back()?);
        let percentiles = PERCENTS.into_iter().zip(self.percentiles(&PERCENTS));
        let percentiles = percentiles.map(|(percent, reached)| (percent, Some(reached.ns).filter(|_| !reached.at_least))).collect();
        Some(Spread { count: self.transactions(), min_ns, max_ns, missing: self.missing(), percentiles })
    }
}

fn add_counts(ours: &mut BTreeMap<u64, u64>, theirs: &BTreeMap<u64, u64>) {
    for (time, count) in theirs {
        let sum = ours.entry(*time).or_default();
        *sum = sum.saturating_add(*count);
    }
}

fn sum(counts: &BTreeMap<u64, u64>) -> u64 {
    counts.values().fold(0, |sum, count| sum.saturating_add(*count))
}

/// The times at which the wanted percents, in rising order, are reached.
fn percentiles(steps: impl Iterator<Item = (u64, u64)>, total: u64, wanted: &mut dyn Iterator<Item = f64>) -> Vec<f64> {
    let rank = |percent: f64| ((percent / 100.0 * total as f64).ceil() as u64).max(1);
    let mut found = Vec::new();
    let Some(mut next) = wanted.next().map(rank) else { return found };
    let mut below = 0;
    for (time, count) in steps {
        below = count.saturating_add(below);
        while below >= next && total > 0 {
            found.push(time as f64);
            match wanted.next() {
                Some(percent) => next = rank(percent),
                None => return found,
            }
        }
    }
    found
}

/// Histograms of the times of one cell, merged by batches of neighbouring blocks.
///
/// There are at most [`MOST_BATCHES`]: when a block does not fit, batches grow
/// to twice as many blocks (dynamic batch means: Yeh and Schmeiser 2000).
#[derive(Debug, Clone)]
pub struct HistogramSet {
    batches: BTreeMap<u32, RoundTrips>,
    /// Blocks in each batch.
    width: u32,
    /// Blocks with any times.
    blocks: BTreeSet<u32>,
}

impl Default for HistogramSet {
    fn default() -> Self {
        Self { batches: BTreeMap::new(), width: 1, blocks: BTreeSet::new() }
    }
}

impl HistogramSet {
    /// Adds the times of one trial.
    pub fn push(&mut self, block: u32, times: &RoundTrips) {
        self.blocks.insert(block);
        self.batches.entry(block / self.width).or_default().merge(times);
        while self.batches.len() > MOST_BATCHES {
            self.width *= 2;
            for (batch, times) in std::mem::take(&mut self.batches) {
                self.batches.entry(batch / 2).or_default().merge(&times);
            }
        }
    }

    fn all(&self) -> RoundTrips {
        let mut all = RoundTrips::default();
        self.batches.values().for_each(|times| all.merge(times));
        all
    }

    /// The percentiles of all times together, each with its bootstrap interval
    /// over batches; `None` without any times.
    pub fn finish(&self, confidence: Confidence, seed: u64) -> Option<Latency> {
        let all = self.all();
        let Spread { count, min_ns, max_ns, missing, .. } = all.spread()?;
        let drawn = self.resample(seed);
        let percentiles = PERCENTS.into_iter().zip(all.percentiles(&PERCENTS)).enumerate().map(|(place, (percent, reached))| {
            let beyond = count as f64 * (1.0 - percent / 100.0);
            let values: Vec<f64> = drawn.iter().filter_map(|percentiles| percentiles.get(place).copied()).collect();
            let interval = confidence.bootstrapped(reached.ns, &values, self.batches.len());
            // A draw without a value has one of the missing there: no end is known.
            let interval = interval.filter(|_| beyond >= LEAST_BEYOND && !reached.at_least && values.len() == drawn.len());
            Percentile { percent, estimate: Estimate { value: reached.ns, interval, n: self.blocks.len() }, at_least: reached.at_least }
        });
        let percentiles = percentiles.collect();
        // Rounding must not take away a percent beyond which exactly ten lie.
        let known = |point: &[f64; 2]| count as f64 * (1.0 - point[0] / 100.0) >= LEAST_BEYOND - 1e-6;
        let curve = self.curve(&CURVE).into_iter().take_while(known).collect();
        Some(Latency { transactions: count, min_ns, max_ns, missing, percentiles, curve })
    }

    /// All times together as a curve: each percent, rising, with its time in ns, up to
    /// the first that is not known. Empty without any times.
    pub fn curve(&self, percents: &[f64]) -> Vec<[f64; 2]> {
        let times = self.all().percentiles(percents).into_iter().take_while(|reached| !reached.at_least);
        percents.iter().zip(times).map(|(percent, reached)| [*percent, reached.ns]).collect()
    }

    /// The percentiles of each draw of batches.
    fn resample(&self, seed: u64) -> Vec<Vec<f64>> {
        if self.batches.len() < LEAST_BLOCKS {
            return Vec::new();
        }
        let mut steps: Vec<(u64, usize, u64)> = Vec::new();
        for (batch, times) in self.batches.values().enumerate() {
            steps.extend(times.counts.iter().map(|(time, count)| (*time, batch, *count)));
        }
        steps.sort_unstable();
        let sizes: Vec<u64> = self.batches.values().map(RoundTrips::total).collect();
        let one = |times: Vec<u32>| {
            let total =
                sizes.iter().zip(&times).fold(0, |sum: u64, (size, times)| sum.saturating_add(size.saturating_mul((*times).into())));
            let drawn = steps.iter().map(|(time, batch, count)| (*time, count.saturating_mul(times[*batch].into())));
            percentiles(drawn, total, &mut PERCENTS.into_iter())
        };
        bootstrap::draws(self.batches.len(), seed).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Confidence, HistogramSet, MOST_BATCHES, RoundTrips};
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use model::plan::Blocks;
    use proptest::prelude::{prop, prop_assert_eq, proptest};

    fn confidence() -> Confidence {
        Confidence::new(&Blocks { least: 9, most: 9, interval: 0.05, confidence: 0.95 })
    }

    fn histogram(times: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap();
        times.iter().for_each(|time| histogram.record(*time).unwrap());
        histogram
    }

    fn encoded(histogram: &Histogram<u64>) -> String {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(histogram, &mut bytes).unwrap();
        STANDARD.encode(bytes)
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        assert!(RoundTrips::decode("?").is_err());
        assert!(RoundTrips::decode("AAAA").is_err());
        assert_eq!(RoundTrips::decode(&encoded(&histogram(&[]))).unwrap().percentile(50.0), None);
    }

    #[test]
    fn many_blocks_are_pooled_and_nothing_is_lost() {
        let mut gathered = HistogramSet::default();
        for block in 0..1000 {
            let times: Vec<u64> = (1..=20).map(|i| 10_000 + 500 * i + u64::from(block % 7)).collect();
            gathered.push(block, &RoundTrips::decode(&encoded(&histogram(&times))).unwrap());
        }
        assert!(gathered.batches.len() > MOST_BATCHES / 2 - 1 && gathered.batches.len() <= MOST_BATCHES);
        let latency = gathered.finish(confidence(), 1).unwrap();
        assert_eq!(latency.transactions, 20_000);
        assert_eq!(latency.percentiles.len(), 4);
        // As far as ten lie beyond: the tail of 20,000 ends at 99.95 %.
        assert_eq!(latency.curve.last().map(|point| point[0]), Some(99.95));
        assert!(latency.curve.windows(2).all(|pair| pair[0][1] <= pair[1][1]), "{:?}", latency.curve);
        let p99 = latency.percentiles.iter().find(|one| one.percent == 99.0).map(|one| one.estimate.value);
        assert_eq!(latency.curve.iter().find(|point| point[0] == 99.0).map(|point| point[1]), p99);
        for percentile in latency.percentiles {
            let interval = percentile.estimate.interval.unwrap();
            assert_eq!(percentile.estimate.n, 1000);
            assert!(interval.low <= percentile.estimate.value && percentile.estimate.value <= interval.high);
        }
    }

    #[test]
    fn a_percentile_beyond_the_data_has_no_interval() {
        let mut gathered = HistogramSet::default();
        for block in 0..9 {
            gathered.push(block, &RoundTrips::decode(&encoded(&histogram(&[1000; 100]))).unwrap());
        }
        let latency = gathered.finish(confidence(), 1).unwrap();
        assert!(latency.percentiles[1].estimate.interval.is_some());
        assert!(latency.percentiles[3].estimate.interval.is_none());
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_histogram(times in prop::collection::vec(1u64..10_000_000_000, 1..200), percent in 0.0..100.0f64) {
            let histogram = histogram(&times);
            let read = RoundTrips::decode(&encoded(&histogram)).unwrap();
            prop_assert_eq!(read.percentile(percent).unwrap() as u64, histogram.value_at_quantile(percent / 100.0));
        }

        #[test]
        fn merging_is_as_one_histogram(a in prop::collection::vec(1u64..1_000_000, 1..50), b in prop::collection::vec(1u64..1_000_000, 1..50)) {
            let mut merged = RoundTrips::decode(&encoded(&histogram(&a))).unwrap();
            merged.merge(&RoundTrips::decode(&encoded(&histogram(&b))).unwrap());
            let both: Vec<u64> = a.into_iter().chain(b).collect();
            prop_assert_eq!(merged, RoundTrips::decode(&encoded(&histogram(&both))).unwrap());
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,60}") {
            let _ = RoundTrips::decode(&text);
        }
    }
}
