//! Due times of the messages of an offered rate.

use std::ops::Range;

use model::end::Window;
use model::rate::OfferedRate;
use model::{Bytes, Nanos};

use super::super::trial::Extent;

/// Nanoseconds of a second.
const SECOND: u128 = 1_000_000_000;

/// The times of messages 0, 1, 2 and so on: message `k` is due at the start plus
/// `k` periods, rounded down to the nanosecond. A period is kept as a fraction,
/// so that the times do not drift however many there are.
#[derive(Debug, Clone, Copy)]
pub struct Timetable {
    start: u64,
    /// A period is `over / under` ns.
    over: u128,
    under: u128,
    /// The same in whole nanoseconds and what is left, in parts of `under`.
    whole: u64,
    rest: u128,
    due: u64,
    /// Remainder by which the due time was rounded down, in parts of `under`.
    carried: u128,
}

impl Timetable {
    /// Timetable of messages of `size` bytes, the first of them due at `start`.
    pub fn new(rate: OfferedRate, size: Bytes, start: Nanos) -> Self {
        let (over, under) = match rate {
            OfferedRate::Bits(bits) => (8 * SECOND * u128::from(size.get()), u128::from(bits.get().max(1))),
            OfferedRate::Messages(messages) => (SECOND, u128::from(messages.max(1))),
        };
        let over = over.max(1);
        Self {
            start: start.get(),
            over,
            under,
            whole: u64::try_from(over / under).unwrap_or(u64::MAX),
            rest: over % under,
            due: start.get(),
            carried: 0,
        }
    }

    /// Due time of the next message, in ns of the monotonic clock.
    #[inline(always)]
    pub const fn due(&self) -> u64 {
        self.due
    }

    /// Goes on to the message after it.
    #[inline(always)]
    pub const fn advance(&mut self) {
        self.due = self.due.saturating_add(self.whole);
        self.carried += self.rest;
        if self.carried >= self.under {
            self.carried -= self.under;
            self.due = self.due.saturating_add(1);
        }
    }

    /// Numbers of the messages that the schedule has in the window; `warmup` were
    /// sent before it.
    pub fn numbers_in(&self, window: Window, extent: Extent, warmup: u64) -> Range<u64> {
        match extent.is_counted() {
            true => warmup..warmup.saturating_add(extent.measured),
            false => self.before(window.start)..self.before(window.end),
        }
    }

    /// Number of messages that are due before `time`.
    pub fn before(&self, time: Nanos) -> u64 {
        // `k` periods, rounded down, are less than a whole number when `k` periods are.
        let passed = u128::from(time.get().saturating_sub(self.start));
        u64::try_from((passed * self.under).div_ceil(self.over)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Timetable;

    use model::rate::OfferedRate;
    use model::{BitRate, Bytes, Nanos};
    use proptest::prelude::{Just, Strategy, prop_oneof, proptest};

    fn rates() -> impl Strategy<Value = OfferedRate> {
        let number = || prop_oneof![1u64..100, 1u64..5_000_000_000, Just(u64::MAX)];
        prop_oneof![number().prop_map(|bits| OfferedRate::Bits(BitRate::new(bits))), number().prop_map(OfferedRate::Messages)]
    }

    #[test]
    fn a_third_of_a_second_does_not_drift() {
        let mut times = Timetable::new(OfferedRate::Messages(3), Bytes::new(1), Nanos::new(7));
        let due: Vec<u64> = std::iter::repeat_with(|| {
            let due = times.due();
            times.advance();
            due - 7
        })
        .take(7)
        .collect();
        assert_eq!(due, [0, 333_333_333, 666_666_666, 1_000_000_000, 1_333_333_333, 1_666_666_666, 2_000_000_000]);
    }

    #[test]
    fn a_day_of_messages_ends_to_the_nanosecond() {
        // 7 Mbit/s of 1,000 bytes: 875 messages a second.
        let times = Timetable::new(OfferedRate::Bits(BitRate::new(7_000_000)), Bytes::new(1_000), Nanos::new(0));
        assert_eq!(times.before(Nanos::new(86_400 * 1_000_000_000)), 86_400 * 875);
    }

    proptest! {
        #[test]
        fn each_message_is_due_at_its_number_of_periods(rate in rates(), size in 1u64..=1 << 30, start in 0u64..1 << 62, steps in 0u64..2_000) {
            let mut times = Timetable::new(rate, Bytes::new(size), Nanos::new(start));
            for number in 0..steps {
                let period = u128::from(number) * times.over / times.under;
                let expected = u64::try_from(u128::from(start) + period).unwrap_or(u64::MAX);
                assert_eq!(times.due(), expected, "message {number}");
                times.advance();
            }
        }

        #[test]
        fn those_before_a_time_are_those_that_are_due(rate in rates(), size in 1u64..=1 << 30, steps in 0u64..500) {
            let mut times = Timetable::new(rate, Bytes::new(size), Nanos::new(1_000));
            for _ in 0..steps {
                times.advance();
            }
            let (number, due) = (steps, times.due());
            if due < u64::MAX {
                // Several may be due in the same nanosecond.
                assert!(times.before(Nanos::new(due)) <= number);
                assert!(times.before(Nanos::new(due + 1)) > number);
            }
        }

        #[test]
        fn no_time_makes_it_panic(rate in rates(), size in 0u64..=u64::MAX, time in 0u64..=u64::MAX) {
            let mut times = Timetable::new(rate, Bytes::new(size), Nanos::new(time));
            times.advance();
            assert!(times.due() >= time);
            let _ = times.before(Nanos::new(u64::MAX));
        }
    }
}
