//! Other traffic on the link.

use std::fmt;
use std::str::FromStr;

use crate::choice::stored_as_text;
use crate::quantity::BitRate;

/// The most pairs of other hosts on a link; each is two namespaces.
pub const MOST_PAIRS: u32 = 32;

/// Pairs of other hosts on the same link that exchange TCP messages of 1,024
/// bytes. Written `3` where they do so flat out, `3x750K` where each pair sends
/// that many bits of payload a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkLoad {
    /// 0 to [`MOST_PAIRS`].
    pub pairs: u32,
    /// Payload of each pair; `None`: all that goes. Not 0.
    pub rate: Option<BitRate>,
}

/// A text that is no link load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no link load: write a number of pairs, 0 to {MOST_PAIRS}, or one with a rate such as 3x750K")]
pub struct LinkLoadError(String);

impl LinkLoad {
    /// An idle link.
    pub const NONE: Self = Self { pairs: 0, rate: None };

    /// Returns whether the link is otherwise idle.
    pub const fn is_none(&self) -> bool {
        self.pairs == 0
    }
}

impl fmt::Display for LinkLoad {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(&match self.rate {
            Some(rate) => format!("{}x{}", self.pairs, rate.exact()),
            None => self.pairs.to_string(),
        })
    }
}

impl FromStr for LinkLoad {
    type Err = LinkLoadError;

    fn from_str(text: &str) -> Result<Self, LinkLoadError> {
        let wrong = || LinkLoadError(text.to_owned());
        let (pairs, rate) = match text.split_once('x') {
            Some((pairs, rate)) => (pairs, Some(rate.parse::<BitRate>().ok().filter(|rate| rate.get() > 0).ok_or_else(wrong)?)),
            None => (text, None),
        };
        let pairs = pairs.parse().ok().filter(|pairs| *pairs <= MOST_PAIRS).ok_or_else(wrong)?;
        // An idle link is idle at any rate.
        Ok(Self { pairs, rate: rate.filter(|_| pairs > 0) })
    }
}

stored_as_text!(LinkLoad);

#[cfg(test)]
mod tests {
    use super::LinkLoad;
    use crate::quantity::BitRate;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    #[test]
    fn pairs_have_a_rate_or_none() {
        let read = |text: &str| text.parse::<LinkLoad>().ok();
        assert_eq!(read("3"), Some(LinkLoad { pairs: 3, rate: None }));
        assert_eq!(read("3x0.75M"), Some(LinkLoad { pairs: 3, rate: Some(BitRate::new(750_000)) }));
        assert_eq!((read("0"), read("0x1M")), (Some(LinkLoad::NONE), Some(LinkLoad::NONE)));
        for wrong in ["", "x", "3x", "3x0", "33", "-1", "three"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(pairs in 1_u32..=32, rate in any::<Option<u32>>()) {
            let load = LinkLoad { pairs, rate: rate.map(|rate| BitRate::new(u64::from(rate).max(1))) };
            prop_assert_eq!(load.to_string().parse(), Ok(load));
        }
    }
}
