//! The timer of a whole CPU: when it was due, as its samples tell.
//!
//! It keeps its phase, whatever runs: it is due at even distances, and strikes later where interrupts are
//! off or the hypervisor is late.

use std::iter;

use model::end::Window;

/// Fewest samples from which a phase is told.
const FEWEST: usize = 16;
/// Time from the interrupt that takes a sample to the sample's own time, in ns. On a virtual machine no task came or
/// left in the 5 µs that end 1 µs before the earliest samples, while the hypervisor delivered the interrupt, and
/// some did in that last microsecond: so the guest ran again by then.
const READ_AFTER: u64 = 1_000;

/// Times at which a timer was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timer {
    /// Remainder of each of them by the period.
    phase: u64,
    period: u64,
}

impl Timer {
    /// Tells the phase from the times of samples. Nine in ten are at most a part of the period late, so
    /// that the shortest stretch of the period that holds them begins with those in time. `None` where there is no such
    /// stretch, as after a timer that was begun again, or too few samples.
    pub(super) fn of(times: &[u64], period: u64) -> Option<Self> {
        let mut phases: Vec<u64> = times.iter().map(|time| time % period.max(1)).collect();
        phases.sort_unstable();
        let (count, most) = (phases.len(), (phases.len() * 9).div_ceil(10));
        let stretch = |first: usize| {
            let (from, to) = (phases[first], phases[(first + most - 1) % count]);
            if to >= from { to - from } else { to + period - from }
        };
        let first =
            (0..count).filter(|_| count >= FEWEST).min_by_key(|first| stretch(*first)).filter(|first| stretch(*first) < period / 2)?;
        Some(Self { phase: (phases[first] + period - READ_AFTER % period) % period, period })
    }

    /// A timer that is due at this time.
    pub(super) fn at(due: u64, period: u64) -> Self {
        let period = period.max(1);
        Self { phase: due % period, period }
    }

    /// Returns when the sample of this time was due; one that is a little early was due at its own time.
    pub(super) fn due(self, time: u64) -> u64 {
        let late = self.since(time);
        if late > self.period / 4 * 3 { time } else { time.saturating_sub(late) }
    }

    /// Returns when it is due after it was due.
    pub(super) const fn after(self, due: u64) -> u64 {
        due.saturating_add(self.period)
    }

    /// Returns from when to when samples are taken for that of a time at which it was due: from a little early on.
    pub(super) const fn room(self, due: u64) -> [u64; 2] {
        let from = due.saturating_sub(self.period / 4);
        [from, from.saturating_add(self.period)]
    }

    /// Returns every time in `window` at which it was due.
    pub(super) fn all(self, window: Window) -> impl Iterator<Item = u64> {
        let (start, period) = (window.start.get(), self.period);
        let first = start.saturating_add((period - self.since(start)) % period);
        iter::successors(Some(first), move |due| due.checked_add(period)).take_while(move |due| *due < window.end.get())
    }

    /// Time from `from` to `to` in the second halves of its periods: what a sample of half a period ago
    /// changed is over then.
    pub(super) fn undisturbed(self, from: u64, to: u64) -> u64 {
        let half = self.period / 2;
        let until = |time: u64| {
            let time = time.saturating_add(self.period - self.phase);
            time / self.period * (self.period - half) + (time % self.period).saturating_sub(half)
        };
        until(to).saturating_sub(until(from))
    }

    /// Time since it was last due.
    pub(super) const fn since(self, time: u64) -> u64 {
        (time % self.period + self.period - self.phase) % self.period
    }
}

#[cfg(test)]
mod tests {
    use model::Nanos;
    use model::end::Window;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::{READ_AFTER, Timer};

    #[test]
    fn a_timer_that_begins_again_has_no_phase() {
        let times: Vec<u64> = (0..64).map(|number| number * 1_000 + number * 617 % 1_000).collect();
        assert_eq!(Timer::of(&times, 1_000), None);
        assert_eq!(Timer::of(&[1, 2, 3], 1_000), None, "too few");
        assert_eq!(Timer::of(&[], 0), None);
    }

    proptest! {
        /// A timer of any phase, some strikes of which are late.
        #[test]
        fn it_is_told_when_samples_were_due_whatever_the_phase(phase in 1_000..100_000_u64, late in proptest::collection::vec(0..100_u64, 40..200)) {
            // One in four is later than the rest.
            let late: Vec<u64> = late.iter().map(|ns| if ns % 4 == 0 { ns * 200 } else { ns % 4 }).collect();
            let times: Vec<u64> = late.iter().zip(1..).map(|(late, number)| phase + number * 100_000 + late).collect();
            let timer = Timer::of(&times, 100_000).unwrap();
            for (time, late) in times.iter().zip(&late) {
                prop_assert!(timer.due(*time).abs_diff(time - late - READ_AFTER) <= 3, "{} {time} {late}", timer.due(*time));
            }
            let window = Window { start: Nanos::new(times[0] - late[0]), end: Nanos::new(times[0] - late[0] + 1_000_000) };
            prop_assert_eq!(timer.all(window).count(), 10);
            prop_assert!(timer.all(window).all(|due| timer.due(due + 10) == due));
        }

        #[test]
        fn half_of_the_time_is_undisturbed(phase in 0..1_000_u64, from in 0..5_000_u64, mid in 0..5_000_u64, periods in 0..9_u64) {
            let timer = Timer { phase, period: 1_000 };
            prop_assert_eq!(timer.undisturbed(from, from + periods * 1_000), periods * 500);
            let to = from + mid;
            let by_hand = (from..to).filter(|time| (time + 1_000 - phase) % 1_000 >= 500).count() as u64;
            prop_assert_eq!(timer.undisturbed(from, to), by_hand);
            prop_assert_eq!(timer.undisturbed(from, to) + timer.undisturbed(to, to + 3_000), timer.undisturbed(from, to + 3_000));
        }
    }
}
