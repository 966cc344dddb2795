//! A mix of message sizes, as a cell sends it.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::quantity::Bytes;

/// Whole that the weights of a mix are shares of: a million million.
pub const WHOLE: u64 = 1_000_000_000_000;

/// Most sizes of a mix: it travels with every task and every trial.
pub const MOST_SIZES: usize = 4_096;

/// The largest message of a mix: the largest of any cell.
pub const LARGEST: u64 = 1 << 30;

/// Each run of so many messages of a sequence has the shares of the mix as
/// nearly as so many messages can.
const STRIDE: usize = 1_024;

/// Most messages before a sequence begins again: 256 KiB of sizes.
const LONGEST: usize = 64 << 10;

/// A sequence of large messages is shorter, so that a trial gets through it:
/// not many more bytes than this, but one stride at least.
const CYCLE_BYTES: u64 = 64 << 20;

/// Frequencies of sizes, and their order.
///
/// Integers, so that equal mixes are equal. What [`Mix::new`] makes has 1 to
/// [`MOST_SIZES`] sizes, rising, each 1 to [`LARGEST`], and weights above 0. One
/// that came from elsewhere is held to that by [`Mix::check`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Name: `W1`, or the name of a file.
    pub name: String,
    /// The seed of the order of the sizes.
    pub seed: u64,
    /// Sizes in bytes, rising, and how much each weighs.
    pub sizes: Vec<(u64, u64)>,
}

/// Sizes that cannot be sent as a mix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MixError {
    /// None, or too many.
    #[error("{0} sizes cannot be sent as one mix: 1 to {MOST_SIZES}; merge neighbours")]
    Number(usize),
    /// A size that no message has.
    #[error("a message of {0} B cannot be sent: 1 to {LARGEST} B")]
    Size(u64),
    /// Sizes out of order, or a weight of nothing.
    #[error("the sizes of a mix rise, and each weighs something; {0} B does not")]
    Order(u64),
}

impl Mix {
    /// A mix of sizes, rising, with the share of messages of each. Sizes whose
    /// share is below half a part of [`WHOLE`] are left out.
    ///
    /// # Errors
    /// Too many sizes, none, or one that no message can have.
    pub fn new(name: &str, seed: u64, shares: &[(u64, f64)]) -> Result<Self, MixError> {
        let whole: f64 = shares.iter().map(|(_, share)| share).sum();
        let weight = |share: f64| (share / whole * WHOLE as f64).round() as u64;
        let sizes = shares.iter().map(|(size, share)| (*size, weight(*share))).filter(|(_, weight)| *weight > 0).collect();
        let mix = Self { name: name.to_owned(), seed, sizes };
        mix.check()?;
        Ok(mix)
    }

    /// Checks a mix that came from elsewhere.
    ///
    /// # Errors
    /// Reason.
    pub fn check(&self) -> Result<(), MixError> {
        if self.sizes.is_empty() || self.sizes.len() > MOST_SIZES {
            return Err(MixError::Number(self.sizes.len()));
        }
        let mut before = 0;
        for (size, weight) in &self.sizes {
            if !(1..=LARGEST).contains(size) {
                return Err(MixError::Size(*size));
            }
            if *size <= before || !(1..=WHOLE).contains(weight) {
                return Err(MixError::Order(*size));
            }
            before = *size;
        }
        Ok(())
    }

    /// Sizes and the share of messages of each; the shares sum to 1.
    pub fn shares(&self) -> impl Iterator<Item = (u64, f64)> {
        let whole = self.weight() as f64;
        self.sizes.iter().map(move |(size, weight)| (*size, *weight as f64 / whole))
    }

    fn weight(&self) -> u64 {
        self.sizes.iter().map(|(_, weight)| weight).sum()
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        self.shares().map(|(size, share)| size as f64 * share).sum()
    }

    /// The mean size as a cell shows it: to the byte, at least 1.
    pub fn size(&self) -> Bytes {
        Bytes::new((self.mean().round() as u64).max(1))
    }

    /// The largest size.
    pub fn largest(&self) -> Bytes {
        Bytes::new(self.sizes.last().map_or(1, |(size, _)| *size))
    }

    /// The sizes of one message after the other, to be begun again at the end.
    ///
    /// A systematic sample: the messages stand at equal distances in the
    /// distribution, from a start that is drawn, so that each size comes as often
    /// as its share asks, to one message (Cochran, "Sampling Techniques", ch. 8).
    /// They are dealt out so that each run of 1,024 is such a sample itself, and
    /// shuffled within it: a part of the sequence is as good a sample as can be
    /// had of its length. The same seed gives the same sequence.
    pub fn sequence(&self) -> Vec<u32> {
        let runs = (CYCLE_BYTES / self.size().get() / STRIDE as u64).clamp(1, (LONGEST / STRIDE) as u64) as usize;
        let mut generator = ChaCha8Rng::seed_from_u64(self.seed);
        let mut offsets: Vec<usize> = (0..runs).collect();
        offsets.shuffle(&mut generator);
        let start: f64 = generator.random();
        let mut sequence = Vec::with_capacity(runs * STRIDE);
        for offset in offsets {
            let begin = sequence.len();
            let places = (0..STRIDE).map(|step| ((step * runs + offset) as f64 + start) / (runs * STRIDE) as f64);
            self.append(places, &mut sequence);
            sequence[begin..].shuffle(&mut generator);
        }
        sequence
    }

    /// The sizes at rising places, 0 to 1, of the distribution.
    fn append(&self, places: impl Iterator<Item = f64>, sequence: &mut Vec<u32>) {
        let whole = self.weight() as f64;
        let mut sizes = self.sizes.iter();
        let (mut size, mut up_to) = sizes.next().copied().unwrap_or((1, 1));
        for place in places {
            while (up_to as f64) < place * whole {
                let Some((next, weight)) = sizes.next() else { break };
                (size, up_to) = (*next, up_to + weight);
            }
            sequence.push(size.min(LARGEST) as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LARGEST, LONGEST, MOST_SIZES, Mix, MixError, STRIDE};
    use crate::quantity::Bytes;
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let mix = |sizes: &[(u64, f64)]| Mix::new("x", 1, sizes).unwrap_err();
        assert_eq!(mix(&[]), MixError::Number(0));
        assert_eq!(mix(&[(0, 1.0)]), MixError::Size(0));
        assert_eq!(mix(&[(LARGEST + 1, 1.0)]), MixError::Size(LARGEST + 1));
        assert_eq!(mix(&[(5, 0.5), (5, 0.5)]), MixError::Order(5));
        let many: Vec<(u64, f64)> = (0..=MOST_SIZES as u64).map(|size| (size + 1, 1.0)).collect();
        assert_eq!(mix(&many), MixError::Number(MOST_SIZES + 1));
    }

    #[test]
    fn one_that_came_from_elsewhere_is_held_to_the_same() {
        let foreign = |text: &str| serde_json::from_str::<Mix>(text).unwrap().check();
        assert_eq!(foreign(r#"{"name":"x","seed":1,"sizes":[[8,1],[9,1]]}"#), Ok(()));
        assert_eq!(foreign(r#"{"name":"x","seed":1,"sizes":[[8,0]]}"#), Err(MixError::Order(8)));
        assert_eq!(foreign(r#"{"name":"x","seed":1,"sizes":[[9,1],[8,1]]}"#), Err(MixError::Order(8)));
        assert_eq!(foreign(r#"{"name":"x","seed":1,"sizes":[[8,18446744073709551615]]}"#), Err(MixError::Order(8)));
    }

    #[test]
    fn a_sequence_of_large_messages_is_short() {
        let length = |size: u64| Mix::new("x", 1, &[(size, 1.0)]).unwrap().sequence().len();
        assert_eq!((length(8), length(1_024), length(LARGEST)), (LONGEST, LONGEST, STRIDE));
        assert_eq!(length(4_096), LONGEST / 4);
    }

    proptest! {
        // Each draws two sequences of 64 Ki sizes.
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(12))]

        #[test]
        fn every_size_comes_as_often_as_its_share_asks(weights in prop::collection::vec(0.001..1.0f64, 1..60), seed in 0u64..1000) {
            let whole: f64 = weights.iter().sum();
            let shares: Vec<(u64, f64)> = weights.iter().enumerate().map(|(at, weight)| (10 + 7 * at as u64, weight / whole)).collect();
            let mix = Mix::new("x", seed, &shares).unwrap();
            let sequence = mix.sequence();
            prop_assert_eq!(&sequence, &mix.sequence());
            let count = |sent: &[u32], size: u64| sent.iter().filter(|sent| u64::from(**sent) == size).count() as f64;
            for (size, share) in mix.shares() {
                let all = count(&sequence, size);
                prop_assert!((all - share * sequence.len() as f64).abs() <= 1.0 + 1e-6, "{size}: {all}");
                // Each run is a sample of its own.
                let in_run = count(&sequence[..STRIDE], size);
                prop_assert!((in_run - share * STRIDE as f64).abs() <= 1.0 + 1e-6, "{size}: {in_run}");
            }
            let sent = sequence.iter().map(|size| u64::from(*size)).sum::<u64>() as f64 / sequence.len() as f64;
            prop_assert!((sent / mix.mean() - 1.0).abs() < 0.001, "{sent} {}", mix.mean());
            prop_assert_eq!(mix.largest(), Bytes::new(shares[shares.len() - 1].0));
        }
    }
}
