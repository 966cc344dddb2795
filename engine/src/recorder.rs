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
        self.counts[index_of(time)] += 1;
    }

    /// Forgets all times.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// Adds the times of another.
    pub fn add(&mut self, other: &Self) {
        for (ours, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *ours += theirs;
        }
    }

    /// Makes all times longer by `by` ns.
    pub fn move_up(&mut self, by: u64) {
        let mut carried = 0.0;
        // From the longest down: no time is moved twice.
        for index in (0..self.counts.len()).rev() {
            let count = std::mem::take(&mut self.counts[index]);
            self.add_moved_count(index, count, by, &mut carried);
        }
    }

    /// Adds the times of another, each longer by `by` ns.
    pub fn add_moved(&mut self, other: &Self, by: u64) {
        let mut carried = 0.0;
        for (index, count) in other.counts.iter().enumerate().rev() {
            self.add_moved_count(index, *count, by, &mut carried);
        }
    }

    /// Times of one index are taken to lie evenly in what it stands for. Moved,
    /// they may reach into a second index, and are divided; what a division
    /// leaves over is carried to the next.
    fn add_moved_count(&mut self, index: usize, count: u64, by: u64, carried: &mut f64) {
        if count == 0 {
            return;
        }
        let (from, to) = (lowest_of(index).saturating_add(by), lowest_of(index + 1).saturating_add(by));
        let (low, high) = (index_of(from), index_of(to - 1));
        let beyond = if high == low { 0.0 } else { (to - lowest_of(high)) as f64 / (to - from).max(1) as f64 };
        let share = count as f64 * beyond + *carried;
        let moved = if high == low { 0 } else { (share as u64).min(count) };
        if high != low {
            *carried = share - moved as f64;
        }
        self.counts[low] += count - moved;
        self.counts[high] += moved;
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

/// Index at which a time is counted.
#[inline(always)]
fn index_of(time: u64) -> usize {
    let time = time.clamp(1, LONGEST);
    let bucket = (64 - (time | (SUB_BUCKETS as u64 - 1)).leading_zeros()) as usize - SUB_BUCKETS.ilog2() as usize;
    (bucket << HALF.ilog2()) + (time >> bucket) as usize
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
impl Recorder {
    /// Number of times.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The time that a share of all times does not exceed.
    pub fn quantile(&self, share: f64) -> u64 {
        let rank = ((self.total() as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        self.counts.iter().position(|count| (seen += count, seen >= rank).1).map_or(0, lowest_of)
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Recorder, lowest_of};
    use base64::Engine as _;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::{ProptestConfig, prop, proptest};

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
        fn sums_hold_the_times_of_both(a in prop::collection::vec(1u64..LONGEST, 0..100), b in prop::collection::vec(1u64..LONGEST, 1..100)) {
            let of = |times: &[u64]| {
                let mut recorder = Recorder::new();
                times.iter().for_each(|time| recorder.record(*time));
                recorder
            };
            let mut sum = of(&a);
            sum.add(&of(&b));
            assert_eq!(decode(&sum), decode(&of(&[a, b].concat())));
        }

        #[test]
        fn an_index_stands_for_its_smallest_time(time in 1u64..LONGEST) {
            let mut recorder = Recorder::new();
            recorder.record(time);
            let index = recorder.counts.iter().position(|count| *count == 1).unwrap();
            assert!(lowest_of(index) <= time && time < lowest_of(index + 1));
        }
    }

    proptest! {
        // Each moves all counts many times.
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn many_small_moves_are_one_large_one(times in prop::collection::vec(1u64..1_000_000_000, 1..50), by in 1u64..200, moves in 1u64..100) {
            let mut recorder = Recorder::new();
            times.iter().for_each(|time| (0..20).for_each(|_| recorder.record(*time)));
            let before = recorder.total();
            let longest = times.iter().copied().max().unwrap();
            (0..moves).for_each(|_| recorder.move_up(by));
            assert_eq!(recorder.total(), before, "none is lost");
            let (moved, exact) = (recorder.quantile(1.0), longest + by * moves);
            assert!(moved.abs_diff(exact) <= 2 + exact / 100, "{moved} for {exact}");
        }
    }
}
