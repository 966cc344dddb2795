//! Difference of the clocks of two hosts, estimated over their control connections.
//!
//! A host is asked for its time again and again; of the answer with the least
//! round trip it is known that the host read its clock somewhere between the
//! question and the answer, so the offset found from their middle is wrong by
//! half of that round trip at most, however unequal the two ways are (Cristian
//! 1989, "Probabilistic clock synchronization"). Questions go out together, and the best answer
//! is kept from trial to trial: over a far path each round trip costs more than it tells.

use std::collections::VecDeque;

use model::Nanos;
use model::trial::ClockOffset;
use model::warning::Warning;

/// Drift of two sound clocks: twice the 100 ppm to which quartz
/// oscillators of computers are usually held.
const DRIFT_PPM: u64 = 200;

/// A host's clock against the controller's, at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sight {
    /// The host's clock less the controller's, in ns.
    pub offset_ns: i64,
    /// Largest error of it, either way.
    pub error_ns: u64,
    /// The round trip that it was found from.
    pub rtt: Nanos,
}

impl Sight {
    /// Returns what one answer tells: asked at `asked`, answered `answer`, heard at `heard`.
    pub const fn from_answer(asked: Nanos, answer: Nanos, heard: Nanos) -> Self {
        let rtt = heard.since(asked);
        let middle = asked.get().saturating_add(rtt.get() / 2);
        Self { offset_ns: answer.get().wrapping_sub(middle) as i64, error_ns: rtt.get().div_ceil(2), rtt }
    }

    /// Returns whether both may be of one clock.
    const fn agrees_with(self, other: Self) -> bool {
        self.offset_ns.abs_diff(other.offset_ns) <= self.error_ns.saturating_add(other.error_ns)
    }

    /// A time of the controller's as this host's clock shows it.
    pub const fn there(self, at: Nanos) -> Nanos {
        Nanos::new(at.get().saturating_add_signed(self.offset_ns))
    }

    /// This host's clock less another's.
    pub const fn less(self, other: Self) -> ClockOffset {
        ClockOffset { offset_ns: self.offset_ns.saturating_sub(other.offset_ns), error_ns: self.error_ns.saturating_add(other.error_ns) }
    }
}

/// What is known of a host's clock: the best sight, whose error grows with time, and the best of the
/// last questions.
#[derive(Debug, Default)]
pub struct ClockWatch {
    /// Times of questions without an answer, the first first.
    asked: VecDeque<Nanos>,
    best: Option<Dated>,
    fresh: Option<Dated>,
    rtt: Option<Nanos>,
}

/// A sight, and when it was had by the controller's clock.
#[derive(Debug, Clone, Copy)]
struct Dated {
    sight: Sight,
    at: Nanos,
}

impl Dated {
    /// The same, as much less exact as clocks drift until `now`.
    const fn grown(self, now: Nanos) -> Sight {
        let error_ns = self.sight.error_ns.saturating_add(if now.get() > self.at.get() { drift(now.since(self.at)) } else { 0 });
        Sight { error_ns, ..self.sight }
    }
}

impl ClockWatch {
    /// A question goes out at `now`. The first after all were answered begins a new look.
    pub fn ask(&mut self, now: Nanos) {
        if self.asked.is_empty() {
            self.fresh = None;
        }
        self.asked.push_back(now);
    }

    /// Returns whether an answer is to come.
    pub fn is_awaited(&self) -> bool {
        !self.asked.is_empty()
    }

    /// No more answers will come.
    pub fn forget_questions(&mut self) {
        self.asked.clear();
    }

    /// The answer to the question before all others came at `now`.
    pub fn hear(&mut self, answer: Nanos, now: Nanos) {
        let Some(asked) = self.asked.pop_front() else { return };
        let seen = Dated { sight: Sight::from_answer(asked, answer, now), at: now };
        self.rtt = Some(self.rtt.map_or(seen.sight.rtt, |rtt| rtt.min(seen.sight.rtt)));
        if self.fresh.is_none_or(|fresh| seen.sight.error_ns < fresh.sight.error_ns) {
            self.fresh = Some(seen);
        }
        // One that cannot be of the same clock any more is kept no longer, however exact it was.
        let kept = self.best.map(|best| best.grown(now)).filter(|best| best.agrees_with(seen.sight));
        if kept.is_none_or(|kept| seen.sight.error_ns <= kept.error_ns) {
            self.best = Some(seen);
        }
    }

    /// The clock as it is `now`, as exactly as is known; zero of one that needs no question.
    pub fn known(&self, now: Nanos) -> Sight {
        self.best.map_or_else(Sight::default, |best| best.grown(now))
    }

    /// The clock as the last questions alone showed it.
    pub fn fresh(&self, now: Nanos) -> Sight {
        self.fresh.map_or_else(|| self.known(now), |fresh| fresh.grown(now))
    }

    /// Least round trip so far; 0 where none was seen.
    pub fn rtt(&self) -> Nanos {
        self.rtt.unwrap_or_default()
    }
}

/// Returns what the clocks may have moved against each other in `elapsed`.
const fn drift(elapsed: Nanos) -> u64 {
    (elapsed.get() / 1_000_000).saturating_add(1).saturating_mul(DRIFT_PPM)
}

/// The offset during a trial that began at the first sight and lasted `elapsed`.
pub const fn from_then_on(before: ClockOffset, elapsed: Nanos) -> ClockOffset {
    ClockOffset { offset_ns: before.offset_ns, error_ns: before.error_ns.saturating_add(drift(elapsed)) }
}

/// The offset during a trial, from sights before and after it that lie `elapsed`
/// apart: the interval that holds both. The warning says that they do not fit
/// together: a machine was suspended or moved meanwhile.
pub fn between(before: ClockOffset, after: ClockOffset, elapsed: Nanos) -> (ClockOffset, Option<Warning>) {
    let end = |offset: ClockOffset, sign: i128| i128::from(offset.offset_ns) + sign * i128::from(offset.error_ns);
    let low = end(before, -1).min(end(after, -1));
    let high = end(before, 1).max(end(after, 1));
    let middle = low.midpoint(high);
    let error = (high - middle).max(middle - low);
    let offset = ClockOffset { offset_ns: saturated(middle), error_ns: u64::try_from(error).unwrap_or(u64::MAX) };
    let by_ns = before.offset_ns.abs_diff(after.offset_ns);
    let most_ns = before.error_ns.saturating_add(after.error_ns).saturating_add(drift(elapsed));
    (offset, (by_ns > most_ns).then_some(Warning::ClockMoved { by_ns, most_ns }))
}

fn saturated(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::{ClockWatch, Sight, between, from_then_on};
    use model::Nanos;
    use model::trial::ClockOffset;
    use model::warning::Warning;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    #[test]
    fn the_best_sight_is_kept_until_drift_has_made_it_worse_than_a_new_one() {
        let mut watch = ClockWatch::default();
        let mut look = |asked: u64, rtt: u64, offset: u64| {
            watch.ask(Nanos::new(asked));
            watch.hear(Nanos::new(asked + rtt / 2 + offset), Nanos::new(asked + rtt));
            let now = Nanos::new(asked + rtt);
            (watch.known(now), watch.fresh(now), watch.rtt(), watch.is_awaited())
        };
        let (second, offset) = (1_000_000_000, 5_000);
        let (first, _, rtt, awaited) = look(second, 100_000, offset);
        assert_eq!((first.offset_ns, first.error_ns, rtt.get(), awaited), (5_000, 50_000, 100_000, false));
        // A slower answer 100 ms later: 200 ppm of that are 20 µs.
        let (known, fresh, ..) = look(second + 100_000_000, 1_000_000, offset + 9);
        assert_eq!((known.offset_ns, known.error_ns, fresh.error_ns), (5_000, 50_000 + 20_200, 500_000));
        // Ten seconds later it is worth less than a new one.
        let (known, fresh, rtt, _) = look(11 * second, 1_000_000, offset + 9);
        assert_eq!((known, rtt.get()), (fresh, 100_000));
        // A clock that was set is not the same one any more.
        let (known, ..) = look(11 * second + 2_000_000, 2_000_000, 9 * second);
        assert_eq!(known.offset_ns, 9_000_000_000);
    }

    #[test]
    fn questions_go_out_together() {
        let mut watch = ClockWatch::default();
        (0..3).for_each(|_| watch.ask(Nanos::from_millis(10)));
        for heard in [29, 21, 25] {
            assert!(watch.is_awaited());
            watch.hear(Nanos::from_millis(50), Nanos::from_millis(heard));
        }
        assert!(!watch.is_awaited());
        assert_eq!(watch.known(Nanos::from_millis(25)).rtt, Nanos::from_millis(11), "the best of them");
        watch.ask(Nanos::new(9));
        watch.forget_questions();
        assert!(!watch.is_awaited());
    }

    #[test]
    fn a_clock_that_jumps_is_noticed() {
        let sound = ClockOffset { offset_ns: 1_000, error_ns: 50 };
        let jumped = ClockOffset { offset_ns: 2_001_000, error_ns: 50 };
        // 200 ppm of 1 ms are 200 ns, and as much again for the begun millisecond.
        let (offset, warning) = between(sound, jumped, Nanos::from_millis(1));
        assert_eq!(warning, Some(Warning::ClockMoved { by_ns: 2_000_000, most_ns: 500 }));
        assert_eq!(offset, ClockOffset { offset_ns: 1_001_000, error_ns: 1_000_050 });
        assert_eq!(between(sound, sound, Nanos::new(0)), (sound, None));
    }

    proptest! {
        /// Whatever the two ways take, the true offset lies within the error.
        #[test]
        fn the_true_offset_is_within_the_error(
            offset in -1_000_000_000_000_i64..1_000_000_000_000,
            there in 0_u64..10_000_000_000,
            back in 0_u64..10_000_000_000,
        ) {
            let asked = 2_000_000_000_000_u64;
            let read = (asked + there).checked_add_signed(offset).unwrap();
            let sight = Sight::from_answer(Nanos::new(asked), Nanos::new(read), Nanos::new(asked + there + back));
            prop_assert!(sight.offset_ns.abs_diff(offset) <= sight.error_ns, "{sight:?}");
            prop_assert_eq!(sight.rtt, Nanos::new(there + back));
        }

        /// A steady drift within the limit raises no doubt, and every offset on
        /// the way lies within the error.
        #[test]
        fn what_lies_between_two_sights_is_within_the_error(
            start in -1_000_000_000_i64..1_000_000_000,
            ppm in -200_i64..=200,
            elapsed_ms in 0_u64..100_000,
            errors in any::<[u16; 2]>(),
            slips in any::<[u16; 2]>(),
        ) {
            let end = start + ppm * elapsed_ms as i64;
            let sight = |truth: i64, at: usize| {
                let error = u64::from(errors[at]);
                ClockOffset { offset_ns: truth + (u64::from(slips[at]) % (error + 1)) as i64, error_ns: error }
            };
            let elapsed = Nanos::from_millis(elapsed_ms);
            let (offset, warning) = between(sight(start, 0), sight(end, 1), elapsed);
            prop_assert_eq!(warning, None);
            let only_before = from_then_on(sight(start, 0), elapsed);
            for truth in [start, start.midpoint(end), end] {
                prop_assert!(offset.offset_ns.abs_diff(truth) <= offset.error_ns);
                prop_assert!(only_before.offset_ns.abs_diff(truth) <= only_before.error_ns);
            }
        }

        #[test]
        fn no_numbers_make_it_panic(n in any::<[u64; 6]>()) {
            let sight = |at: usize| Sight::from_answer(Nanos::new(n[at]), Nanos::new(n[at + 1]), Nanos::new(n[at + 2]));
            let (before, after) = (sight(0).less(sight(1)), sight(2).less(sight(3)));
            let _ = (between(before, after, Nanos::new(n[5])), from_then_on(before, Nanos::new(n[5])));
        }
    }
}
