//! Difference of the clocks of two hosts, estimated over their control connections.
//!
//! A host is asked for its time again and again; of the answer with the least
//! round trip it is known that the host read its clock somewhere between the
//! question and the answer, so the offset found from their middle is wrong by
//! half of that round trip at most, however unequal the two ways are (Cristian
//! 1989, "Probabilistic clock synchronization").

use model::Nanos;
use model::trial::ClockOffset;
use model::warning::Warning;
use nix::time::{ClockId, clock_gettime};

use crate::refusal::{Refusal, refused};

/// Drift of two sound clocks: twice the 100 ppm to which quartz
/// oscillators of computers are usually held.
const DRIFT_PPM: u64 = 200;

/// Returns the time of the clock that endpoints read.
pub fn monotonic() -> Result<Nanos, Refusal> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC);
    let time = time.map_err(refused("reading the clock (clock_gettime CLOCK_MONOTONIC)", "does a sandbox forbid it?"))?;
    Ok(Nanos::from(std::time::Duration::from(time)))
}

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

    /// This host's clock less another's.
    pub const fn less(self, other: Self) -> ClockOffset {
        ClockOffset { offset_ns: self.offset_ns.saturating_sub(other.offset_ns), error_ns: self.error_ns.saturating_add(other.error_ns) }
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
    use super::{Sight, between, from_then_on, monotonic};
    use model::Nanos;
    use model::trial::ClockOffset;
    use model::warning::Warning;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    #[test]
    fn the_clock_does_not_go_back() {
        let (first, second) = (monotonic().unwrap(), monotonic().unwrap());
        assert!(first <= second);
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
