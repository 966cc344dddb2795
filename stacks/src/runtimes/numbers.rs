//! Numbers in datagrams that may be lost without a word: a receiver knows by them how many were.

/// Bytes of a number, in messages that have as many.
const LONGEST: usize = 8;

/// Numbers as a receiver sees them.
///
/// A message shorter than a number bears its last bytes: of two numbers that are as good, the nearer to
/// the last one is taken.
#[derive(Debug)]
pub struct Numbers {
    bits: u32,
    /// One more than the largest number that came.
    next: u64,
    received: u64,
    /// What the sender said that it had sent.
    told: u64,
}

impl Numbers {
    /// The numbers of messages of `size` bytes, at least 1.
    pub fn new(size: usize) -> Self {
        Self { bits: 8 * size.clamp(1, LONGEST) as u32, next: 0, received: 0, told: 0 }
    }

    /// Writes a number into the beginning of a message.
    pub fn write(number: u64, message: &mut [u8]) {
        let length = message.len().min(LONGEST);
        message[..length].copy_from_slice(&number.to_be_bytes()[LONGEST - length..]);
    }

    /// Notes a message that came.
    pub fn received(&mut self, message: &[u8]) {
        let length = message.len().min(LONGEST);
        let mut bytes = [0; LONGEST];
        bytes[LONGEST - length..].copy_from_slice(&message[..length]);
        // As far from the next number as its bits say, forward or back.
        let shift = u64::BITS - self.bits;
        let apart = (u64::from_be_bytes(bytes).wrapping_sub(self.next) << shift).cast_signed() >> shift;
        if apart >= 0 {
            self.next = self.next.saturating_add(apart.unsigned_abs()).saturating_add(1);
        }
        self.received += 1;
    }

    /// Notes the number of messages that were sent, as the sender says.
    pub const fn last_word(&mut self, total: u64) {
        self.told = total;
    }

    /// Messages that were sent and did not come.
    pub fn lost(&self) -> u64 {
        self.next.max(self.told).saturating_sub(self.received)
    }
}

#[cfg(test)]
mod tests {
    use super::Numbers;
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};

    #[test]
    fn those_lost_at_the_end_are_known_by_the_last_word() {
        let mut numbers = Numbers::new(64);
        let mut message = [0; 64];
        for number in [0, 1, 3] {
            Numbers::write(number, &mut message);
            numbers.received(&message);
        }
        assert_eq!(numbers.lost(), 1);
        numbers.last_word(10);
        assert_eq!(numbers.lost(), 7);
    }

    proptest! {
        #[test]
        fn those_lost_between_others_are_counted(size in 1_usize..12, kept in prop::collection::vec(any::<bool>(), 1..400), swaps in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
            // A byte tells 256 numbers apart, forward and back.
            let mut run = 0;
            let kept: Vec<bool> = kept.into_iter().map(|kept| { run = if kept { 0 } else { run + 1 }; kept || run > 100 }).collect();
            let mut came: Vec<u64> = kept.iter().enumerate().filter(|(_, kept)| **kept).map(|(number, _)| number as u64).collect();
            for at in swaps {
                if came.len() > 1 {
                    let at = at.index(came.len() - 1);
                    came.swap(at, at + 1);
                }
            }
            let mut numbers = Numbers::new(size);
            let mut message = vec![0; size];
            for number in &came {
                Numbers::write(*number, &mut message);
                numbers.received(&message);
            }
            let due = came.iter().max().map_or(0, |largest| largest + 1 - came.len() as u64);
            prop_assert_eq!(numbers.lost(), due);
            numbers.last_word(kept.len() as u64);
            prop_assert_eq!(numbers.lost(), (kept.len() - came.len()) as u64);
        }
    }
}
