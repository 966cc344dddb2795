//! The requests that wait for their answers.

use super::super::late::MARK;

/// The most that may wait at a time: at 100,000 a second, those of 0.65 s.
const MOST: u64 = 1 << 16;

/// A request that was sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::traffic) struct Request {
    /// Time at which it was to be sent, in ns.
    pub due: u64,
    /// Time at which it was sent.
    pub sent: u64,
    answered: bool,
}

/// A request that has its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::traffic) struct Answered {
    pub number: u64,
    pub request: Request,
    /// It had been given up.
    pub late: bool,
}

/// Requests by their numbers, in a ring that never grows.
#[derive(Debug)]
pub(in crate::traffic) struct Outstanding {
    ring: Vec<Request>,
    /// The first number that is neither answered nor given up.
    first: u64,
    next: u64,
    most: u64,
    /// Values that a mark can have.
    marks: u64,
}

impl Outstanding {
    /// For messages of `size` bytes. Only half of the numbers that a mark can
    /// say may wait, so that an answer to one of those given up is told from
    /// an answer to one that waits: 128 for 1 byte, 32,768 for 2.
    pub fn new(size: usize, datagrams: bool) -> Self {
        let marks = 256u64.pow(size.min(MARK) as u32);
        let most = if datagrams { MOST.min(marks / 2) } else { MOST };
        // Not zeros: memory of zeros is not there before it is touched.
        Self { ring: vec![Request { due: 1, ..Request::default() }; most as usize], first: 0, next: 0, most, marks }
    }

    /// The number of the next request.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// The first four bytes of the next request, or as many as it has, lowest first.
    pub const fn mark(&self) -> [u8; MARK] {
        (self.next as u32).to_le_bytes()
    }

    pub const fn is_empty(&self) -> bool {
        self.first == self.next
    }

    pub const fn is_full(&self) -> bool {
        self.next - self.first >= self.most
    }

    /// The one that has waited longest.
    pub fn oldest(&self) -> Option<Request> {
        (!self.is_empty()).then(|| self.ring[self.place(self.first)])
    }

    /// Adds one that was sent; there must be room.
    pub fn push(&mut self, due: u64, sent: u64) {
        let place = self.place(self.next);
        self.ring[place] = Request { due, sent, answered: false };
        self.next += 1;
    }

    /// The oldest is answered.
    pub fn take_oldest(&mut self) -> Option<Answered> {
        let request = self.oldest()?;
        let number = self.first;
        self.first += 1;
        Some(Answered { number, request, late: false })
    }

    /// The one with this mark is answered; `None` when no such one is without an answer. One that was
    /// given up is known for as long as no other has its place: what came late has its time.
    pub fn take_marked(&mut self, mark: &[u8]) -> Option<Answered> {
        let mut bytes = [0; MARK];
        let length = mark.len().min(MARK);
        bytes[..length].copy_from_slice(&mark[..length]);
        let value = u64::from(u32::from_le_bytes(bytes)) % self.marks;
        let last = self.next.checked_sub(1)?;
        // The last number that has this mark.
        let back = last.wrapping_sub(value) % self.marks;
        let number = last.checked_sub(back).filter(|number| self.next - *number <= self.most)?;
        let place = self.place(number);
        let request = self.ring[place];
        if request.answered {
            return None;
        }
        self.ring[place].answered = true;
        let late = number < self.first;
        self.skip_answered();
        Some(Answered { number, request, late })
    }

    /// Gives up those that were sent before `time`; returns how many.
    pub fn give_up(&mut self, time: u64) -> u64 {
        let mut lost = 0;
        while self.oldest().is_some_and(|oldest| oldest.sent < time) {
            self.first += 1;
            lost += 1;
            self.skip_answered();
        }
        lost
    }

    /// Gives up all; returns how many had no answer.
    pub fn give_up_all(&mut self) -> u64 {
        self.give_up(u64::MAX)
    }

    fn skip_answered(&mut self) {
        while self.oldest().is_some_and(|oldest| oldest.answered) {
            self.first += 1;
        }
    }

    /// A power of two of places.
    const fn place(&self, number: u64) -> usize {
        (number & (self.most - 1)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Outstanding};
    use crate::traffic::late::MARK;
    use proptest::prelude::{any, prop, proptest};
    use std::collections::BTreeMap;

    #[test]
    fn half_of_what_a_mark_can_say_may_wait() {
        for (size, datagrams, most) in
            [(1, true, 128), (2, true, 32_768), (3, true, MOST), (4, true, MOST), (1_000, true, MOST), (1, false, MOST)]
        {
            let mut waiting = Outstanding::new(size, datagrams);
            let mut pushed = 0;
            while !waiting.is_full() {
                waiting.push(pushed, pushed);
                pushed += 1;
            }
            assert_eq!(pushed, most, "{size} B");
        }
    }

    #[test]
    fn an_answer_to_one_that_was_given_up_is_late_and_has_its_time() {
        let mut waiting = Outstanding::new(1, true);
        for time in 0..100 {
            waiting.push(time, time);
        }
        assert_eq!(waiting.give_up(50), 50);
        let mut answer = |mark: u8| waiting.take_marked(&[mark]).map(|answered| (answered.number, answered.request.sent, answered.late));
        assert_eq!(answer(49), Some((49, 49, true)));
        assert_eq!(answer(49), None, "a second answer");
        assert_eq!(answer(50), Some((50, 50, false)));
        assert_eq!(waiting.take_marked(&[50]), None, "a second answer");
        assert_eq!(waiting.take_marked(&[100]), None, "not yet sent");
        assert_eq!(waiting.oldest().map(|oldest| oldest.sent), Some(51));
        // Of 128 later ones each has taken the place of one before.
        waiting.give_up_all();
        (100..228).for_each(|time| waiting.push(time, time));
        assert_eq!(waiting.take_marked(&[48]), None);
    }

    proptest! {
        /// Against a map of everything that waits.
        #[test]
        fn it_agrees_with_a_map(size in 1usize..6, steps in prop::collection::vec((0u8..4, any::<u16>()), 0..600)) {
            let mut waiting = Outstanding::new(size, true);
            let mut map = BTreeMap::new();
            let mut time = 1;
            for (step, pick) in steps {
                time += 1;
                let pick = u64::from(pick);
                match step {
                    0 | 1 if !waiting.is_full() => {
                        let mark = waiting.mark();
                        map.insert(waiting.next(), (mark, time));
                        waiting.push(time, time);
                    }
                    2 if !map.is_empty() => {
                        let number = *map.keys().nth(pick as usize % map.len()).unwrap();
                        let (mark, sent) = map.remove(&number).unwrap();
                        let answer = waiting.take_marked(&mark[..size.min(MARK)]).unwrap();
                        assert_eq!((answer.number, answer.request.sent, answer.late), (number, sent, false));
                    }
                    _ => {
                        let limit = time.saturating_sub(pick % 300);
                        let lost = waiting.give_up(limit);
                        let before = map.len() as u64;
                        map.retain(|_, (_, sent)| *sent >= limit);
                        assert_eq!(lost, before - map.len() as u64);
                    }
                }
                assert_eq!(waiting.is_empty(), map.is_empty());
                assert_eq!(waiting.oldest().map(|oldest| oldest.sent), map.values().next().map(|(_, sent)| *sent));
            }
        }

        #[test]
        fn no_mark_makes_it_panic(size in 1usize..6, requests in 0u64..300, mark in prop::collection::vec(any::<u8>(), 0..8)) {
            let mut waiting = Outstanding::new(size, true);
            for time in 0..requests {
                if !waiting.is_full() {
                    waiting.push(time, time);
                }
            }
            let _ = waiting.take_marked(&mark);
        }
    }
}
