//! A level that each end has by itself.

use std::fmt;
use std::str::FromStr;

use crate::choice::stored_as_text;
use crate::traffic::Role;

/// Level of an end: its default is the usual.
pub trait EndLevel: Copy + Default + PartialEq + fmt::Display + FromStr<Err: fmt::Display> {}

impl<T: Copy + Default + PartialEq + fmt::Display + FromStr<Err: fmt::Display>> EndLevel for T {}

/// A level of the sender and one of the receiver. Written `sender:2`,
/// `receiver:1`, `sender:2+receiver:1`; `both:2` and plain `2` are of both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PerEnd<T> {
    /// Level of the end that sends.
    pub sender: T,
    /// Level of the end that receives.
    pub receiver: T,
}

/// A text that is no such pair.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}': {reason}; write LEVEL for both ends, sender:LEVEL, receiver:LEVEL, or both joined by +")]
pub struct PerEndError {
    text: String,
    reason: String,
}

impl<T: EndLevel> PerEnd<T> {
    /// Returns the level of the end in a role.
    pub const fn of(&self, role: Role) -> &T {
        match role {
            Role::Sender => &self.sender,
            Role::Receiver => &self.receiver,
        }
    }

    /// Returns whether both ends are as usual.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

impl<T: EndLevel> fmt::Display for PerEnd<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let usual = T::default();
        let text = match (self.sender == usual, self.receiver == usual) {
            _ if self.sender == self.receiver => format!("both:{}", self.sender),
            (_, true) => format!("sender:{}", self.sender),
            (true, _) => format!("receiver:{}", self.receiver),
            _ => format!("sender:{}+receiver:{}", self.sender, self.receiver),
        };
        f.pad(&text)
    }
}

impl<T: EndLevel> FromStr for PerEnd<T> {
    type Err = PerEndError;

    fn from_str(text: &str) -> Result<Self, PerEndError> {
        let wrong = |reason: String| PerEndError { text: text.to_owned(), reason };
        let level = |word: &str| word.parse::<T>().map_err(|error| wrong(error.to_string()));
        let (mut sender, mut receiver) = (None, None);
        for part in text.split('+') {
            let (ends, word) = match part.split_once(':') {
                Some(("sender", word)) => ([Some(&mut sender), None], word),
                Some(("receiver", word)) => ([None, Some(&mut receiver)], word),
                Some(("both", word)) => ([Some(&mut sender), Some(&mut receiver)], word),
                _ => ([Some(&mut sender), Some(&mut receiver)], part),
            };
            let given = level(word)?;
            for end in ends.into_iter().flatten() {
                if end.replace(given).is_some() {
                    return Err(wrong("an end is named twice".to_owned()));
                }
            }
        }
        Ok(Self { sender: sender.unwrap_or_default(), receiver: receiver.unwrap_or_default() })
    }
}

stored_as_text!(PerEnd<T>, T: EndLevel);

#[cfg(test)]
mod tests {
    use super::PerEnd;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    #[test]
    fn ends_are_named_once() {
        let read = |text: &str| text.parse::<PerEnd<u32>>().map(|ends| (ends.sender, ends.receiver));
        assert_eq!((read("2"), read("both:2")), (Ok((2, 2)), Ok((2, 2))));
        assert_eq!((read("sender:2"), read("receiver:1+sender:3")), (Ok((2, 0)), Ok((3, 1))));
        for wrong in ["", "sender", "sender:", "sender:x", "1+2", "both:1+sender:2", "sender:1+sender:2", "nobody:1", "-1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(sender in any::<u32>(), receiver in any::<u32>()) {
            let ends = PerEnd { sender, receiver };
            prop_assert_eq!(ends.to_string().parse(), Ok(ends));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = text.parse::<PerEnd<u32>>();
        }
    }
}
