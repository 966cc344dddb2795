//! Records round-trip times in constant time and memory.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};

/// Sub-buckets of a bucket: what three significant digits need (2 x 10^3,
/// rounded up to a power of two).
const SUB_BUCKETS: usize = 2_048;
const HALF: usize = SUB_BUCKETS / 2;
/// One minute in ns: longer times are counted there.
const LONGEST: u64 = 60_000_000_000;
/// 2,048 x 2^25 exceeds a minute.
const BUCKETS: usize = 26;

/// Counts of times in HdrHistogram's own layout, three significant digits.
///
/// Ours because the hot path has no dependency; [`Recorder::encode`] hands the
/// counts to the library, which then writes its standard form.
#[derive(Debug)]
pub struct Recorder {
    counts: Vec<u64>,
}

impl Recorder {
    /// An empty one, all its memory touched.
    pub fn new() -> Self {
        Self { counts: vec![0; (BUCKETS + 1) * HALF] }
    }

    /// Counts one time in ns.
    #[inline]
    pub fn record(&mut self, time: u64) {
        let time = time.clamp(1, LONGEST);
        let bucket = (64 - (time | (SUB_BUCKETS as u64 - 1)).leading_zeros()) as usize - SUB_BUCKETS.ilog2() as usize;
        let index = (bucket << HALF.ilog2()) + (time >> bucket) as usize;
        self.counts[index] += 1;
    }

    /// HdrHistogram V2 in base64; `None` when nothing was recorded.
    pub fn encode(&self) -> Option<String> {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, LONGEST, 3).ok()?;
        for (index, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            histogram.record_n(lowest_of(index), count).ok()?;
        }
        if histogram.is_empty() {
            return None;
        }
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).ok()?;
        Some(STANDARD.encode(bytes))
    }
}

/// The smallest time counted at an index.
fn lowest_of(index: usize) -> u64 {
    if index < SUB_BUCKETS {
        return index as u64;
    }
    let bucket = index / HALF - 1;
    ((index % HALF + HALF) as u64) << bucket
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Recorder, lowest_of};
    use base64::Engine as _;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::{prop, proptest};

    fn decode(recorder: &Recorder) -> Histogram<u64> {
        let bytes = base64::engine::general_purpose::STANDARD.decode(recorder.encode().unwrap()).unwrap();
        Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
    }

    #[test]
    fn nothing_recorded_is_nothing_written() {
        assert_eq!(Recorder::new().encode(), None);
    }

    proptest! {
        #[test]
        fn it_counts_as_the_library_does(times in prop::collection::vec(0u64..=2 * LONGEST, 1..200)) {
            let mut ours = Recorder::new();
            let mut theirs = Histogram::<u64>::new_with_bounds(1, LONGEST, 3).unwrap();
            for time in times {
                ours.record(time);
                theirs.record(time.clamp(1, LONGEST)).unwrap();
            }
            assert_eq!(decode(&ours), theirs);
        }

        #[test]
        fn an_index_stands_for_its_smallest_time(time in 1u64..LONGEST) {
            let mut recorder = Recorder::new();
            recorder.record(time);
            let index = recorder.counts.iter().position(|count| *count == 1).unwrap();
            assert!(lowest_of(index) <= time && time < lowest_of(index + 1));
        }
    }
}
