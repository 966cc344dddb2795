//! Attempts that failed, in words: what was tried, what the system answered, what to do.

use std::error::Error;
use std::fmt;

use model::Unavailable;

/// An attempt that failed: what was tried, what the system answered, what to do. The
/// last two may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub Unavailable);

impl Refusal {
    /// Makes one of its three parts.
    pub fn new(tried: impl Into<String>, answer: impl ToString, remedy: impl Into<String>) -> Self {
        Self(Unavailable::new(tried, answer.to_string(), remedy))
    }
}

/// Returns what makes a refusal of the system's answer to an attempt.
pub(crate) fn refused<E: ToString>(tried: impl Into<String>, remedy: impl Into<String>) -> impl FnOnce(E) -> Refusal {
    move |answer| Refusal::new(tried, answer, remedy)
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Unavailable { what, answer, remedy } = &self.0;
        f.write_str(what)?;
        for (mark, part) in [(": ", answer), ("; ", remedy)].into_iter().filter(|(_, part)| !part.is_empty()) {
            write!(f, "{mark}{part}")?;
        }
        Ok(())
    }
}

impl Error for Refusal {}
