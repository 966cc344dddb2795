//! Due times of the messages of an offered rate.

use std::ops::Range;

use model::end::Window;
use model::rate::OfferedRate;
use model::{Arrivals, Bytes, Cell, Nanos};

use super::super::trial::{Extent, Trial};

/// Nanoseconds of a second.
const SECOND: u128 = 1_000_000_000;

/// The times at which messages 0, 1, 2 and so on are due.
#[derive(Debug, Clone, Copy)]
pub enum Timetable {
    /// At the same distances.
    Periodic(Periodic),
    /// At exponential distances.
    Poisson(Poisson),
}

impl Timetable {
    /// Timetable of a cell that offers a rate, from `start` on. Poisson arrivals follow
    /// from `seed`.
    pub fn for_cell(cell: &Cell, seed: u64, start: Nanos) -> Option<Self> {
        let start = start.get();
        let periodic = Periodic::new(cell.rate?, cell.size, start);
        Some(match cell.arrivals {
            Arrivals::Periodic => Self::Periodic(periodic),
            Arrivals::Poisson => Self::Poisson(Poisson::new(periodic.over as f64 / periodic.under as f64, seed, start)),
        })
    }

    /// The timetable of the messages from the next one on, which count from 0 again, as
    /// if it began at `start`.
    #[must_use]
    pub fn from(&self, start: Nanos) -> Self {
        let start = start.get();
        match self {
            Self::Periodic(times) => Self::Periodic(Periodic { start, due: start, carried: 0, ..*times }),
            Self::Poisson(times) => Self::Poisson(Poisson::from_state(times.mean, times.state, start)),
        }
    }

    /// The schedule stood still for some time: all of it is later.
    pub const fn stand_still(&mut self, time: Nanos) {
        let (start, due) = match self {
            Self::Periodic(times) => (&mut times.start, &mut times.due),
            Self::Poisson(times) => {
                times.previous = times.previous.saturating_add(time.get());
                (&mut times.start, &mut times.due)
            }
        };
        *start = start.saturating_add(time.get());
        *due = due.saturating_add(time.get());
    }

    /// Due time of the next message, in ns of the monotonic clock.
    #[inline(always)]
    pub const fn due(&self) -> u64 {
        match self {
            Self::Periodic(times) => times.due,
            Self::Poisson(times) => times.due,
        }
    }

    /// Goes on to the message after it.
    #[inline(always)]
    pub fn advance(&mut self) {
        match self {
            Self::Periodic(times) => times.advance(),
            Self::Poisson(times) => times.advance(),
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

    /// The same of a trial whose schedule may stand still between turns: where the window begins, it is behind itself
    /// by all of them.
    pub(in super::super) fn numbers_of(&self, trial: &Trial, window: Window, warmup: u64) -> Range<u64> {
        let numbers = self.numbers_in(window, trial.extent, warmup);
        if trial.task.woven.is_some() { warmup..numbers.end } else { numbers }
    }

    /// Number of messages that are due before `time`. Of Poisson arrivals not for the
    /// hot path: it may go through all of them.
    pub fn before(&self, time: Nanos) -> u64 {
        match self {
            Self::Periodic(times) => times.before(time.get()),
            Self::Poisson(times) => times.before(time.get()),
        }
    }
}

/// Message `k` is due at the start plus `k` periods, rounded down to the nanosecond. A
/// period is kept as a fraction, so that the times do not drift however many there are.
#[derive(Debug, Clone, Copy)]
pub struct Periodic {
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

impl Periodic {
    /// Times of messages of `size` bytes, the first of them due at `start`.
    fn new(rate: OfferedRate, size: Bytes, start: u64) -> Self {
        let (over, under) = match rate {
            OfferedRate::Bits(bits) => (8 * SECOND * u128::from(size.get()), u128::from(bits.get().max(1))),
            OfferedRate::Messages(messages) => (SECOND, u128::from(messages.max(1))),
        };
        let over = over.max(1);
        let whole = u64::try_from(over / under).unwrap_or(u64::MAX);
        Self { start, over, under, whole, rest: over % under, due: start, carried: 0 }
    }

    #[inline(always)]
    const fn advance(&mut self) {
        self.due = self.due.saturating_add(self.whole);
        self.carried += self.rest;
        if self.carried >= self.under {
            self.carried -= self.under;
            self.due = self.due.saturating_add(1);
        }
    }

    fn before(&self, time: u64) -> u64 {
        // `k` periods, rounded down, are less than a whole number when `k` periods are.
        let passed = u128::from(time.saturating_sub(self.start));
        u64::try_from((passed * self.under).div_ceil(self.over)).unwrap_or(u64::MAX)
    }
}

/// Times whose distances are exponential: a Poisson process. They follow from the seed
/// and the start alone, not of the sends.
///
/// A distance takes a step of a generator and a logarithm, some nanoseconds where the loop
/// reads the clock twice a message; nothing is stored.
#[derive(Debug, Clone, Copy)]
pub struct Poisson {
    start: u64,
    /// Mean distance, in ns.
    mean: f64,
    /// State of the generator at the start, and now.
    first: u64,
    state: u64,
    /// Number of the next message, when it is due, and when the one before it was.
    number: u64,
    due: u64,
    previous: u64,
    /// Part of a nanosecond by which the due time was rounded down.
    carried: f64,
}

impl Poisson {
    fn new(mean: f64, seed: u64, start: u64) -> Self {
        // Seeds next to each other must not give neighbouring states.
        Self::from_state(mean, mixed(seed), start)
    }

    fn from_state(mean: f64, state: u64, start: u64) -> Self {
        let mut times = Self { start, mean, first: state, state, number: 0, due: start, previous: start, carried: 0.0 };
        times.step();
        times
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.previous = self.due;
        self.number += 1;
        self.step();
    }

    /// Moves the due time on by a distance.
    #[inline(always)]
    fn step(&mut self) {
        // SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
        // generators").
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        // In (0, 1], in steps of 2^-53.
        let uniform = ((mixed(self.state) >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let distance = self.carried - uniform.ln() * self.mean;
        let whole = distance as u64;
        self.carried = distance - whole as f64;
        self.due = self.due.saturating_add(whole);
    }

    fn before(&self, time: u64) -> u64 {
        if self.previous < time && time <= self.due {
            return self.number;
        }
        let mut times = if self.due < time { *self } else { Self::from_state(self.mean, self.first, self.start) };
        while times.due < time {
            times.advance();
        }
        times.number
    }
}

/// The output function of SplitMix64.
const fn mixed(state: u64) -> u64 {
    let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::{Periodic, Poisson, Timetable};

    use model::rate::OfferedRate;
    use model::{BitRate, Bytes, Nanos};
    use proptest::prelude::{Just, Strategy, prop_oneof, proptest};

    fn rates() -> impl Strategy<Value = OfferedRate> {
        let number = || prop_oneof![1u64..100, 1u64..5_000_000_000, Just(u64::MAX)];
        prop_oneof![number().prop_map(|bits| OfferedRate::Bits(BitRate::new(bits))), number().prop_map(OfferedRate::Messages)]
    }

    fn times_of(rate: OfferedRate, size: Bytes, start: Nanos) -> Timetable {
        Timetable::Periodic(Periodic::new(rate, size, start.get()))
    }

    fn poisson(mean: f64, seed: u64, start: u64) -> Timetable {
        Timetable::Poisson(Poisson::new(mean, seed, start))
    }

    /// Due times of the next messages.
    fn due_times(mut times: Timetable, messages: usize) -> Vec<u64> {
        let due = std::iter::repeat_with(|| {
            let due = times.due();
            times.advance();
            due
        });
        due.take(messages).collect()
    }

    /// Distance of the distribution of gaps from the exponential one, as Kolmogorov and
    /// Smirnov measure it, times the square root of their number.
    fn distance_from_exponential(gaps: &[f64], mean: f64) -> f64 {
        let mut sorted = gaps.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len() as f64;
        let apart = sorted.iter().enumerate().map(|(rank, gap)| {
            let expected = 1.0 - (-gap / mean).exp();
            (expected - rank as f64 / n).abs().max((expected - (rank + 1) as f64 / n).abs())
        });
        apart.fold(0.0, f64::max) * n.sqrt()
    }

    #[test]
    fn gaps_of_poisson_arrivals_are_exponential_and_independent() {
        const MESSAGES: usize = 100_000;
        // The critical value at 0.1 % (Kolmogorov 1933) is 1.95.
        for (seed, mean) in [(1, 20_000.0), (2, 333.3), (3, 1e9), (u64::MAX, 1e6)] {
            let due = due_times(poisson(mean, seed, 1_000), MESSAGES);
            let gaps: Vec<f64> = std::iter::once(&1_000).chain(&due).zip(&due).map(|(from, to)| (to - from) as f64).collect();
            let apart = distance_from_exponential(&gaps, mean);
            // Whole nanoseconds are steps of 1 / 333 there.
            assert!(apart < if mean < 1_000.0 { 1.95 + 0.5 } else { 1.95 }, "{seed}: {apart}");
            let rate = MESSAGES as f64 / (due[MESSAGES - 1] - 1_000) as f64 * mean;
            assert!((rate - 1.0).abs() < 4.0 / (MESSAGES as f64).sqrt(), "{seed}: {rate}");
            let next: f64 = gaps.windows(2).map(|pair| (pair[0] / mean - 1.0) * (pair[1] / mean - 1.0)).sum();
            assert!((next / MESSAGES as f64).abs() < 4.0 / (MESSAGES as f64).sqrt(), "{seed}: {next}");
        }
        // A periodic schedule is told from it.
        assert!(distance_from_exponential(&[20_000.0; 1_000], 20_000.0) > 10.0);
    }

    #[test]
    fn a_seed_gives_the_same_times_and_another_others() {
        let of = |seed| due_times(poisson(1e4, seed, 7), 1_000);
        assert_eq!(of(5), of(5));
        // Neighbouring seeds are those of flows.
        let (five, four) = (of(5), of(4));
        let shared = five.iter().filter(|due| four.contains(due)).count();
        assert!(shared < 5, "{shared} of 1,000");
        let moved = due_times(poisson(1e4, 5, 1_000_007), 1_000);
        assert!(five.iter().zip(&moved).all(|(due, later)| due + 1_000_000 == *later), "the start moves all alike");
    }

    #[test]
    fn a_counted_part_has_arrivals_of_its_own() {
        let mut times = poisson(1e4, 5, 0);
        (0..10).for_each(|_| times.advance());
        let restarted = times.from(Nanos::new(0));
        assert_eq!(restarted.before(Nanos::new(0)), 0);
        assert_ne!(due_times(restarted, 10), due_times(poisson(1e4, 5, 0), 10));
        let periodic = times_of(OfferedRate::Messages(3), Bytes::new(1), Nanos::new(7)).from(Nanos::new(9));
        assert_eq!(due_times(periodic, 2), [9, 333_333_342]);
    }

    #[test]
    fn a_schedule_that_stands_still_goes_on_where_it_was() {
        for mut times in [poisson(1e4, 5, 100), times_of(OfferedRate::Messages(100_000), Bytes::new(1), Nanos::new(100))] {
            let all = due_times(times, 200);
            (0..70).for_each(|_| times.advance());
            times.stand_still(Nanos::new(1_000_000));
            let later: Vec<u64> = all[70..].iter().map(|due| due + 1_000_000).collect();
            assert_eq!(due_times(times, 130), later);
            // Of all that are due by then, no more than before.
            assert_eq!(times.before(Nanos::new(later[50] + 1)), 121);
            assert_eq!(times.before(Nanos::new(later[0] + 1)), 71);
        }
    }

    #[test]
    fn a_third_of_a_second_does_not_drift() {
        let mut times = times_of(OfferedRate::Messages(3), Bytes::new(1), Nanos::new(7));
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
        let times = times_of(OfferedRate::Bits(BitRate::new(7_000_000)), Bytes::new(1_000), Nanos::new(0));
        assert_eq!(times.before(Nanos::new(86_400 * 1_000_000_000)), 86_400 * 875);
    }

    proptest! {
        #[test]
        fn each_message_is_due_at_its_number_of_periods(rate in rates(), size in 1u64..=1 << 30, start in 0u64..1 << 62, steps in 0u64..2_000) {
            let mut times = times_of(rate, Bytes::new(size), Nanos::new(start));
            for number in 0..steps {
                let Timetable::Periodic(Periodic { over, under, .. }) = times else { unreachable!() };
                let period = u128::from(number) * over / under;
                let expected = u64::try_from(u128::from(start) + period).unwrap_or(u64::MAX);
                assert_eq!(times.due(), expected, "message {number}");
                times.advance();
            }
        }

        #[test]
        fn those_before_a_time_are_those_that_are_due(rate in rates(), size in 1u64..=1 << 30, steps in 0u64..500) {
            let mut times = times_of(rate, Bytes::new(size), Nanos::new(1_000));
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
        fn arrivals_before_a_time_are_counted_from_anywhere(seed in 0u64..1_000, mean in 0.5f64..1e5, time in 0u64..1_000_000, steps in 0usize..500) {
            let mut times = poisson(mean, seed, 1_000);
            let time = time.min((mean * 500.0) as u64);
            let expected = due_times(times, 2_000).iter().filter(|due| **due < time).count() as u64;
            for _ in 0..steps {
                times.advance();
            }
            assert_eq!(times.before(Nanos::new(time)), expected);
        }

        #[test]
        fn no_time_makes_it_panic(rate in rates(), size in 0u64..=u64::MAX, time in 0u64..=u64::MAX) {
            let mut times = times_of(rate, Bytes::new(size), Nanos::new(time));
            times.advance();
            assert!(times.due() >= time);
            let _ = times.before(Nanos::new(u64::MAX));
        }
    }
}
