//! Round-trip times: stored histograms merged, never averaged.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

use serde::Serialize;

use crate::claim::Claim;
use stats::bootstrap::{self, LEAST_BLOCKS, MOST_BATCHES};
use stats::estimate::Estimate;

/// The percentiles reported.
const PERCENTS: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

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
    #[error("the latency histogram is not an HdrHistogram V2: {0:?}")]
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

/// Times of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// Their number.
    pub count: u64,
    /// Shortest, in ns.
    pub min_ns: u64,
    /// Longest, in ns.
    pub max_ns: u64,
    /// Percents (50, 90, 99, 99.9) with the time in ns that so many do not exceed.
    pub percentiles: Vec<(f64, f64)>,
}

impl Spread {
    /// The time that `percent` of all do not exceed; `None` of a percent that is not kept.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        self.percentiles.iter().find(|(known, _)| (known - percent).abs() < 1e-6).map(|(_, time)| *time)
    }
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
    /// Percentiles in ns, each with an interval over blocks.
    pub percentiles: Vec<Percentile>,
}

/// One percentile of merged round-trip times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentile {
    /// 50, 90, 99 or 99.9.
    pub percent: f64,
    /// In ns.
    pub estimate: Estimate,
}

/// Round-trip times in ns with their counts. Only values that occurred are
/// kept: a cell then costs kilobytes, where a full histogram costs hundreds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoundTrips {
    counts: BTreeMap<u64, u64>,
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
        Ok(Self { counts: recorded.collect() })
    }

    /// Adds the times of another.
    pub fn merge(&mut self, other: &Self) {
        for (time, count) in &other.counts {
            let sum = self.counts.entry(*time).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// Their number.
    pub fn transactions(&self) -> u64 {
        self.counts.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The smallest time that at least `percent` of all do not exceed; `None`
    /// of none.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let total = self.transactions();
        let mut wanted = [percent].into_iter();
        let steps = self.counts.iter().map(|(time, count)| (*time, *count));
        percentiles(steps, total, &mut wanted).first().copied()
    }

    /// Number, ends and percentiles; `None` of none.
    pub fn spread(&self) -> Option<Spread> {
        let (min_ns, max_ns) = (*self.counts.keys().next()?, *self.counts.keys().next_back()?);
        let percentiles = PERCENTS.iter().filter_map(|percent| Some((*percent, self.percentile(*percent)?))).collect();
        Some(Spread { count: self.transactions(), min_ns, max_ns, percentiles })
    }
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
    pub fn finish(&self, claim: Claim, seed: u64) -> Option<Latency> {
        let Spread { count, min_ns, max_ns, percentiles } = self.all().spread()?;
        let drawn = self.resample(seed);
        let percentiles = percentiles.into_iter().enumerate().map(|(place, (percent, value))| {
            let beyond = count as f64 * (1.0 - percent / 100.0);
            let values: Vec<f64> = drawn.iter().filter_map(|percentiles| percentiles.get(place).copied()).collect();
            let interval = claim.bootstrapped(value, &values, self.batches.len()).filter(|_| beyond >= LEAST_BEYOND);
            Percentile { percent, estimate: Estimate { value, interval, n: self.blocks.len() } }
        });
        Some(Latency { transactions: count, min_ns, max_ns, percentiles: percentiles.collect() })
    }

    /// All times together as a curve: each percent, rising, with its time in ns.
    /// Empty without any times.
    pub fn curve(&self, percents: &[f64]) -> Vec<[f64; 2]> {
        let all = self.all();
        let total = all.transactions();
        let steps = all.counts.iter().map(|(time, count)| (*time, *count));
        let times = percentiles(steps, total, &mut percents.iter().copied());
        percents.iter().zip(times).map(|(percent, time)| [*percent, time]).collect()
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
        let sizes: Vec<u64> = self.batches.values().map(RoundTrips::transactions).collect();
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
    use super::{Claim, HistogramSet, MOST_BATCHES, RoundTrips};
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use model::plan::Blocks;
    use proptest::prelude::{prop, prop_assert_eq, proptest};

    fn claim() -> Claim {
        Claim::new(&Blocks { least: 9, most: 9, interval: 0.05, confidence: 0.95 })
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
        let latency = gathered.finish(claim(), 1).unwrap();
        assert_eq!(latency.transactions, 20_000);
        assert_eq!(latency.percentiles.len(), 4);
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
        let latency = gathered.finish(claim(), 1).unwrap();
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
