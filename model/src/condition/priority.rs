//! Scheduling priority of an end.

use std::fmt;
use std::str::FromStr;

use crate::choice::stored_as_text;

/// The scheduling of one end. Written `usual`, `nice:10`, `rt:50`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// As it was started.
    #[default]
    Usual,
    /// A nice value, -20 (first) to 19 (last).
    Nice(i8),
    /// SCHED_FIFO with a priority of 1 to 98: the thread that ends a trial comes one before.
    Realtime(u8),
}

/// A text that is no priority.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no priority: write usual, nice:-20 to nice:19, or rt:1 to rt:98")]
pub struct PriorityError(String);

stored_as_text!(Priority);

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Usual => f.pad("usual"),
            Self::Nice(nice) => f.pad(&format!("nice:{nice}")),
            Self::Realtime(priority) => f.pad(&format!("rt:{priority}")),
        }
    }
}

impl FromStr for Priority {
    type Err = PriorityError;

    fn from_str(text: &str) -> Result<Self, PriorityError> {
        let wrong = || PriorityError(text.to_owned());
        match text.split_once(':') {
            None if text == "usual" => Ok(Self::Usual),
            Some(("nice", nice)) => nice.parse().ok().filter(|nice| (-20..=19).contains(nice)).map(Self::Nice).ok_or_else(wrong),
            Some(("rt", level)) => level.parse().ok().filter(|level| (1..=98).contains(level)).map(Self::Realtime).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Priority;
    use crate::condition::PerEnd;

    #[test]
    fn limits_are_those_of_the_kernel_less_one_level() {
        let read = |text: &str| text.parse::<Priority>().ok();
        assert_eq!(
            (read("usual"), read("nice:-20"), read("rt:98")),
            (Some(Priority::Usual), Some(Priority::Nice(-20)), Some(Priority::Realtime(98)))
        );
        for wrong in ["nice:20", "nice:-21", "rt:0", "rt:99", "nice", "fast", ""] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_end_may_be_named() {
        let read = |text: &str| text.parse::<PerEnd<Priority>>().map(|ends| (ends.sender, ends.receiver)).ok();
        assert_eq!(read("nice:10"), Some((Priority::Nice(10), Priority::Nice(10))));
        assert_eq!(read("receiver:rt:1"), Some((Priority::Usual, Priority::Realtime(1))));
    }
}
