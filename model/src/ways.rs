//! A level of the factor `api`: a way of sending, and the way of receiving where the level
//! names both ends.

use std::fmt;
use std::str::FromStr;

use crate::api::Api;
use crate::choice::stored_as_text;
use crate::program::UnknownWay;
use crate::receive::Receive;

/// What begins the name of an end's way.
const ENDS: [&str; 2] = ["sender:", "receiver:"];

/// The ways of both ends. Written `gso`, `sender:gso,receiver:gro`, `receiver:gro`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ways {
    /// Way in which messages reach the kernel.
    pub sender: Api,
    /// Way in which they are taken from it; `None`: the one that goes with the sender's, or
    /// the one that the factor `receive` names.
    pub receiver: Option<Receive>,
}

/// A text that names no ways.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WaysError {
    /// One of its words is no way.
    #[error(transparent)]
    Unknown(#[from] UnknownWay),
    /// An end has two.
    #[error("'{0}' names an end twice; write API, sender:API, receiver:WAY, or sender:API,receiver:WAY")]
    Twice(String),
    /// The receiver's way is one of sending alone.
    #[error("'{0}' is a way of sending; the receiver takes messages in one of these: {list}", list = names())]
    Sends(Api),
}

/// The names of all ways of receiving.
fn names() -> String {
    Receive::ALL.iter().map(|receive| receive.name()).collect::<Vec<_>>().join(", ")
}

impl From<Api> for Ways {
    fn from(sender: Api) -> Self {
        Self { sender, receiver: None }
    }
}

impl fmt::Display for Ways {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.receiver {
            None => self.sender.fmt(f),
            Some(receiver) => f.pad(&format!("sender:{},receiver:{receiver}", self.sender)),
        }
    }
}

impl FromStr for Ways {
    type Err = WaysError;

    fn from_str(text: &str) -> Result<Self, WaysError> {
        let (mut sender, mut receiver) = (None, None);
        let mut one_end = false;
        for part in parts(text) {
            let taken = match part.split_once(':') {
                Some(("sender", word)) => {
                    one_end = true;
                    sender.replace(word.parse()?).is_some()
                }
                Some(("receiver", word)) => receiver.replace(received(word)?).is_some(),
                _ => sender.replace(part.parse()?).is_some(),
            };
            if taken {
                return Err(WaysError::Twice(text.to_owned()));
            }
        }
        let sender = sender.unwrap_or(Api::Send);
        // A program that is named as the sender is not the receiver as well.
        let other = (one_end && sender.program().is_some()).then_some(Receive::Recv);
        Ok(Self { sender, receiver: receiver.or(other) })
    }
}

/// A way of receiving; a way of sending in its place is told as what it is.
fn received(word: &str) -> Result<Receive, WaysError> {
    word.parse().map_err(|unknown| word.parse().map_or(WaysError::Unknown(unknown), WaysError::Sends))
}

/// The parts of a text, each the way of an end: they begin where an end is named. A
/// program's arguments may hold commas and colons.
fn parts(text: &str) -> Vec<&str> {
    let begins = |at: &usize| {
        let before = text[..*at].chars().next_back();
        let named = ENDS.iter().any(|end| text[*at..].starts_with(end));
        named && before.is_some_and(|joint| matches!(joint, ',' | '+'))
    };
    let mut from = 0;
    let mut parts = Vec::new();
    for at in text.match_indices([',', '+']).map(|(at, joint)| at + joint.len()).filter(begins) {
        parts.push(&text[from..at - 1]);
        from = at;
    }
    parts.push(&text[from..]);
    parts
}

/// Puts together what a comma took apart: `sender:X` and `receiver:Y` next to it are one
/// level.
pub fn joined(words: Vec<String>) -> Vec<String> {
    let end_of = |word: &str| ENDS.iter().position(|end| word.starts_with(end));
    let mut levels: Vec<String> = Vec::with_capacity(words.len());
    for word in words {
        let other = end_of(&word).map(|end| 1 - end);
        match levels.last_mut() {
            Some(last) if other.is_some() && end_of(last) == other && parts(last).len() == 1 => *last = format!("{last},{word}"),
            _ => levels.push(word),
        }
    }
    levels
}

stored_as_text!(Ways);

#[cfg(test)]
mod tests {
    use super::{Ways, WaysError, joined};
    use crate::api::Api;
    use crate::receive::Receive;
    use proptest::prelude::{prop_assert_eq, proptest};

    fn read(text: &str) -> Result<(Api, Option<Receive>), WaysError> {
        text.parse::<Ways>().map(|ways| (ways.sender, ways.receiver))
    }

    #[test]
    fn each_end_is_named_once() {
        assert_eq!(read("gso"), Ok((Api::Gso, None)));
        let both = Ok((Api::Gso, Some(Receive::Recv)));
        assert_eq!((read("sender:gso,receiver:recv"), read("receiver:recv+sender:gso")), (both.clone(), both.clone()));
        assert_eq!(read("gso,receiver:recv"), both);
        assert_eq!((read("sender:gso"), read("receiver:gro")), (Ok((Api::Gso, None)), Ok((Api::Send, Some(Receive::Gro)))));
        for wrong in ["", "sender:", "sender:gso,sender:send", "receiver:gro+receiver:recv", "send,send", "gso+gro", "nobody:gso"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_way_of_sending_receives_nothing() {
        let error = read("sender:gso,receiver:uring").unwrap_err().to_string();
        assert!(error.contains("'uring' is a way of sending") && error.contains("multishot"), "{error}");
        let error = read("receiver:grp").unwrap_err().to_string();
        assert!(error.contains("did you mean 'gro'?"), "{error}");
    }

    #[test]
    fn programs_keep_their_arguments() {
        let (sender, receiver) = read("sender:exec:./a -x 1,2+3,receiver:exec:./b a:b").unwrap();
        assert_eq!((sender.name(), receiver.unwrap().name()), ("exec:./a -x 1,2+3", "exec:./b a:b"));
        assert_eq!(read("exec:./a").unwrap().1, None, "both ends are the program");
        assert_eq!(read("sender:exec:./a").unwrap().1, Some(Receive::Recv));
    }

    #[test]
    fn neighbours_in_a_list_are_one_level() {
        let list = |text: &str| joined(text.split(',').map(str::to_owned).collect());
        assert_eq!(list("send,sender:gso,receiver:gro,uring"), ["send", "sender:gso,receiver:gro", "uring"]);
        assert_eq!(list("receiver:gro,sender:gso,receiver:recv,sender:send"), ["receiver:gro,sender:gso", "receiver:recv,sender:send"]);
        assert_eq!(list("sender:gso,send,receiver:gro"), ["sender:gso", "send", "receiver:gro"]);
        assert_eq!(list("sender:gso,sender:send"), ["sender:gso", "sender:send"]);
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_back(text in "(sender:|receiver:)?(gso|recv|exec:[a-z ,+:]{1,9}|.{0,9})[,+](receiver:)?(gro|.{0,9})") {
            if let Ok(ways) = text.parse::<Ways>() {
                prop_assert_eq!(ways.to_string().parse(), Ok(ways));
            }
        }
    }
}
