//! Account of messages that bear a number and a time.

use model::end::OneWay;

use super::beyond::Beyond;
use super::sequence::{Kind, Sequence};
use crate::stage::WaySoFar;

/// The longest difference that jitter counts, so that a hostile time cannot
/// drown all others: a minute, in ns.
const LONGEST_DIFFERENCE: u64 = 60_000_000_000;

/// Account of one flow's messages, in memory that does not grow; of several, the sum.
#[derive(Debug)]
pub struct Account {
    messages: u64,
    sequence: Sequence,
    beyond: Beyond,
    jitter: Jitter,
}

impl Account {
    /// Before the first message.
    pub(in crate::traffic) fn new() -> Self {
        Self { messages: 0, sequence: Sequence::new(), beyond: Beyond::new(), jitter: Jitter::default() }
    }

    /// The window begins.
    pub(in crate::traffic) fn begin(&mut self) {
        self.messages = 0;
        self.sequence.begin();
        self.beyond.clear();
    }

    /// Takes a message that bears this and came at `now`, in ns of this host's clock.
    #[inline]
    pub(in crate::traffic) fn take(&mut self, number: u64, sent: u64, now: u64) {
        if self.sequence.take(number) == Kind::Foreign {
            return;
        }
        self.messages += 1;
        // The clocks of two hosts differ by anything; only differences of this count.
        let time = now.wrapping_sub(sent) as i64;
        self.beyond.take(time);
        self.jitter.take(time);
    }

    /// The window ends.
    pub(in crate::traffic) fn end(&mut self) {
        self.sequence.end();
        self.beyond.count_kept();
    }

    /// Takes one that came after the window: it is not missing.
    pub(in crate::traffic) fn take_late(&mut self, number: u64) {
        self.sequence.take(number);
    }

    /// What is known now.
    pub(in crate::traffic) const fn so_far(&self) -> WaySoFar {
        WaySoFar { jitter: self.jitter.nanos(), missing: self.sequence.missing }
    }

    /// Adds another flow's. Their jitters are averaged by their messages.
    pub fn add(&mut self, other: &Self) {
        self.jitter = self.jitter.mean(self.messages, other.jitter, other.messages);
        self.messages = self.messages.saturating_add(other.messages);
        self.sequence.missing = self.sequence.missing.saturating_add(other.sequence.missing);
        self.sequence.out_of_order = self.sequence.out_of_order.saturating_add(other.sequence.out_of_order);
        self.sequence.duplicates = self.sequence.duplicates.saturating_add(other.sequence.duplicates);
        self.beyond.add(&other.beyond);
    }

    /// The form in which it is reported.
    pub fn one_way(&self) -> OneWay {
        OneWay {
            messages: self.messages,
            missing: self.sequence.missing,
            out_of_order: self.sequence.out_of_order,
            duplicates: self.sequence.duplicates,
            base: self.beyond.base().unwrap_or_default(),
            beyond_base: self.beyond.histogram().encode(),
            jitter: self.jitter.nanos(),
        }
    }
}

/// Interarrival jitter as RFC 3550 computes it (section 6.4.1 and appendix A.8).
#[derive(Debug, Clone, Copy, Default)]
struct Jitter {
    /// In sixteenths of a nanosecond.
    sixteenths: u64,
    before: Option<i64>,
}

impl Jitter {
    #[inline]
    fn take(&mut self, time: i64) {
        if let Some(before) = self.before {
            let difference = time.abs_diff(before).min(LONGEST_DIFFERENCE);
            self.sixteenths = self.sixteenths + difference - ((self.sixteenths + 8) >> 4);
        }
        self.before = Some(time);
    }

    const fn nanos(self) -> u64 {
        (self.sixteenths + 8) >> 4
    }

    fn mean(self, weight: u64, other: Self, other_weight: u64) -> Self {
        let (weight, other_weight) = (u128::from(weight), u128::from(other_weight));
        let sum = u128::from(self.sixteenths) * weight + u128::from(other.sixteenths) * other_weight;
        let sixteenths = sum.checked_div(weight + other_weight).map_or(self.sixteenths, |mean| mean as u64);
        Self { sixteenths, before: None }
    }
}

#[cfg(test)]
mod tests {
    use super::{Account, Jitter, LONGEST_DIFFERENCE};
    use proptest::prelude::{any, prop, proptest};

    fn jitter_of(times: &[i64]) -> u64 {
        let mut jitter = Jitter::default();
        times.iter().for_each(|time| jitter.take(*time));
        jitter.nanos()
    }

    #[test]
    fn an_even_stream_has_no_jitter_and_a_swaying_one_has_its_sway() {
        assert_eq!(jitter_of(&[5; 100]), 0);
        assert_eq!(jitter_of(&[-7]), 0, "one alone");
        let swaying: Vec<i64> = (0..1_000).map(|time| 1_600 * (time % 2)).collect();
        assert_eq!(jitter_of(&swaying), 1_600);
        // The first step is a sixteenth of the difference.
        assert_eq!(jitter_of(&[0, 1_600]), 100);
    }

    #[test]
    fn one_hostile_time_does_not_break_the_account() {
        let mut account = Account::new();
        account.begin();
        for (number, sent) in [(0, 0), (1, u64::MAX), (2, 1 << 63), (u64::MAX / 2, 7), (2, 0)] {
            account.take(number, sent, 1_000);
        }
        account.end();
        let one_way = account.one_way();
        assert_eq!((one_way.messages, one_way.missing, one_way.duplicates), (4, 0, 1));
        assert!(one_way.jitter <= LONGEST_DIFFERENCE);
    }

    #[test]
    fn flows_are_added() {
        let flow = |late: i64, numbers: &[u64]| {
            let mut account = Account::new();
            account.begin();
            numbers.iter().for_each(|number| account.take(*number, 100 * number, (1_000 + late) as u64 + 100 * number));
            account.end();
            account
        };
        let mut all = flow(50, &[0, 1, 3]);
        all.add(&flow(-20, &[0, 2, 1, 1]));
        let one_way = all.one_way();
        assert_eq!((one_way.messages, one_way.missing, one_way.out_of_order, one_way.duplicates), (7, 1, 1, 1));
        assert_eq!((one_way.base, one_way.jitter), (980, 0));
    }

    proptest! {
        #[test]
        fn no_message_makes_it_panic(messages in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 0..200)) {
            let mut account = Account::new();
            account.begin();
            for (number, sent, now) in messages {
                account.take(number, sent, now);
            }
            account.end();
            account.take_late(3);
            let _ = account.one_way();
        }

        #[test]
        fn jitter_lies_between_the_differences(times in prop::collection::vec(any::<i64>(), 2..200)) {
            let greatest = times.windows(2).map(|pair| pair[0].abs_diff(pair[1])).max().unwrap();
            assert!(jitter_of(&times) <= greatest.min(LONGEST_DIFFERENCE) + 1);
        }
    }
}
