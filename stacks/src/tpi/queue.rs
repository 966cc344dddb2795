//! A queue of messages with flow control: `putq`, `getq`, `putbq`, `canput`.

use std::collections::VecDeque;

use super::block::Block;

/// Counts of what was done with queues.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queued {
    /// Messages put into the queue (`putq`).
    pub puts: u64,
    /// Messages taken out (`getq`), without those that went back (`putbq`).
    pub gets: u64,
    /// Times that it was full when a writer asked (`canput`).
    pub refused: u64,
    /// Times that a writer that had found it full was enabled again.
    pub back_enabled: u64,
}

/// A queue. It is full from its high-water mark on until it is empty down to its low-water mark;
/// then a writer that found it full is enabled again.
#[derive(Debug)]
pub struct Queue {
    messages: VecDeque<Box<Block>>,
    /// Bytes in it.
    count: usize,
    high: usize,
    low: usize,
    /// `QFULL`.
    full: bool,
    /// `QWANTW`: somebody found it full.
    wanted: bool,
    /// What was done with it.
    pub done: Queued,
}

impl Queue {
    /// An empty queue with its water marks, in bytes.
    pub fn new(high: usize, low: usize) -> Self {
        Self { messages: VecDeque::new(), count: 0, high, low, full: false, wanted: false, done: Queued::default() }
    }

    /// Puts a message at the end. One that is larger than the high-water mark is taken as well:
    /// the mark tells when to stop, not what fits.
    pub fn put(&mut self, message: Box<Block>) {
        self.count += message.size();
        self.full |= self.count >= self.high;
        self.messages.push_back(message);
        self.done.puts += 1;
    }

    /// Takes the first message.
    pub fn get(&mut self) -> Option<Box<Block>> {
        let message = self.messages.pop_front()?;
        self.count -= message.size();
        self.done.gets += 1;
        if self.count < self.high && self.count <= self.low {
            self.full = false;
            self.done.back_enabled += u64::from(std::mem::take(&mut self.wanted));
        }
        Some(message)
    }

    /// Puts a message back that could not be carried out: it is the first again.
    pub fn put_back(&mut self, message: Box<Block>) {
        self.count += message.size();
        self.full |= self.count >= self.high;
        self.messages.push_front(message);
        self.done.gets -= 1;
    }

    /// Returns whether a message may be put; a writer that is refused is enabled once it may.
    pub fn can_put(&mut self) -> bool {
        self.wanted |= self.full;
        self.done.refused += u64::from(self.full);
        !self.full
    }

    /// Returns whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::Pool;
    use super::{Queue, Queued};
    use crate::net::frames::Room;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    fn message(pool: &mut Pool, size: usize) -> Box<super::Block> {
        let mut block = pool.data(Room::heap);
        block.set(0, size);
        block
    }

    #[test]
    fn a_queue_is_full_from_its_high_mark_down_to_its_low_mark() {
        let (mut pool, mut queue) = (Pool::new(100), Queue::new(300, 100));
        for _ in 0..3 {
            assert!(queue.can_put());
            queue.put(message(&mut pool, 100));
        }
        assert!(!queue.can_put());
        queue.get().unwrap();
        assert!(!queue.can_put(), "200 bytes are above the low mark");
        queue.get().unwrap();
        assert!(queue.can_put());
        assert_eq!(queue.done, Queued { puts: 3, gets: 2, refused: 2, back_enabled: 1 });
    }

    #[test]
    fn a_message_that_goes_back_is_the_first_and_counts_once() {
        let (mut pool, mut queue) = (Pool::new(100), Queue::new(300, 100));
        queue.put(message(&mut pool, 7));
        queue.put(message(&mut pool, 8));
        let first = queue.get().unwrap();
        queue.put_back(first);
        assert_eq!(queue.get().unwrap().size(), 7);
        assert_eq!((queue.done.puts, queue.done.gets, queue.is_empty()), (2, 1, false));
    }

    proptest! {
        #[test]
        fn bytes_and_flags_are_those_of_what_is_in_it(steps in proptest::collection::vec((any::<bool>(), 0..100_usize), 0..200)) {
            let (mut pool, mut queue) = (Pool::new(100), Queue::new(250, 60));
            let mut inside = VecDeque::new();
            use std::collections::VecDeque;
            for (put, size) in steps {
                if put {
                    queue.put(message(&mut pool, size));
                    inside.push_back(size);
                } else {
                    prop_assert_eq!(queue.get().map(|message| message.size()), inside.pop_front());
                }
                let bytes: usize = inside.iter().sum();
                prop_assert_eq!(queue.count, bytes);
                prop_assert!(bytes < 250 || !queue.can_put());
                prop_assert!(bytes > 60 || bytes >= 250 || queue.can_put() || put);
                prop_assert_eq!(queue.done.puts - queue.done.gets, inside.len() as u64);
            }
        }
    }
}
