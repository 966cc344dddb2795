//! Attempts that failed, and things that a kernel or a machine does not offer.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What was tried or is unavailable, what the system answered, what to do. The last two
/// may be empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Refusal {
    /// The attempt, or the mechanism, in a few words: `samples of the kernel`.
    pub what: String,
    /// The call and the system's answer, with the errno's name.
    pub answer: String,
    /// What to do, or what is done instead.
    pub remedy: String,
}

impl Refusal {
    /// Makes one of its three parts.
    pub fn new(what: impl Into<String>, answer: impl ToString, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), answer: answer.to_string(), remedy: remedy.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.what)?;
        for (mark, part) in [(": ", &self.answer), ("; ", &self.remedy)].into_iter().filter(|(_, part)| !part.is_empty()) {
            write!(f, "{mark}{part}")?;
        }
        Ok(())
    }
}

impl Error for Refusal {}
