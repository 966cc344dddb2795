//! Order of the numbers that came, and those that did not.

/// Numbers that are remembered.
const MEMORY: u64 = 1 << 16;
/// A number that is so far ahead of all others is none of this trial's: at a
/// hundred million messages a second it would skip 40 s.
const FURTHEST: u64 = 1 << 32;

/// Kinds of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The next one, or one after it.
    Ahead,
    /// A lower one than one before it.
    Behind,
    /// One that had come already.
    Again,
    /// None that a sender of this trial would write.
    Foreign,
}

/// Counts of the window. Numbers wrap, memory does not grow.
#[derive(Debug)]
pub(super) struct Sequence {
    /// One more than the highest number.
    next: u64,
    /// A bit for each of the last numbers below `next`: it has come.
    came: Vec<u64>,
    /// Numbers that the window began and ended with.
    first: u64,
    last: Option<u64>,
    pub missing: u64,
    pub out_of_order: u64,
    pub duplicates: u64,
}

impl Sequence {
    /// Numbers begin at 0.
    pub fn new() -> Self {
        // As if all before the first had come: none of them is missing.
        let came = vec![u64::MAX; (MEMORY / 64) as usize];
        Self { next: 0, came, first: 0, last: None, missing: 0, out_of_order: 0, duplicates: 0 }
    }

    /// The window begins: what was counted so far is forgotten.
    pub fn begin(&mut self) {
        self.first = self.next;
        (self.missing, self.out_of_order, self.duplicates) = (0, 0, 0);
    }

    /// The window ends: from now on only what is missing in it counts.
    pub const fn end(&mut self) {
        self.last = Some(self.next);
    }

    /// Takes the next number that came.
    #[inline]
    pub fn take(&mut self, number: u64) -> Kind {
        let skipped = number.wrapping_sub(self.next);
        if skipped < FURTHEST {
            self.ahead(number, skipped);
            return Kind::Ahead;
        }
        let back = self.next.wrapping_sub(1).wrapping_sub(number);
        if back >= FURTHEST {
            return Kind::Foreign;
        }
        let kind = self.back(number, back);
        if self.last.is_none() {
            match kind {
                Kind::Again => self.duplicates += 1,
                _ => self.out_of_order += 1,
            }
        }
        kind
    }

    fn ahead(&mut self, number: u64, skipped: u64) {
        if skipped > 0 {
            // What falls out of memory needs no clearing twice.
            for back in 0..skipped.min(MEMORY) {
                self.set(number.wrapping_sub(1).wrapping_sub(back), false);
            }
            if self.last.is_none() {
                self.missing = self.missing.saturating_add(skipped);
            }
        }
        self.set(number, true);
        self.next = number.wrapping_add(1);
    }

    #[cold]
    fn back(&mut self, number: u64, back: u64) -> Kind {
        // Too long ago to know whether it came: it is taken as it seems, and stays missing.
        if back >= MEMORY {
            return Kind::Behind;
        }
        if self.has(number) {
            return Kind::Again;
        }
        self.set(number, true);
        let last = self.last.unwrap_or(self.next);
        if number.wrapping_sub(self.first) < last.wrapping_sub(self.first) {
            self.missing = self.missing.saturating_sub(1);
        }
        Kind::Behind
    }

    fn has(&self, number: u64) -> bool {
        let place = number % MEMORY;
        self.came[(place / 64) as usize] >> (place % 64) & 1 == 1
    }

    fn set(&mut self, number: u64, came: bool) {
        let place = number % MEMORY;
        let bit = 1 << (place % 64);
        let word = &mut self.came[(place / 64) as usize];
        *word = if came { *word | bit } else { *word & !bit };
    }
}

#[cfg(test)]
mod tests {
    use super::{FURTHEST, Kind, MEMORY, Sequence};
    use proptest::prelude::{any, prop, proptest};
    use std::collections::BTreeSet;

    fn counts(numbers: &[u64]) -> (u64, u64, u64) {
        let mut sequence = Sequence::new();
        for number in numbers {
            sequence.take(*number);
        }
        (sequence.missing, sequence.out_of_order, sequence.duplicates)
    }

    #[test]
    fn gaps_returns_and_repeats_are_told_apart() {
        assert_eq!(counts(&[0, 1, 2, 3]), (0, 0, 0));
        assert_eq!(counts(&[0, 1, 3, 5]), (2, 0, 0), "2 and 4 are missing");
        assert_eq!(counts(&[0, 3, 2, 1]), (0, 2, 0), "they came late");
        assert_eq!(counts(&[0, 1, 1, 0]), (0, 0, 2), "twice");
        assert_eq!(counts(&[2, 0, 0]), (1, 1, 1), "1 is missing, 0 is late, then again");
    }

    #[test]
    fn the_window_begins_again_and_what_is_missing_in_it_may_come_after_it() {
        let mut sequence = Sequence::new();
        [0, 2, 3].iter().for_each(|number| _ = sequence.take(*number));
        sequence.begin();
        [4, 7].iter().for_each(|number| _ = sequence.take(*number));
        assert_eq!(sequence.take(1), Kind::Behind);
        assert_eq!((sequence.missing, sequence.out_of_order), (2, 1), "1 is late and was missing before the window");
        sequence.end();
        for after in [5, 9, 8, 5] {
            sequence.take(after);
        }
        assert_eq!((sequence.missing, sequence.out_of_order, sequence.duplicates), (1, 1, 0), "5 came in the end, 6 did not");
    }

    #[test]
    fn a_number_from_nowhere_is_nobodys() {
        let mut sequence = Sequence::new();
        sequence.take(10);
        for foreign in [10 + 1 + FURTHEST, 1 << 63, u64::MAX - FURTHEST] {
            assert_eq!(sequence.take(foreign), Kind::Foreign);
        }
        assert_eq!((sequence.take(11), sequence.missing), (Kind::Ahead, 10));
    }

    #[test]
    fn numbers_wrap() {
        let mut sequence = Sequence::new();
        sequence.next = u64::MAX - 1;
        sequence.begin();
        for number in [u64::MAX - 1, 0, u64::MAX, 1] {
            assert_ne!(sequence.take(number), Kind::Foreign);
        }
        assert_eq!((sequence.missing, sequence.out_of_order, sequence.duplicates), (0, 1, 0));
    }

    proptest! {
        /// Against a set of all that came.
        #[test]
        fn it_agrees_with_a_set(steps in prop::collection::vec(0u64..300, 0..300)) {
            let mut sequence = Sequence::new();
            let mut came = BTreeSet::new();
            let (mut late, mut twice) = (0, 0);
            for number in steps {
                let highest = came.last().copied();
                if !came.insert(number) {
                    twice += 1;
                } else if highest.is_some_and(|highest| highest > number) {
                    late += 1;
                }
                sequence.take(number);
            }
            let missing = came.last().map_or(0, |highest| highest + 1 - came.len() as u64);
            assert_eq!((sequence.missing, sequence.out_of_order, sequence.duplicates), (missing, late, twice));
        }

        #[test]
        fn no_numbers_break_it(numbers in prop::collection::vec(any::<u64>(), 0..50), jumps in prop::collection::vec(0u64..2 * MEMORY, 0..50)) {
            let mut sequence = Sequence::new();
            for number in numbers {
                sequence.take(number);
            }
            for jump in jumps {
                let number = sequence.next.wrapping_add(jump);
                assert_eq!(sequence.take(number), Kind::Ahead);
                assert_eq!(sequence.take(number), Kind::Again);
            }
            assert_eq!(sequence.came.len() as u64 * 64, MEMORY);
        }
    }
}
