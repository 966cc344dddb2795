//! Things that a kernel or a machine does not offer.

use serde::{Deserialize, Serialize};

/// A mechanism that is unavailable here, what the system answered, and what to do
/// about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, thiserror::Error)]
#[error("{what} is not available: {answer}. {remedy}")]
pub struct Unavailable {
    /// The mechanism in a few words: `samples of the kernel`.
    pub what: String,
    /// The call and the system's answer, with the errno's name.
    pub answer: String,
    /// One sentence on what to do, or what is done instead.
    pub remedy: String,
}

impl Unavailable {
    /// Makes one of its three parts.
    pub fn new(what: impl Into<String>, answer: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), answer: answer.into(), remedy: remedy.into() }
    }
}
