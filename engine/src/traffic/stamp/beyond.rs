//! Times of messages beyond the shortest of them.

use crate::recorder::Recorder;

/// Times that are kept before they are counted: when a shorter one than all
/// before it comes, everything counted so far is moved, and that is to happen
/// once for many.
const KEPT: usize = 1_024;

/// Times beyond the least of them, though the least is known only at the end.
#[derive(Debug)]
pub(super) struct Beyond {
    /// The least of those counted.
    base: Option<i64>,
    histogram: Recorder,
    kept: Vec<i64>,
}

impl Beyond {
    pub fn new() -> Self {
        Self { base: None, histogram: Recorder::new(), kept: Vec::with_capacity(KEPT) }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.base = None;
        self.histogram.clear();
        self.kept.clear();
    }

    /// Takes a time in ns, of any sign.
    #[inline]
    pub fn take(&mut self, time: i64) {
        if self.kept.len() == KEPT {
            self.count_kept();
        }
        // There is room: nothing is allocated.
        self.kept.push(time);
    }

    /// Counts what is still kept.
    #[cold]
    pub fn count_kept(&mut self) {
        let Some(least) = self.kept.iter().copied().min() else { return };
        let base = self.lower_to(least);
        for time in self.kept.drain(..) {
            self.histogram.record(time.abs_diff(base));
        }
    }

    /// Adds what another counted; both have counted all.
    pub fn add(&mut self, other: &Self) {
        let Some(theirs) = other.base else { return };
        let base = self.lower_to(theirs);
        self.histogram.add_moved(&other.histogram, theirs.abs_diff(base));
    }

    pub fn base(&self) -> Option<i64> {
        self.base
    }

    pub fn histogram(&self) -> &Recorder {
        &self.histogram
    }

    /// Makes `least` the base if it is less; returns the base.
    fn lower_to(&mut self, least: i64) -> i64 {
        let base = self.base.unwrap_or(least);
        if least < base {
            self.histogram.move_up(base.abs_diff(least));
        }
        let base = base.min(least);
        self.base = Some(base);
        base
    }
}

#[cfg(test)]
mod tests {
    use super::{Beyond, KEPT};
    use crate::recorder::Recorder;
    use proptest::prelude::{any, prop, proptest};

    fn of(times: &[i64]) -> Beyond {
        let mut beyond = Beyond::new();
        times.iter().for_each(|time| beyond.take(*time));
        beyond.count_kept();
        beyond
    }

    fn exact(times: &[i64]) -> Recorder {
        let least = times.iter().min().copied().unwrap_or_default();
        let mut recorder = Recorder::new();
        times.iter().for_each(|time| recorder.record(time.abs_diff(least)));
        recorder
    }

    #[test]
    fn the_least_may_come_last() {
        let times: Vec<i64> = (0..3 * KEPT as i64).map(|time| -time).collect();
        let beyond = of(&times);
        assert_eq!(beyond.base(), times.last().copied());
        let (ours, exact) = (beyond.histogram(), exact(&times));
        for share in [0.01, 0.5, 0.99] {
            assert!(ours.quantile(share).abs_diff(exact.quantile(share)) <= 4, "{share}");
        }
    }

    proptest! {
        #[test]
        fn quantiles_are_within_what_counting_rounds(
            times in prop::collection::vec(-3_000_000i64..3_000_000, 1..300),
            repeat in 1usize..30,
        ) {
            let all: Vec<i64> = times.iter().copied().cycle().take(times.len() * repeat).collect();
            let beyond = of(&all);
            assert_eq!(beyond.base(), times.iter().min().copied());
            for share in [0.1, 0.5, 0.9, 1.0] {
                let (ours, exact) = (beyond.histogram().quantile(share), exact(&all).quantile(share));
                assert!(ours.abs_diff(exact) <= 2 + exact / 250, "{share}: {ours} for {exact}");
            }
        }

        #[test]
        fn two_flows_are_as_one(a in prop::collection::vec(-100_000i64..100_000, 0..50), b in prop::collection::vec(-100_000i64..100_000, 1..50)) {
            let mut both = of(&a);
            both.add(&of(&b));
            let all = [a, b].concat();
            let exact = exact(&all);
            assert_eq!(both.base(), all.iter().min().copied());
            for share in [0.1, 0.5, 1.0] {
                let (ours, exact) = (both.histogram().quantile(share), exact.quantile(share));
                assert!(ours.abs_diff(exact) <= 2 + exact / 250, "{share}: {ours} for {exact}");
            }
        }

        #[test]
        fn no_times_break_it(times in prop::collection::vec(any::<i64>(), 0..3_000)) {
            let beyond = of(&times);
            assert_eq!(beyond.histogram().total(), times.len() as u64);
            assert_eq!(beyond.base(), times.iter().min().copied());
        }
    }
}
